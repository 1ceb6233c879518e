//! The admission policies on a real API server, with the real tokens of people who may not do everything.

use std::time::Duration;

use anyhow::{Result, bail};
use kraken_tests::{Person, World};
use kube::api::DeleteParams;
use serde_json::{Value, json};

const APPROVED: &str = "kraken-iac.eoinfennessy.com/approved-plan";

/// A person who may do everything with Kraken's kinds, may approve if `approves`, and may get the Secrets `mine` and `a.b`.
async fn person(world: &World, approves: bool) -> Result<Person> {
    let groups = ["aws", "configexport", "core"].map(|group| format!("{group}.kraken-iac.eoinfennessy.com"));
    let mut verbs = vec!["get", "list", "create", "update", "patch", "delete", "deletecollection"];
    if approves {
        verbs.push("approve");
    }
    let rules = json!([
        {"apiGroups": groups, "resources": ["*"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine", "a.b"], "verbs": ["get"]},
    ]);
    let person = Person::new(world, if approves { "approver" } else { "jane" }, &rules).await?;
    // Policies and rights take effect in their own time.
    let forged = state("vpc.aws.forged");
    for _ in 0..200 {
        match person.apply(&forged).await {
            Err(error) if format!("{error:#}").contains("ValidatingAdmissionPolicy") => return Ok(person),
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
async fn the_author_of_a_resource_must_be_allowed_to_get_every_secret_that_it_names() -> Result<()> {
    let world = World::new().await?;
    let jane = person(&world, false).await?;
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
    // Text that only looks like a reference, and a literal that only looks like an option.
    jane.apply(&instance(
        "a",
        &template("http://my.secret.example.com/{{ .ConfigMap.secret.other }} .Secret.other.k"),
    ))
    .await?;
    jane.apply(&export("t", &json!([entry("x", &json!({"value": secret("other", "k")}))]))).await?;
    Ok(())
}

#[tokio::test]
async fn an_edit_takes_the_right_to_newly_named_secrets_only() -> Result<()> {
    let world = World::new().await?;
    let jane = person(&world, false).await?;
    world.apply(&instance("a", &secret("other", "k"))).await?;
    jane.patch("EC2Instance", "a", &json!({"spec": {"maxCount": {"value": 2}}})).await?;
    jane.patch("EC2Instance", "a", &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    for patch in [
        json!({"spec": {"userData": secret("other", "another-key")}}),
        json!({"spec": {"subnetID": secret("other", "k")}}),
    ] {
        let message = jane.patch("EC2Instance", "a", &patch).await.unwrap_err().to_string();
        assert!(message.contains("you must be allowed to get the Secrets"), "{patch}: {message}");
    }
    world.apply(&export("t", &json!([entry("x", &secret("other", "k"))]))).await?;
    jane.apply(&export("t", &json!([entry("x", &secret("other", "k")), entry("y", &json!({"value": 1}))])))
        .await?;
    // Another target would get the value.
    jane.refused(&export("u", &json!([entry("x", &secret("other", "k"))]))).await?;
    // Who may not get 20 Secrets by name needs the right to all.
    let many: Vec<Value> =
        (0..21).map(|i| entry(&format!("k{i}"), &secret("mine", &format!("k{i}")))).collect();
    jane.apply(&export("t", &json!(many))).await?;
    let many: Vec<Value> = (0..21).map(|i| entry("k", &secret(&format!("s{i}"), "k"))).collect();
    let many: Vec<Value> = many.iter().enumerate().map(|(i, value)| entry(&format!("k{i}"), value)).collect();
    let message = jane.refused(&export("t", &json!(many))).await?;
    assert!(message.contains("more than 20 Secrets"), "{message}");
    world.apply(&export("t", &json!(many))).await
}

#[tokio::test]
async fn what_controllers_publish_is_written_by_nobody_else() -> Result<()> {
    let world = World::new().await?;
    let jane = person(&world, true).await?;
    let message = jane.refused(&state("vpc.aws.a")).await?;
    assert!(message.contains("static-<name>"), "{message}");
    jane.apply(&state("static-facts")).await?;
    let request = json!({
        "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "DependencyRequest",
        "metadata": {"name": "a"}, "spec": {},
    });
    jane.refused(&request.to_string()).await?;
    // A resource's own, which its controller wrote.
    let cidr = json!({"cidrBlock": {"value": "10.0.0.0/16"}});
    jane.apply(&of_aws("VPC", "a", &cidr)).await?;
    world.ready("VPC", "a").await?;
    world.until("StateDeclaration", "vpc.aws.a", |state| !state.is_null()).await?;
    for patch in [json!({"spec": {"id": "vpc-2"}}), json!({"metadata": {"labels": {"a": "b"}}})] {
        let params = kube::api::PatchParams::default();
        let patched = jane
            .api("core", "StateDeclaration")
            .patch("vpc.aws.a", &params, &kube::api::Patch::Merge(patch))
            .await;
        let message = patched.unwrap_err().to_string();
        assert!(message.contains("by Kraken's controllers only"), "{message}");
    }
    let status = json!({"status": {"externalIds": ["vpc-of-others"]}});
    let patched = jane
        .api("aws", "VPC")
        .patch_status("a", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(status))
        .await;
    let message = patched.unwrap_err().to_string();
    assert!(message.contains("the status, with its plan"), "{message}");
    // The garbage collector still removes it with its owner.
    jane.api("aws", "VPC").delete("a", &DeleteParams::default()).await?;
    world.gone("VPC", "a").await?;
    world.gone("StateDeclaration", "vpc.aws.a").await
}

#[tokio::test]
async fn a_protected_resource_is_not_deleted_by_anybody_nor_with_its_namespace() -> Result<()> {
    let world = World::new().await?;
    let jane = person(&world, false).await?;
    let cidr = json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"protect": true, "paused": true}});
    jane.apply(&of_aws("VPC", "a", &cidr)).await?;
    let deletion = jane.api("aws", "VPC").delete("a", &DeleteParams::default()).await;
    let message = deletion.unwrap_err().to_string();
    assert!(message.contains("spec.lifecycle.protect is true"), "{message}");
    assert!(world.delete("VPC", "a").await.is_err(), "an administrator");
    world.ns.delete().await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(world.get("VPC", "a").await?["metadata"]["deletionTimestamp"].is_null());
    world.patch("VPC", "a", json!({"spec": {"lifecycle": {"protect": false}}})).await?;
    world.delete("VPC", "a").await
}

#[tokio::test]
async fn approving_takes_a_verb_of_its_own() -> Result<()> {
    let world = World::new().await?;
    let (jane, approver) = (person(&world, false).await?, person(&world, true).await?);
    let spec = |approval: &str| json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"approval": approval, "paused": true}});
    jane.apply(&of_aws("VPC", "a", &spec("Manual"))).await?;
    let approve = json!({"metadata": {"annotations": {APPROVED: "hash"}}});
    let no_longer = json!({"spec": {"lifecycle": {"approval": "Automatic"}}});
    for patch in [&approve, &no_longer] {
        let message = jane.patch("VPC", "a", patch).await.unwrap_err().to_string();
        assert!(message.contains("take the verb approve"), "{message}");
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
async fn people_with_the_roles_of_kubernetes_do_their_work_under_the_policies() -> Result<()> {
    let world = World::new().await?;
    let editor = Person::bound(&world, "editor", "ClusterRole", "edit").await?;
    let administrator = Person::bound(&world, "administrator", "ClusterRole", "admin").await?;
    let vpc = of_aws(
        "VPC",
        "a",
        &json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"approval": "Manual"}}),
    );
    // Aggregation follows in its own time.
    for attempt in 0.. {
        match editor.apply(&vpc).await {
            Ok(()) => break,
            Err(error) if attempt > 200 => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    editor.apply(&instance("a", &secret("any", "k"))).await?; // `edit` may get all Secrets
    let hash = |vpc: &Value| vpc["status"]["plan"]["hash"].as_str().map(str::to_owned);
    let waiting = world.until("VPC", "a", |vpc| hash(vpc).is_some()).await?;
    let approve = json!({"metadata": {"annotations": {APPROVED: hash(&waiting)}}});
    assert!(editor.patch("VPC", "a", &approve).await.is_err());
    administrator.patch("VPC", "a", &approve).await?;
    world.ready("VPC", "a").await.map(drop)
}
