//! Values that flow from ConfigMaps, Secrets and other resources, as they appear, change and disappear.

use anyhow::Result;
use kraken_tests::TestEnv;
use serde_json::json;

const CONFIG: &str = r"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings},
    data: {image: ami-12c6146b, count: '1'}}";
const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";
const FIRST: &str = r"{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: first},
    spec: {imageID: {valueFrom: {configMap: {name: settings, key: image}}}, instanceType: {value: t2.nano},
    minCount: {value: 1}, maxCount: {value: 1}}}";
const SECOND: &str = r"{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: second},
    spec: {imageID: {valueFrom: {configMap: {name: settings, key: image}}},
    instanceType: {valueFrom: {krakenResource: {kind: EC2-Instance, name: first, path: instances.0.InstanceType}}},
    minCount: {value: 1}, maxCount: {valueFrom: {configMap: {name: settings, key: count}}}}}";

#[tokio::test]
async fn a_second_instance_takes_its_type_from_the_first_and_its_count_from_a_config_map() -> Result<()> {
    let test_env = TestEnv::new().await?;
    // In reverse order: the dependencies are applied last.
    test_env.apply(SECOND).await?;
    test_env.apply(FIRST).await?;
    let message = test_env.not_ready("EC2Instance", "second", "DependenciesNotReady").await?;
    assert!(message.contains("spec.imageID: ConfigMap settings does not exist"), "{message}");
    assert!(message.contains("spec.instanceType"), "{message}");
    test_env.apply(CONFIG).await?;
    test_env.ready("EC2Instance", "second").await?;
    assert_eq!(test_env.alive("second").await?[0].instance_type, "t2.nano");

    test_env.patch("ConfigMap", "settings", json!({"data": {"count": "2"}})).await?;
    test_env
        .until("EC2Instance", "second", |o| {
            o["status"]["externalIds"].as_array().is_some_and(|i| i.len() == 2)
        })
        .await?;
    test_env.ready("EC2Instance", "second").await?;
    assert_eq!(test_env.alive("second").await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_list_mixes_literals_and_references_and_a_main_id_needs_no_path() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env
        .apply(
            r#"{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: second},
            spec: {imageID: {value: ami-12c6146b}, instanceType: {value: t2.nano}, minCount: {value: 1}, maxCount: {value: 1},
            userData: {valueFrom: {templateString: "peer={{ .['EC2Instance.aws'].first }}"}},
            securityGroupIDs: {value: [
                {valueFrom: {krakenResource: {kind: EC2-Instance.aws, name: first, path: instances.0.SecurityGroups.0.GroupId}}},
                {valueFrom: {ref: static/group}}]}}}"#,
        )
        .await?;
    let message = test_env.not_ready("EC2Instance", "second", "DependenciesNotReady").await?;
    for part in ["spec.userData", "spec.securityGroupIDs.value[0]", "spec.securityGroupIDs.value[1]"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    test_env.apply(CONFIG).await?;
    test_env.apply(FIRST).await?;
    let first = test_env.ready("EC2Instance", "first").await?;
    let state = test_env.get("StateDeclaration", "ec2instance.aws.first").await?;
    let id = &state["spec"]["id"];
    assert!(id.is_string() && *id == first["status"]["externalIds"][0], "{id}");
    let message = test_env.not_ready("EC2Instance", "second", "DependenciesNotReady").await?;
    assert!(message.contains("StateDeclaration static-group does not exist"), "{message}");
    // Both elements of the list lead to the same group, which is one.
    let group = &state["spec"]["data"]["instances"][0]["SecurityGroups"][0]["GroupId"];
    test_env
        .apply(&format!(
            "{{apiVersion: {CORE}, kind: StateDeclaration, metadata: {{name: static-group}}, spec: {{id: {group}}}}}"
        ))
        .await?;
    test_env.ready("EC2Instance", "second").await?;
    let request = test_env.get("DependencyRequest", "ec2instance.aws.second").await?;
    let answered = &request["status"]["dependentValues"]["fromKrakenResources"];
    assert_eq!((&answered["ec2instance.aws"]["first"][""], &answered["static"]["group"][""]), (id, group));
    let one = json!({"value": [{"valueFrom": {"krakenResource": {"kind": "static", "name": "group"}}}]});
    test_env.patch("EC2Instance", "second", json!({"spec": {"securityGroupIDs": one}})).await?;
    test_env.ready("EC2Instance", "second").await.map(drop)
}

#[tokio::test]
async fn a_value_of_the_wrong_type_and_a_text_that_is_no_number_are_named_together() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env
        .apply(r#"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {count: "abc"}}"#)
        .await?;
    test_env
        .apply(
            r"{apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1, kind: StateDeclaration,
            metadata: {name: static-facts}, spec: {data: {image: 7, nothing: null}}}",
        )
        .await?;
    test_env
        .apply(
            r"{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: a},
            spec: {imageID: {valueFrom: {krakenResource: {kind: static, name: facts, path: image}}},
            instanceType: {valueFrom: {krakenResource: {kind: static, name: facts, path: nothing}}},
            minCount: {value: 1}, maxCount: {valueFrom: {configMap: {name: settings, key: count}}}}}",
        )
        .await?;
    let message = test_env.not_ready("EC2Instance", "a", "InvalidSpec").await?;
    for part in ["spec.imageID", "spec.instanceType", "spec.maxCount", "\"abc\"", "is not an integer"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    // Corrected at the source, without an edit of the resource.
    test_env.patch("ConfigMap", "settings", json!({"data": {"count": "1"}})).await?;
    let facts = json!({"spec": {"data": {"image": "ami-12c6146b", "nothing": "t2.nano"}}});
    test_env.patch("StateDeclaration", "static-facts", facts).await?;
    test_env.ready("EC2Instance", "a").await.map(drop)
}

#[tokio::test]
async fn a_reference_cycle_is_reported_and_resolved_by_an_edit() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let pointing = |name: &str, to: &str| {
        format!(
            "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {{name: {name}}}, \
             spec: {{imageID: {{value: ami-12c6146b}}, minCount: {{value: 1}}, maxCount: {{value: 1}}, \
             instanceType: {{valueFrom: {{krakenResource: {{kind: ec2instance, name: {to}, path: instances.0.InstanceType}}}}}}}}}}"
        )
    };
    test_env.apply(&pointing("a", "b")).await?;
    test_env.apply(&pointing("b", "a")).await?;
    for name in ["a", "b"] {
        test_env
            .until("DependencyRequest", &format!("ec2instance.aws.{name}"), |request| {
                request["status"]["unmet"][0]["reason"] == "ReferenceCycle"
            })
            .await?;
    }
    test_env
        .patch("EC2Instance", "a", json!({"spec": {"instanceType": {"value": "t2.nano", "valueFrom": null}}}))
        .await?;
    test_env.ready("EC2Instance", "a").await?;
    test_env.ready("EC2Instance", "b").await.map(drop)
}

#[tokio::test]
async fn a_forged_state_is_not_trusted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env
        .apply(
            r"{apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1, kind: StateDeclaration,
            metadata: {name: ec2instance.aws.first}, spec: {data: {instances: [{InstanceType: x1e.32xlarge}]}}}",
        )
        .await?;
    test_env.apply(CONFIG).await?;
    test_env.apply(SECOND).await?;
    let request = test_env
        .until("DependencyRequest", "ec2instance.aws.second", |request| {
            !request["status"]["unmet"][0].is_null()
        })
        .await?;
    assert_eq!(request["status"]["unmet"][0]["reason"], "StateNotTrusted");
    assert!(test_env.alive("second").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn huge_and_deep_states_do_not_affect_others() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let state = |name: &str, data: &str| {
        format!(
            r#"{{"apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
            "metadata": {{"name": "static-{name}"}}, "spec": {{"data": {data}}}}}"#
        )
    };
    let huge = format!(r#"{{"text": "{}", "size": 1}}"#, "x".repeat(1_400_000));
    test_env.raw_create(CORE, "statedeclarations", &state("huge", &huge)).await?;
    test_env.raw_create(CORE, "statedeclarations", &state("nothing", "null")).await?;
    // Deeper than the recursion limit of serde_json; the API server accepts it.
    let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
    test_env.raw_create(CORE, "statedeclarations", &state("deep", &deep)).await?;
    test_env.apply(CONFIG).await?;
    for (name, path) in [("huge", "text"), ("nothing", "size"), ("deep", "a")] {
        test_env
            .apply(&format!(
                "{{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {{name: {name}}}, \
                 spec: {{configType: ConfigMap, configMetadata: {{name: out-{name}}}, entries: [{{key: k, valueFrom: \
                 {{krakenResource: {{kind: static, name: {name}, path: {path}}}}}}}]}}}}"
            ))
            .await?;
        let object = test_env
            .until("ConfigExport", name, |o| {
                kraken_tests::test_env::condition(o, "Ready")["status"] == "False"
            })
            .await?;
        let message = kraken_tests::test_env::condition(&object, "Ready")["message"].to_string();
        assert!(
            message.contains(&format!("static {name}")) || message.contains(&format!("static-{name}")),
            "{message}"
        );
    }
    test_env.apply(FIRST).await?;
    test_env.ready("EC2Instance", "first").await.map(drop)
}
