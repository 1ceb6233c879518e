//! Generated keys: the private key is in one Secret and nowhere else.

use anyhow::{Context as _, Result};
use kraken_tests::{TestEnv, test_env::condition};
use serde_json::{Value, json};

const KEY: &str = "
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: KeyPair
metadata: {name: ops}
spec: {generate: {secretName: ops-key}}";

/// A key of a Secret in base64, as the API server has it.
fn data<'a>(secret: &'a Value, key: &str) -> Result<&'a str> {
    secret["data"][key].as_str().with_context(|| format!("the Secret has no {key}"))
}

#[tokio::test]
async fn a_generated_key_is_only_in_its_secret_and_generated_once() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(KEY).await?;
    test_env.ready("KeyPair", "ops").await?;

    let secret = test_env.get("Secret", "ops-key").await?;
    assert_eq!(secret["type"], "kubernetes.io/ssh-auth");
    let private = data(&secret, "ssh-privatekey")?.to_owned();
    let known = test_env.in_cloud("DescribeKeyPairs", "keySet").await?;
    assert_eq!(known.len(), 1, "{known:?}");
    // The lines in the middle of the key's base64, in either spelling.
    let (start, end) = (private.len() / 3, private.len() / 2);
    for kind in ["KeyPair", "StateDeclaration", "DependencyRequest", "Event", "ConfigMap"] {
        let all = test_env.all(kind).await?;
        assert!(!all.contains(&private[start..end]) && !all.contains("OPENSSH PRIVATE KEY"), "{kind}: {all}");
    }

    // A new key would differ from the key in AWS: its loss is reported, and restoring it solves the problem.
    test_env.delete("Secret", "ops-key").await?;
    let lost = test_env
        .until("KeyPair", "ops", |object| condition(object, "Ready")["reason"] == "DependenciesNotReady")
        .await?;
    let message = condition(&lost, "Ready")["message"].clone();
    assert!(message.as_str().is_some_and(|text| text.contains("ops-key")), "{message}");
    let back = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ops-key"},
        "type": secret["type"], "data": secret["data"],
    });
    test_env.apply(&back.to_string()).await?;
    test_env.ready("KeyPair", "ops").await?;
    assert_eq!(test_env.in_cloud("DescribeKeyPairs", "keySet").await?, known);

    test_env.delete("KeyPair", "ops").await?;
    test_env.gone("KeyPair", "ops").await?;
    assert_eq!(test_env.in_cloud("DescribeKeyPairs", "keySet").await?, [Value::Null; 0]);
    // A user's Secret is retained; a generated one is deleted with the key pair.
    assert_ne!(test_env.get("Secret", "ops-key").await?, Value::Null);
    test_env.event("ops", |_, note| note.contains("Secret ops-key has no owner and is not deleted")).await?;
    test_env.apply(&KEY.replace("ops", "dev")).await?;
    test_env.ready("KeyPair", "dev").await?;
    test_env.delete("KeyPair", "dev").await?;
    test_env.gone("Secret", "dev-key").await
}

/// The Secret `team-key`, which a person wrote, with this data in base64.
fn of_a_person(data: &Value) -> String {
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "team-key"}, "data": data});
    secret.to_string()
}

#[tokio::test]
async fn an_existing_secret_is_used_and_never_changed() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env.apply(KEY).await?;
    test_env.ready("KeyPair", "ops").await?;
    let generated = test_env.get("Secret", "ops-key").await?["data"].clone();

    // Without the public key it is not completed: it may belong to another application.
    test_env.apply(&of_a_person(&json!({"ssh-privatekey": generated["ssh-privatekey"]}))).await?;
    let before = test_env.get("Secret", "team-key").await?;
    test_env.apply(&KEY.replace("ops", "team")).await?;
    let waiting = test_env
        .until("KeyPair", "team", |object| condition(object, "Ready")["reason"] == "DependenciesNotReady")
        .await?;
    let message = condition(&waiting, "Ready")["message"].clone();
    let words = |text: &str| text.contains("team-key") && text.contains("ssh-publickey");
    assert!(message.as_str().is_some_and(words), "{message}");
    assert_eq!(test_env.get("Secret", "team-key").await?, before);
    assert_eq!(test_env.in_cloud("DescribeKeyPairs", "keySet").await?.len(), 1, "only that of ops");

    test_env.apply(&of_a_person(&generated)).await?;
    test_env.ready("KeyPair", "team").await?;
    let used = test_env.get("Secret", "team-key").await?;
    assert_eq!(used["data"], generated);
    assert_eq!(used["metadata"]["ownerReferences"], Value::Null);

    // It belongs to a person, who decides when it is deleted.
    test_env.delete("KeyPair", "team").await?;
    test_env.gone("KeyPair", "team").await?;
    assert_eq!(test_env.get("Secret", "team-key").await?, used);
    Ok(())
}

#[tokio::test]
async fn a_retained_key_pair_keeps_its_secret() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env
        .apply(&KEY.replace("secretName: ops-key}", "secretName: ops-key}, lifecycle: {deletion: Retain}"))
        .await?;
    test_env.ready("KeyPair", "ops").await?;
    let secret = test_env.get("Secret", "ops-key").await?;
    assert_eq!(secret["metadata"]["ownerReferences"], Value::Null, "no garbage collection");
    let known = test_env.in_cloud("DescribeKeyPairs", "keySet").await?;
    let name = known[0]["keyName"].as_str().context("the key pair has no name")?;
    test_env.delete("KeyPair", "ops").await?;
    test_env.gone("KeyPair", "ops").await?;
    // Released: it exists without the owner tags.
    assert!(test_env.in_cloud("DescribeKeyPairs", "keySet").await?.is_empty());
    let kept = test_env.env.moto.ec2("DescribeKeyPairs", &[("KeyName.1", name)]).await?;
    assert_eq!(kept["keySet"].as_array().map(Vec::len), Some(1));
    assert_eq!(test_env.get("Secret", "ops-key").await?, secret);
    Ok(())
}
