//! Databases in moto, through their controller as its real binary. moto creates and changes a database at once, has no pending values, and
//! takes a subnet group over by its name; it deletes a subnet group that is modified, and cannot reset parameters. Those are tested beside the
//! kinds.

use anyhow::{Context as _, Result};
use kraken_simulator::{FailureMode, FailurePoint};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::{
    balancing::{
        id,
        moto::{call, text, texts},
        request_reconcile, until,
    },
    services::resource,
};

const RDS: (&str, &str) = ("rds", "2014-10-31");
const PASSWORD: &str = "kraken-iac.eoinfennessy.com/master-user-password";
/// A test that counts calls, or fails the next one, is alone.
static CALLS: RwLock<()> = RwLock::const_new(());

/// An environment whose controllers have a shorter visibility window.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let only = ["hub", "aws-vpc", "aws-rds"].map(str::to_owned).to_vec();
            let suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() }
                .with_env("aws-vpc", "KRAKEN_VISIBILITY_WINDOW", "2s")
                .with_env("aws-rds", "KRAKEN_VISIBILITY_WINDOW", "2s")
                // Each requested reconcile reads the parameters.
                .with_env("aws-rds", "KRAKEN_DEEP_RESYNC_INTERVAL", "1ms");
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

/// A Secret with the password.
fn secret(test_env: &TestEnv, word: &str) -> String {
    let data = json!({"password": test_env.secret_value(word)});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": data}).to_string()
}

/// A database with the password of that Secret.
fn database(changes: &Value) -> Value {
    let mut spec = json!({
        "engine": {"value": "postgres"}, "engineVersion": {"value": "16"}, "instanceClass": {"value": "db.t4g.micro"},
        "allocatedStorageGiB": {"value": 20}, "masterUsername": {"value": "shop"},
        "masterUserPassword": {"valueFrom": {"secret": {"name": "db", "key": "password"}}},
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}

async fn rds(test_env: &TestEnv, action: &str, fields: &[(&str, &str)]) -> Result<String> {
    call(test_env, RDS, action, fields).await
}

async fn described(test_env: &TestEnv, id: &str) -> Result<String> {
    rds(test_env, "DescribeDBInstances", &[("DBInstanceIdentifier", id)]).await
}

/// The digest in the tag of a database.
async fn digest(test_env: &TestEnv, id: &str) -> Result<String> {
    let answer = described(test_env, id).await?;
    let tags = texts(&answer, "Tag");
    let tag = tags.iter().find(|tag| tag.contains(PASSWORD)).context("no tag of the password")?;
    text(tag, "Value")
}

async fn snapshots(test_env: &TestEnv, id: &str) -> Result<Vec<String>> {
    let answer = rds(test_env, "DescribeDBSnapshots", &[]).await?;
    let all = texts(&answer, "DBSnapshotIdentifier");
    Ok(all.into_iter().filter(|name| name.starts_with(&format!("{id}-final-"))).collect())
}

#[tokio::test]
async fn a_database_is_created_with_all_it_refers_to_corrected_and_deleted_with_a_final_snapshot()
-> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let name = format!("orders-{}", test_env.ns.name);
    let spec = database(&json!({
        "identifier": {"value": name}, "dbSubnetGroupName": {"valueFrom": {"ref": "DBSubnetGroup/main"}},
        "dbParameterGroupName": {"valueFrom": {"ref": "DBParameterGroup/main"}},
        "vpcSecurityGroupIDs": {"value": [{"valueFrom": {"ref": "SecurityGroup/main"}}]},
        "copyTagsToSnapshot": {"value": true}, "port": {"value": 6000}, "tags": {"Team": "shop"},
    }));
    // In reverse order.
    let export = json!({
        "apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport",
        "metadata": {"name": "db"},
        "spec": {
            "configType": "ConfigMap", "configMetadata": {"name": "db"},
            "entries": [{"key": "host", "valueFrom": {"ref": "DBInstance/db/dbInstance.Endpoint.Address"}}],
        },
    });
    test_env.apply(&export.to_string()).await?;
    test_env.apply(&resource("DBInstance", "db", &spec)).await?;
    let subnets = json!([{"valueFrom": {"ref": "Subnet/a"}}, {"valueFrom": {"ref": "Subnet/b"}}]);
    test_env.apply(&resource("DBSubnetGroup", "main", &json!({"subnetIDs": {"value": subnets}}))).await?;
    let parameters = json!([{"name": {"value": "log_statement"}, "value": {"value": "ddl"}}]);
    let group = json!({"family": {"value": "postgres16"}, "parameters": parameters});
    test_env.apply(&resource("DBParameterGroup", "main", &group)).await?;
    let vpc = json!({"valueFrom": {"ref": "VPC/main"}});
    test_env
        .apply(&resource("SecurityGroup", "main", &json!({"vpcID": vpc, "description": {"value": "db"}})))
        .await?;
    for (name, block, zone) in [("a", "10.0.1.0/24", "us-east-1a"), ("b", "10.0.2.0/24", "us-east-1b")] {
        let subnet =
            json!({"vpcID": vpc, "cidrBlock": {"value": block}, "availabilityZone": {"value": zone}});
        test_env.apply(&resource("Subnet", name, &subnet)).await?;
    }
    test_env.apply(&resource("VPC", "main", &json!({"cidrBlock": {"value": "10.0.0.0/16"}}))).await?;
    test_env.apply(&secret(&test_env, "one")).await?;

    assert_eq!(id(&test_env.ready("DBInstance", "db").await?)?, name);
    let exported = test_env.until("ConfigMap", "db", |map| map["data"]["host"].is_string()).await?;
    assert!(exported["data"]["host"].as_str().is_some_and(|host| host.starts_with(&name)), "{exported}");
    let state = test_env.get("StateDeclaration", "dbinstance.aws.db").await?;
    assert_eq!(state["spec"]["data"]["dbInstance"]["Endpoint"]["Port"], 6000, "{state}");
    let answer = described(&test_env, &name).await?;
    let (subnet_group, parameter_group) = (
        id(&test_env.ready("DBSubnetGroup", "main").await?)?.to_owned(),
        id(&test_env.ready("DBParameterGroup", "main").await?)?.to_owned(),
    );
    for part in [&subnet_group, &parameter_group, "<Value>shop</Value>"] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    let found = rds(&test_env, "DescribeDBParameters", &[("DBParameterGroupName", &parameter_group)]).await?;
    assert!(found.contains("<ParameterValue>ddl</ParameterValue>"), "{found}");

    // Drift of both, and an edit.
    rds(&test_env, "ModifyDBInstance", &[("DBInstanceIdentifier", &name), ("CopyTagsToSnapshot", "false")])
        .await?;
    let fields = [
        ("DBParameterGroupName", parameter_group.as_str()),
        ("Parameters.Parameter.1.ParameterName", "log_statement"),
        ("Parameters.Parameter.1.ParameterValue", "none"),
        ("Parameters.Parameter.1.ApplyMethod", "immediate"),
    ];
    rds(&test_env, "ModifyDBParameterGroup", &fields).await?;
    for kind in ["DBInstance", "DBParameterGroup"] {
        let name = if kind == "DBInstance" { "db" } else { "main" };
        request_reconcile(&test_env, kind, name, "1").await?;
    }
    let is_on = |answer: &str| answer.contains("<CopyTagsToSnapshot>true</CopyTagsToSnapshot>");
    until(|| async { Ok(is_on(&described(&test_env, &name).await?)) }).await?;
    let parameters = [("DBParameterGroupName", parameter_group.as_str())];
    let has_ddl = |answer: &str| answer.contains("<ParameterValue>ddl</ParameterValue>");
    until(|| async { Ok(has_ddl(&rds(&test_env, "DescribeDBParameters", &parameters).await?)) }).await?;

    // A class is changed by an interruption only.
    test_env.patch("DBInstance", "db", json!({"spec": {"instanceClass": {"value": "db.t4g.small"}}})).await?;
    let why = test_env.not_ready("DBInstance", "db", "ImmutableField").await?;
    assert!(why.contains("lifecycle.disruption"), "{why}");
    test_env.patch("DBInstance", "db", json!({"spec": {"lifecycle": {"disruption": "Allow"}}})).await?;
    until(|| async { Ok(described(&test_env, &name).await?.contains("db.t4g.small")) }).await?;
    test_env.ready("DBInstance", "db").await?;

    let all = [
        ("VPC", "main"),
        ("Subnet", "a"),
        ("Subnet", "b"),
        ("SecurityGroup", "main"),
        ("DBSubnetGroup", "main"),
        ("DBParameterGroup", "main"),
        ("DBInstance", "db"),
    ];
    for (kind, name) in all {
        test_env.delete(kind, name).await?;
    }
    for (kind, name) in all {
        test_env.gone(kind, name).await?;
    }
    assert!(described(&test_env, &name).await.is_err());
    assert_eq!(snapshots(&test_env, &name).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_changed_value_of_the_secret_changes_the_password_once() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    let count = || test_env.env.proxy.count("ModifyDBInstance");
    test_env.apply(&secret(&test_env, "one")).await?;
    let edited = json!({"skipFinalSnapshot": true});
    test_env.apply(&resource("DBInstance", "db", &database(&edited))).await?;
    let name = id(&test_env.ready("DBInstance", "db").await?)?.to_owned();
    let (before, calls) = (digest(&test_env, &name).await?, count());

    test_env.apply(&secret(&test_env, "two")).await?;
    until(|| async { Ok(digest(&test_env, &name).await? != before) }).await?;
    test_env.ready("DBInstance", "db").await?;
    assert_eq!(count(), calls + 1);
    // Neither a reconcile nor a label of the Secret changes it again.
    test_env.patch("Secret", "db", json!({"metadata": {"labels": {"team": "shop"}}})).await?;
    // The observation of the last one follows whatever the others did.
    for when in ["1", "2", "3"] {
        let observations = || test_env.env.proxy.count("DescribeDBInstances");
        let before = observations();
        request_reconcile(&test_env, "DBInstance", "db", when).await?;
        until(|| async { Ok(observations() > before) }).await?;
    }
    assert_eq!(count(), calls + 1);

    // After a crash before the tag is set, the password is set again.
    let after = digest(&test_env, &name).await?;
    test_env.env.proxy.fail_next("AddTagsToResource", FailurePoint::Before, FailureMode::Drop);
    test_env.apply(&secret(&test_env, "three")).await?;
    until(|| async { Ok(digest(&test_env, &name).await? != after) }).await?;
    test_env.ready("DBInstance", "db").await?;
    assert_eq!(test_env.env.proxy.pending_failures(), 0);

    test_env.delete("DBInstance", "db").await?;
    test_env.gone("DBInstance", "db").await?;
    assert_eq!(snapshots(&test_env, &name).await?, [""; 0], "the spec refuses it");
    Ok(())
}

#[tokio::test]
async fn a_literal_password_is_rejected_with_the_reason() -> Result<()> {
    let test_env = test_env().await?;
    let literal = database(&json!({"masterUserPassword": {"value": "correct-horse"}}));
    let why = test_env.refused(&resource("DBInstance", "db", &literal)).await?;
    assert!(why.contains("must come from a Secret"), "{why}");
    Ok(())
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let (test_env, _calls) = (test_env().await?, CALLS.read().await);
    let name = format!("taken-{}", test_env.ns.name);
    let fields = [
        ("DBInstanceIdentifier", name.as_str()),
        ("Engine", "postgres"),
        ("EngineVersion", "16.4"),
        ("DBInstanceClass", "db.t4g.micro"),
        ("AllocatedStorage", "20"),
        ("MasterUsername", "shop"),
        ("MasterUserPassword", "of-somebody-else"),
        ("Tags.Tag.1.Key", "Test"),
        ("Tags.Tag.1.Value", "other"),
    ];
    rds(&test_env, "CreateDBInstance", &fields).await?;
    let group = [
        ("DBParameterGroupName", name.as_str()),
        ("DBParameterGroupFamily", "postgres16"),
        ("Description", "other"),
    ];
    rds(&test_env, "CreateDBParameterGroup", &group).await?;
    test_env.apply(&secret(&test_env, "one")).await?;
    let spec = database(&json!({"identifier": {"value": name}}));
    test_env.apply(&resource("DBInstance", "a", &spec)).await?;
    let spec = json!({"name": {"value": name}, "family": {"value": "postgres16"}});
    test_env.apply(&resource("DBParameterGroup", "a", &spec)).await?;
    for (kind, what) in [("DBInstance", "identifier"), ("DBParameterGroup", "name")] {
        let why = test_env.not_ready(kind, "a", "CloudRefused").await?;
        let wanted = format!("the {what} {name} is in use by {name}, which is not managed by Kraken");
        assert!(why.contains(&wanted), "{why}");
        test_env.delete(kind, "a").await?;
        test_env.gone(kind, "a").await?;
    }
    let kept = |answer: &str| answer.contains("<Value>other</Value>") && !answer.contains("kraken-iac");
    assert!(kept(&described(&test_env, &name).await?));

    // An adopted database needs no password, and is kept with the tags that it had.
    let adopted = json!({
        "engine": {"value": "postgres"}, "masterUsername": {"value": "shop"}, "lifecycle": {"adopt": {"id": name}},
    });
    test_env.apply(&resource("DBInstance", "b", &adopted)).await?;
    test_env.ready("DBInstance", "b").await?;
    let password = database(&json!({}))["masterUserPassword"].clone();
    test_env.patch("DBInstance", "b", json!({"spec": {"masterUserPassword": password}})).await?;
    until(|| async { Ok(digest(&test_env, &name).await.is_ok()) }).await?;
    test_env.ready("DBInstance", "b").await?;
    test_env.delete("DBInstance", "b").await?;
    test_env.gone("DBInstance", "b").await?;
    assert!(kept(&described(&test_env, &name).await?));
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let (test_env, _alone) = (test_env().await?, CALLS.write().await);
    test_env.apply(&secret(&test_env, "one")).await?;
    test_env.env.proxy.fail_next("CreateDBInstance", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&resource("DBInstance", "once", &database(&json!({"skipFinalSnapshot": true})))).await?;
    let name = id(&test_env.ready("DBInstance", "once").await?)?.to_owned();
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    let answer = rds(&test_env, "DescribeDBInstances", &[]).await?;
    assert_eq!(texts(&answer, "DBInstanceIdentifier").iter().filter(|one| **one == name).count(), 1);
    test_env.delete("DBInstance", "once").await?;
    test_env.gone("DBInstance", "once").await?;
    assert!(described(&test_env, &name).await.is_err());
    Ok(())
}
