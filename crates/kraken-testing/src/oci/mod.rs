//! Container images, written as OCI archives without a daemon: `ctr images import`, `kind load image-archive`, `skopeo copy oci-archive:`
//! and `docker load` read them.
//!
//! The same contents give the same bytes: all times are set by the caller, and nothing depends on the machine.

mod archive;
mod layer;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use archive::Blob;
pub use layer::{Entry, Layer};

/// The user of the containers: `nonroot` of distroless.
pub const USER: u32 = 65532;

/// How a container starts.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The program and its first arguments.
    pub entrypoint: Vec<String>,
    /// The default arguments.
    pub command: Vec<String>,
    /// Environment, as `NAME=value`.
    pub environment: Vec<String>,
    /// Ports it listens on.
    pub ports: Vec<u16>,
    /// Labels of the configuration and annotations of the manifest.
    pub labels: BTreeMap<String, String>,
}

/// An image of one layer for this machine's architecture.
#[derive(Debug, Clone)]
pub struct Image {
    /// Repository and tag, as `kraken-hub:0.1.0`.
    pub name: String,
    /// How a container of it starts.
    pub config: Config,
    /// Its files.
    pub layer: Layer,
    /// The time of the image and of every file in it, in seconds since 1970.
    pub created: u64,
}

/// The written image.
#[derive(Debug, Clone)]
pub struct Written {
    /// The digest of the manifest, which identifies the image in a registry.
    pub digest: String,
    /// The number of bytes that a pull transfers.
    pub size: u64,
}

impl Image {
    /// Writes the archive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<Written> {
        let (layer, diff_id) = self.layer.pack(self.created)?;
        let created = rfc3339(self.created)?;
        let config = Blob::json(&json!({
            "created": created,
            "architecture": architecture(),
            "os": "linux",
            "config": {
                "User": format!("{USER}:{USER}"),
                "Entrypoint": self.config.entrypoint,
                "Cmd": self.config.command,
                "Env": self.config.environment,
                "ExposedPorts": self.config.ports.iter().map(|port| (format!("{port}/tcp"), json!({}))).collect::<BTreeMap<_, _>>(),
                "Labels": self.config.labels,
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [diff_id]},
            "history": [{"created": created, "created_by": "cargo xtask image"}],
        }))?;
        let manifest = Blob::json(&json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config.descriptor("application/vnd.oci.image.config.v1+json"),
            "layers": [layer.descriptor(self.layer.media_type())],
            "annotations": self.config.labels,
        }))?;
        let mut described = manifest.descriptor("application/vnd.oci.image.manifest.v1+json");
        described["platform"] = json!({"architecture": architecture(), "os": "linux"});
        described["annotations"] = json!({
            "io.containerd.image.name": full_name(&self.name), // containerd does not complete a short name
            "org.opencontainers.image.ref.name": self.name.rsplit_once(':').map_or("latest", |(_, tag)| tag),
        });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [described],
        });
        // Docker's own list, which it reads until its version 25.
        let docker = json!([{"Config": config.path(), "RepoTags": [self.name], "Layers": [layer.path()]}]);
        let written = Written {
            digest: manifest.digest.clone(),
            size: (config.size() + layer.size() + manifest.size()) as u64,
        };
        archive::write(path, self.created, &index, &docker, &[config, layer, manifest])
            .with_context(|| format!("cannot write the image {}", path.display()))?;
        Ok(written)
    }
}

/// The full name, as registries and containerd use it: `kraken-hub:0.1.0` is one of `docker.io/library`.
fn full_name(name: &str) -> String {
    match name.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => name.to_owned(),
        Some(_) => format!("docker.io/{name}"),
        None => format!("docker.io/library/{name}"),
    }
}

/// Go's name of this machine's architecture, which images use.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn rfc3339(seconds: u64) -> Result<Value> {
    let seconds = i64::try_from(seconds).context("a time out of range")?;
    let time = k8s_openapi::jiff::Timestamp::from_second(seconds).context("a time out of range")?;
    Ok(json!(time.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let mut layer = Layer::default();
        layer.file("usr/bin/program", 0o755, b"contents".to_vec());
        layer.link("bin/sh", "/usr/bin/program");
        let config = Config { entrypoint: vec!["/usr/bin/program".to_owned()], ..Config::default() };
        Image { name: "a/b:1".to_owned(), config, layer, created: 1_700_000_000 }
    }

    fn names(path: &Path) -> Vec<String> {
        let mut archive = tar::Archive::new(std::fs::File::open(path).unwrap());
        let entries = archive.entries().unwrap();
        entries.map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
    }

    #[test]
    fn the_same_contents_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("1.tar"), folder.path().join("2.tar"));
        let first = image().write(&one).unwrap();
        let second = image().write(&two).unwrap();
        assert_eq!(first.digest, second.digest);
        assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());

        let mut other = image();
        other.layer.file("etc/more", 0o644, Vec::new());
        assert_ne!(other.write(&one).unwrap().digest, first.digest);
    }

    #[test]
    fn an_archive_holds_an_oci_layout_with_every_blob_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image.tar");
        let written = image().write(&path).unwrap();
        let names = names(&path);
        assert!(names.contains(&"oci-layout".to_owned()) && names.contains(&"index.json".to_owned()));
        let manifest = format!("blobs/sha256/{}", written.digest.trim_start_matches("sha256:"));
        assert!(names.contains(&manifest), "{manifest} of {names:?}");
        assert_eq!(names.iter().filter(|name| name.starts_with("blobs/sha256/")).count(), 3);
    }

    #[test]
    fn names_are_completed_as_a_container_runtime_does() {
        assert_eq!(full_name("kraken-hub:1"), "docker.io/library/kraken-hub:1");
        assert_eq!(full_name("me/kraken-hub:1"), "docker.io/me/kraken-hub:1");
        assert_eq!(full_name("registry.example.com/hub:1"), "registry.example.com/hub:1");
        assert_eq!(full_name("localhost:5000/hub:1"), "localhost:5000/hub:1");
    }
}
