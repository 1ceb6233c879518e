//! Lists the manifests of the controllers of this version, which are part of the program: a new controller or kind needs no edit here.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let (crds, config) = (root.join("crds"), root.join("config"));
    let mut text = "/// The controllers.\npub(crate) const CONTROLLERS: &[Controller] = &[\n".to_owned();
    for folder in sorted(&config)? {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        if !folder.join("rbac.yaml").is_file() {
            continue;
        }
        let mut kinds = sorted(&crds.join(name))?;
        kinds.retain(|file| !file.ends_with("kustomization.yaml"));
        let file = |name: &str| {
            list(&Some(folder.join(name)).filter(|file| file.is_file()).into_iter().collect::<Vec<_>>())
        };
        let (roles, policies, webhooks) = (file("rbac.yaml"), file("policies.yaml"), file("webhook.yaml"));
        writeln!(
            text,
            "Controller {{ name: {name:?}, crds: {}, roles: {roles}, policies: {policies}, webhooks: {webhooks} }},",
            list(&kinds)
        )
        .map_err(io::Error::other)?;
    }
    let shared = ["namespace/namespace.yaml", "users/roles.yaml"].map(|file| config.join(file));
    text += "];\n/// The namespace of the controllers, and the roles of users.\n";
    writeln!(text, "pub(crate) const SHARED: &[&str] = {};", list(&shared)).map_err(io::Error::other)?;
    println!("cargo:rerun-if-changed={}", crds.display());
    println!("cargo:rerun-if-changed={}", config.display());
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("embedded.rs"), text)
}

fn list(files: &[PathBuf]) -> String {
    let each = files.iter().map(|file| format!("include_str!({:?}), ", file.display().to_string()));
    format!("&[{}]", each.collect::<String>())
}

/// The entries of a folder by name; none if it does not exist.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut entries =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}
