//! The requirements of a node, and those that are missing.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// A required file, its possible folders, and Debian's package of it.
const FILES: [(&str, &[&str], &str); 9] = [
    ("containerd", &[], "containerd"),
    ("ctr", &[], "containerd"),
    ("runc", &[], "runc"),
    ("iptables", &[], "iptables"),
    ("ip", &[], "iproute2"),
    ("unshare", &[], "util-linux"),
    ("nsenter", &[], "util-linux"),
    ("bridge", &["/usr/lib/cni", "/opt/cni/bin"], "containernetworking-plugins"),
    ("busybox", &["/bin", "/usr/bin"], "busybox-static"),
];

/// Fails with all missing requirements, and how to install them.
///
/// # Errors
/// When a node cannot run here.
pub fn check() -> Result<()> {
    let missing = missing_packages();
    let mut problems = Vec::new();
    if !nix::unistd::geteuid().is_root() {
        problems.push("root is required, for namespaces and control groups".to_owned());
    }
    if !missing.is_empty() {
        problems.push(format!(
            "these packages are missing; `apt-get install {}` installs them",
            missing.join(" ")
        ));
    }
    if problems.is_empty() { Ok(()) } else { bail!("a node cannot run here: {}", problems.join("; ")) }
}

/// Debian's names of the packages that are not installed.
pub fn missing_packages() -> Vec<&'static str> {
    let mut packages: Vec<_> = FILES
        .iter()
        .filter(|(name, folders, _)| find(name, folders).is_none())
        .map(|(.., package)| *package)
        .collect();
    packages.dedup();
    packages
}

/// The folder of CNI's plug-ins.
pub(super) fn cni_plugins() -> &'static str {
    if Path::new("/usr/lib/cni/bridge").is_file() { "/usr/lib/cni" } else { "/opt/cni/bin" }
}

/// The static busybox.
pub(super) fn busybox() -> PathBuf {
    find("busybox", &["/bin", "/usr/bin"]).unwrap_or_else(|| PathBuf::from("/bin/busybox"))
}

/// `PATH` with the folders of administration, which a login may lack.
pub(super) fn path() -> OsString {
    let own = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::join_paths(env::split_paths(&own).chain(more)).unwrap_or(own)
}

fn find(name: &str, folders: &[&str]) -> Option<PathBuf> {
    let found = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    if folders.is_empty() {
        env::split_paths(&path()).find_map(found)
    } else {
        folders.iter().map(PathBuf::from).find_map(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_folders_of_administration_too() {
        assert!(find("sh", &[]).is_some());
        assert!(find("a-program-that-nobody-has", &[]).is_none());
        assert!(env::split_paths(&path()).any(|folder| folder == Path::new("/usr/sbin")));
    }
}
