//! The user of a run: applies and deletes objects.

use std::time::Instant;

use anyhow::{Context as _, Result};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::desired::{Desired, Known, resolve};
use super::kinds::key;
use super::run::{POLL, Run, is_temporary};

impl Run {
    /// Applies it like a user, and deletes previously applied objects that are not part of it.
    pub(super) async fn apply(&mut self, desired: &Desired) -> Result<()> {
        let params = PatchParams::apply("crash-test").force();
        for manifest in &desired.manifests {
            let known = Known { site: &self.recorder.cloud.site, objects: &self.known };
            let (key, manifest) = (key(manifest), resolve(manifest, &known));
            self.recorder.note(format!("a user applies {manifest}"));
            let (kind, name) = key.split_once('/').unwrap_or_default();
            let (api, patch, begun) = (self.api(kind), Patch::Apply(manifest), Instant::now());
            let applied = loop {
                self.recorder.api.restart_killed()?;
                match api.patch(name, &params, &patch).await.with_context(|| format!("cannot apply {key}")) {
                    Err(problem) if is_temporary(&problem, begun) => tokio::time::sleep(POLL).await,
                    result => break result?,
                }
            };
            self.known.insert(key, json!(applied));
        }
        let wanted: Vec<String> = desired.manifests.iter().map(key).collect();
        let gone: Vec<String> = self.known.keys().filter(|key| !wanted.contains(key)).cloned().collect();
        for key in gone {
            self.delete(&key).await?;
        }
        Ok(())
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.recorder.note(format!("a user deletes {key}"));
        let (kind, name) = key.split_once('/').unwrap_or_default();
        let (api, begun) = (self.api(kind), Instant::now());
        loop {
            self.recorder.api.restart_killed()?;
            let deleted = match api.delete(name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
                result => result.map(drop).with_context(|| format!("cannot delete {key}")),
            };
            match deleted {
                Err(problem) if is_temporary(&problem, begun) => tokio::time::sleep(POLL).await,
                result => return result,
            }
        }
    }
}
