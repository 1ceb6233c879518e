//! The admission policies on a real API server, with real tokens of users with limited permissions.

use std::time::Duration;

use anyhow::{Result, bail};
use kraken_tests::{TestEnv, TestUser};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

const APPROVED: &str = "kraken-iac.eoinfennessy.com/approved-plan";

/// A user with all permissions on Kraken's kinds, who can approve if `approves`, and can get the Secrets `mine` and
/// `a.b`.
async fn user(test_env: &TestEnv, approves: bool) -> Result<TestUser> {
    let groups = ["aws", "configexport", "core"].map(|group| format!("{group}.kraken-iac.eoinfennessy.com"));
    let mut verbs = vec!["get", "list", "create", "update", "patch", "delete", "deletecollection"];
    if approves {
        verbs.push("approve");
    }
    let rules = json!([
        {"apiGroups": groups, "resources": ["*"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine", "a.b"], "verbs": ["get"]},
    ]);
    let user = TestUser::new(test_env, if approves { "approver" } else { "jane" }, &rules).await?;
    // Policies and permissions take effect after a delay.
    let forged = state("vpc.aws.forged");
    for _ in 0..200 {
        match user.apply(&forged).await {
            Err(error) if format!("{error:#}").contains("ValidatingAdmissionPolicy") => return Ok(user),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    bail!("the policies are not in force")
}

fn state(name: &str) -> String {
    json!({
        "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
        "metadata": {"name": name}, "spec": {"data": {"a": 1}},
    })
    .to_string()
}

fn of_aws(kind: &str, name: &str, spec: &Value) -> String {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    })
    .to_string()
}

/// A paused instance with user data.
fn instance(name: &str, user_data: &Value) -> String {
    let value = |value: Value| json!({"value": value});
    let spec = json!({
        "imageID": value(json!("ami-12c6146b")), "instanceType": value(json!("t2.nano")), "minCount": value(json!(1)),
        "maxCount": value(json!(1)), "userData": user_data, "lifecycle": {"paused": true},
    });
    of_aws("EC2Instance", name, &spec)
}

fn secret(name: &str, key: &str) -> Value {
    json!({"valueFrom": {"secret": {"name": name, "key": key}}})
}

fn template(text: &str) -> Value {
    json!({"valueFrom": {"templateString": text}})
}

fn export(target: &str, entries: &Value) -> String {
    json!({
        "apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport",
        "metadata": {"name": "e"},
        "spec": {"configType": "Secret", "configMetadata": {"name": target}, "entries": entries},
    })
    .to_string()
}

fn entry(key: &str, value: &Value) -> Value {
    let mut entry = value.clone();
    entry["key"] = key.into();
    entry
}

#[tokio::test]
async fn the_author_of_a_resource_must_be_able_to_get_its_secrets() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let jane = user(&test_env, false).await?;
    let rule = |field: &str, value: Value| {
        let mut rule = json!({"protocol": {"value": "tcp"}, "fromPort": {"value": 80}, "toPort": {"value": 80},
            "cidrBlocks": {"value": ["10.0.0.0/8"]}});
        rule[field] = value;
        json!({"description": {"value": "d"}, "vpcID": {"value": "vpc-1"}, "ingress": [rule], "lifecycle": {"paused": true}})
    };
    let group = |spec: &Value| of_aws("SecurityGroup", "a", spec);
    let named = |name: &str| {
        vec![
            instance("a", &secret(name, "k")),
            instance("a", &template(&format!("x {{{{ .Secret[\"{name}\"].k }}}}"))),
            instance("a", &template(&format!("{{{{\u{a0}[\"SE-cret\"][\"{name}\"][\"k\"]}}}}"))),
            instance(
                "a",
                &template(&format!("{{{{ \"{{{{ .Secret[\\\"\" }}}}{{{{ .Secret['{name}'].k }}}}")),
            ),
            group(&rule("fromPort", secret(name, "k"))),
            group(&rule("cidrBlocks", json!({"value": ["10.0.0.0/8", secret(name, "k")]}))),
            group(&rule("description", template(&format!("{{{{ .-secret['{name}'].k }}}}")))),
            export("t", &json!([entry("x", &json!({"value": 1})), entry("y", &secret(name, "k"))])),
        ]
    };
    for refused in named("other") {
        let message = jane.refused(&refused).await?;
        assert!(message.contains("you must be allowed to get the Secrets"), "{refused}: {message}");
        assert!(message.contains("other"), "{refused}: {message}");
    }
    for accepted in named("a.b") {
        jane.apply(&accepted).await?;
    }
    // Text that looks like a reference, and a literal that looks like an option.
    jane.apply(&instance(
        "a",
        &template("http://my.secret.example.com/{{ .ConfigMap.secret.other }} .Secret.other.k"),
    ))
    .await?;
    jane.apply(&export("t", &json!([entry("x", &json!({"value": secret("other", "k")}))]))).await?;
    Ok(())
}

/// A paused key pair with a generated key in this Secret.
fn key_pair(name: &str, secret: &str) -> String {
    of_aws("KeyPair", name, &json!({"generate": {"secretName": secret}, "lifecycle": {"paused": true}}))
}

/// A Secret of this name may exist, and its public key would be imported.
#[tokio::test]
async fn the_author_of_a_key_pair_must_be_able_to_get_the_secret_of_its_key() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let jane = user(&test_env, false).await?;
    let denied =
        |name: &str| format!("you must be allowed to get the Secrets that this resource refers to: {name}");
    let message = jane.refused(&key_pair("a", "other")).await?;
    assert!(message.contains(&denied("other")), "{message}");
    jane.apply(&key_pair("a", "mine")).await?;
    // Another user's key pair can be edited, but not to use another Secret.
    test_env.apply(&key_pair("b", "other")).await?;
    jane.patch("KeyPair", "b", &json!({"spec": {"tags": {"Team": "shop"}}})).await?;
    let named = |name: &str| json!({"spec": {"generate": {"secretName": name}}});
    let message = jane.patch("KeyPair", "b", &named("another")).await.unwrap_err().to_string();
    assert!(message.contains(&denied("another")), "{message}");
    jane.patch("KeyPair", "b", &named("a.b")).await
}

#[tokio::test]
async fn an_edit_requires_permission_only_for_new_references() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let jane = user(&test_env, false).await?;
    test_env.apply(&instance("a", &secret("other", "k"))).await?;
    jane.patch("EC2Instance", "a", &json!({"spec": {"maxCount": {"value": 2}}})).await?;
    jane.patch("EC2Instance", "a", &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    for patch in [
        json!({"spec": {"userData": secret("other", "another-key")}}),
        json!({"spec": {"subnetID": secret("other", "k")}}),
    ] {
        let message = jane.patch("EC2Instance", "a", &patch).await.unwrap_err().to_string();
        assert!(message.contains("you must be allowed to get the Secrets"), "{patch}: {message}");
    }
    test_env.apply(&export("t", &json!([entry("x", &secret("other", "k"))]))).await?;
    jane.apply(&export("t", &json!([entry("x", &secret("other", "k")), entry("y", &json!({"value": 1}))])))
        .await?;
    // Another target would get the value.
    jane.refused(&export("u", &json!([entry("x", &secret("other", "k"))]))).await?;
    // More than 20 Secrets require the permission to get all.
    let many: Vec<Value> =
        (0..21).map(|i| entry(&format!("k{i}"), &secret("mine", &format!("k{i}")))).collect();
    jane.apply(&export("t", &json!(many))).await?;
    let many: Vec<Value> = (0..21).map(|i| entry("k", &secret(&format!("s{i}"), "k"))).collect();
    let many: Vec<Value> = many.iter().enumerate().map(|(i, value)| entry(&format!("k{i}"), value)).collect();
    let message = jane.refused(&export("t", &json!(many))).await?;
    assert!(message.contains("more than 20 new Secrets"), "{message}");
    test_env.apply(&export("t", &json!(many))).await
}

#[tokio::test]
async fn only_controllers_write_published_objects() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let jane = user(&test_env, true).await?;
    let message = jane.refused(&state("vpc.aws.a")).await?;
    assert!(message.contains("static-<name>"), "{message}");
    jane.apply(&state("static-facts")).await?;
    let request = json!({
        "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "DependencyRequest",
        "metadata": {"name": "a"}, "spec": {},
    });
    jane.refused(&request.to_string()).await?;
    // A state that its controller wrote.
    let cidr = json!({"cidrBlock": {"value": "10.0.0.0/16"}});
    jane.apply(&of_aws("VPC", "a", &cidr)).await?;
    test_env.ready("VPC", "a").await?;
    test_env.until("StateDeclaration", "vpc.aws.a", |state| !state.is_null()).await?;
    for patch in [json!({"spec": {"id": "vpc-2"}}), json!({"metadata": {"labels": {"a": "b"}}})] {
        let params = kube::api::PatchParams::default();
        let patched = jane
            .api("core", "StateDeclaration")
            .patch("vpc.aws.a", &params, &kube::api::Patch::Merge(patch))
            .await;
        let message = patched.unwrap_err().to_string();
        assert!(message.contains("only Kraken's controllers write"), "{message}");
    }
    let status = json!({"status": {"externalIds": ["vpc-of-others"]}});
    let patched = jane
        .api("aws", "VPC")
        .patch_status("a", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await;
    let message = patched.unwrap_err().to_string();
    assert!(message.contains("the status and its plan"), "{message}");
    // The garbage collector still removes it with its owner.
    jane.api("aws", "VPC").delete("a", &DeleteParams::default()).await?;
    test_env.gone("VPC", "a").await?;
    test_env.gone("StateDeclaration", "vpc.aws.a").await
}

#[tokio::test]
async fn a_protected_resource_cannot_be_deleted_directly_or_with_its_namespace() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let jane = user(&test_env, false).await?;
    let cidr = json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"protect": true, "paused": true}});
    jane.apply(&of_aws("VPC", "a", &cidr)).await?;
    let deletion = jane.api("aws", "VPC").delete("a", &DeleteParams::default()).await;
    let message = deletion.unwrap_err().to_string();
    assert!(message.contains("spec.lifecycle.protect is true"), "{message}");
    assert!(test_env.delete("VPC", "a").await.is_err(), "an administrator");
    test_env.ns.delete().await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(test_env.get("VPC", "a").await?["metadata"]["deletionTimestamp"].is_null());
    test_env.patch("VPC", "a", json!({"spec": {"lifecycle": {"protect": false}}})).await?;
    test_env.delete("VPC", "a").await
}

#[tokio::test]
async fn approving_requires_its_own_verb() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (jane, approver) = (user(&test_env, false).await?, user(&test_env, true).await?);
    let spec = |approval: &str| json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"approval": approval, "paused": true}});
    jane.apply(&of_aws("VPC", "a", &spec("Manual"))).await?;
    let approve = json!({"metadata": {"annotations": {APPROVED: "hash"}}});
    let no_longer = json!({"spec": {"lifecycle": {"approval": "Automatic"}}});
    for patch in [&approve, &no_longer] {
        let message = jane.patch("VPC", "a", patch).await.unwrap_err().to_string();
        assert!(message.contains("require the verb approve"), "{message}");
    }
    let mut born: Value = serde_json::from_str(&of_aws("VPC", "b", &spec("Manual")))?;
    born["metadata"]["annotations"] = json!({APPROVED: "hash"});
    jane.refused(&born.to_string()).await?;
    approver.patch("VPC", "a", &approve).await?;
    jane.patch("VPC", "a", &json!({"metadata": {"annotations": {"a": "b"}}})).await?;
    jane.patch("VPC", "a", &json!({"metadata": {"annotations": {APPROVED: null}}})).await?;
    approver.patch("VPC", "a", &no_longer).await
}

#[tokio::test]
async fn users_with_the_standard_roles_can_work_under_the_policies() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let editor = TestUser::bound(&test_env, "editor", "ClusterRole", "edit").await?;
    let administrator = TestUser::bound(&test_env, "administrator", "ClusterRole", "admin").await?;
    let vpc = of_aws(
        "VPC",
        "a",
        &json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"approval": "Manual"}}),
    );
    // Aggregation takes effect after a delay.
    for attempt in 0.. {
        match editor.apply(&vpc).await {
            Ok(()) => break,
            Err(error) if attempt > 200 => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    editor.apply(&instance("a", &secret("any", "k"))).await?; // `edit` may get all Secrets
    for (user, replicas) in [(&editor, 2), (&administrator, 1)] {
        let scale = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        user.api("aws", "EC2Instance").patch_scale("a", &PatchParams::default(), &scale).await?;
        let spec = &test_env.get("EC2Instance", "a").await?["spec"];
        assert_eq!(spec["maxCount"]["value"], replicas, "as by kubectl scale");
    }
    // Users write and delete the states that are theirs, and no others.
    for (user, name) in [(&editor, "static-a"), (&administrator, "static-b")] {
        user.apply(&state(name)).await?;
        user.api("core", "StateDeclaration").delete(name, &DeleteParams::default()).await?;
        let message = user.refused(&state("vpc-a")).await?;
        assert!(message.contains("users can write StateDeclarations named static-<name>"), "{message}");
    }
    test_env.apply(&state("vpc-of-a-controller")).await?; // by an administrator of the cluster
    let (states, params) = (administrator.api("core", "StateDeclaration"), DeleteParams::default());
    let deletion = states.delete("vpc-of-a-controller", &params);
    let message = deletion.await.unwrap_err().to_string();
    assert!(message.contains("users can delete those named static-<name>"), "{message}");
    let hash = |vpc: &Value| vpc["status"]["plan"]["hash"].as_str().map(str::to_owned);
    let waiting = test_env.until("VPC", "a", |vpc| hash(vpc).is_some()).await?;
    let approve = json!({"metadata": {"annotations": {APPROVED: hash(&waiting)}}});
    assert!(editor.patch("VPC", "a", &approve).await.is_err());
    administrator.patch("VPC", "a", &approve).await?;
    test_env.ready("VPC", "a").await.map(drop)
}
