//! `cargo xtask image`: an OCI archive for each controller, without a daemon.

mod build;
mod contents;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kraken_testing::oci::Image;
use kraken_testing::paths;

pub(crate) use build::Profile;
use source::Source;
pub(crate) use source::git;

use crate::ui;

const KIBIBYTE: u64 = 1024;

/// Which images to make, and how.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct Choice {
    /// The controllers, by their folder under controllers/; all if none is named.
    controllers: Vec<String>,
    /// How the controllers are compiled: `release`, or `dev` to try something.
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// The folder to write to; target/images if it is not set.
    #[arg(long)]
    output: Option<PathBuf>,
    /// What comes before the images' names, as registry.example.com/team.
    #[arg(long, default_value = "")]
    repository: String,
}

/// Images of one checkout.
struct Order {
    root: PathBuf,
    controllers: Vec<String>,
    profile: Profile,
    output: PathBuf,
    repository: String,
    /// The version unless set.
    tag: Option<String>,
}

/// An image that was written.
#[derive(Debug)]
struct Made {
    name: String,
    path: PathBuf,
    digest: String,
    size: u64,
}

/// Makes them, and says where they are.
pub(crate) async fn run(choice: Choice) -> Result<()> {
    let Choice { controllers, profile, output, repository } = choice;
    let output = output.map_or_else(|| Ok(target()?.join("images")), anyhow::Ok)?;
    let root = paths::workspace_root()?;
    let controllers = chosen(controllers)?;
    let made = make(Order { root, controllers, profile, output, repository, tag: None }).await?;
    let rows = made.iter().map(|image| {
        [image.name.clone(), megabytes(image.size), image.digest.clone(), image.path.display().to_string()]
    });
    print!("{}", ui::table(&["IMAGE", "SIZE", "DIGEST", "ARCHIVE"], rows));
    println!(
        "  push one with `skopeo copy oci-archive:ARCHIVE docker://IMAGE`; `docker load -i`, `kind load image-archive` and `ctr images import` load it"
    );
    Ok(())
}

/// The images of every controller, compiled quickly, for a node of ours.
pub(crate) async fn make_for_tests() -> Result<()> {
    let (root, controllers) = (paths::workspace_root()?, paths::controllers()?);
    let (profile, output) = (Profile::Dev, folder_for_tests()?);
    make(Order { root, controllers, profile, output, repository: String::new(), tag: None }).await.map(drop)
}

/// The same of another checkout, with another tag than the version.
pub(crate) async fn make_of_checkout(root: PathBuf, tag: &str, output: PathBuf) -> Result<()> {
    let (controllers, profile) = (paths::controllers()?, Profile::Dev);
    let tag = Some(tag.to_owned());
    make(Order { root, controllers, profile, output, repository: String::new(), tag }).await.map(drop)
}

/// Where [`make_for_tests`] puts them.
pub(crate) fn folder_for_tests() -> Result<PathBuf> {
    Ok(target()?.join("images/dev"))
}

async fn make(order: Order) -> Result<Vec<Made>> {
    let Order { root, controllers, profile, output, repository, tag } = order;
    let source = Source::read(&root).await?;
    let what = format!("building {} with static linking", controllers.join(", "));
    let folder = ui::step(&what, build::build(&root, &controllers, profile, &source)).await?;
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    let tag = tag.unwrap_or_else(|| source.version.clone());
    let mut made = Vec::new();
    for controller in controllers {
        let program = folder.join(format!("kraken-{controller}"));
        let name = contents::name(&repository, &controller, &tag);
        let mut image = contents::image(name, &controller, &program, &source)?;
        if profile == Profile::Dev {
            image.layer = image.layer.uncompressed(); // it goes no further than this machine
        }
        let output = output.clone();
        let what = format!("writing the image of {controller}");
        // Compressing takes seconds in which Ctrl-C should count.
        let written = tokio::task::spawn_blocking(move || write(&image, &controller, &output));
        made.push(ui::step(&what, async { written.await.context("the image was not written")? }).await?);
    }
    Ok(made)
}

fn write(image: &Image, controller: &str, output: &Path) -> Result<Made> {
    let path = output.join(format!("kraken-{controller}.tar"));
    let written = image.write(&path)?;
    Ok(Made { name: image.name.clone(), path, digest: written.digest, size: written.size })
}

fn chosen(named: Vec<String>) -> Result<Vec<String>> {
    let all = paths::controllers()?;
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        bail!("there is no controller `{unknown}`; there are: {}", all.join(", "));
    }
    Ok(if named.is_empty() { all } else { named })
}

/// Cargo's folder of what it builds.
pub(crate) fn target() -> Result<PathBuf> {
    let binaries = paths::bin_dir()?;
    Ok(binaries.parent().context("the binaries' folder has no parent")?.to_owned())
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes * 10 / (KIBIBYTE * KIBIBYTE);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_controller_is_refused_with_those_that_there_are() {
        let error = chosen(vec!["aws-vpn".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`aws-vpn`") && error.contains("aws-vpc"), "{error}");
    }

    #[test]
    fn sizes_are_in_mebibytes() {
        assert_eq!(megabytes(25 * 1024 * 1024), "25.0 MiB");
        assert_eq!(megabytes(1_572_864), "1.5 MiB");
    }
}
