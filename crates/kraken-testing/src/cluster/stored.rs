//! The content of etcd outside of Secrets, by its HTTP gateway.

use anyhow::{Context as _, Result, bail};
use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::json;

use super::ControlPlane;
use kraken_simulator::http;

/// The keys before and after those of Secrets; `0` follows `/` in ASCII. Secrets are not even read.
const RANGES: [(&str, &str); 2] =
    [("/registry/", "/registry/secrets/"), ("/registry/secrets0", "/registry0")];
/// The number of keys of one response.
const PAGE: u32 = 200;

/// A response to a range request. Numbers of 64 bits are texts.
#[derive(Debug, Deserialize)]
struct Page {
    header: Header,
    #[serde(default)]
    kvs: Vec<Pair>,
    #[serde(default)]
    more: bool,
}

#[derive(Debug, Deserialize)]
struct Header {
    revision: String,
}

#[derive(Debug, Deserialize)]
struct Pair {
    key: ByteString,
    #[serde(default)]
    value: ByteString,
}

impl ControlPlane {
    /// Passes each key of etcd that changed in this revision or later to `each`, with its value: protobuf for built-in kinds, JSON
    /// for others. Secrets and deleted objects are left out. Returns the revision with which the next call continues; the first
    /// one is 0.
    ///
    /// # Errors
    /// When etcd does not respond, or not with keys.
    pub async fn stored(&self, since: u64, mut each: impl FnMut(&str, &[u8])) -> Result<u64> {
        let mut next = None;
        for (start, end) in RANGES {
            let mut start = start.as_bytes().to_vec();
            loop {
                let page = self.page(&start, end, since).await?;
                let revision: u64 =
                    page.header.revision.parse().context("etcd's revision is not a number")?;
                // That of the first page: what changes during the call is read again by the next one.
                next.get_or_insert(revision + 1);
                for pair in &page.kvs {
                    each(&String::from_utf8_lossy(&pair.key.0), &pair.value.0);
                }
                let Some(last) = page.kvs.last().filter(|_| page.more) else { break };
                start.clone_from(&last.key.0);
                start.push(0); // the next possible key
            }
        }
        Ok(next.unwrap_or(since))
    }

    async fn page(&self, start: &[u8], end: &str, since: u64) -> Result<Page> {
        let request = json!({
            "key": ByteString(start.to_vec()),
            "range_end": ByteString(end.as_bytes().to_vec()),
            "limit": PAGE.to_string(),
            "min_mod_revision": since.to_string(),
        });
        let response = http::post_json(&format!("{}/v3/kv/range", self.etcd_url), &[], &request).await?;
        if response.status != 200 {
            bail!("etcd returned {}: {}", response.status, response.body);
        }
        serde_json::from_str(&response.body).context("cannot decode the response of etcd")
    }
}
