//! The import of an instance is the inverse of its launch.

use kraken_aws::{
    import::round_trip::{import, imported},
    testing,
};
use kraken_kind::import::Scope;
use kraken_simulator::{Simulator, SimulatorOptions};
use serde_json::json;

use crate::calls::Instances;

fn make(cloud: &Simulator, action: &str, fields: &[(&str, &str)]) -> String {
    cloud.out_of_band(action, fields).unwrap().remove(0)
}

#[tokio::test]
async fn what_a_spec_launches_is_imported_as_this_spec_without_user_data() {
    let cloud = Simulator::start(SimulatorOptions::default()).unwrap();
    let aws = testing::aws(cloud.endpoint()).await;
    let vpc = make(&cloud, "CreateVpc", &[("CidrBlock", "10.0.0.0/16")]);
    let subnet = make(&cloud, "CreateSubnet", &[("VpcId", vpc.as_str()), ("CidrBlock", "10.0.1.0/24")]);
    let group = make(
        &cloud,
        "CreateSecurityGroup",
        &[("VpcId", vpc.as_str()), ("GroupName", "web"), ("GroupDescription", "web")],
    );
    let spec = json!({
        "imageID": {"value": "ami-12c6146b"},
        "instanceType": {"value": "t3.micro"},
        "minCount": {"value": 1},
        "maxCount": {"value": 1},
        "subnetID": {"value": subnet},
        "securityGroupIDs": {"value": [group]},
        "monitoring": {"value": true},
        "metadataOptions": {"value": {"httpTokens": "optional", "httpPutResponseHopLimit": 2}},
        "tags": {"Name": "web"},
    });
    let with_data = testing::with(spec.clone(), json!({"userData": {"value": "password=hunter2"}}));
    let found = Box::pin(imported::<Instances>(&aws, &with_data)).await;
    assert_eq!(found.spec, Ok(spec), "{:?}", found.notes);
    assert_eq!(found.name.as_deref(), Some("web"));
    assert!(
        found.notes.len() == 1 && found.notes[0].starts_with("userData is not read"),
        "{:?}",
        found.notes
    );
    assert!(!format!("{found:?}").contains("hunter2"));
    // One call for all instances, and none for user data.
    cloud.clear_journal();
    let found = import::<Instances>(&aws, &Scope::Within(vpc), &found.id).await;
    assert!(found.spec.is_ok());
    assert_eq!(cloud.journal().len(), 1, "{:?}", cloud.journal());
}

#[test]
fn an_instance_of_an_auto_scaling_group_is_not_importable() {
    let instance = crate::instance::Instance {
        tags: [("aws:autoscaling:groupName".to_owned(), "web".to_owned())].into(),
        ..Default::default()
    };
    let why = crate::import::not_importable(&instance).unwrap();
    assert_eq!(why, "an instance of the Auto Scaling group web");
}
