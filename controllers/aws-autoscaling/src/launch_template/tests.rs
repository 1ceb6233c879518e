use kraken_aws::{
    AwsSpec as _,
    ec2::types::ResponseLaunchTemplateData,
    fields::NOT_SHOWN,
    testing::{self, assert_round_trips, rendered, with},
};

use serde_json::{Value, json};

use super::{
    LaunchTemplates,
    api::LaunchTemplateSpec,
    calls::data,
    observed::{Data, Device, Ebs, Metadata, Template, UserData},
};

fn written(changes: Value) -> Value {
    with(json!({"imageID": {"value": "ami-1"}, "instanceType": {"value": "t3.micro"}}), changes)
}

fn template() -> Template {
    let default = Data {
        image_id: Some("ami-1".into()),
        instance_type: Some("t3.micro".into()),
        iam_instance_profile: Some("web".into()),
        security_group_ids: vec!["sg-1".into(), "sg-2".into()],
        user_data: UserData("aGVsbG8=".into()),
        metadata_options: Some(Metadata { http_tokens: Some("required".into()), ..Metadata::default() }),
        block_device_mappings: vec![Device {
            device_name: "/dev/xvda".into(),
            ebs: Some(Ebs { volume_size: Some(20), encrypted: Some(true), ..Ebs::default() }),
        }],
        ..Data::default()
    };
    Template { launch_template_id: "lt-1".into(), default, ..Template::default() }
}

fn compared(changes: Value) -> Vec<String> {
    let desired = testing::desired::<LaunchTemplates>(written(changes));
    rendered(LaunchTemplateSpec::differences(&desired, &template()))
}

#[test]
fn equivalent_and_unset_fields_do_not_differ() {
    assert_eq!(compared(json!({})), [""; 0]);
    assert_eq!(
        compared(json!({
            "securityGroupIDs": {"value": ["sg-2", "sg-1"]}, "userData": {"value": "hello"},
            "iamInstanceProfile": {"value": "arn:aws:iam::123456789012:instance-profile/teams/web"},
            "blockDevices": [{"deviceName": {"value": "/dev/xvda"}, "sizeGiB": {"value": 20}}],
        })),
        [""; 0]
    );
}

#[test]
fn each_edit_is_one_new_version_and_user_data_is_not_shown() {
    let found = compared(json!({
        "imageID": {"value": "ami-2"}, "userData": {"value": "bye"}, "iamInstanceProfile": {"value": ""},
        "metadataOptions": {"httpTokens": {"value": "optional"}},
        "blockDevices": [
            {"deviceName": {"value": "/dev/xvda"}, "sizeGiB": {"value": 30}, "type": {"value": "gp3"}},
            {"deviceName": {"value": "/dev/sdf"}, "sizeGiB": {"value": 5}},
        ],
    }));
    assert_eq!(
        found,
        [
            "imageID: ami-1 becomes ami-2: Version".to_owned(),
            "iamInstanceProfile: web becomes (absent): Version".to_owned(),
            format!("userData: {NOT_SHOWN} becomes {NOT_SHOWN}: Version"),
            "metadataOptions.httpTokens: required becomes optional: Version".to_owned(),
            "blockDevices[\"/dev/xvda\"]: sizeGiB 20, type (absent) becomes sizeGiB 30, type gp3: Version"
                .to_owned(),
            "blockDevices[\"/dev/sdf\"]: sizeGiB (absent) becomes sizeGiB 5: Version".to_owned(),
        ]
    );
    assert!(!format!("{:?}", template()).contains("aGVsbG8"), "{:?}", template());
}

#[test]
fn the_first_version_requires_imdsv2_and_a_later_one_keeps_the_settings_of_the_default() {
    let wanted = testing::desired::<LaunchTemplates>(written(json!({
        "metadataOptions": {"httpPutResponseHopLimit": {"value": 2}},
    })));
    let options = |current: Option<&Template>| data(&wanted, current).metadata_options.unwrap();
    assert_eq!(options(None).http_tokens().unwrap().as_str(), "required");
    let mut adopted = template();
    adopted.default.metadata_options =
        Some(Metadata { http_tokens: Some("optional".into()), ..Metadata::default() });
    assert_eq!(options(Some(&adopted)).http_tokens().unwrap().as_str(), "optional");
    assert_eq!(options(Some(&adopted)).http_put_response_hop_limit(), Some(2));
    let plain = testing::desired::<LaunchTemplates>(written(json!({})));
    assert!(data(&plain, Some(&Template::default())).metadata_options.is_none());
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec =
        json!({"name": {"value": "a b"}, "imageID": {"value": "x"}, "instanceType": {"value": "micro"}});
    assert_eq!(
        testing::problems::<LaunchTemplates>(spec),
        [
            "spec.name: must have 3 to 128 letters, digits and ()./_-",
            "spec.imageID: must look like ami-0abc1234def567890",
            "spec.instanceType: must be a family and a size, such as t3.micro",
        ]
    );
}

#[test]
fn a_profile_is_observed_by_what_was_set() {
    let profile =
        kraken_aws::ec2::types::LaunchTemplateIamInstanceProfileSpecification::builder().name("web");
    let data = ResponseLaunchTemplateData::builder().iam_instance_profile(profile.build()).build();
    assert_eq!(Data::from(data).iam_instance_profile.as_deref(), Some("web"));
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<LaunchTemplateSpec>(&written(json!({
        "name": {"value": "web"}, "keyName": {"value": "ops"}, "securityGroupIDs": {"value": ["sg-1"]},
        "iamInstanceProfile": {"value": "web"}, "userData": {"value": "hello"}, "monitoring": {"value": true},
        "ebsOptimized": {"value": true},
        "metadataOptions": {
            "httpTokens": {"value": "required"}, "httpPutResponseHopLimit": {"value": 2},
            "httpEndpoint": {"value": "enabled"},
        },
        "blockDevices": [{
            "deviceName": {"value": "/dev/xvda"}, "sizeGiB": {"value": 20}, "type": {"value": "gp3"},
            "iops": {"value": 3000}, "throughput": {"value": 125}, "encrypted": {"value": true},
            "kmsKeyID": {"value": "alias/disks"}, "deleteOnTermination": {"value": true},
        }],
        "tags": {"Name": "web"},
    })));
}
