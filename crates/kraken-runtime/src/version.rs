//! The version of this build.
//!
//! Commit and date come from the environment of a release's build. A development build does not read them from the repository,
//! because each commit would recompile every crate.

use std::sync::LazyLock;

/// The version: that of the release (`KRAKEN_VERSION` at build time, such as `0.1.0-rc.1`), else that of the workspace.
pub const VERSION: &str = match option_env!("KRAKEN_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};
/// The commit of a release build (`KRAKEN_COMMIT` at build time).
pub const COMMIT: Option<&str> = option_env!("KRAKEN_COMMIT");
/// The date of a release build (`KRAKEN_BUILD_DATE` at build time, such as `2026-01-31`).
pub const BUILD_DATE: Option<&str> = option_env!("KRAKEN_BUILD_DATE");

/// Version, commit and date, as `--version` prints them.
pub(crate) fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| described(COMMIT, BUILD_DATE));
    &LONG
}

fn described(commit: Option<&str>, date: Option<&str>) -> String {
    match (commit, date) {
        (Some(commit), Some(date)) => format!("{VERSION} (commit {commit}, built {date})"),
        (Some(commit), None) => format!("{VERSION} (commit {commit})"),
        (None, _) => format!("{VERSION} (development build)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_includes_commit_and_date_if_known() {
        assert_eq!(
            described(Some("abc"), Some("2026-01-31")),
            format!("{VERSION} (commit abc, built 2026-01-31)")
        );
        assert_eq!(described(Some("abc"), None), format!("{VERSION} (commit abc)"));
        assert_eq!(described(None, None), format!("{VERSION} (development build)"));
    }
}
