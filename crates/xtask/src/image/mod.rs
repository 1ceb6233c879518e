//! `cargo xtask image`: an OCI archive for each controller, without a daemon.

mod build;
mod contents;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;

pub(crate) use build::{Profile, release};
pub(crate) use source::{Source, git};

use crate::sbom::Inventory;
use crate::ui;

const KIBIBYTE: u64 = 1024;

/// The images to build, and their options.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct ImageArgs {
    /// The controllers, by their folder under controllers/ or processes/. Default: all.
    controllers: Vec<String>,
    /// The build profile: `release`, or `dev` for a quick build.
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// The output folder. Default: target/images.
    #[arg(long)]
    output: Option<PathBuf>,
    /// The registry and path in front of the image names, such as registry.example.com/team.
    #[arg(long, default_value = "")]
    repository: String,
}

/// Images of one checkout.
pub(crate) struct ImageBuild {
    pub(crate) root: PathBuf,
    pub(crate) controllers: Vec<String>,
    pub(crate) profile: Profile,
    pub(crate) output: PathBuf,
    pub(crate) repository: String,
    /// The tag. Default: the version of the source.
    pub(crate) tag: Option<String>,
    pub(crate) source: Source,
}

/// An image that was written.
#[derive(Debug)]
pub(crate) struct BuiltImage {
    pub(crate) name: String,
    pub(crate) controller: String,
    pub(crate) path: PathBuf,
    pub(crate) digest: String,
    pub(crate) size: u64,
    /// The executable in it.
    pub(crate) program: PathBuf,
    /// Its SBOM.
    pub(crate) sbom: Vec<u8>,
}

/// A program that is in no image.
pub(crate) struct Executable {
    pub(crate) contents: Vec<u8>,
    pub(crate) sbom: Vec<u8>,
}

/// Builds a program as the controllers are built: static and reproducible.
pub(crate) async fn executable(
    root: &Path,
    name: &str,
    profile: Profile,
    source: &Source,
) -> Result<Executable> {
    let what = format!("building {name} with static linking");
    let path = ui::step(&what, build::program(root, name, profile, source)).await?;
    let contents = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    build::check_static(&contents).with_context(|| path.display().to_string())?;
    let sbom = Inventory::read(root).await?.sbom(name, &contents, source)?;
    Ok(Executable { contents, sbom })
}

/// Builds images, and prints where they are.
pub(crate) async fn run(args: ImageArgs) -> Result<()> {
    let ImageArgs { controllers, profile, output, repository } = args;
    let output = output.map_or_else(|| Ok(target()?.join("images")), anyhow::Ok)?;
    let root = paths::workspace_root()?;
    let controllers = chosen(controllers)?;
    let source = Source::read(&root).await?;
    let made = make(ImageBuild { root, controllers, profile, output, repository, tag: None, source }).await?;
    let rows = made.iter().map(|image| {
        [image.name.clone(), size(image.size), image.digest.clone(), image.path.display().to_string()]
    });
    print!("{}", ui::table(&["IMAGE", "SIZE", "DIGEST", "ARCHIVE"], rows));
    println!(
        "  To push an image: skopeo copy oci-archive:ARCHIVE docker://IMAGE. To load it: docker load -i, kind load image-archive or ctr images import"
    );
    Ok(())
}

/// The images of every controller with the dev profile, for a test node.
pub(crate) async fn make_for_tests() -> Result<()> {
    let output = folder_for_tests()?;
    for_tests(paths::workspace_root()?, None, output).await
}

/// The same of another checkout, with another tag than the version.
pub(crate) async fn make_of_checkout(root: PathBuf, tag: &str, output: PathBuf) -> Result<()> {
    for_tests(root, Some(tag.to_owned()), output).await
}

async fn for_tests(root: PathBuf, tag: Option<String>, output: PathBuf) -> Result<()> {
    let (controllers, source) = (paths::programs()?, Source::read(&root).await?);
    let (profile, repository) = (Profile::Dev, String::new());
    make(ImageBuild { root, controllers, profile, output, repository, tag, source }).await.map(drop)
}

/// The folder of [`make_for_tests`].
pub(crate) fn folder_for_tests() -> Result<PathBuf> {
    Ok(target()?.join("images/dev"))
}

pub(crate) async fn make(build: ImageBuild) -> Result<Vec<BuiltImage>> {
    let ImageBuild { root, controllers, profile, output, repository, tag, source } = build;
    let what = format!("building {} with static linking", controllers.join(", "));
    let folder = ui::step(&what, build::build(&root, &controllers, profile, &source)).await?;
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    let tag = tag.unwrap_or_else(|| source.version.clone());
    let inventory = Inventory::read(&root).await?;
    let mut made = Vec::new();
    for controller in controllers {
        let program = folder.join(format!("kraken-{controller}"));
        let contents = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
        let sbom = inventory.sbom(&format!("kraken-{controller}"), &contents, &source)?;
        let name = contents::name(&repository, &controller, &tag);
        let mut image = contents::image(name, &controller, contents, sbom.clone(), &source)?;
        if profile == Profile::Dev {
            image.layer = image.layer.uncompressed(); // it is used on this machine only
        }
        let path = output.join(format!("kraken-{controller}.tar"));
        let what = format!("writing the image of {controller}");
        // Compression takes seconds, and Ctrl-C must still work.
        let written = tokio::task::spawn_blocking(move || {
            let written = image.write(&path)?;
            let (name, digest, size) = (image.name, written.digest, written.size);
            Ok(BuiltImage { name, controller, path, digest, size, program, sbom })
        });
        made.push(ui::step(&what, async { written.await.context("the image was not written")? }).await?);
    }
    Ok(made)
}

fn chosen(named: Vec<String>) -> Result<Vec<String>> {
    let all = paths::programs()?;
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        bail!("unknown controller `{unknown}`: expected one of {}", all.join(", "));
    }
    Ok(if named.is_empty() { all } else { named })
}

/// Cargo's target folder.
pub(crate) fn target() -> Result<PathBuf> {
    let binaries = paths::bin_dir()?;
    Ok(binaries.parent().context("the binaries' folder has no parent")?.to_owned())
}

/// A size for a table.
pub(crate) fn size(bytes: u64) -> String {
    const MEBIBYTE: u64 = KIBIBYTE * KIBIBYTE;
    if bytes < MEBIBYTE {
        return format!("{} KiB", bytes.div_ceil(KIBIBYTE));
    }
    let tenths = bytes * 10 / MEBIBYTE;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_controller_is_rejected_with_the_known_ones() {
        let error = chosen(vec!["aws-vpn".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`aws-vpn`") && error.contains("aws-vpc"), "{error}");
    }

    #[test]
    fn sizes_are_in_binary_units() {
        assert_eq!(size(25 * 1024 * 1024), "25.0 MiB");
        assert_eq!(size(5975), "6 KiB");
        assert_eq!(size(1_572_864), "1.5 MiB");
    }
}
