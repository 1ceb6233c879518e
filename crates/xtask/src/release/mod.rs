//! `cargo xtask release`: every artifact of a release in one folder. The same commit and toolchain give the same files.

mod charts;
mod checksums;
mod krew;
mod manifests;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use kraken_testing::paths;

use crate::image::{self, BuiltImage, ImageBuild, Profile, Source};
use crate::ui;

/// What to build, and how.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct ReleaseArgs {
    /// The output folder. Files in it that belong to an earlier run are replaced.
    #[arg(long, default_value = "dist")]
    out: PathBuf,
    /// The version, such as 0.1.0 or 0.1.0-rc.1. Default: that of Cargo.toml, from which it may differ only in the pre-release.
    #[arg(long)]
    version: Option<String>,
    /// The registry and path in front of the image names in manifests and charts, such as registry.example.com/team.
    #[arg(long, default_value = "")]
    repository: String,
    /// The URL of the folder from which users download the release, for the manifest of krew.
    #[arg(long, default_value = "")]
    downloads: String,
    /// The build profile. `dev` builds quickly, and its binaries are not reproducible.
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// Build although there are uncommitted changes.
    #[arg(long)]
    allow_dirty: bool,
    /// Build nothing for release: compile twice in different folders and compare the results. `crate` compiles one library with its
    /// dependencies, in a minute or two; `all` compiles every controller.
    #[arg(long, value_enum, exclusive = true, num_args = 0..=1, default_missing_value = "all")]
    verify: Option<verify::Scope>,
}

pub(crate) async fn run(args: ReleaseArgs) -> Result<()> {
    let root = paths::workspace_root()?;
    let mut source = Source::read(&root).await?;
    if let Some(scope) = args.verify {
        return verify::run(&root, scope, &source).await;
    }
    if source.is_dirty() && !args.allow_dirty {
        bail!(
            "there are uncommitted changes: commit them, or pass --allow-dirty for a release that is not published"
        );
    }
    if let Some(version) = &args.version {
        check_version(version, &source.version)?;
        source.version.clone_from(version);
    }
    let workspace_version = env!("CARGO_PKG_VERSION");
    let (version, time) = (source.version.clone(), source.time);
    let out = &args.out;
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let images = tempfile::tempdir_in(out).context("cannot create a temporary folder")?;
    let plugin = image::executable(&root, crate::plugin::NAME, args.profile, &source).await?;
    let build = ImageBuild {
        root: root.clone(),
        controllers: paths::programs()?,
        profile: args.profile,
        output: images.path().to_owned(),
        repository: args.repository.clone(),
        tag: None,
        source,
    };
    let mut files = Vec::new();
    for made in image::make(build).await? {
        files.extend(artifacts(out, &made, &version)?);
    }
    let release = krew::Release { version: &version, time, downloads: &args.downloads };
    files.extend(krew::write(&root, out, &plugin, &release)?);
    let rewrite = manifests::Images { from: workspace_version, repository: &args.repository, to: &version };
    files.extend(ui::step("rendering the manifests", manifests::write(&root, out, &rewrite)).await?);
    let charts = charts::write(&root, out, &rewrite, time);
    files.extend(ui::step("packaging the charts", charts).await?);
    let sums = checksums::write(out, &files)?;
    drop(images);
    let rows = sums.iter().map(|sum| [sum.file.clone(), image::size(sum.size), sum.digest[..12].to_owned()]);
    print!("{}", ui::table(&["FILE", "SIZE", "SHA-256"], rows));
    println!("  To verify: cd {} && sha256sum -c {}", out.display(), checksums::FILE);
    Ok(())
}

/// The binary, image and SBOM of a controller; returns their names.
fn artifacts(out: &Path, made: &BuiltImage, version: &str) -> Result<Vec<String>> {
    let name = format!("kraken-{}-{version}-linux-{}", made.controller, kraken_testing::oci::architecture());
    let (image, sbom) = (format!("{name}.oci.tar"), format!("{name}.cdx.json"));
    let write = || {
        fs::copy(&made.program, out.join(&name))?;
        fs::rename(&made.path, out.join(&image))?;
        fs::write(out.join(&sbom), &made.sbom)
    };
    write().with_context(|| format!("cannot write {name} to {}", out.display()))?;
    Ok(vec![name, image, sbom])
}

/// A tag must not name another version than the source does; only a pre-release may differ.
fn check_version(version: &str, workspace: &str) -> Result<()> {
    let core = |version: &str| version.split('-').next().unwrap_or_default().to_owned();
    let is_valid = |version: &str| {
        let (core, pre) = version.split_once('-').map_or((version, None), |(core, pre)| (core, Some(pre)));
        let numbers: Vec<_> = core.split('.').collect();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        numbers.len() == 3
            && numbers.into_iter().all(is_number)
            && pre.is_none_or(|pre| pre.split('.').all(is_word))
    };
    ensure!(is_valid(version), "invalid version {version:?}: expected one such as 0.1.0 or 0.1.0-rc.1");
    ensure!(
        core(version) == core(workspace),
        "version {version} does not match Cargo.toml, which has {workspace}: change workspace.package.version first"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_differs_from_the_workspace_only_in_its_pre_release() {
        for version in ["0.1.0", "0.1.0-rc.1", "0.1.0-alpha"] {
            check_version(version, "0.1.0").unwrap();
        }
        let error = check_version("0.2.0", "0.1.0").unwrap_err().to_string();
        assert!(error.contains("0.2.0") && error.contains("Cargo.toml"), "{error}");
        for version in ["v0.1.0", "0.1", "0.1.0-", "0.1.0-rc_1", "", "0.1.x"] {
            let error = check_version(version, "0.1.0").unwrap_err().to_string();
            assert!(error.contains("invalid version"), "{version}: {error}");
        }
    }
}
