//! Tests of the schemas of CRDs.

use super::*;

fn causes(body: &Value) -> Vec<(&str, &str)> {
    let causes = body["details"]["causes"].as_array().unwrap();
    causes.iter().map(|cause| (cause["field"].as_str().unwrap(), cause["reason"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn unknown_fields_are_pruned_or_rejected_as_requested() {
    let api = Api::new();
    let mut object = vpc("a");
    object["spec"]["nonsense"] = json!(1);
    let path = format!("{VPCS}?fieldValidation=Strict");
    let (code, body) = api.send("POST", &path, "application/json", &object);
    assert_eq!(code, 400);
    assert!(
        body["message"].as_str().unwrap().ends_with("strict decoding error: unknown field \"spec.nonsense\"")
    );
    assert!(api.post(VPCS, &object)["spec"]["nonsense"].is_null());
}

#[tokio::test]
async fn undescribed_fields_are_preserved() {
    let api = Api::new();
    let made = api.post(
        STATES,
        &custom(
            STATES,
            "StateDeclaration",
            json!({"metadata": {"name": "a"}, "spec": {"data": {"deep": [{"x": null}]}}}),
        ),
    );
    assert_eq!(made["spec"]["data"], json!({"deep": [{"x": null}]}));
}

#[tokio::test]
async fn types_bounds_and_alternatives_are_checked() {
    let api = Api::new();
    let refused = |spec: Value| {
        let (code, body) = api.send(
            "POST",
            VPCS,
            "application/json",
            &custom(VPCS, "VPC", json!({"metadata": {"name": "a"}, "spec": spec})),
        );
        assert_eq!((code, &body["reason"]), (422, &json!("Invalid")), "{body}");
        body
    };
    let body = refused(json!({"cidrBlock": {"value": 1}}));
    assert!(causes(&body).contains(&("spec.cidrBlock.value", "FieldValueTypeInvalid")), "{body}");
    let body = refused(json!({"cidrBlock": {}}));
    assert!(
        body["message"].as_str().unwrap().contains("set value, such as `{value: x}`, or valueFrom"),
        "{body}"
    );
    let block = json!({"value": "10.0.0.0/16"});
    let body = refused(json!({"cidrBlock": block, "lifecycle": {"drift": "Ignore"}}));
    // The second cause says that rules were not checked.
    assert_eq!(causes(&body)[0], ("spec.lifecycle.drift", "FieldValueNotSupported"), "{body}");
}

#[tokio::test]
async fn the_rules_of_the_crds_are_checked() {
    let api = Api::new();
    let export = |type_: &str, secret_type: Value| {
        let entry = json!({"key": "k", "value": "v"});
        let spec = json!({"configType": type_, "secretType": secret_type, "configMetadata": {"name": "t"}, "entries": [entry]});
        custom(EXPORTS, "ConfigExport", json!({"metadata": {"name": "e"}, "spec": spec}))
    };
    let (code, body) =
        api.send("POST", EXPORTS, "application/json", &export("ConfigMap", json!("kubernetes.io/tls")));
    assert_eq!(code, 422, "{body}");
    assert!(body["message"].as_str().unwrap().contains("secretType requires configType: Secret"), "{body}");
}

#[tokio::test]
async fn unchanged_invalid_values_do_not_block_an_update() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let path = format!("{VPCS}/a");
    let (code, body) = api.merge(&path, &json!({"spec": {"cidrBlock": {"value": 5}}}));
    assert_eq!(code, 422, "{body}");
}
