use kraken_aws::{
    AwsLookup as _,
    lookup::Tagged as _,
    testing::{answered, assert_begin, wanted},
};
use kraken_kind::api::reasons::Reason;
use serde_json::{Value, json};

use super::{
    ParameterLookups,
    observed::{Parameter, Refusal},
};
use crate::ssm::types;

const NAME: &str = "/shop/image";

fn parameter(kind: types::ParameterType, value: &str) -> Parameter {
    types::Parameter::builder().name(NAME).r#type(kind).value(value).version(3).build().into()
}

fn spec() -> Value {
    json!({"name": {"value": NAME}})
}

#[test]
fn the_value_is_the_main_id_and_a_kept_one_needs_no_call() {
    let text = parameter(types::ParameterType::String, "ami-1=x");
    assert_eq!(answered::<ParameterLookups>(spec(), vec![text.clone()]).unwrap(), ["/shop/image=ami-1=x"]);
    assert_eq!(ParameterLookups::main_id(&text), "ami-1=x");
    let list = parameter(types::ParameterType::StringList, "a,b");
    assert_eq!(json!(list), json!({"Name": NAME, "Value": "a,b", "Values": ["a", "b"]}));
    for found in [text, list] {
        assert_eq!(Parameter::of_id(found.id()), Some(found));
    }
    assert_eq!(Parameter::of_id("ami-1"), None);
}

#[test]
fn the_value_of_a_secure_string_is_nowhere_and_the_message_says_what_to_do() {
    let secret = parameter(types::ParameterType::SecureString, "hunter2");
    let all = format!("{secret:?} {} {}", json!(secret), secret.id());
    assert!(!all.contains("hunter2"), "{all}");
    let why = answered::<ParameterLookups>(spec(), vec![secret.clone()]).unwrap_err();
    assert!(why.contains("is a SecureString") && why.contains("use a Secret of Kubernetes"), "{why}");
    assert_eq!(secret.unanswered().unwrap().reason, Reason::InvalidSpec);
    let denied = Parameter::refused(NAME, Refusal::Denied("not authorized".to_owned()));
    let why = answered::<ParameterLookups>(spec(), vec![denied.clone()]).unwrap_err();
    assert_eq!(why, "failed to read the parameter /shop/image: not authorized");
    assert_eq!(denied.unanswered().unwrap().reason, Reason::CloudRefused);
}

#[test]
fn a_name_is_no_version_and_no_arn() {
    for name in [
        "image",
        NAME,
        "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id",
    ] {
        wanted::<ParameterLookups>(json!({"name": {"value": name}})).unwrap();
    }
    for name in [
        "/shop/image:3",
        "arn:aws:ssm:us-east-1:123456789012:parameter/shop",
        "",
        "/",
        "/shop//image",
        "/shop/",
    ] {
        let found = wanted::<ParameterLookups>(json!({"name": {"value": name}})).unwrap_err();
        assert_begin(&found, &["spec.name: must have up to 1011 letters"]);
    }
}
