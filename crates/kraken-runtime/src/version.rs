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

/// The warning if the chart or the manifests that installed this process have another major or minor version, which is not supported.
/// `manifests` is their version, or empty if it is unknown.
pub(crate) fn skew(manifests: &str) -> Option<String> {
    skew_of(VERSION, manifests)
}

fn skew_of(own: &str, manifests: &str) -> Option<String> {
    let (of_manifests, of_own) = (minor(manifests)?, minor(own)?);
    (of_manifests != of_own).then(|| {
        format!(
            "the version of this image is {own}, and that of the chart or manifests is {manifests}: permissions, flags and CRDs can \
             differ; install both with the same minor version"
        )
    })
}

/// Major and minor version; `None` if the text is not a version.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
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
    fn another_minor_version_of_the_manifests_is_reported() {
        let warning = skew_of("0.2.1", "0.1.0").unwrap();
        assert!(warning.contains("0.2.1") && warning.contains("0.1.0"), "{warning}");
        assert!(skew_of("1.2.0", "2.2.0").is_some());
        for same in ["0.2.0", "0.2.7", "v0.2.0", "0.2.1-rc.1"] {
            assert_eq!(skew_of("0.2.1", same), None);
        }
        for unknown in ["", "latest", "main"] {
            assert_eq!(skew_of("0.2.1", unknown), None);
        }
    }

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
