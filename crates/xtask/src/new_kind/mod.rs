//! `cargo xtask new-kind SPOKE KIND`: the files of a kind of AWS with one remote object, in the layout of all kinds. It
//! compiles and passes its tests at once; the fields are examples, and each call returns an error until it is written.

mod names;
mod process;

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;

use names::Names;

/// The files of a kind.
const KIND: [(&str, &str); 5] = [
    ("mod.rs", include_str!("template/mod.rs")),
    ("api.rs", include_str!("template/api.rs")),
    ("observed.rs", include_str!("template/observed.rs")),
    ("calls.rs", include_str!("template/calls.rs")),
    ("tests.rs", include_str!("template/tests.rs")),
];

/// The files of a spoke.
const SPOKE: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.txt")),
    ("src/main.rs", include_str!("template/main.rs")),
    ("src/lib.rs", include_str!("template/lib.rs")),
];

/// Adds the kind to a spoke, which is created if it does not exist.
pub(crate) fn run(spoke: &str, kind: &str) -> Result<()> {
    let root = paths::workspace_root()?;
    let is_new = !root.join("controllers").join(spoke).exists();
    for path in generate(&root.join("controllers"), spoke, kind)? {
        println!("wrote controllers/{path}");
    }
    if is_new {
        let folder = root.join(process::FOLDER);
        edit(&folder.join("Cargo.toml"), |text| process::manifest(text, spoke))?;
        edit(&folder.join("src/main.rs"), |text| process::main(text, spoke, &spoke_type(spoke)))?;
        println!("added the spoke to {}, in which all spokes of AWS can run", process::FOLDER);
    }
    println!(
        "next: edit the fields in api.rs and write the calls, then\n  \
         cargo test -p kraken-{spoke}\n  \
         cargo xtask gen   # CRDs, RBAC, deployments and charts"
    );
    Ok(())
}

fn edit(path: &Path, edited: impl Fn(&str) -> Result<String>) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(path, edited(&text)?).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the files, and returns their paths below the folder of controllers.
fn generate(controllers: &Path, spoke: &str, kind: &str) -> Result<Vec<String>> {
    let names = Names::of(kind)?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !spoke.strip_prefix("aws-").is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_name)) {
        bail!("{spoke:?} is no name of a spoke: expected aws- and lower-case letters, such as aws-rds");
    }
    let module = format!("{spoke}/src/{}", names.module());
    if controllers.join(&module).exists() {
        bail!("controllers/{module} exists already");
    }
    let filled = |template: &str| filled(template, spoke, &names);
    let mut files: Vec<(String, String)> =
        KIND.iter().map(|(name, template)| (format!("{module}/{name}"), filled(template))).collect();
    let lib = format!("{spoke}/src/lib.rs");
    if let Ok(text) = fs::read_to_string(controllers.join(&lib)) {
        files.push((lib, registered(&text, &names)?));
    } else {
        files.extend(SPOKE.iter().map(|(name, template)| (format!("{spoke}/{name}"), filled(template))));
    }
    for (path, text) in &files {
        let target = controllers.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(&target, text).with_context(|| format!("cannot write {}", target.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn filled(template: &str, spoke: &str, names: &Names) -> String {
    [
        ("@Kind@", names.kind().to_owned()),
        ("@Kinds@", names.types()),
        ("@Type@", names.ty()),
        ("@module@", names.module()),
        ("@noun@", names.noun()),
        ("@state@", names.state()),
        ("@plural@", names.plural()),
        ("@spoke@", spoke.to_owned()),
        ("@spoke_module@", spoke.replace('-', "_")),
        ("@Spoke@", spoke_type(spoke)),
    ]
    .into_iter()
    .fold(template.to_owned(), |text, (key, value)| text.replace(key, &value))
}

/// The type of a spoke: `Rds` of `aws-rds`.
fn spoke_type(spoke: &str) -> String {
    Names::of(&pascal_case(spoke)).map(|names| names.ty()).unwrap_or_default()
}

/// `Rds` of `aws-rds`.
fn pascal_case(spoke: &str) -> String {
    let capitalized =
        |word: &str| word.get(..1).unwrap_or_default().to_uppercase() + word.get(1..).unwrap_or_default();
    spoke.trim_start_matches("aws-").split('-').map(capitalized).collect()
}

/// The library of a spoke with another kind; its modules stay sorted.
fn registered(lib: &str, names: &Names) -> Result<String> {
    let (name, types) = (names.module(), names.types());
    let kind = format!("        registry.kind::<Managed<{name}::{types}>>();");
    let mut lines: Vec<&str> = lib.lines().collect();
    let is_module = |(index, line): &(usize, &&str)| {
        let has_attribute = *index > 0 && lines[index - 1].starts_with('#');
        line.starts_with("mod ") && line.ends_with(';') && !has_attribute
    };
    let modules: Vec<usize> = lines.iter().enumerate().filter(is_module).map(|(index, _)| index).collect();
    let module = format!("mod {name};");
    let next = modules.iter().find(|index| lines[**index] > module.as_str()).copied();
    let after_last = modules.last().map(|last| last + 1);
    let last_kind = lines.iter().rposition(|line| line.trim_start().starts_with("registry.kind::<"));
    let (Some(module_at), Some(last_kind)) = (next.or(after_last), last_kind) else {
        bail!("the spoke's lib.rs has no modules or registers no kinds: add {module:?} and {kind:?} to it");
    };
    lines.insert(last_kind + 1, &kind);
    lines.insert(module_at, &module);
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests;
