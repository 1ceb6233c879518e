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
        Tamper::Delete => cloud.delete_out_of_band(id),
        Tamper::StripOwnerTags => {
            let mut own = found.tags.keys().filter(|key| key.starts_with(PREFIX));
            own.try_for_each(|key| cloud.tag_out_of_band(id, key, None))
        }
        Tamper::OwnerTagsOf(_) => {
            tags.iter().try_for_each(|(key, value)| cloud.tag_out_of_band(id, key, Some(value)))
        }
        Tamper::Tag { key, value } => cloud.tag_out_of_band(id, key, value.as_deref()),
        Tamper::Change { number } => cloud.change_out_of_band(id, *number).map(drop),
    };
    done.map_err(|error| error.to_string())
}
