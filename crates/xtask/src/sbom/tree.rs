//! The crates that are linked into each binary, as cargo resolves them for the build. Pure.
//!
//! `cargo tree` and not `cargo metadata`: the latter also contains the features that only dev-dependencies enable.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};

/// Arguments of cargo. Procedural macros and build scripts run during the build and are not linked.
pub(super) const ARGUMENTS: [&str; 9] = [
    "tree",
    "--workspace",
    "--locked",
    "--edges",
    "normal,no-proc-macro",
    "--prefix",
    "depth",
    "--format",
    "{p}\t{l}\t{r}",
];

/// Name and version.
pub(super) type Id = (String, String);

/// A crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Crate {
    pub(super) licence: String,
    pub(super) repository: String,
    /// Whether it is in this workspace and not from a registry.
    pub(super) is_local: bool,
    pub(super) dependencies: BTreeSet<Id>,
}

/// All crates of the workspace's build.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeMap<Id, Crate>);

impl Tree {
    /// Parses the output of cargo with [`ARGUMENTS`].
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut crates: BTreeMap<Id, Crate> = BTreeMap::new();
        let mut parents: Vec<Id> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (depth, id, found) =
                parse_line(line).with_context(|| format!("unexpected output of cargo tree: {line:?}"))?;
            if depth > parents.len() {
                bail!("unexpected output of cargo tree: {line:?} has no parent");
            }
            parents.truncate(depth);
            if let Some(parent) = parents.last().and_then(|parent| crates.get_mut(parent)) {
                parent.dependencies.insert(id.clone());
            }
            // A repeated crate is printed without its dependencies.
            crates.entry(id.clone()).or_insert(found);
            parents.push(id);
        }
        Ok(Self(crates))
    }

    /// A crate of the workspace.
    pub(super) fn local(&self, name: &str) -> Result<&Id> {
        let found = self.0.iter().find(|((found, _), properties)| found == name && properties.is_local);
        found.map(|(id, _)| id).with_context(|| format!("the workspace has no crate {name}"))
    }

    /// A crate, and all crates that it depends on directly or indirectly.
    pub(super) fn linked(&self, root: &Id) -> BTreeMap<&Id, &Crate> {
        let mut linked = BTreeMap::new();
        let mut remaining = vec![root];
        while let Some(id) = remaining.pop() {
            let Some((id, found)) = self.0.get_key_value(id) else { continue };
            if linked.insert(id, found).is_none() {
                remaining.extend(&found.dependencies);
            }
        }
        linked
    }
}

/// Such as `2serde v1.0.1\tMIT OR Apache-2.0\thttps://example.com (*)`.
fn parse_line(line: &str) -> Option<(usize, Id, Crate)> {
    let line = line.strip_suffix(" (*)").unwrap_or(line);
    let digits = line.find(|character: char| !character.is_ascii_digit())?;
    let depth = line[..digits].parse().ok()?;
    let mut columns = line[digits..].split('\t');
    let mut package = columns.next()?.splitn(3, ' ');
    let name = package.next()?.to_owned();
    let version = package.next()?.strip_prefix('v')?.to_owned();
    // A crate of a registry has no source in the output, and one of a path has its folder.
    let is_local = package.next().is_some_and(|source| source.starts_with("(/"));
    let licence = columns.next()?.replace('/', " OR "); // the form before SPDX expressions
    let repository = columns.next()?.to_owned();
    Some((depth, (name, version), Crate { licence, repository, is_local, dependencies: BTreeSet::new() }))
}

/// The SHA-256 of each crate of a registry, from Cargo.lock.
pub(super) fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let packages = lock.split("[[package]]").skip(1);
    let field = |package: &str, name: &str| {
        let prefix = format!("{name} = \"");
        let value = package.lines().find_map(|line| line.strip_prefix(&prefix)?.strip_suffix('"'));
        value.map(str::to_owned)
    };
    let of =
        |package| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    packages.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0app v0.1.0 (/src/app)\tApache-2.0\t\n1json v1.0.0\tMIT/Apache-2.0\thttps://example.com/json\n\
                        2itoa v1.2.3\tMIT\t\n1time v0.3.0\tMIT\t\n\n0other v0.1.0 (/src/other)\tApache-2.0\t\n\
                        1json v1.0.0\tMIT/Apache-2.0\thttps://example.com/json (*)\n";

    fn id(name: &str, version: &str) -> Id {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn only_dependencies_of_a_crate_are_linked_into_it() {
        let tree = Tree::parse(TEXT).unwrap();
        let names =
            |root| tree.linked(tree.local(root).unwrap()).keys().map(|id| id.0.as_str()).collect::<Vec<_>>();
        assert_eq!(names("app"), ["app", "itoa", "json", "time"]);
        assert_eq!(names("other"), ["itoa", "json", "other"], "a repeated crate keeps its dependencies");
        assert!(tree.local("json").is_err(), "it is from a registry");
    }

    #[test]
    fn licences_are_spdx_expressions() {
        let tree = Tree::parse(TEXT).unwrap();
        let json = &tree.0[&id("json", "1.0.0")];
        assert_eq!(json.licence, "MIT OR Apache-2.0");
        assert_eq!(json.repository, "https://example.com/json");
    }

    #[test]
    fn unexpected_output_is_an_error() {
        for text in ["serde v1.0.0\tMIT\t", "0serde\tMIT\t", "0serde v1.0.0", "1serde v1.0.0\tMIT\t"] {
            assert!(Tree::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn checksums_are_those_of_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"json\",\n]\n\n[[package]]\n\
                    name = \"json\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"abc\"\n";
        assert_eq!(checksums(lock), BTreeMap::from([(id("json", "1.0.0"), "abc".to_owned())]));
    }
}
