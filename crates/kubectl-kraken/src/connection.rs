//! The options of all commands, with flags named as those of kubectl.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::Args;
use kube::config::{Kubeconfig, KubeconfigError};

/// Which cluster, which namespace, and as whom.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of all commands")]
pub(crate) struct Connection {
    /// The path of the kubeconfig [default: KUBECONFIG, then ~/.kube/config].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: the current one].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The namespace [default: that of the context].
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// All namespaces.
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    /// The user to impersonate, as with kubectl.
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) impersonate: Option<String>,
}

/// The kubeconfig of the files in `KUBECONFIG`, the first of which has precedence. As kubectl does, it skips a file that does not exist,
/// unless none exists.
pub(crate) fn merged(list: &OsStr) -> Result<Kubeconfig, KubeconfigError> {
    let paths: Vec<PathBuf> =
        std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect();
    let exists = |path: &Path| path.try_exists().unwrap_or(true);
    let is_read = |path: &&PathBuf| exists(path) || !paths.iter().any(|path| exists(path));
    paths.iter().filter(is_read).try_fold(Kubeconfig::default(), |merged, path| {
        Kubeconfig::read_from(path).and_then(|next| merged.merge(next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_list_that_does_not_exist_is_skipped_unless_none_exists() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, missing] = ["a", "b", "missing"].map(|name| folder.path().join(name));
        std::fs::write(&a, "{apiVersion: v1, kind: Config, current-context: first}").unwrap();
        std::fs::write(&b, "{apiVersion: v1, kind: Config, current-context: second}").unwrap();
        let read = |paths: &[&PathBuf]| merged(&std::env::join_paths(paths).unwrap());
        let context = |paths: &[&PathBuf]| read(paths).unwrap().current_context;
        assert_eq!(context(&[&missing, &a, &b]).as_deref(), Some("first"));
        assert_eq!(context(&[&b, &missing]).as_deref(), Some("second"));
        assert!(read(&[&missing]).unwrap_err().to_string().contains("missing"));
        std::fs::write(&b, "{").unwrap();
        assert!(read(&[&a, &b]).is_err(), "a file that cannot be read is not skipped");
    }
}
