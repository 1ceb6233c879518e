//! Lists the CRDs and the roles of the controllers of this version, which are part of the program: a new kind needs no edit here.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

fn main() -> std::io::Result<()> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let (mut crds, mut roles) = (vec![], vec![]);
    for folder in sorted(&root.join("crds"))? {
        crds.extend(sorted(&folder)?.into_iter().filter(|file| !file.ends_with("kustomization.yaml")));
    }
    for folder in sorted(&root.join("config"))? {
        roles.extend(Some(folder.join("rbac.yaml")).filter(|file| file.is_file()));
    }
    println!("cargo:rerun-if-changed={}", root.join("crds").display());
    println!("cargo:rerun-if-changed={}", root.join("config").display());
    let list = |files: &[PathBuf]| {
        let each = files.iter().map(|file| format!("    include_str!({:?}),\n", file.display().to_string()));
        each.collect::<String>()
    };
    let text = format!(
        "/// The CRDs.\npub(crate) const CRDS: &[&str] = &[\n{}];\n/// The roles.\npub(crate) const ROLES: &[&str] = &[\n{}];\n",
        list(&crds),
        list(&roles)
    );
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("embedded.rs"), text)
}

/// The entries of a folder by name; none of a file.
fn sorted(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut entries = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}
