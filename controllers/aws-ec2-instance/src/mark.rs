//! The tag that marks an instance that Kraken stops for a change, and the change that AWS rejected. Pure.
//!
//! Only the tag is reliable after a crash: the status may be lost, and AWS does not return who stopped an instance.

use std::fmt::Display;

use kraken_aws::{
    fields::digest,
    tags::{Tags, UID},
};
use kraken_spoke::{OptionType, Resolved};

use crate::{api::Desired, instance::Instance};

/// The tag's key.
pub(crate) const KEY: &str = "kraken-iac.eoinfennessy.com/disruption";

const STOP: &str = "stop";
const REFUSED: &str = "refused ";
const SEPARATOR: &str = " / ";

/// The content of the tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Kraken stops this instance for a change, and must start it afterwards.
    pub(crate) stop: bool,
    /// The field and value that AWS rejected on the stopped instance, such as `instanceType=t3.huge`: it is not stopped
    /// for this value again.
    pub(crate) refused: Option<String>,
}

impl Mark {
    /// The mark of an instance with these tags.
    pub(crate) fn of(tags: &Tags) -> Self {
        let mut mark = Self::default();
        for part in tags.get(KEY).map_or("", String::as_str).split(SEPARATOR) {
            match part.strip_prefix(REFUSED) {
                Some(refused) => mark.refused = Some(refused.to_owned()),
                None => mark.stop |= part == STOP,
            }
        }
        mark
    }

    /// Whether the desired value of a field was rejected.
    pub(crate) fn refuses(&self, path: &str, desired: &Desired, instance: &Instance) -> bool {
        self.refused.is_some() && self.refused == refusal(path, desired, instance)
    }

    /// The tag's value; `None`: no tag is needed.
    pub(crate) fn value(&self) -> Option<String> {
        let refused = self.refused.as_ref().map(|refused| format!("{REFUSED}{refused}"));
        let parts: Vec<String> = self.stop.then(|| STOP.to_owned()).into_iter().chain(refused).collect();
        (!parts.is_empty()).then(|| parts.join(SEPARATOR))
    }
}

/// A field and its desired value in a mark. What must not be shown is represented by a digest, which the UID of the resource
/// makes useless elsewhere: another value of it is not the rejected one.
pub(crate) fn refusal(path: &str, desired: &Desired, instance: &Instance) -> Option<String> {
    let uid = instance.tags.get(UID).map(String::as_str).unwrap_or_default();
    let digest = |text: &str| format!("sha256:{}", digest(&[uid, path, text]));
    let value = match path {
        "instanceType" => shown_or(&desired.instance_type, digest),
        "ebsOptimized" => shown_or(desired.ebs_optimized.as_ref()?, digest),
        "userData" => digest(desired.user_data.as_ref()?.expose()),
        _ => return None,
    };
    Some(format!("{path}={value}").chars().take(200).collect())
}

fn shown_or<T: OptionType + Display>(value: &Resolved<T>, digest: impl Fn(&str) -> String) -> String {
    let text = value.expose().to_string();
    if value.is_secret() { digest(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{desired::tests::desired, instance::tests::instance};
    use kraken_aws::testing::HIDDEN;
    use serde_json::json;

    #[test]
    fn a_mark_survives_a_round_trip() {
        for (stop, refused) in [
            (true, None),
            (false, Some("instanceType=t3.x")),
            (true, Some("userData=sha256:0123456789abcdef")),
        ] {
            let mark = Mark { stop, refused: refused.map(str::to_owned) };
            assert_eq!(Mark::of(&Tags::from([(KEY.to_owned(), mark.value().unwrap())])), mark);
        }
        assert_eq!(Mark::default().value(), None);
    }

    #[test]
    fn an_edited_tag_is_ignored() {
        for value in ["", "stopped", "refused", "/ /"] {
            assert_eq!(Mark::of(&Tags::from([(KEY.to_owned(), value.to_owned())])), Mark::default());
        }
        assert_eq!(Mark::of(&Tags::new()), Mark::default());
    }

    #[test]
    fn a_rejection_applies_to_one_value_of_one_field() {
        let instance = |uid: &str| {
            let mut instance = instance("i-1");
            instance.tags.insert(UID.to_owned(), uid.to_owned());
            instance
        };
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let of = |path: &str, changes| refusal(path, &desired(changes).own, &instance("u-1")).unwrap();
        let data = |text: &str| json!({"userData": {"value": text}});
        assert_eq!(of("instanceType", json!({"instanceType": {"value": "t3.x"}})), "instanceType=t3.x");
        // Neither the user data nor a secret is shown, and another value is not the rejected one.
        let one = of("userData", data("one"));
        assert!(one.starts_with("userData=sha256:") && !one.contains("one"), "{one}");
        assert_ne!(one, of("userData", data("two")));
        let secret = of("userData", json!({"userData": from_secret}));
        assert!(!secret.contains(HIDDEN), "{secret}");
        let wanted = desired(data("one")).own;
        let mark = Mark { stop: false, refused: Some(one) };
        assert!(mark.refuses("userData", &wanted, &instance("u-1")));
        assert!(!mark.refuses("instanceType", &wanted, &instance("u-1")));
        assert!(!mark.refuses("userData", &desired(data("two")).own, &instance("u-1")));
        assert!(!mark.refuses("userData", &wanted, &instance("u-2")), "the digest of another resource");
        assert!(!Mark::default().refuses("ebsOptimized", &wanted, &instance("u-1")));
    }
}
