//! Buckets in moto, through their controller as its real binary. moto sets no tags in the create call, unlike AWS: the controller then sets
//! them by a second call.

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{FailureMode, FailurePoint, REGION, http};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions, paths};
use kraken_tests::TestEnv;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::{
    balancing::{id, request_reconcile, until},
    kubectl::Shell,
    services::resource,
};

/// A fault fails the next creation of any test. moto then has a bucket without tags, which only a generated name proves to be the launch's.
static NAMES: RwLock<()> = RwLock::const_new(());
const TAGS: &str = "<Tagging><TagSet><Tag><Key>Test</Key><Value>other</Value></Tag></TagSet></Tagging>";

/// An environment whose controllers have a shorter visibility window.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let only = ["hub", "aws-s3", "aws-iam"].map(str::to_owned).to_vec();
            let mut suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() };
            for spoke in ["aws-s3", "aws-iam"] {
                suite = suite.with_env(spoke, "KRAKEN_VISIBILITY_WINDOW", "2s");
            }
            // Each requested reconcile reads the settings.
            suite = suite.with_env("aws-s3", "KRAKEN_DEEP_RESYNC_INTERVAL", "1ms");
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

/// A call of moto's S3: GET without a body, PUT with one.
async fn s3(test_env: &TestEnv, path: &str, body: Option<&str>) -> Result<String> {
    let credential = format!(
        "AWS4-HMAC-SHA256 Credential=testing/20200101/{REGION}/s3/aws4_request, SignedHeaders=host, Signature=0"
    );
    let url = format!("{}/{path}", test_env.env.moto.endpoint());
    let headers = [("authorization", credential.as_str())];
    let answer = match body {
        Some(body) => http::put(&url, &headers, body).await?,
        None => http::call(&url, &headers, None).await?,
    };
    if answer.status >= 300 {
        bail!("{path} failed with {}: {}", answer.status, answer.body);
    }
    Ok(answer.body)
}

async fn exists(test_env: &TestEnv, name: &str) -> bool {
    s3(test_env, &format!("{name}?versioning"), None).await.is_ok()
}

fn policy(bucket: &str) -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "principals": {"aws": {"value": [{"valueFrom": {"ref": "Role/reader"}}]}},
        "actions": {"value": ["s3:GetObject"]}, "resources": {"value": [format!("arn:aws:s3:::{bucket}/*")]},
    }]})
}

fn role() -> Value {
    json!({"trustPolicy": {"statements": [{
        "effect": {"value": "Allow"}, "principals": {"services": {"value": ["ec2.amazonaws.com"]}},
        "actions": {"value": ["sts:AssumeRole"]},
    }]}})
}

#[tokio::test]
async fn a_bucket_is_created_healed_and_deleted_with_its_settings() -> Result<()> {
    let (test_env, _names) = (test_env().await?, NAMES.read().await);
    let name = format!("bucket-{}", test_env.ns.name);
    let spec = json!({
        "name": {"value": name}, "versioning": {"value": "Enabled"}, "blockPublicAccess": {"value": true},
        "encryption": {"algorithm": {"value": "AES256"}}, "policy": policy(&name), "tags": {"Team": "web"},
        "lifecycleRules": [{"id": {"value": "logs"}, "prefix": {"value": "logs/"}, "expirationDays": {"value": 30}}],
    });
    // The role that the policy names comes later.
    test_env.apply(&resource("Bucket", "web", &spec)).await?;
    test_env.apply(&resource("Role", "reader", &role())).await?;
    assert_eq!(id(&test_env.ready("Bucket", "web").await?)?, name);
    let state = test_env.get("StateDeclaration", "bucket.aws.web").await?;
    assert_eq!(
        state["spec"]["data"]["bucket"]["BucketArn"],
        json!(format!("arn:aws:s3:::{name}")),
        "{state}"
    );
    let read = async |setting: &str| s3(&test_env, &format!("{name}?{setting}"), None).await;
    let (versioning, lifecycle) = (format!("{name}?versioning"), format!("{name}?lifecycle"));
    assert!(read("versioning").await?.contains("Enabled"));
    assert!(read("lifecycle").await?.contains("logs/"));
    assert!(read("policy").await?.contains(&format!("arn:aws:s3:::{name}/*")));
    assert!(read("tagging").await?.contains("<Value>web</Value>"));

    let suspended = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    s3(&test_env, &versioning, Some(suspended)).await?;
    let rules = "<LifecycleConfiguration><Rule><ID>logs</ID><Filter><Prefix></Prefix></Filter><Status>Enabled</Status>\
                 <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
    s3(&test_env, &lifecycle, Some(rules)).await?;
    request_reconcile(&test_env, "Bucket", "web", "1").await?;
    until(|| async {
        Ok(read("versioning").await?.contains("Enabled") && read("lifecycle").await?.contains("30"))
    })
    .await?;

    test_env.delete("Role", "reader").await?;
    test_env.delete("Bucket", "web").await?;
    test_env.gone("Bucket", "web").await?;
    test_env.gone("Role", "reader").await?;
    assert!(!exists(&test_env, &name).await);
    Ok(())
}

#[tokio::test]
async fn a_bucket_with_objects_is_kept_until_it_is_asked_to_be_emptied() -> Result<()> {
    let test_env = test_env().await?;
    let spec = json!({"versioning": {"value": "Enabled"}});
    test_env.apply(&resource("Bucket", "web", &spec)).await?;
    let name = id(&test_env.ready("Bucket", "web").await?)?.to_owned();
    for content in ["one", "two"] {
        s3(&test_env, &format!("{name}/a"), Some(content)).await?;
    }
    test_env.delete("Bucket", "web").await?;
    test_env
        .until("Bucket", "web", |bucket| bucket["status"].to_string().contains("spec.emptyOnDeletion"))
        .await?;
    assert_eq!(s3(&test_env, &format!("{name}/a"), None).await?, "two");
    test_env.patch("Bucket", "web", json!({"spec": {"emptyOnDeletion": true}})).await?;
    test_env.gone("Bucket", "web").await?;
    assert!(!exists(&test_env, &name).await);
    Ok(())
}

#[tokio::test]
async fn a_name_in_use_is_rejected_and_adopted_on_request() -> Result<()> {
    let (test_env, _names) = (test_env().await?, NAMES.read().await);
    let name = format!("taken-{}", test_env.ns.name);
    s3(&test_env, &name, Some("")).await?;
    for tags in [None, Some(TAGS)] {
        if let Some(tags) = tags {
            s3(&test_env, &format!("{name}?tagging"), Some(tags)).await?;
        }
        test_env.apply(&resource("Bucket", "a", &json!({"name": {"value": name}}))).await?;
        let why = test_env.not_ready("Bucket", "a", "CloudRefused").await?;
        let says = format!("the name {name} is in use by {name}, which is not managed by Kraken");
        assert!(why.contains(&says), "{why}");
        test_env.delete("Bucket", "a").await?;
        test_env.gone("Bucket", "a").await?;
    }
    let adopting = json!({"name": {"value": name}, "lifecycle": {"adopt": {"id": name}}});
    test_env.apply(&resource("Bucket", "b", &adopting)).await?;
    assert_eq!(id(&test_env.ready("Bucket", "b").await?)?, name);
    test_env.apply(&resource("Bucket", "c", &json!({"name": {"value": name}}))).await?;
    let why = test_env.not_ready("Bucket", "c", "ValueInUse").await?;
    assert!(why.contains(&format!("which belongs to Bucket/{}/b", test_env.ns.name)), "{why}");
    for resource in ["c", "b"] {
        test_env.delete("Bucket", resource).await?;
        test_env.gone("Bucket", resource).await?;
    }
    // An adopted bucket is kept, with the tags that it had.
    let tags = s3(&test_env, &format!("{name}?tagging"), None).await?;
    assert!(tags.contains("other") && !tags.contains("kraken-iac"), "{tags}");
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let (test_env, _names) = (test_env().await?, NAMES.write().await);
    test_env.env.proxy.fail_next("CreateBucket", FailurePoint::After, FailureMode::Drop);
    test_env.apply(&resource("Bucket", "once", &json!({"tags": {"Team": "web"}}))).await?;
    let name = id(&test_env.ready("Bucket", "once").await?)?.to_owned();
    assert!(s3(&test_env, &format!("{name}?tagging"), None).await?.contains("Team"));
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    test_env.delete("Bucket", "once").await?;
    test_env.gone("Bucket", "once").await?;
    assert!(!exists(&test_env, &name).await);
    Ok(())
}

#[tokio::test]
async fn an_import_takes_over_a_bucket_without_a_change() -> Result<()> {
    let (test_env, _names) = (test_env().await?, NAMES.read().await);
    let name = format!("import-{}", test_env.ns.name);
    let policy = json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": format!("arn:aws:s3:::{name}/*"),
    }]});
    let rules = "<LifecycleConfiguration><Rule><ID>logs</ID><Filter><Prefix>logs/</Prefix></Filter><Status>Disabled</Status>\
                 <Expiration><Days>9</Days></Expiration><Transition><Days>3</Days><StorageClass>GLACIER</StorageClass></Transition>\
                 </Rule></LifecycleConfiguration>";
    let versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    s3(&test_env, &name, Some("")).await?;
    let settings = [
        ("tagging", TAGS),
        ("policy", &policy.to_string()),
        ("lifecycle", rules),
        ("versioning", versioning),
    ];
    let settings = settings.map(|(setting, body)| (format!("{name}?{setting}"), body.to_owned()));
    for (path, body) in &settings {
        s3(&test_env, path, Some(&body.replace(">other<", &format!(">{name}<")))).await?;
    }
    let in_moto = async || {
        let mut all = vec![];
        for (path, _) in &settings[1..] {
            all.push(s3(&test_env, path, None).await?);
        }
        anyhow::Ok(all)
    };
    let before = in_moto().await?;
    let shell = Shell::of(&test_env)?;
    let program = paths::bin_dir()?.join("kubectl-kraken").display().to_string();
    // The controllers of other kinds do not run, which is an error at the end.
    shell.run(&format!("{program} import --tags Test={name} --timeout 15 >import.yaml || true")).await?;
    let yaml = shell.run("cat import.yaml").await?;
    for part in ["kind: Bucket", "lifecycleRules:", "statements:", "versioning:", "storageClass:"] {
        assert!(yaml.contains(part), "{part}: {yaml}");
    }
    shell.run("kubectl apply -f import.yaml").await?;
    let all: Value = serde_json::from_str(&test_env.all("Bucket").await?)?;
    let resource = all[0]["metadata"]["name"].as_str().context("no resource")?.to_owned();
    assert_eq!(id(&test_env.ready("Bucket", &resource).await?)?, name);
    assert_eq!(in_moto().await?, before);
    Ok(())
}
