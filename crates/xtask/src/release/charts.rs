//! The charts, packaged by helm.
//!
//! A copy is packaged, with the version and the registry of the release. Helm writes the current time into the archives, so they are
//! written again with the time of the commit.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use kraken_testing::packaging;
use tar::{Archive, Builder, EntryType, Header};

use super::manifests::Images;

/// The default of `image.registry` in values.yaml.
const NO_REGISTRY: &str = "\n  registry: \"\"\n";

/// Writes the archives; returns their names.
pub(super) async fn write(root: &Path, out: &Path, images: &Images<'_>, time: u64) -> Result<Vec<String>> {
    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    let staged = scratch.path().join("charts");
    copy(&root.join("charts"), &staged)?;
    let charts = folders(&staged)?;
    for chart in &charts {
        prepare(&staged.join(chart), images)?;
    }
    let mut files = Vec::new();
    for chart in &charts {
        let (folder, packaged) = (staged.join(chart), scratch.path().join("packaged"));
        let arguments: [&OsStr; 4] =
            ["package".as_ref(), folder.as_ref(), "--destination".as_ref(), packaged.as_ref()];
        packaging::helm(&arguments).await?;
        let file = format!("{chart}-{}.tgz", images.to);
        let archive = fs::read(packaged.join(&file)).with_context(|| format!("helm did not write {file}"))?;
        let archive = normalized(&archive, time).with_context(|| format!("cannot rewrite {file}"))?;
        fs::write(out.join(&file), archive).with_context(|| format!("cannot write {file}"))?;
        files.push(file);
    }
    Ok(files)
}

/// Sets the version and the registry.
fn prepare(chart: &Path, images: &Images<'_>) -> Result<()> {
    edit(&chart.join("Chart.yaml"), |text| Ok(with_version(text, images.from, images.to)))?;
    let repository = images.repository.trim_end_matches('/');
    let has_image = chart.join("templates/deployment.yaml").exists();
    if !has_image || repository.is_empty() {
        return Ok(());
    }
    edit(&chart.join("values.yaml"), |text| {
        ensure!(text.matches(NO_REGISTRY).count() == 1, "values.yaml has no `registry: \"\"`");
        Ok(text.replace(NO_REGISTRY, &format!("\n  registry: {repository}\n")))
    })
}

fn edit(path: &Path, change: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(path, change(&text)?).with_context(|| format!("cannot write {}", path.display()))
}

/// The version of the chart and of its application.
fn with_version(text: &str, from: &str, to: &str) -> String {
    let replaced = text.lines().map(|line| match line.strip_suffix(from) {
        Some(start) if start.trim() == "version:" || start.trim() == "appVersion:" => format!("{start}{to}"),
        _ => line.to_owned(),
    });
    replaced.map(|line| line + "\n").collect()
}

/// The same files in the order of their names, owned by root, with this time.
fn normalized(archive: &[u8], time: u64) -> Result<Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in Archive::new(GzDecoder::new(archive)).entries()? {
        let mut entry = entry?;
        let (path, mut contents) = (entry.path()?.into_owned(), Vec::new());
        entry.read_to_end(&mut contents)?;
        files.insert(path, contents);
    }
    let mut builder = Builder::new(Vec::new());
    for (path, contents) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(time);
        header.set_size(contents.len() as u64);
        builder.append_data(&mut header, path, contents.as_slice())?;
    }
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(6));
    packer.write_all(&builder.into_inner()?)?;
    Ok(packer.finish()?)
}

fn folders(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for name in folders(from)? {
        let (source, target) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).with_context(|| format!("cannot copy {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_of_a_chart_is_replaced_and_nothing_else() {
        let text = "apiVersion: v2\nversion: 0.1.0\nappVersion: 0.1.0\nkubeVersion: \">=1.33.0-0\"\n";
        let expected = text.replace("0.1.0", "0.1.0-rc.1");
        assert_eq!(with_version(text, "0.1.0", "0.1.0-rc.1"), expected);
        assert_eq!(with_version("kubeVersion: 0.1.0\n", "0.1.0", "2"), "kubeVersion: 0.1.0\n");
    }

    #[test]
    fn an_archive_depends_only_on_the_files() {
        let archive = |time: u64, names: &[&str]| {
            let mut builder = Builder::new(GzBuilder::new().mtime(7).write(Vec::new(), Compression::new(1)));
            for name in names {
                let mut header = Header::new_gnu();
                header.set_mtime(time);
                header.set_size(4);
                builder.append_data(&mut header, name, name.as_bytes()).unwrap();
            }
            builder.into_inner().unwrap().finish().unwrap()
        };
        let one = normalized(&archive(1, &["a/xx", "b/yy"]), 9).unwrap();
        let two = normalized(&archive(2, &["b/yy", "a/xx"]), 9).unwrap();
        assert_eq!(one, two);
        assert_ne!(one, normalized(&archive(1, &["a/xx"]), 9).unwrap());
        let mut archive = Archive::new(GzDecoder::new(one.as_slice()));
        let times: Vec<u64> =
            archive.entries().unwrap().map(|entry| entry.unwrap().header().mtime().unwrap()).collect();
        assert_eq!(times, [9, 9]);
    }

    /// With helm itself: a registry and a pre-release reach the packaged charts.
    #[tokio::test]
    async fn packaged_charts_render_the_images_of_the_release() {
        let root = kraken_testing::paths::workspace_root().unwrap();
        let images =
            Images { from: env!("CARGO_PKG_VERSION"), repository: "example.com/team", to: "0.1.0-rc.7" };
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let files = write(&root, one.path(), &images, 1).await.unwrap();
        assert_eq!(write(&root, two.path(), &images, 1).await.unwrap(), files);
        assert_eq!(files.len(), 3);
        for file in &files {
            let read = |folder: &Path| fs::read(folder.join(file)).unwrap();
            assert!(read(one.path()) == read(two.path()), "{file} is not reproducible");
        }
        let spoke = ["component=aws-vpc"];
        for (chart, set, controller) in [("kraken", &[][..], "hub"), ("kraken-spoke", &spoke, "aws-vpc")] {
            let chart = one.path().join(format!("{chart}-0.1.0-rc.7.tgz"));
            let documents = packaging::helm_template(&chart, "kraken-system", set).await.unwrap();
            let deployment = documents.iter().find(|document| document.gvk.kind == "Deployment").unwrap();
            let container = &deployment.value["spec"]["template"]["spec"]["containers"][0];
            assert_eq!(container["image"], format!("example.com/team/kraken-{controller}:0.1.0-rc.7"));
        }
    }
}
