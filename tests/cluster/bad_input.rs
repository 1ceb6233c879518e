//! Invalid input: rejected with a field path, or reported in a condition with the cause, without effect on others.

use anyhow::Result;
use kraken_testing::SuiteOptions;
use kraken_tests::TestEnv;

fn instance(fields: &str) -> String {
    format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {{name: bad}}, spec: {{{fields}}}}}"
    )
}

/// A valid spec with one invalid field.
fn spoiled(field: &str, option: &str) -> String {
    let mut fields = [
        ("imageID", "{value: ami-12c6146b}"),
        ("instanceType", "{value: t2.nano}"),
        ("minCount", "{value: 1}"),
        ("maxCount", "{value: 1}"),
    ];
    for (name, value) in &mut fields {
        if *name == field {
            *value = option;
        }
    }
    instance(&fields.map(|(name, value)| format!("{name}: {value}")).join(", "))
}

#[tokio::test]
async fn schema_violations_are_rejected_with_their_fields() -> Result<()> {
    let test_env = TestEnv::new().await?;
    for (field, option) in [
        ("imageID", "{}"),
        ("imageID", "{value: ami-1, valueFrom: {configMap: {name: a, key: b}}}"),
        ("imageID", "{valueFrom: {}}"),
        ("imageID", "{valueFrom: {configMap: {name: a, key: b}, secret: {name: a, key: b}}}"),
        ("imageID", "{valueFrom: {configMap: {name: '', key: b}}}"),
        ("imageID", "{valueFrom: {krakenResource: {kind: vpc, name: a, path: ''}}}"),
        ("imageID", "{valueFrom: {krakenResource: {kind: v_pc, name: a}}}"),
        ("imageID", "{valueFrom: {ref: vpc}}"),
        ("imageID", "{valueFrom: {ref: vpc/Main}}"),
        ("imageID", "{valueFrom: {ref: vpc/main/}}"),
        ("imageID", "{valueFrom: {ref: vpc/main, configMap: {name: a, key: b}}}"),
        // Public by definition: no Secret, neither directly nor through a template.
        ("maxCount", "{valueFrom: {secret: {name: a, key: b}}}"),
        ("maxCount", "{valueFrom: {templateString: '{{ .Secret.a.b }}'}}"),
        ("imageID", "{value: null}"),
        ("imageID", "{value: 7}"),
        ("maxCount", "{value: many}"),
        ("maxCount", "{value: 1.5}"),
        ("maxCount", "{value: -3}"),
        ("maxCount", "{value: 1000000}"),
        ("imageID", "{value: not-an-image}"),
        ("instanceType", "{value: nano}"),
    ] {
        let refusal = test_env.refused(&spoiled(field, option)).await?;
        assert!(refusal.contains(&format!("spec.{field}")), "{field}: {option}: {refusal}");
    }
    let refusal = test_env.refused(&spoiled("minCount", "{value: 2}")).await?;
    assert!(refusal.contains("minCount must not be greater than maxCount"), "{refusal}");
    // Fields that are shown in many places accept no Secret.
    let secret = "{valueFrom: {secret: {name: a, key: b}}}";
    for (field, written) in [("keyName", secret.to_owned()), ("tags", format!("{{Name: {secret}}}"))] {
        let refusal = test_env
            .refused(&instance(&format!(
                "imageID: {{value: ami-1}}, instanceType: {{value: t2.nano}}, minCount: {{value: 1}}, \
                 maxCount: {{value: 1}}, {field}: {written}"
            )))
            .await?;
        assert!(refusal.contains(&format!("spec.{field}")), "{field}: {refusal}");
    }
    Ok(())
}

#[tokio::test]
async fn an_invalid_list_element_is_rejected_with_its_index() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let with_groups = |groups: &str| {
        instance(&format!(
            "imageID: {{value: ami-1}}, instanceType: {{value: t2.nano}}, minCount: {{value: 1}}, maxCount: {{value: 1}}, \
             securityGroupIDs: {groups}, lifecycle: {{paused: true}}"
        ))
    };
    for wrong in [
        "7",
        "0",
        "0.5",
        "true",
        "false",
        "[]",
        "[sg-1]",
        "{}",
        "{value: sg-1}",
        "{valueFrom: sg-1}",
        "{valueFrom: {}}",
        "{valueFrom: {configMap: {name: a}}}",
        "{valueFrom: {configMap: {name: a, key: b}, secret: {name: a, key: b}}}",
        "{valueFrom: {krakenResource: {kind: vpc, name: a, path: ''}}}",
    ] {
        let refusal = test_env.refused(&with_groups(&format!("{{value: [sg-1, {wrong}]}}"))).await?;
        assert!(refusal.contains("spec.securityGroupIDs.value[1]"), "{wrong}: {refusal}");
    }
    let mixed = "{value: [sg-1, {valueFrom: {configMap: {name: a, key: b}}}, sg-2]}";
    for right in [mixed, "{valueFrom: {configMap: {name: a, key: b}}}"] {
        test_env.apply(&with_groups(right)).await?;
        test_env.delete("EC2Instance", "bad").await?;
        test_env.gone("EC2Instance", "bad").await?;
    }
    // The only invalid element that the schema cannot reject.
    test_env.apply(&with_groups("{value: [sg-1, null]}")).await?;
    let message = test_env.not_ready("EC2Instance", "bad", "InvalidSpec").await?;
    assert!(
        message.contains("value[1]: expected string or an object with valueFrom, found null"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn problems_found_by_the_controller_are_reported_with_the_field() -> Result<()> {
    let test_env = TestEnv::new().await?;
    for (field, option, reason) in [
        ("imageID", "{valueFrom: {krakenResource: {kind: vpc, name: a, path: 'a..b'}}}", "InvalidSpec"),
        ("imageID", "{valueFrom: {krakenResource: {kind: vpc, name: a, path: '$.a['}}}", "InvalidSpec"),
        ("imageID", "{valueFrom: {templateString: '{{ .ConfigMap.a }}'}}", "InvalidSpec"),
        ("imageID", "{valueFrom: {ref: vpc/a/a..b}}", "InvalidSpec"),
        (
            "imageID",
            "{valueFrom: {krakenResource: {kind: nosuchkind, name: a, path: b}}}",
            "DependenciesNotReady",
        ),
        ("imageID", "{valueFrom: {secret: {name: absent, key: b}}}", "DependenciesNotReady"),
    ] {
        test_env.apply(&spoiled(field, option)).await?;
        let message = test_env.not_ready("EC2Instance", "bad", reason).await?;
        assert!(message.contains(&format!("spec.{field}")), "{field}: {option}: {message}");
        test_env.delete("EC2Instance", "bad").await?;
        test_env.gone("EC2Instance", "bad").await?;
    }
    assert!(test_env.alive("bad").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn absent_credentials_are_a_condition_and_a_log_line() -> Result<()> {
    const SPOKE: &str = "aws-ec2-instance";
    let suite = SuiteOptions::default()
        .without_env(SPOKE, "AWS_ACCESS_KEY_ID")
        .without_env(SPOKE, "AWS_SECRET_ACCESS_KEY");
    let test_env = TestEnv::with(suite).await?;
    test_env.apply(&spoiled("none", "")).await?;
    let message = test_env.not_ready("EC2Instance", "bad", "CredentialsMissing").await?;
    assert!(message.contains("AWS_ACCESS_KEY_ID"), "{message}");
    assert!(test_env.env.suite.controller(SPOKE)?.log_text()?.contains("AWS_ACCESS_KEY_ID"));
    Ok(())
}
