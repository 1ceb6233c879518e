//! The rules between the fields of a spec, and what follows from several fields.

use kraken_aws::validator::SpecValidator;
use kraken_spoke::Resolved;

use crate::{
    api::{Desired, EC2InstanceSpec, HttpEndpoint, MetadataOptions, PartialDesired},
    rules,
};

impl EC2InstanceSpec {
    #[allow(clippy::unused_self)] // the signature of all kinds
    pub(crate) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        // As far as both have a value.
        let value = |count: &Option<Resolved<i32>>| count.as_ref().map(|count| *count.expose());
        if let (Some(min), Some(max)) = (value(&partial.min_count), value(&partial.max_count)) {
            // A maxCount of 0 launches no instance, so that `kubectl scale --replicas=0` requires no edit of minCount.
            if min > max && max > 0 {
                validator.problem("minCount", "must not be greater than maxCount, unless that is 0");
            }
            if let Some(Err(why)) = partial.tags.as_ref().map(|tags| rules::fits_a_state(max, tags)) {
                validator.problem("maxCount", why);
            }
        }
        if matches!(partial.private_ip_address, Some(Some(_)))
            && value(&partial.max_count).is_some_and(|max| max > 1)
        {
            validator
                .problem("privateIPAddress", "requires a maxCount of 1: instances cannot share an address");
        }
    }
}

impl Desired {
    /// The desired number of instances.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(*self.max_count.expose()).unwrap_or(0)
    }

    /// The desired settings of the metadata service; absent ones are not managed. If it is disabled, AWS accepts no
    /// other settings.
    pub(crate) fn metadata(&self) -> MetadataOptions {
        self.metadata_options.as_ref().map(|options| options.expose().clone()).unwrap_or_default()
    }

    /// Whether the desired metadata service is disabled.
    pub(crate) fn without_metadata(&self) -> bool {
        self.metadata().endpoint == Some(HttpEndpoint::Disabled)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kraken_aws::{
        Tags,
        testing::{HIDDEN, assert_begin, resolve, with},
    };
    use serde_json::{Value, json};

    /// The desired state of a valid spec, with some fields replaced.
    fn resolved(changes: Value) -> Result<Desired, Vec<String>> {
        let spec = json!({
            "imageID": {"value": "ami-1"},
            "instanceType": {"value": "t2.nano"},
            "minCount": {"value": 1},
            "maxCount": {"value": 1},
        });
        let spec = serde_json::from_value(with(spec, changes)).unwrap();
        resolve(|values| EC2InstanceSpec::desired(&spec, values))
    }

    /// The desired state of such a spec; key `k` of the Secret `s` is [`HIDDEN`].
    pub(crate) fn desired(changes: Value) -> Desired {
        resolved(changes).unwrap()
    }

    fn problems(changes: Value) -> Vec<String> {
        resolved(changes).unwrap_err()
    }

    #[test]
    fn a_minimal_spec_sets_no_other_fields() {
        let desired = desired(json!({}));
        assert_eq!(desired.image_id.expose(), "ami-1");
        assert_eq!(desired.count(), 1);
        assert!(desired.subnet_id.is_none() && desired.monitoring.is_none() && desired.tags.is_empty());
    }

    #[test]
    fn security_groups_can_mix_literals_and_references() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let web = json!({"valueFrom": {"krakenResource": {"kind": "securitygroup", "name": "web"}}});
        let some = desired(json!({"securityGroupIDs": {"value": ["sg-1", "sg-2"]}})).security_group_ids;
        assert_eq!(some.unwrap().expose(), &["sg-1", "sg-2"]);
        assert_eq!(
            problems(json!({"securityGroupIDs": {"value": ["sg-1", web]}})),
            ["spec.securityGroupIDs.value[1]: waiting for the id of securitygroup web"]
        );
        assert_eq!(
            problems(json!({"securityGroupIDs": {"value": ["sg-1", from_secret]}})),
            ["spec.securityGroupIDs: item 1 must look like sg-0abc1234def567890"]
        );
    }

    #[test]
    fn a_max_count_of_zero_is_valid_with_any_min_count() {
        let counts = |min: i32, max: i32| json!({"minCount": {"value": min}, "maxCount": {"value": max}});
        assert_eq!(desired(counts(0, 0)).count(), 0);
        assert_eq!(desired(counts(3, 0)).count(), 0);
        assert_eq!(desired(counts(0, 3)).count(), 3);
        let found = problems(counts(3, 2));
        assert_eq!(found, ["spec.minCount: must not be greater than maxCount, unless that is 0"]);
    }

    #[test]
    fn the_count_is_bounded_by_the_size_of_a_state() {
        let tags: Tags = (0..45).map(|n| (format!("key-{n}"), "v".repeat(256))).collect();
        let found = problems(json!({"maxCount": {"value": 500}, "tags": tags}));
        assert_begin(&found, &["spec.maxCount: exceeds the maximum size of the state of one resource"]);
    }

    #[test]
    fn all_problems_and_missing_references_are_reported_at_once() {
        let missing = json!({"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}});
        let found = problems(json!({
            "imageID": {"value": "web"},
            "instanceType": missing,
            "minCount": {"value": 3},
            "maxCount": {"value": 2},
            "privateIPAddress": {"value": "10.0.0"},
            "tags": {"aws:x": "", "a.b": "v".repeat(257)},
        }));
        let wanted = [
            "spec.imageID: must look like ami-",
            "spec.instanceType: waiting for",
            "spec.privateIPAddress: must be an IPv4",
            "spec.tags[\"a.b\"]: has a value of more than 256",
            "spec.tags[\"aws:x\"]: starts with aws:",
            "spec.minCount: must not be greater than maxCount",
            "spec.privateIPAddress: requires a maxCount of 1",
        ];
        assert_begin(&found, &wanted);
    }

    #[test]
    fn a_secret_is_absent_from_problems_and_debug() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let found = problems(json!({"instanceType": from_secret}));
        assert_eq!(found, ["spec.instanceType: must be a family and a size, such as t3.micro"]);
        assert!(!format!("{:?}", desired(json!({"userData": from_secret}))).contains(HIDDEN));
    }
}
