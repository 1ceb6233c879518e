//! The value of a field that AWS rejected on a stopped instance, as its mark records it. Pure.

use std::fmt::Display;

use kraken_aws::fields::digest;
use kraken_kind::{OptionType, Resolved};

use crate::{api::Desired, mark::Mark};

impl Mark {
    /// Whether the desired value of a field was rejected.
    pub(crate) fn refuses(&self, path: &str, desired: &Desired) -> bool {
        self.refused.is_some() && self.refused == refusal(path, desired)
    }
}

/// A field and its desired value in a mark; another value of it is not the rejected one. Whoever sees the tags may not learn a value of a Secret by
/// trying: its digest has the key of the hub. Other user data is represented by a digest because it is long.
pub(crate) fn refusal(path: &str, desired: &Desired) -> Option<String> {
    let value = match path {
        "instanceType" => recorded(&desired.instance_type),
        "ebsOptimized" => recorded(desired.ebs_optimized.as_ref()?),
        "userData" => {
            let data = desired.user_data.as_ref()?;
            if data.is_secret() {
                recorded(data)
            } else {
                format!("sha256:{}", digest(&[path, data.expose()]))
            }
        }
        _ => return None,
    };
    Some(format!("{path}={value}").chars().take(200).collect())
}

fn recorded<T: OptionType + Display>(value: &Resolved<T>) -> String {
    if !value.is_secret() {
        return value.expose().to_string();
    }
    // Only an older hub gives no digest: then every value of the Secret counts as rejected.
    format!("secret:{}", value.secret_digest().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::HIDDEN;
    use kraken_kind::options::Sensitive;
    use serde_json::json;

    use super::*;
    use crate::desired::tests::desired;

    #[test]
    fn a_rejection_applies_to_one_value_of_one_field() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let of = |path: &str, changes| refusal(path, &desired(changes).own).unwrap();
        let data = |text: &str| json!({"userData": {"value": text}});
        assert_eq!(of("instanceType", json!({"instanceType": {"value": "t3.x"}})), "instanceType=t3.x");
        let one = of("userData", data("one"));
        assert!(one.starts_with("userData=sha256:") && !one.contains("one"), "{one}");
        assert_ne!(one, of("userData", data("two")));
        // The digest of the hub, and not one that anybody can compute.
        let without_digest = of("userData", json!({"userData": from_secret}));
        assert!(
            without_digest.starts_with("userData=secret:") && !without_digest.contains(HIDDEN),
            "{without_digest}"
        );
        let secret = |digest: &str| {
            let value =
                Sensitive::new("data".to_owned(), "uid/7".to_owned()).with_digest(Some(digest.to_owned()));
            let user_data = Some(Resolved::Secret(value));
            refusal("userData", &Desired { user_data, ..desired(json!({})).own }).unwrap()
        };
        assert_eq!(secret("k.1"), "userData=secret:k.1");
        assert_ne!(secret("k.1"), secret("k.2"));
        let wanted = desired(data("one")).own;
        let mark = Mark { stop: false, refused: Some(one) };
        assert!(mark.refuses("userData", &wanted));
        assert!(!mark.refuses("instanceType", &wanted));
        assert!(!mark.refuses("userData", &desired(data("two")).own));
        assert!(!Mark::default().refuses("ebsOptimized", &wanted));
    }
}
