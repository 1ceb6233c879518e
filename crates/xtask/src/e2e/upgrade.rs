//! Installation of another commit, as the start of an upgrade.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kraken_testing::paths;

use crate::{image, node, ui};

/// The tag of its images. The version does not distinguish them: both commits can have the same.
const TAG: &str = "previous";

/// The checkout of that commit, and its images.
pub(super) struct Previous {
    checkout: PathBuf,
    pub(super) images: PathBuf,
}

/// Checks out the commit in the target folder, and builds its images.
pub(super) async fn prepare(commit: &str, no_build: bool) -> Result<Previous> {
    let folder = image::target()?.join("upgrade");
    let previous = Previous { checkout: folder.join("checkout"), images: folder.join("images") };
    if no_build {
        return Ok(previous);
    }
    let root = paths::workspace_root()?;
    let checkout = previous.checkout.to_str().context("the path of the target folder is not valid UTF-8")?;
    ui::step(&format!("checking out {commit}"), async {
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let commit = image::git(&root, &["rev-parse", "--verify", &format!("{commit}^{{commit}}")]).await?;
        if previous.checkout.join(".git").exists() {
            // It is kept between runs, so that only changed crates are compiled.
            return image::git(&previous.checkout, &["checkout", "--quiet", "--detach", &commit]).await;
        }
        image::git(&root, &["worktree", "prune"]).await?;
        image::git(&root, &["worktree", "add", "--quiet", "--force", "--detach", checkout, &commit]).await
    })
    .await?;
    image::make_of_checkout(previous.checkout.clone(), TAG, previous.images.clone()).await?;
    Ok(previous)
}

/// Installs `config/default` of that commit, with its images.
pub(super) async fn install(kubeconfig: &Path, aws_endpoint: &str, previous: &Previous) -> Result<()> {
    // Kustomize accepts only relative paths.
    let overlay = previous.images.join("install");
    let images =
        paths::controllers()?.into_iter().map(|name| format!("- {{name: kraken-{name}, newTag: {TAG}}}\n"));
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../../checkout/config/default]\nimages:\n{}",
        images.collect::<String>()
    );
    fs::create_dir_all(&overlay)
        .and_then(|()| fs::write(overlay.join("kustomization.yaml"), text))
        .with_context(|| format!("cannot write {}", overlay.display()))?;
    let namespace = previous.checkout.join("config/namespace");
    node::apply(kubeconfig, aws_endpoint, &namespace, &overlay).await
}
