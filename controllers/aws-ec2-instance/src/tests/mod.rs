//! The comparison: each test covers one difference and its remedy.

use kraken_aws::{
    AwsResource as _, AwsSpec as _, ManagedKind,
    account::RESTRICTED,
    resource::{self, Change::Own, TagChange},
    tag_memory,
    tags::{MEMORY, UID},
    testing::with,
};
use kraken_kind::{
    Comparison, Edit, FieldDiff, Kind, Remedy, Resolver,
    dynamic::{Desired, Observed},
    options::{Governed, Values},
};
use serde_json::{Value, json};

use crate::{
    api,
    calls::Instances,
    desired::tests::{desired, spec},
    instance::{
        IamInstanceProfile, Instance, Metadata, Monitoring, SecurityGroup,
        tests::{in_state, instance},
    },
};

type Change = resource::Change<api::Change>;

fn observed(instances: Vec<Instance>) -> Observed {
    resource::observed::<Instances>(instances)
}

fn kind() -> ManagedKind<Instances> {
    ManagedKind::default()
}

fn comparison(changes: Value, instances: Vec<Instance>) -> Comparison<Change> {
    let compared = kind().compare(&Desired::new(desired(changes)), &observed(instances));
    compared.map(|change| change.get::<Change>().clone())
}

/// Path, want, have and remedy of every difference.
fn differences(changes: Value, instances: Vec<Instance>) -> Vec<(String, String, String, Remedy<Change>)> {
    let all = comparison(changes, instances).differences.into_iter();
    all.map(|d| (d.field.path, d.field.want, d.field.have, d.remedy)).collect()
}

/// The only difference.
fn difference(changes: Value, instances: Vec<Instance>) -> (String, String, String, Remedy<Change>) {
    let mut all = differences(changes, instances);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn changes(path: &str, want: &str, have: &str, change: Change) -> (String, String, String, Remedy<Change>) {
    (path.into(), want.into(), have.into(), Remedy::Change(change))
}

fn ids(list: &[&str]) -> Vec<String> {
    list.iter().map(|id| (*id).to_owned()).collect()
}

fn tagged(id: &str, tags: &[(&str, &str)]) -> Instance {
    let mut instance = instance(id);
    instance.tags.extend(tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    instance
}

fn why(remedy: &Remedy<Change>) -> &str {
    match remedy {
        Remedy::Immutable(why) => why,
        other => panic!("{other:?}"),
    }
}

/// What an edit of this field does, with these changes of the spec.
fn edit_of(changes: Value, field: &str) -> Edit {
    let spec = spec(changes);
    Instances::edit_of(&spec, &spec, field)
}

#[test]
fn an_edit_is_announced_as_it_is_made() {
    let all = [
        ("imageID", Edit::Replaces),
        ("instanceType", Edit::Stops),
        ("maxCount", Edit::Scales),
        ("minCount", Edit::Nothing),
        ("userDataChange", Edit::Nothing),
        ("securityGroupIDs", Edit::Keeps),
        ("rootVolume", Edit::Replaces),
    ];
    for (field, edit) in all {
        assert_eq!(edit_of(json!({}), field), edit, "{field}");
    }
    let script = json!({"userData": {"value": "a"}});
    assert_eq!(edit_of(script.clone(), "userData"), Edit::Waits);
    assert_eq!(edit_of(with(script, json!({"userDataChange": {"value": "Stop"}})), "userData"), Edit::Stops);
    assert_eq!(edit_of(json!({}), "userData"), Edit::Keeps);
}

#[test]
fn an_instance_in_the_desired_state_has_no_differences() {
    assert_eq!(comparison(json!({}), vec![instance("i-1")]), Comparison::default());
}

#[test]
fn missing_instances_are_counted() {
    assert_eq!(comparison(json!({}), vec![]).missing.unwrap(), "1 instance of 1");
    let three = json!({"maxCount": {"value": 3}});
    assert_eq!(comparison(three.clone(), vec![instance("i-1")]).missing.unwrap(), "2 instances of 3");
    let gone = vec![instance("i-1"), in_state("i-2", "shutting-down"), in_state("i-3", "terminated")];
    assert_eq!(comparison(three, gone).missing.unwrap(), "2 instances of 3");
}

#[test]
fn stopped_and_pending_instances_are_not_missing() {
    let two = json!({"maxCount": {"value": 2}});
    let there = vec![in_state("i-1", "stopped"), in_state("i-2", "pending")];
    assert_eq!(comparison(two, there).missing, None);
}

#[test]
fn pending_instances_are_named_while_waiting() {
    let two = json!({"maxCount": {"value": 2}});
    let moving = vec![in_state("i-1", "pending"), in_state("i-2", "stopping")];
    assert_eq!(comparison(two, moving).settling.unwrap(), "instance i-1 is pending, i-2 is stopping");
}

#[test]
fn the_newest_surplus_instances_are_terminated_and_not_compared() {
    let mut young = in_state("i-0", "pending");
    young.tags.insert(kraken_aws::tags::EPOCH.into(), "2".into());
    young.instance_type = Some("t2.large".into());
    let found = comparison(json!({}), vec![young, instance("i-2"), instance("i-1")]);
    let terminate = Change::Surplus(ids(&["i-0", "i-2"]));
    assert_eq!((found.missing, found.settling), (None, None));
    assert_eq!(found.differences.len(), 1);
    assert_eq!(found.differences[0].field, FieldDiff::new("maxCount", "1", "3 instances"));
    assert_eq!(found.differences[0].remedy, Remedy::Change(terminate));
}

#[test]
fn one_change_sets_a_tag_on_all_instances_without_it() {
    let spec = json!({"maxCount": {"value": 3}, "tags": {"Team": "shop"}});
    let there = vec![tagged("i-1", &[("Team", "shop")]), tagged("i-2", &[("Team", "web")]), instance("i-3")];
    let set = Change::Tag(TagChange::Set("Team".into(), "shop".into()), ids(&["i-2", "i-3"]));
    assert_eq!(difference(spec, there), changes("tags.Team", "shop", "i-2: web, i-3: (absent)", set));
}

#[test]
fn each_tag_is_a_separate_difference() {
    let found = differences(json!({"tags": {"Team": "shop", "a.b": "c"}}), vec![instance("i-1")]);
    let paths: Vec<_> = found.iter().map(|difference| difference.0.as_str()).collect();
    assert_eq!(paths, ["tags.Team", "tags[\"a.b\"]"]);
}

#[test]
fn a_tag_that_kraken_set_is_removed_with_the_spec() {
    let memory = tag_memory::of(&ids(&["Team"]));
    let there = tagged("i-1", &[("Team", "web"), (MEMORY, &memory)]);
    let remove = Change::Tag(TagChange::Remove("Team".into()), ids(&["i-1"]));
    assert_eq!(difference(json!({}), vec![there]), changes("tags.Team", "(absent)", "web", remove));
}

#[test]
fn unmanaged_tags_are_not_changed() {
    let there = tagged("i-1", &[("CostCenter", "42"), ("aws:autoscaling:groupName", "g"), (UID, "u")]);
    assert_eq!(differences(json!({}), vec![there]), []);
}

#[test]
fn security_groups_are_compared_ignoring_order() {
    let group = |id: &str| SecurityGroup { group_id: Some(id.into()), group_name: None };
    let there = || Instance { security_groups: vec![group("sg-1"), group("sg-2")], ..instance("i-1") };
    assert_eq!(differences(json!({"securityGroupIDs": {"value": ["sg-2", "sg-1"]}}), vec![there()]), []);
    assert_eq!(
        difference(json!({"securityGroupIDs": {"value": ["sg-1", "sg-3"]}}), vec![there()]),
        changes(
            "securityGroupIDs",
            "sg-1, sg-3",
            "sg-1, sg-2",
            Own(api::Change::SecurityGroups, ids(&["i-1"]))
        )
    );
}

#[test]
fn pending_monitoring_is_not_requested_again() {
    let there = |state: &str| Instance {
        monitoring: Some(Monitoring { state: Some(state.into()) }),
        ..instance("i-1")
    };
    let on = json!({"monitoring": {"value": true}});
    assert_eq!(differences(on.clone(), vec![there("pending")]), []);
    let change = Own(api::Change::Monitoring, ids(&["i-1"]));
    assert_eq!(difference(on, vec![there("disabling")]), changes("monitoring", "true", "false", change));
    assert_eq!(differences(json!({}), vec![there("enabled")]), []);
}

#[test]
fn imdsv1_is_not_changed_unless_the_spec_requires_imdsv2() {
    let metadata = Metadata { http_tokens: Some("optional".into()), ..Metadata::default() };
    let there = || vec![Instance { metadata: metadata.clone(), ..instance("i-1") }];
    assert_eq!(differences(json!({}), there()), []);
    let hops = json!({"metadataOptions": {"value": {"httpPutResponseHopLimit": 2}}});
    assert_eq!(differences(hops, there()), []);
    let required = json!({"metadataOptions": {"value": {"httpTokens": "required"}}});
    assert_eq!(
        difference(required, there()),
        changes(
            "metadataOptions.httpTokens",
            "required",
            "optional",
            Own(api::Change::MetadataOptions, ids(&["i-1"]))
        )
    );
}

#[test]
fn a_disabled_metadata_service_has_no_other_settings() {
    let metadata = Metadata {
        http_tokens: Some("optional".into()),
        http_put_response_hop_limit: Some(1),
        http_endpoint: Some("disabled".into()),
    };
    let off =
        json!({"metadataOptions": {"value": {"httpEndpoint": "disabled", "httpPutResponseHopLimit": 2}}});
    assert_eq!(differences(off, vec![Instance { metadata, ..instance("i-1") }]), []);
}

#[test]
fn immutable_fields_are_only_reported() {
    let spec = json!({
        "imageID": {"value": "ami-2"},
        "subnetID": {"value": "subnet-2"},
        "keyName": {"value": "ops"},
        "privateIPAddress": {"value": "10.0.0.2"},
    });
    let found = differences(spec, vec![instance("i-1")]);
    let paths: Vec<_> = found.iter().map(|difference| difference.0.as_str()).collect();
    assert_eq!(paths, ["imageID", "subnetID", "keyName", "privateIPAddress"]);
    assert!(found.iter().all(|difference| why(&difference.3).contains("set at launch only")));
}

#[test]
fn a_profile_is_identified_by_its_name_or_arn() {
    let arn = "arn:aws:iam::123456789012:instance-profile/path/web";
    let there = Instance {
        iam_instance_profile: Some(IamInstanceProfile { arn: Some(arn.into()) }),
        ..instance("i-1")
    };
    for (wanted, count) in [("web", 0), (arn, 0), ("path", 1)] {
        let spec = json!({"iamInstanceProfile": {"value": wanted}});
        assert_eq!(differences(spec, vec![there.clone()]).len(), count, "{wanted}");
    }
}

#[test]
fn a_profile_is_changed_in_place_and_removed_by_an_empty_name() {
    let arn = "arn:aws:iam::123456789012:instance-profile/web";
    let with = Instance {
        iam_instance_profile: Some(IamInstanceProfile { arn: Some(arn.into()) }),
        ..instance("i-1")
    };
    let wanted = |name: &str| json!({"iamInstanceProfile": {"value": name}});
    let change = || Own(api::Change::InstanceProfile, ids(&["i-1"]));
    assert_eq!(
        difference(wanted("db"), vec![with.clone()]),
        changes("iamInstanceProfile", "db", arn, change())
    );
    assert_eq!(
        difference(wanted("db"), vec![instance("i-1")]),
        changes("iamInstanceProfile", "db", "(absent)", change())
    );
    assert_eq!(
        difference(wanted(""), vec![with.clone()]),
        changes("iamInstanceProfile", "(absent)", arn, change())
    );
    assert_eq!(differences(wanted(""), vec![instance("i-1")]), []);
    assert_eq!(differences(json!({}), vec![with]), [], "an absent field is not managed");
}

#[test]
fn all_instances_are_surplus_if_none_are_desired() {
    let none = json!({"minCount": {"value": 0}, "maxCount": {"value": 0}});
    assert_eq!(comparison(none.clone(), vec![]), Comparison::default());
    assert_eq!(comparison(none.clone(), vec![in_state("i-1", "shutting-down")]), Comparison::default());
    let terminate = Change::Surplus(ids(&["i-2", "i-1"]));
    assert_eq!(
        difference(none, vec![instance("i-1"), in_state("i-2", "pending")]),
        changes("maxCount", "0", "2 instances", terminate)
    );
}

#[test]
fn neither_a_secret_nor_its_former_value_is_shown() {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let arn = Some("arn:aws:iam::123456789012:instance-profile/hunter1".into());
    let there = Instance { iam_instance_profile: Some(IamInstanceProfile { arn }), ..instance("i-1") };
    let (_, want, have, _) = difference(json!({"iamInstanceProfile": secret}), vec![there]);
    assert_eq!((want.as_str(), have.as_str()), ("***", "(not shown)"));
}

#[test]
fn many_instances_are_truncated_with_a_count() {
    let spec = json!({"maxCount": {"value": 9}, "tags": {"Team": "shop"}});
    let there = (1..=9).map(|n| instance(&format!("i-{n}"))).collect();
    let (_, _, have, _) = difference(spec, there);
    assert!(have.ends_with("i-5: (absent) and 4 more"), "{have}");
}

#[test]
fn differences_of_several_instances_are_in_the_order_of_fields() {
    let spec = json!({
        "maxCount": {"value": 2},
        "keyName": {"value": "ops"},
        "monitoring": {"value": true},
        "iamInstanceProfile": {"value": "web"},
    });
    let monitoring = |state: &str| Some(Monitoring { state: Some(state.into()) });
    let one = Instance { monitoring: monitoring("enabled"), ..instance("i-1") };
    let other = Instance {
        key_name: Some("ops".into()),
        monitoring: monitoring("disabled"),
        iam_instance_profile: Some(IamInstanceProfile { arn: Some("web".into()) }),
        ..instance("i-2")
    };
    let found = differences(spec, vec![one, other]);
    let found: Vec<_> = found.iter().map(|(path, _, have, _)| (path.as_str(), have.as_str())).collect();
    let wanted =
        [("monitoring", "i-2: false"), ("iamInstanceProfile", "i-1: (absent)"), ("keyName", "i-1: (absent)")];
    assert_eq!(found, wanted);
}

mod calls;
mod imports;
mod state;
mod stops;

#[test]
fn an_account_with_rules_about_subnets_requires_the_subnet_and_no_profile() {
    let (values, fields) = (Values::default(), RESTRICTED);
    let governed = Governed { fields, ..Governed::default() };
    let unset = |changes: Value| {
        let mut resolver = Resolver::governed(&values, &governed);
        let spec = json!({
            "imageID": {"value": "ami-1"}, "instanceType": {"value": "t2.nano"}, "minCount": {"value": 1},
            "maxCount": {"value": 1},
        });
        let spec: api::EC2InstanceSpec = serde_json::from_value(with(spec, changes)).unwrap();
        spec.desired(&mut resolver).unwrap();
        let taken = resolver.finish().taken.into_iter().filter(|one| one.is_default);
        taken.map(|one| one.field).collect::<Vec<_>>()
    };
    assert_eq!(unset(json!({})), ["subnetID"]);
    assert_eq!(unset(json!({"subnetID": {"value": "subnet-1"}})), [] as [&str; 0]);
}
