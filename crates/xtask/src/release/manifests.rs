//! The rendered installation manifests: one file with everything, one per component, and the CustomResourceDefinitions alone.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::{packaging, paths};

/// The images of a release in place of those of the committed manifests.
#[derive(Debug)]
pub(super) struct Images<'a> {
    /// The version in the committed manifests.
    pub(super) from: &'a str,
    pub(super) repository: &'a str,
    /// The version of the release.
    pub(super) to: &'a str,
}

/// Writes the files; returns their names.
pub(super) async fn write(root: &Path, out: &Path, images: &Images<'_>) -> Result<Vec<String>> {
    let config = root.join("config");
    let mut sources = vec![("install.yaml".to_owned(), config.join("default"))];
    for component in paths::controllers()? {
        sources.push((format!("install-{component}.yaml"), config.join(component)));
    }
    sources.push(("install-one-process.yaml".to_owned(), config.join("overlays/one-process")));
    sources.push(("crds.yaml".to_owned(), root.join("crds")));
    let mut files = Vec::new();
    for (file, folder) in sources {
        let text = images.replaced(&packaging::kustomize_text(&folder).await?)?;
        fs::write(out.join(&file), text).with_context(|| format!("cannot write {file}"))?;
        files.push(file);
    }
    Ok(files)
}

impl Images<'_> {
    /// Replaces each image. The rest of the text is unchanged.
    fn replaced(&self, text: &str) -> Result<String> {
        let mut result = String::new();
        for line in text.lines() {
            match line.trim_start().trim_start_matches("- ").strip_prefix("image: ") {
                Some(image) => {
                    let (name, version) = image.split_once(':').unwrap_or((image, ""));
                    ensure!(
                        name.starts_with("kraken-") && version == self.from,
                        "unexpected image {image}: expected kraken-<component>:{}; run cargo xtask gen",
                        self.from
                    );
                    result.push_str(&line[..line.len() - image.len()]);
                    result.push_str(&self.name(name));
                }
                None => result.push_str(line),
            }
            result.push('\n');
        }
        Ok(result)
    }

    fn name(&self, name: &str) -> String {
        match self.repository.trim_end_matches('/') {
            "" => format!("{name}:{}", self.to),
            repository => format!("{repository}/{name}:{}", self.to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGES: Images<'_> = Images { from: "0.1.0", repository: "example.com/team/", to: "0.1.0-rc.1" };

    #[test]
    fn only_images_are_replaced() {
        let text = "kind: Deployment\n        image: kraken-hub:0.1.0\n      - image: kraken-aws-vpc:0.1.0\nversion: 0.1.0\n";
        let expected = "kind: Deployment\n        image: example.com/team/kraken-hub:0.1.0-rc.1\n      \
                        - image: example.com/team/kraken-aws-vpc:0.1.0-rc.1\nversion: 0.1.0\n";
        assert_eq!(IMAGES.replaced(text).unwrap(), expected);
    }

    #[test]
    fn an_image_of_another_version_is_rejected() {
        for image in ["kraken-hub:0.0.9", "busybox:0.1.0", "kraken-hub"] {
            let error = IMAGES.replaced(&format!("image: {image}")).unwrap_err().to_string();
            assert!(error.contains(image), "{error}");
        }
    }
}
