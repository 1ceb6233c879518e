//! Keys that Kraken makes: one private half, in one Secret and nowhere else.

use anyhow::{Context as _, Result};
use kraken_tests::{World, world::condition};
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
async fn a_generated_key_is_in_its_secret_alone_and_made_once() -> Result<()> {
    let world = World::new().await?;
    world.apply(KEY).await?;
    world.ready("KeyPair", "ops").await?;

    let secret = world.get("Secret", "ops-key").await?;
    assert_eq!(secret["type"], "kubernetes.io/ssh-auth");
    let private = data(&secret, "ssh-privatekey")?.to_owned();
    let known = world.in_cloud("DescribeKeyPairs", "keySet").await?;
    assert_eq!(known.len(), 1, "{known:?}");
    // The lines in the middle of the key's base64, in either spelling.
    let (start, end) = (private.len() / 3, private.len() / 2);
    for kind in ["KeyPair", "StateDeclaration", "DependencyRequest", "Event", "ConfigMap"] {
        let all = world.all(kind).await?;
        assert!(!all.contains(&private[start..end]) && !all.contains("OPENSSH PRIVATE KEY"), "{kind}: {all}");
    }

    // A new key would not be the one that AWS has: its loss is told, and putting it back mends it.
    world.delete("Secret", "ops-key").await?;
    let lost = world
        .until("KeyPair", "ops", |object| condition(object, "Ready")["reason"] == "DependenciesNotReady")
        .await?;
    let message = condition(&lost, "Ready")["message"].clone();
    assert!(message.as_str().is_some_and(|text| text.contains("ops-key")), "{message}");
    let back = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ops-key"},
        "type": secret["type"], "data": secret["data"],
    });
    world.apply(&back.to_string()).await?;
    world.ready("KeyPair", "ops").await?;
    assert_eq!(world.in_cloud("DescribeKeyPairs", "keySet").await?, known);

    world.delete("KeyPair", "ops").await?;
    world.gone("KeyPair", "ops").await?;
    assert_eq!(world.in_cloud("DescribeKeyPairs", "keySet").await?, [Value::Null; 0]);
    // What somebody put there is theirs; what Kraken makes goes with the key.
    assert_ne!(world.get("Secret", "ops-key").await?, Value::Null);
    world.apply(&KEY.replace("ops", "dev")).await?;
    world.ready("KeyPair", "dev").await?;
    world.delete("KeyPair", "dev").await?;
    world.gone("Secret", "dev-key").await
}
