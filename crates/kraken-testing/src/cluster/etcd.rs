//! etcd of a control plane by its HTTP gateway: keys and values are base64, numbers of 64 bits are texts.

use std::mem;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::ByteString;
use kraken_simulator::http;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

/// The number of changes of one transaction; etcd accepts 128.
const CHANGES: usize = 100;
/// The size of the values of one transaction in bytes; etcd accepts 1.5 MiB in all.
const SIZE: usize = 1 << 20;

/// A response to a range request.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    header: Header,
    #[serde(default)]
    pub(super) kvs: Vec<Pair>,
    /// Whether there are further keys.
    #[serde(default)]
    pub(super) more: bool,
}

impl Page {
    /// etcd's revision when it answered.
    pub(super) fn revision(&self) -> u64 {
        self.header.revision
    }
}

#[derive(Debug, Deserialize)]
struct Header {
    #[serde(deserialize_with = "number")]
    revision: u64,
}

/// A key with its value.
#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) key: ByteString,
    #[serde(default)]
    pub(super) value: ByteString,
    /// The revision of its last change.
    #[serde(deserialize_with = "number")]
    pub(super) mod_revision: u64,
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// Calls the gateway of etcd at this URL.
pub(super) async fn call(url: &str, method: &str, request: &Value) -> Result<String> {
    let response = http::post_json(&format!("{url}/v3/kv/{method}"), &[], request).await?;
    if response.status != 200 {
        bail!("etcd returned {}: {}", response.status, response.body);
    }
    Ok(response.body)
}

/// Sets these keys, or deletes those without a value.
pub(super) async fn change<'a>(
    url: &str,
    changes: impl IntoIterator<Item = (&'a Vec<u8>, Option<&'a ByteString>)>,
) -> Result<()> {
    let (mut parts, mut size) = (vec![], 0);
    for (key, value) in changes {
        let bytes = value.map_or(0, |value| value.0.len());
        if parts.len() == CHANGES || size + bytes > SIZE {
            call(url, "txn", &json!({"success": mem::take(&mut parts)})).await?;
            size = 0;
        }
        size += bytes;
        let key = ByteString(key.clone());
        parts.push(match value {
            Some(value) => json!({"request_put": {"key": key, "value": value}}),
            None => json!({"request_delete_range": {"key": key}}),
        });
    }
    if !parts.is_empty() {
        call(url, "txn", &json!({"success": parts})).await?;
    }
    Ok(())
}

/// A page of the keys from `start` to before `end`, with what `options` requires.
pub(super) async fn range(url: &str, start: &[u8], end: &str, options: &[(&str, Value)]) -> Result<Page> {
    let mut request =
        json!({"key": ByteString(start.to_vec()), "range_end": ByteString(end.as_bytes().to_vec())});
    for (name, value) in options {
        request[name] = value.clone();
    }
    serde_json::from_str(&call(url, "range", &request).await?).context("cannot decode the response of etcd")
}
