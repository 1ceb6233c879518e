//! The rules between the fields of a spec, its own comparisons, and what follows from several fields. Pure.

use std::collections::BTreeSet;

use kraken_aws::{
    AwsSpec as _,
    diff::{changed, difference, of_sets},
    fields::{ABSENT, NOT_SHOWN, SECRET, shown},
    validator::SpecValidator,
};
use kraken_kind::{Difference, Edit, Ignored, Opt, Resolved};
use serde_json::json;

use crate::{
    api::{Change, Desired, EC2InstanceSpec, PartialDesired, UserDataChange},
    instance::Instance,
    metadata_options::{HttpEndpoint, MetadataOptions},
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

    /// Security groups have no order.
    pub(crate) fn compare_groups(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let sorted = |ids: &Vec<String>| Vec::from_iter(BTreeSet::from_iter(ids.clone()));
        let wanted = desired.security_group_ids.as_ref()?.map(sorted);
        of_sets("securityGroupIDs", Some(&wanted), &instance.group_ids(), Change::SecurityGroups)
    }

    pub(crate) fn compare_monitoring(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let state = instance.monitoring.as_ref()?.state.as_deref()?;
        // A pending change counts as done: a second call has no effect.
        let is_on = matches!(state, "enabled" | "pending");
        changed("monitoring", desired.monitoring.as_ref(), Some(&is_on), Change::Monitoring)
    }

    /// A profile is identified by its name or its ARN; an empty name means no profile.
    pub(crate) fn compare_profile(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let wanted = desired.iam_instance_profile.as_ref()?;
        let want = wanted.expose().as_str();
        let have = instance.iam_instance_profile.as_ref().and_then(|profile| profile.arn.as_deref());
        let is_same = match have {
            None => want.is_empty(),
            Some(arn) => arn == want || arn.rsplit('/').next() == Some(want),
        };
        let want = if want.is_empty() { ABSENT.to_owned() } else { shown(wanted) };
        let have = if wanted.is_secret() { NOT_SHOWN } else { have.unwrap_or(ABSENT) };
        (!is_same).then(|| difference("iamInstanceProfile", want, have, Change::InstanceProfile))
    }

    /// IMDSv2 is only the default of a launch: an adopted instance may need the older version.
    pub(crate) fn compare_metadata(desired: &Desired, instance: &Instance) -> Vec<Difference<Change>> {
        let (wanted, have) = (desired.metadata(), &instance.metadata);
        let is_secret = desired.metadata_options.as_ref().is_some_and(Resolved::is_secret);
        let all = [
            ("httpEndpoint", wanted.endpoint.map(|one| one.to_string()), have.http_endpoint.clone()),
            ("httpTokens", wanted.tokens.map(|one| one.to_string()), have.http_tokens.clone()),
            (
                "httpPutResponseHopLimit",
                wanted.hop_limit.map(|one| one.to_string()),
                have.http_put_response_hop_limit.map(|one| one.to_string()),
            ),
        ];
        let differing = all.into_iter().filter_map(|(name, want, have)| {
            let (want, have) = want.zip(have).filter(|(want, have)| want != have)?;
            let shown = if is_secret { (SECRET.to_owned(), NOT_SHOWN.to_owned()) } else { (want, have) };
            Some(difference(&format!("metadataOptions.{name}"), shown.0, shown.1, Change::MetadataOptions))
        });
        differing.collect()
    }

    /// What Kraken does with a change is nothing that AWS has.
    pub(crate) fn is_no_state(_: &Desired, _: &Instance) -> Option<Difference<Change>> {
        None
    }

    /// User data is never shown.
    pub(crate) fn compare_user_data(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.user_data.as_ref()?, instance.user_data.as_ref()?);
        (have.0 != wanted.expose().as_bytes())
            .then(|| difference("userData", NOT_SHOWN, NOT_SHOWN, Change::UserData))
    }

    /// One call sets all settings of the metadata service, without ignored ones.
    pub(crate) fn without_ignored(desired: &Desired, _: &Instance, ignored: &Ignored) -> Option<Desired> {
        let options = desired.metadata_options.as_ref()?;
        let is_ignored = |name: &str| ignored.covers(&format!("metadataOptions.{name}"));
        let kept = options.map(|options| MetadataOptions {
            tokens: options.tokens.filter(|_| !is_ignored("httpTokens")),
            hop_limit: options.hop_limit.filter(|_| !is_ignored("httpPutResponseHopLimit")),
            endpoint: options.endpoint.filter(|_| !is_ignored("httpEndpoint")),
        });
        (kept != *options).then(|| Desired { metadata_options: Some(kept), ..desired.clone() })
    }

    /// As the comparison decides: changed user data stops nothing unless the spec says so.
    pub(crate) fn edit_of_instances(&self, before: &Self, field: &str) -> Edit {
        let stops = matches!(self.user_data_change, Some(Opt::Value(UserDataChange::Stop)));
        match field {
            "userData" if self.user_data.is_some() && !stops => Edit::Waits,
            "associatePublicIPAddress" | "rootVolume" => Edit::Replaces,
            "userDataChange" => Edit::Nothing,
            _ => Self::edit_of(before, self, field),
        }
    }

    /// The fields that AWS does not return, or not in a comparable form. A removed key is one of them, because absent
    /// fields are not compared.
    pub(crate) fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        let key = if desired.key_name.is_some() { "" } else { ABSENT };
        let public = desired.associate_public_ip_address.as_ref().map(shown);
        let volume = desired.root_volume.as_ref().map(|volume| {
            volume.public().map_or_else(|| SECRET.to_owned(), |volume| json!(volume).to_string())
        });
        vec![
            ("keyName", key.to_owned()),
            ("associatePublicIPAddress", public.unwrap_or_default()),
            ("rootVolume", volume.unwrap_or_default()),
        ]
    }
}

impl Desired {
    /// The desired settings of the metadata service; absent ones are not managed. If it is disabled, AWS accepts no
    /// other settings.
    pub(crate) fn metadata(&self) -> MetadataOptions {
        let wanted =
            self.metadata_options.as_ref().map(|options| options.expose().clone()).unwrap_or_default();
        if wanted.endpoint == Some(HttpEndpoint::Disabled) {
            return MetadataOptions { endpoint: wanted.endpoint, ..MetadataOptions::default() };
        }
        wanted
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kraken_aws::{
        AwsSpec, Tags,
        resource::DesiredWithTags,
        testing::{HIDDEN, assert_begin, resolve, with},
    };
    use serde_json::Value;

    /// A valid spec, with some fields replaced.
    pub(crate) fn spec(changes: Value) -> EC2InstanceSpec {
        let spec = json!({
            "imageID": {"value": "ami-1"},
            "instanceType": {"value": "t2.nano"},
            "minCount": {"value": 1},
            "maxCount": {"value": 1},
        });
        serde_json::from_value(with(spec, changes)).unwrap()
    }

    /// Its desired state.
    fn resolved(changes: Value) -> Result<DesiredWithTags<Desired>, Vec<String>> {
        let spec = spec(changes);
        let resolved = resolve(|values| EC2InstanceSpec::with_tags(&spec, values));
        resolved.map(|(own, tags)| DesiredWithTags { own, tags })
    }

    /// The desired state of such a spec; key `k` of the Secret `s` is [`HIDDEN`].
    pub(crate) fn desired(changes: Value) -> DesiredWithTags<Desired> {
        resolved(changes).unwrap()
    }

    fn count(changes: Value) -> i32 {
        *EC2InstanceSpec::count(&desired(changes).own).unwrap().expose()
    }

    fn problems(changes: Value) -> Vec<String> {
        resolved(changes).unwrap_err()
    }

    #[test]
    fn a_minimal_spec_sets_no_other_fields() {
        let DesiredWithTags { own, tags } = desired(json!({}));
        assert_eq!(own.image_id.expose(), "ami-1");
        assert_eq!(count(json!({})), 1);
        assert!(own.subnet_id.is_none() && own.monitoring.is_none() && tags.is_empty());
    }

    #[test]
    fn security_groups_can_mix_literals_and_references() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let web = json!({"valueFrom": {"krakenResource": {"kind": "securitygroup", "name": "web"}}});
        let some = desired(json!({"securityGroupIDs": {"value": ["sg-1", "sg-2"]}})).own.security_group_ids;
        assert_eq!(some.unwrap().expose(), &["sg-1", "sg-2"]);
        assert_eq!(
            problems(json!({"securityGroupIDs": {"value": ["sg-1", web]}})),
            ["spec.securityGroupIDs.value[1]: waiting for the id of securitygroup web"]
        );
        assert_eq!(
            problems(json!({"securityGroupIDs": {"value": ["sg-1", from_secret]}})),
            [
                "spec.securityGroupIDs.value[1]: the value of Secret s key \"k\" must look like sg-0abc1234def567890"
            ]
        );
    }

    #[test]
    fn a_max_count_of_zero_is_valid_with_any_min_count() {
        let counts = |min: i32, max: i32| json!({"minCount": {"value": min}, "maxCount": {"value": max}});
        assert_eq!(count(counts(0, 0)), 0);
        assert_eq!(count(counts(3, 0)), 0);
        assert_eq!(count(counts(0, 3)), 3);
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
        let wanted = "spec.instanceType: the value of Secret s key \"k\" must be a family and a size, such as t3.micro";
        assert_eq!(found, [wanted]);
        assert!(!format!("{:?}", desired(json!({"userData": from_secret}))).contains(HIDDEN));
    }
}
