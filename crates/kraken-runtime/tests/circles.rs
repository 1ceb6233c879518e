//! The files of a crate are layers: no two of them need each other, directly or through others.
//!
//! A file needs another if it imports what the other defines, or names it by a path that begins with `crate`, `super` or `self`. An import that
//! is exported again (`pub use`) is no need: what imports it from there needs the file that defines it. Tests are ignored.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, UseTree, Visibility};

/// The path of a module or of what is in it, from the root of the crate.
type Names = Vec<String>;

/// One file.
#[derive(Default)]
struct Source {
    name: String,
    /// What it needs.
    needed: Vec<Names>,
    /// Each name that it imports, and where from: another file defines it.
    imported: BTreeMap<String, Names>,
}

/// The files of a crate, by their modules.
#[derive(Default)]
struct Sources(BTreeMap<Names, Source>);

impl Sources {
    fn of(folder: &Path) -> Self {
        let roots = ["lib.rs", "main.rs"].map(|root| folder.join(root));
        let mut sources = Self::default();
        sources.read(folder, roots.iter().find(|root| root.is_file()).unwrap(), &[]);
        sources
    }

    /// Reads a file, and those of its modules.
    fn read(&mut self, folder: &Path, path: &Path, module: &[String]) {
        let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
        let mut source = Source { name, ..Source::default() };
        let items = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap().items;
        self.collect(folder, items, module, &mut source);
        self.0.insert(module.to_vec(), source);
    }

    fn collect(&mut self, folder: &Path, items: Vec<Item>, module: &[String], source: &mut Source) {
        for item in items {
            match item {
                Item::Mod(inner) if is_test(&inner.attrs) => {}
                Item::Mod(inner) => {
                    let module = joined(module, &inner.ident);
                    let file = folder.join(module.iter().collect::<PathBuf>());
                    let files = [file.join("mod.rs"), file.with_extension("rs")];
                    match inner.content {
                        Some((_, items)) => self.collect(folder, items, &module, source),
                        None => self.read(folder, files.iter().find(|file| file.is_file()).unwrap(), &module),
                    }
                }
                Item::Use(import) => {
                    let is_exported = !matches!(import.vis, Visibility::Inherited);
                    flatten(&import.tree, &mut vec![], &mut |name, path| {
                        let path = absolute(module, path);
                        if !is_exported {
                            source.needed.push(path.clone());
                        }
                        source.imported.insert(name, path);
                    });
                }
                other => {
                    in_code(other.into_token_stream(), &mut |path| {
                        source.needed.push(absolute(module, path));
                    });
                }
            }
        }
    }

    /// The module of the file that a path leads to.
    fn file(&self, path: &[String]) -> Option<&Names> {
        let longest_first = (0..=path.len()).rev();
        longest_first
            .filter_map(|length| self.0.get_key_value(&path[..length]))
            .map(|(module, _)| module)
            .next()
    }

    /// The module of the file that defines what a path names; `None` for what another crate defines.
    fn defining(&self, path: &[String]) -> Option<&Names> {
        let (mut path, mut importer) = (path.to_vec(), None);
        for _ in 0..10 {
            let module = self.file(&path)?;
            let name = path.get(module.len());
            let Some(from) = name.and_then(|name| self.0[module].imported.get(name)) else {
                // What a file imports and does not have is of another crate.
                return (importer != Some(module)).then_some(module);
            };
            path = from.iter().chain(&path[module.len() + 1..]).cloned().collect();
            importer = Some(module);
        }
        None
    }

    /// The files of each circle.
    fn circles(&self) -> BTreeSet<BTreeSet<&str>> {
        let needed = |source: &Source| source.needed.iter().filter_map(|path| self.defining(path)).collect();
        let needed: Needed<'_> = self.0.iter().map(|(module, source)| (module, needed(source))).collect();
        let reached: Needed<'_> = self.0.keys().map(|module| (module, reached(module, &needed))).collect();
        let circle = |module: &Names| {
            let others = reached[module].iter().filter(|other| reached[**other].contains(module));
            others.map(|other| self.0[*other].name.as_str()).collect::<BTreeSet<_>>()
        };
        self.0.keys().map(circle).filter(|files| !files.is_empty()).collect()
    }
}

/// The files that each file needs.
type Needed<'a> = BTreeMap<&'a Names, BTreeSet<&'a Names>>;

/// What a file needs, and what that needs, and so on.
fn reached<'a>(from: &'a Names, needed: &Needed<'a>) -> BTreeSet<&'a Names> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        let others = needed[module].iter().filter(|other| **other != module);
        open.extend(others.copied().filter(|other| reached.insert(*other)));
    }
    reached
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.meta.to_token_stream().to_string() == "cfg (test)")
}

fn joined(module: &[String], name: &impl ToString) -> Names {
    module.iter().cloned().chain([name.to_string()]).collect()
}

/// A path in a module, from the root of the crate.
fn absolute(mut module: &[String], mut path: &[String]) -> Names {
    while let Some((first, rest)) = path.split_first() {
        match first.as_str() {
            "crate" => module = &[],
            "super" => module = &module[..module.len() - 1],
            "self" => {}
            _ => break,
        }
        path = rest;
    }
    module.iter().chain(path).cloned().collect()
}

/// Every name of an import, and its path.
fn flatten(tree: &UseTree, before: &mut Names, found: &mut impl FnMut(String, &[String])) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => found(before.last().unwrap().clone(), before),
        UseTree::Name(name) => found(name.ident.to_string(), &joined(before, &name.ident)),
        UseTree::Rename(name) if name.ident == "self" => found(name.rename.to_string(), before),
        UseTree::Rename(name) => found(name.rename.to_string(), &joined(before, &name.ident)),
        UseTree::Glob(_) => found("*".to_owned(), before),
        UseTree::Group(group) => group.items.iter().for_each(|item| flatten(item, before, found)),
    }
}

/// Every path in code that begins with `crate`, `super` or `self`, also in the arguments of macros.
fn in_code(tokens: TokenStream, found: &mut impl FnMut(&[String])) {
    let (mut path, mut colons): (Names, usize) = (vec![], 0);
    for token in tokens.into_iter().map(Some).chain([None]) {
        match token {
            Some(TokenTree::Punct(punct)) if punct.as_char() == ':' => colons += 1,
            Some(TokenTree::Ident(name)) if colons == 2 && !path.is_empty() => {
                path.push(name.to_string());
                colons = 0;
            }
            other => {
                if path.len() > 1 && ["crate", "super", "self"].contains(&path[0].as_str()) {
                    found(&path);
                }
                (path, colons) = (vec![], 0);
                match other {
                    Some(TokenTree::Ident(name)) => path.push(name.to_string()),
                    // Not `pub(in super::super)`.
                    Some(TokenTree::Group(group)) if !group.stream().to_string().starts_with("in ") => {
                        in_code(group.stream(), found);
                    }
                    _ => {}
                }
            }
        }
    }
}

fn crates(root: &Path) -> Vec<String> {
    let inside = ["crates", "controllers", "processes"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()))
    });
    let all = inside.chain(["tests", "webhooks"].map(str::to_owned));
    all.filter(|one| root.join(one).join("src").is_dir()).collect()
}

#[test]
fn no_files_need_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = crates(&root);
    assert!(names.len() > 10, "{names:?}");
    let read: Vec<_> = thread::scope(|scope| {
        let each = names.iter().map(|name| root.join(name).join("src"));
        let each: Vec<_> = each.map(|folder| scope.spawn(move || Sources::of(&folder))).collect();
        each.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let found = names
        .iter()
        .zip(&read)
        .flat_map(|(name, sources)| sources.circles().into_iter().map(move |files| (name.as_str(), files)));
    let found: BTreeSet<_> = found.collect();
    assert!(found.is_empty(), "move what these files have of each other to a file below both: {found:#?}");
}
