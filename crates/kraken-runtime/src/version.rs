//! What this build is.
//!
//! Commit and date come from the environment of a release's build. A development build does not read them from the repository:
//! each commit would compile every crate again.

use std::sync::LazyLock;

/// The version of the workspace, as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that was built (`KRAKEN_COMMIT` when it was), if it is a release's build.
pub const COMMIT: Option<&str> = option_env!("KRAKEN_COMMIT");
/// When it was built (`KRAKEN_BUILD_DATE`, as `2026-01-31`), if it is a release's build.
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
    fn a_version_names_what_is_known_of_the_build() {
        assert_eq!(
            described(Some("abc"), Some("2026-01-31")),
            format!("{VERSION} (commit abc, built 2026-01-31)")
        );
        assert_eq!(described(Some("abc"), None), format!("{VERSION} (commit abc)"));
        assert_eq!(described(None, None), format!("{VERSION} (development build)"));
    }
}
