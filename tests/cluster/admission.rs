//! The admission webhooks, called by a real kube-apiserver: rejections, exemptions, and the rotation of the certificate.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
};
use serde_json::json;

/// The lifetime of a certificate in these tests: it is replaced every eight seconds.
const LIFETIME: &str = "12s";

fn vpc(name: &str, fields: &str) -> String {
    format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {{name: {name}}}, spec: {{{fields}}}}}"
    )
}

fn export(name: &str, target: &str, source: &str) -> String {
    format!(
        "{{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {{name: {name}}}, \
         spec: {{configType: ConfigMap, configMetadata: {{name: {target}}}, entries: [{{key: k, valueFrom: {source}}}]}}}}"
    )
}

/// The hub and the spoke of VPCs with their webhooks on.
pub(crate) async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let only = Some(vec!["hub".to_owned(), "aws-vpc".to_owned()]);
    let start = || {
        let suite = SuiteOptions { only, webhooks: true, ..SuiteOptions::default() }.with_env(
            "hub",
            "KRAKEN_WEBHOOK_CERTIFICATE_LIFETIME",
            LIFETIME,
        );
        Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
    };
    TestEnv::on(SHARED.get(start).await?).await
}

#[tokio::test]
async fn all_mistakes_of_a_spec_are_rejected_at_once_with_their_fields() -> Result<()> {
    let test_env = test_env().await?;
    let refusal = test_env
        .refused(&vpc(
            "bad",
            "cidrBlock: {value: 10.0.0.0/16}, secondaryCIDRBlocks: {value: [10.0.0.0/24]}, tags: {Team: {valueFrom: {krakenResource: {kind: vpc, name: a, path: 'x[0'}}}}, \
             lifecycle: {ignoreChanges: [tgas]}",
        ))
        .await?;
    for field in ["spec.secondaryCIDRBlocks", "spec.tags[\"Team\"]", "spec.lifecycle.ignoreChanges[0]"] {
        assert!(refusal.contains(field), "{field}: {refusal}");
    }
    let refusal = test_env.refused(&export("bad", "app", "{templateString: '{{ .ConfigMap.a }}'}")).await?;
    assert!(refusal.contains("spec.entries[0]"), "{refusal}");
    Ok(())
}

#[tokio::test]
async fn a_literal_that_the_account_forbids_is_rejected_and_a_value_becomes_a_condition() -> Result<()> {
    let test_env = test_env().await?;
    let subnet = |name: &str, vpc: &str| {
        format!(
            "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Subnet, metadata: {{name: {name}}}, spec: \
              {{vpcID: {vpc}, cidrBlock: {{value: 10.0.1.0/24}}}}}}"
        )
    };
    test_env
        .apply(
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: ids}, data: {vpc: vpc-0bbb}}\n---\n\
             {apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Account, metadata: {name: default}, spec: \
              {allow: {vpcs: [vpc-0aaa], adopt: {ids: [vpc-0aaa]}}}}",
        )
        .await?;
    // The spoke gets the Account by a watch.
    let deadline = Instant::now() + kraken_tests::test_env::TIMEOUT;
    let refusal = loop {
        match test_env.refused(&subnet("literal", "{value: vpc-0bbb}")).await {
            Ok(refusal) => break refusal,
            Err(_) if Instant::now() < deadline => {
                test_env.api("Subnet").delete("literal", &DeleteParams::default()).await?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error),
        }
    };
    let words = "spec.vpcID: vpc-0bbb is not allowed by spec.allow.vpcs of Account default: [vpc-0aaa]";
    assert!(refusal.contains(words), "{refusal}");
    let adopting = vpc("adopting", "cidrBlock: {value: 10.0.0.0/16}, lifecycle: {adopt: {id: vpc-0bbb}}");
    let refusal = test_env.refused(&adopting).await?;
    assert!(refusal.contains("spec.lifecycle.adopt.id: vpc-0bbb must not be adopted"), "{refusal}");
    // The value of a reference is not known when it is applied, and an Account that is named may come later.
    test_env.apply(&subnet("by-map", "{valueFrom: {configMap: {name: ids, key: vpc}}}")).await?;
    let why = test_env.not_ready("Subnet", "by-map", "NotAllowedByAccount").await?;
    assert!(why.contains(words), "{why}");
    let early = subnet("early", "{value: vpc-0bbb}").replace("spec: {", "spec: {account: {name: later}, ");
    test_env.apply(&early).await?;
    test_env.not_ready("Subnet", "early", "AccountNotFound").await.map(drop)
}

#[tokio::test]
async fn a_reference_to_itself_is_rejected_and_a_cycle_with_a_stored_object_is_a_condition() -> Result<()> {
    let test_env = test_env().await?;
    let from = |name: &str| {
        format!(
            "cidrBlock: {{valueFrom: {{krakenResource: {{kind: vpc, name: {name}, path: vpc.CidrBlock}}}}}}"
        )
    };
    let refusal = test_env.refused(&vpc("self", &from("self"))).await?;
    assert!(refusal.contains("reference cycle: vpc self -> vpc self"), "{refusal}");
    // In one commit, the reference is turned round: the stored object still has the former one.
    let tagged = |name: &str, block: u8, peer: &str| {
        vpc(name, &format!("cidrBlock: {{value: 10.{block}.0.0/16}}, tags: {{Peer: {peer}}}"))
    };
    let (of_a, of_b) = ("{valueFrom: {ref: VPC/a}}", "{valueFrom: {ref: VPC/b}}");
    test_env.apply(&tagged("a", 1, of_b)).await?;
    test_env.apply(&tagged("b", 2, "x")).await?;
    test_env.ready("VPC", "a").await?;
    test_env.apply(&tagged("b", 2, of_a)).await?;
    let why = test_env.not_ready("VPC", "b", "DependenciesNotReady").await?;
    assert!(why.contains("reference cycle: vpc b -> vpc a -> vpc b"), "{why}");
    test_env.apply(&tagged("a", 1, "x")).await?;
    test_env.ready("VPC", "a").await?;
    test_env.ready("VPC", "b").await.map(drop)
}

#[tokio::test]
async fn an_export_under_a_new_name_takes_the_target_over_when_the_old_one_is_deleted() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: src}, data: {color: red}}").await?;
    let source = "{configMap: {name: src, key: color}}";
    test_env.apply(&export("old", "colors", source)).await?;
    test_env.ready("ConfigExport", "old").await?;
    test_env.apply(&export("new", "colors", source)).await?;
    let why = test_env.not_ready("ConfigExport", "new", "TargetNotOwned").await?;
    assert!(why.contains("ConfigMap colors exists and belongs to ConfigExport old"), "{why}");
    test_env.delete("ConfigExport", "old").await?;
    // Kubernetes collects the former target. Its deletion is an event, without which nothing would reconcile the export again.
    test_env.ready("ConfigExport", "new").await?;
    let target = test_env.get("ConfigMap", "colors").await?;
    assert_eq!(
        (&target["data"]["k"], &target["metadata"]["ownerReferences"][0]["name"]),
        (&json!("red"), &json!("new"))
    );
    Ok(())
}

#[tokio::test]
async fn reference_to_a_published_value_of_the_wrong_type_is_rejected() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&vpc("facts", "cidrBlock: {value: 10.9.0.0/16}")).await?;
    test_env.ready("VPC", "facts").await?;
    let from = |path: &str| {
        format!("cidrBlock: {{valueFrom: {{krakenResource: {{kind: vpc, name: facts, path: {path}}}}}}}")
    };
    let deadline = Instant::now() + kraken_tests::test_env::TIMEOUT;
    loop {
        match test_env.refused(&vpc("wrong", &from("vpc"))).await {
            Ok(refusal) => {
                assert!(
                    refusal.contains("spec.cidrBlock") && refusal.contains("is of type object"),
                    "{refusal}"
                );
                break;
            }
            // The hub has not seen the state yet.
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => test_env.api("VPC").delete("wrong", &DeleteParams::default()).await.map(drop)?,
        }
    }
    let good = vpc("good", &from("vpc.CidrBlock"));
    test_env.apply(&good).await?;
    test_env.ready("VPC", "good").await?;
    // Our finalizer and status were not reviewed; neither is a label if the spec is unchanged.
    test_env.patch("VPC", "good", json!({"metadata": {"labels": {"a": "b"}}})).await
}

#[tokio::test]
async fn protected_resource_is_not_deleted_until_protect_is_false() -> Result<()> {
    let test_env = test_env().await?;
    test_env.apply(&vpc("kept", "cidrBlock: {value: 10.1.0.0/16}, lifecycle: {protect: true}")).await?;
    let api = test_env.api("VPC");
    let Err(refusal) = api.delete("kept", &DeleteParams::default()).await else { bail!("it was deleted") };
    assert!(refusal.to_string().contains("lifecycle.protect"), "{refusal}");
    assert!(api.get("kept").await?.metadata.deletion_timestamp.is_none());
    test_env.patch("VPC", "kept", json!({"spec": {"lifecycle": {"protect": false}}})).await?;
    api.delete("kept", &DeleteParams::default()).await?;
    Ok(())
}

#[tokio::test]
async fn every_write_is_reviewed_during_certificate_rotation() -> Result<()> {
    let test_env = test_env().await?;
    let api: Api<ValidatingWebhookConfiguration> = Api::all(test_env.client());
    let bundles = async || {
        let found = api.get("kraken-hub").await?;
        let all = found.webhooks.into_iter().flatten();
        anyhow::Ok(
            all.filter_map(|webhook| webhook.client_config.ca_bundle)
                .map(|bundle| bundle.0)
                .collect::<Vec<_>>(),
        )
    };
    let bad: DynamicObject = serde_json::from_value(serde_json::to_value(
        kraken_testing::manifests::parse("the bad export", &export("bad", "app", "{templateString: '{{'}"))?
            .into_iter()
            .next()
            .map(|document| document.value),
    )?)?;
    let params = PatchParams { dry_run: true, ..PatchParams::apply("test").force() };
    let (began, first, mut rejected, mut seen) =
        (Instant::now(), bundles().await?, 0, std::collections::BTreeSet::new());
    while began.elapsed() < Duration::from_secs(30) {
        seen.insert(bundles().await?);
        match test_env.api("ConfigExport").patch("bad", &params, &Patch::Apply(&bad)).await {
            Err(kube::Error::Api(status)) if status.message.contains("spec.entries[0]") => rejected += 1,
            other => bail!("after {rejected} reviews: {other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_ne!(first, bundles().await?, "it was rotated");
    // Each rotation publishes the next CA beside the old one, and then removes the old one.
    assert!(seen.len() >= 4, "{} bundles in {rejected} reviews", seen.len());
    Ok(())
}
