//! `cargo xtask sbom`: the SBOM of a binary that another tool builds, such as the Dockerfile.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::paths;

use super::Inventory;
use crate::image::Source;

/// The variables of a build that `--version` prints; unset or empty if unknown.
const COMMIT: &str = "KRAKEN_COMMIT";
const DATE: &str = "KRAKEN_BUILD_DATE";

/// The binary and the file to write.
#[derive(clap::Args, Debug)]
pub(crate) struct SbomArgs {
    /// The controller, by its folder under controllers/.
    controller: String,
    /// The binary.
    #[arg(long)]
    binary: PathBuf,
    /// The file to write.
    #[arg(long)]
    output: PathBuf,
}

pub(crate) async fn run(args: SbomArgs) -> Result<()> {
    let SbomArgs { controller, binary, output } = args;
    let all = paths::programs()?;
    ensure!(
        all.contains(&controller),
        "unknown controller `{controller}`: expected one of {}",
        all.join(", ")
    );
    let contents = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let inventory = Inventory::read(&paths::workspace_root()?).await?;
    let variable = |name| std::env::var(name).ok();
    let sbom = inventory.sbom(
        &format!("kraken-{controller}"),
        &contents,
        &source(variable(COMMIT).as_deref(), variable(DATE).as_deref()),
    )?;
    fs::write(&output, sbom).with_context(|| format!("cannot write {}", output.display()))
}

/// The source of a build without a Git repository. The date is that of the day, such as `2026-01-31`.
fn source(commit: Option<&str>, date: Option<&str>) -> Source {
    let known = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    Source {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: known(commit).unwrap_or_else(|| "unknown".to_owned()),
        date: known(date).map(|day| format!("{day}T00:00:00Z")).unwrap_or_default(),
        time: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_and_date_may_be_unknown() {
        let known = source(Some("abc"), Some("2026-01-31"));
        assert_eq!((known.commit.as_str(), known.date.as_str()), ("abc", "2026-01-31T00:00:00Z"));
        let unknown = source(Some(""), None);
        assert_eq!((unknown.commit.as_str(), unknown.date.as_str()), ("unknown", ""));
    }

    /// Docker cannot be run in every environment.
    #[test]
    fn the_dockerfile_writes_the_sbom_where_other_images_have_it() {
        let file = fs::read_to_string(paths::workspace_root().unwrap().join("Dockerfile")).unwrap();
        for expected in [
            "release/xtask\" sbom \"$CONTROLLER\" --binary /kraken --output /sbom.cdx.json",
            "COPY --from=build /sbom.cdx.json /sbom.cdx.json",
            "LABEL com.eoinfennessy.kraken-iac.sbom=/sbom.cdx.json",
        ] {
            assert!(file.contains(expected), "{expected}");
        }
    }
}
