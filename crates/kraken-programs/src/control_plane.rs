//! The programs of the control plane: etcd, kube-apiserver and kube-controller-manager.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;
use std::{env, fs};

use crate::{Module, Program, cache};

/// The module that pins them.
pub const MODULE: Module = Module {
    name: "controlplane",
    go_mod: include_str!("../../kraken-testing/controlplane/go.mod"),
    go_sum: include_str!("../../kraken-testing/controlplane/go.sum"),
    tools: include_str!("../../kraken-testing/controlplane/tools.go"),
    files: &[("etcd/main.go", include_str!("../../kraken-testing/controlplane/etcd/main.go"))],
};
const WITHOUT_GO: &str =
    ", or set KUBEBUILDER_ASSETS to a folder that holds etcd, kube-apiserver and kube-controller-manager";
/// The database.
pub const ETCD: Program = Program {
    name: "etcd",
    package: "./etcd",
    version_of: "go.etcd.io/etcd/server/v3",
    takes: "about 1 minute",
    without_go: WITHOUT_GO,
};
/// The API.
pub const APISERVER: Program = Program {
    name: "kube-apiserver",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    version_of: "k8s.io/kubernetes",
    takes: "about 4 minutes",
    without_go: WITHOUT_GO,
};
/// Garbage collector, namespaces and service accounts.
pub const CONTROLLER_MANAGER: Program = Program {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    version_of: "k8s.io/kubernetes",
    takes: "about 3 minutes",
    without_go: WITHOUT_GO,
};
/// All of them, in the order in which they are built.
pub const ALL: [&Program; 3] = [&ETCD, &APISERVER, &CONTROLLER_MANAGER];

/// The variable with a folder of the programs.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// Whether the folder in `KUBEBUILDER_ASSETS` exists, if it is set: a mistyped one would lead to a build of minutes.
///
/// # Errors
/// When it does not exist, in one line.
pub fn check_given() -> Result<(), String> {
    check(env::var_os(ASSETS).as_deref())
}

fn check(folder: Option<&OsStr>) -> Result<(), String> {
    match folder.filter(|folder| !folder.is_empty()).map(Path::new) {
        Some(folder) if !folder.is_dir() => {
            Err(format!("{ASSETS} is {}, which is no folder: correct it, or unset it", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The file in `KUBEBUILDER_ASSETS`, if there is one. Such folders often lack kube-controller-manager.
pub fn given(program: &Program) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(ASSETS)?).join(program.name);
    path.is_file().then_some(path)
}

/// The programs that must be built. None if `KUBEBUILDER_ASSETS` is wrong: whoever needs the programs says so.
pub fn missing() -> Vec<&'static Program> {
    if check_given().is_err() {
        return vec![];
    }
    let Ok(folder) = MODULE.folder() else { return vec![] };
    let is_missing = |program: &&Program| given(program).is_none() && !folder.join(program.name).is_file();
    ALL.into_iter().filter(is_missing).collect()
}

/// Builds a program, unless another process has built it meanwhile.
///
/// # Errors
/// In one line. Whoever needs the program builds it again, with more advice.
pub fn build(program: &Program) -> Result<(), String> {
    let folder = MODULE.folder().map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("cannot build {}: {error}", program.name);
    let lock = cache::lock_file(&folder).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let target = folder.join(program.name);
    if target.is_file() {
        return Ok(());
    }
    let version = MODULE.version(program).unwrap_or_default();
    let (what, started) = (Module::described(program, version), Instant::now());
    let scratch = folder.with_extension(format!("{}.module", std::process::id()));
    let unfinished = target.with_extension(format!("{}.tmp", std::process::id()));
    eprintln!("{what} ...");
    let built = MODULE.write(&scratch).and_then(|()| {
        let mut command = MODULE.build(program, version, &scratch, &unfinished);
        let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().last().unwrap_or_default();
        if output.status.success() {
            fs::rename(&unfinished, &target)
        } else {
            Err(std::io::Error::other(last))
        }
    });
    let _ = fs::remove_dir_all(&scratch);
    let _ = fs::remove_file(&unfinished);
    built.map_err(failed)?;
    eprintln!("{what}: done after {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_programs_that_does_not_exist_is_an_error() {
        let error = check(Some(OsStr::new("/does/not/exist"))).unwrap_err();
        assert_eq!(
            error,
            "KUBEBUILDER_ASSETS is /does/not/exist, which is no folder: correct it, or unset it"
        );
        for right in [None, Some(OsStr::new("")), Some(env::temp_dir().as_os_str())] {
            assert_eq!(check(right), Ok(()));
        }
    }
}
