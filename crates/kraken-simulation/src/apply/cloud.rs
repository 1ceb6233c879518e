//! Out-of-band changes of remote objects.

use super::kube::Result;
use super::remote::Found;
use crate::schedule::Tamper;

/// The prefix of Kraken's tags.
const PREFIX: &str = "kraken-iac.eoinfennessy.com/";

/// Changes a remote object; `tags` are those that it gets, if the change is that it gets some.
pub(super) fn tamper(found: &Found, tamper: &Tamper, tags: &[(String, String)]) -> Result {
    let Found { cloud, id, .. } = found;
    let done = match tamper {
        Tamper::Delete => cloud.delete_outside(id),
        Tamper::StripOwnerTags => {
            let own = found.tags.keys().filter(|key| key.starts_with(PREFIX));
            own.map(|key| cloud.tag_outside(id, key, None)).collect()
        }
        Tamper::OwnerTagsOf(_) => {
            tags.iter().map(|(key, value)| cloud.tag_outside(id, key, Some(value))).collect()
        }
        Tamper::Tag { key, value } => cloud.tag_outside(id, key, value.as_deref()),
        Tamper::Change { number } => cloud.change_outside(id, *number).map(drop),
    };
    done.map_err(|error| error.to_string())
}
