//! The content of etcd outside of Secrets.

use anyhow::Result;

use super::{ControlPlane, etcd};

/// The keys before and after those of Secrets; `0` follows `/` in ASCII. Secrets are not even read.
const RANGES: [(&str, &str); 2] =
    [("/registry/", "/registry/secrets/"), ("/registry/secrets0", "/registry0")];
/// The number of keys of one response.
const PAGE: u32 = 200;

impl ControlPlane {
    /// Passes each key of etcd that changed in this revision or later to `each`, with its value: protobuf for built-in kinds, JSON
    /// for others. Secrets and deleted objects are left out. Returns the revision with which the next call continues; the first
    /// one is 0.
    ///
    /// # Errors
    /// When etcd does not respond, or not with keys.
    pub async fn stored(&self, since: u64, mut each: impl FnMut(&str, &[u8])) -> Result<u64> {
        let options = [("limit", PAGE.to_string().into()), ("min_mod_revision", since.to_string().into())];
        let mut next = None;
        for (start, end) in RANGES {
            let mut start = start.as_bytes().to_vec();
            loop {
                let page = etcd::range(&self.etcd_url, &start, end, &options).await?;
                // That of the first page: what changes during the call is read again by the next one.
                next.get_or_insert(page.revision() + 1);
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
}
