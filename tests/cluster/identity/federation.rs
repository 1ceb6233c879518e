//! OIDC providers in moto, which has no calls for client ids.

use anyhow::Result;
use serde_json::{Value, json};

use super::*;
use crate::balancing::moto::texts;

async fn providers(test_env: &TestEnv) -> Result<Vec<String>> {
    Ok(texts(&call(test_env, IAM, "ListOpenIDConnectProviders", &[]).await?, "Arn"))
}

#[tokio::test]
async fn a_role_trusts_the_provider_of_a_cluster() -> Result<()> {
    let test_env = test_env().await?;
    let issuer = format!("oidc.example.com/id/{}", test_env.ns.name);
    let provider = |thumbprint: &str| {
        json!({
            "url": {"value": format!("https://{issuer}")}, "clientIDs": {"value": ["sts.amazonaws.com"]},
            "thumbprints": {"value": [thumbprint.repeat(40)]}, "tags": {"Team": "web"},
        })
    };
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster"}, "data": {"issuer": issuer}});
    let mut role = role();
    role["managedPolicyARNs"] = Value::Null;
    let key = json!({"valueFrom": {"templateString": "{{ .ConfigMap.cluster.issuer }}:sub"}});
    role["trustPolicy"]["statements"][0] = json!({
        "effect": {"value": "Allow"},
        "principals": {"federated": {"value": [id_of("OIDCProvider", "cluster")]}},
        "actions": {"value": ["sts:AssumeRoleWithWebIdentity"]},
        "conditions": [{
            "operator": {"value": "StringEquals"}, "key": key, "values": {"value": ["system:serviceaccount:shop:web"]},
        }],
    });
    let documents = [
        resource("Role", "web", &role),
        resource("OIDCProvider", "cluster", &provider("0")),
        map.to_string(),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let arn = id(&test_env.ready("OIDCProvider", "cluster").await?)?.to_owned();
    let role_arn = id(&test_env.ready("Role", "web").await?)?.to_owned();
    assert_eq!(in_moto(&test_env, name(&role_arn)).await?.trusted, json!({"Federated": [arn]}));
    let read = call(&test_env, IAM, "GetRole", &[("RoleName", name(&role_arn))]).await?;
    assert!(read.contains(&format!("{}%3Asub", test_env.ns.name)), "{read}");

    let fields = [("OpenIDConnectProviderArn", arn.as_str())];
    let read = || call(&test_env, IAM, "GetOpenIDConnectProvider", &fields);
    test_env.apply(&resource("OIDCProvider", "cluster", &provider("1"))).await?;
    until(|| async { Ok(read().await?.contains(&"1".repeat(40))) }).await?;
    assert_eq!(id(&test_env.ready("OIDCProvider", "cluster").await?)?, arn);

    // The URL is unique.
    test_env.apply(&resource("OIDCProvider", "other", &provider("1"))).await?;
    let message = test_env.not_ready("OIDCProvider", "other", "ValueInUse").await?;
    let holder = format!(
        "the URL {issuer} is in use by {arn}, which belongs to OIDCProvider/{}/cluster",
        test_env.ns.name
    );
    assert!(message.contains(&holder), "{message}");
    for (kind, name) in [("OIDCProvider", "other"), ("OIDCProvider", "cluster"), ("Role", "web")] {
        test_env.delete(kind, name).await?;
    }
    for (kind, name) in [("OIDCProvider", "other"), ("OIDCProvider", "cluster"), ("Role", "web")] {
        test_env.gone(kind, name).await?;
    }
    assert!(!providers(&test_env).await?.contains(&arn));
    Ok(())
}
