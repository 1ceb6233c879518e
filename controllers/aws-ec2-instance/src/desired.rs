//! The spec with every reference resolved and every rule checked, so that later steps cannot fail because of it.

use kraken_aws::{Tags, validator::SpecValidator};
use kraken_spoke::{Resolved, Resolver};

use crate::{
    api::{EC2InstanceSpec, HttpEndpoint, MetadataOptions, RootVolume},
    rules,
};

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(crate) image_id: Resolved<String>,
    pub(crate) instance_type: Resolved<String>,
    pub(crate) min_count: Resolved<i32>,
    pub(crate) max_count: Resolved<i32>,
    pub(crate) subnet_id: Option<Resolved<String>>,
    pub(crate) security_group_ids: Option<Resolved<Vec<String>>>,
    pub(crate) key_name: Option<Resolved<String>>,
    pub(crate) user_data: Option<Resolved<String>>,
    pub(crate) iam_instance_profile: Option<Resolved<String>>,
    pub(crate) private_ip_address: Option<Resolved<String>>,
    pub(crate) associate_public_ip_address: Option<Resolved<bool>>,
    pub(crate) root_volume: Option<Resolved<RootVolume>>,
    pub(crate) metadata_options: Option<Resolved<MetadataOptions>>,
    pub(crate) monitoring: Option<Resolved<bool>>,
    pub(crate) ebs_optimized: Option<Resolved<bool>>,
    pub(crate) tags: Tags,
}

impl Desired {
    /// Resolves and validates. Every option is resolved before an error is returned, so that all problems are reported
    /// at once.
    pub(crate) fn from_spec(spec: &EC2InstanceSpec, values: &mut Resolver<'_>) -> Option<Self> {
        let mut validator = SpecValidator::new(values);
        let image_id = validator.one("imageID", &spec.image_id, rules::image_id);
        let instance_type = validator.one("instanceType", &spec.instance_type, rules::instance_type);
        let min_count = validator.public("minCount", &spec.min_count, |count: &i32| rules::count(*count));
        let max_count = validator.public("maxCount", &spec.max_count, |count: &i32| rules::count(*count));
        let subnet_id = validator.optional("subnetID", spec.subnet_id.as_ref(), rules::subnet_id);
        let security_group_ids =
            validator.list("securityGroupIDs", spec.security_group_ids.as_ref(), rules::security_group_ids);
        let key_name = validator.public_if("keyName", spec.key_name.as_ref(), rules::key_name);
        let user_data = validator.optional("userData", spec.user_data.as_ref(), rules::user_data);
        let iam_instance_profile = validator.optional(
            "iamInstanceProfile",
            spec.iam_instance_profile.as_ref(),
            rules::iam_instance_profile,
        );
        let private_ip_address = validator.optional(
            "privateIPAddress",
            spec.private_ip_address.as_ref(),
            rules::private_ip_address,
        );
        let associate_public_ip_address =
            validator.any_if("associatePublicIPAddress", spec.associate_public_ip_address.as_ref());
        let root_volume = validator.optional("rootVolume", spec.root_volume.as_ref(), rules::root_volume);
        let metadata_options =
            validator.optional("metadataOptions", spec.metadata_options.as_ref(), rules::metadata_options);
        let monitoring = validator.any_if("monitoring", spec.monitoring.as_ref());
        let ebs_optimized = validator.any_if("ebsOptimized", spec.ebs_optimized.as_ref());
        let tags = validator.tags(&spec.tags);

        // Rules between fields, as far as both have a value.
        let value = |count: &Option<Resolved<i32>>| count.as_ref().map(|count| *count.expose());
        if let (Some(min), Some(max)) = (value(&min_count), value(&max_count)) {
            // A maxCount of 0 launches no instance, so that `kubectl scale --replicas=0` requires no edit of minCount.
            if min > max && max > 0 {
                validator.problem("minCount", "must not be greater than maxCount, unless that is 0");
            }
            if let Some(Err(why)) = tags.as_ref().map(|tags| rules::fits_a_state(max, tags)) {
                validator.problem("maxCount", why);
            }
        }
        if matches!(private_ip_address, Some(Some(_))) && value(&max_count).is_some_and(|max| max > 1) {
            validator
                .problem("privateIPAddress", "requires a maxCount of 1: instances cannot share an address");
        }

        let desired = Self {
            image_id: image_id?,
            instance_type: instance_type?,
            min_count: min_count?,
            max_count: max_count?,
            subnet_id: subnet_id?,
            security_group_ids: security_group_ids?,
            key_name: key_name?,
            user_data: user_data?,
            iam_instance_profile: iam_instance_profile?,
            private_ip_address: private_ip_address?,
            associate_public_ip_address: associate_public_ip_address?,
            root_volume: root_volume?,
            metadata_options: metadata_options?,
            monitoring: monitoring?,
            ebs_optimized: ebs_optimized?,
            tags: tags?,
        };
        validator.is_valid().then_some(desired)
    }

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
    use kraken_aws::testing::{HIDDEN, assert_begin, resolve, with};
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
        resolve(|values| Desired::from_spec(&spec, values))
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
