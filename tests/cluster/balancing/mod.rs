//! Load balancers, target groups and listeners in moto, through their controller as its real binary. Networks are created
//! in moto directly: these tests depend on no other controller than the hub.

pub(crate) mod moto;
mod specs;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::services::resource;
use moto::{ELB, call, network, targets, text, texts};
use specs::{listener, load_balancer, rule, target_group};

/// An environment whose controllers have a shorter visibility window.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let suite = SuiteOptions {
                only: Some(["hub", "aws-elb", "aws-acm"].map(str::to_owned).to_vec()),
                ..SuiteOptions::default()
            }
            .with_env("aws-elb", "KRAKEN_VISIBILITY_WINDOW", "2s");
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

pub(crate) fn id(object: &Value) -> Result<&str> {
    object["status"]["externalIds"][0].as_str().context("no external id")
}

/// Requests a reconcile, like a user.
pub(crate) async fn request_reconcile(test_env: &TestEnv, kind: &str, name: &str, when: &str) -> Result<()> {
    let annotation = json!({"kraken-iac.eoinfennessy.com/reconcile-requested-at": when});
    test_env.patch(kind, name, json!({"metadata": {"annotations": annotation}})).await
}

#[tokio::test]
async fn a_load_balancer_stack_is_created_corrected_and_deleted_in_any_order() -> Result<()> {
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    // In reverse order, with an export of a future value.
    let entry = |key: &str, kind: &str, path: &str| json!({"key": key, "valueFrom": {"krakenResource": {"kind": kind, "name": "web", "path": path}}});
    let export = json!({
        "apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport",
        "metadata": {"name": "web"},
        "spec": {
            "configType": "ConfigMap", "configMetadata": {"name": "web"},
            "entries": [
                entry("host", "loadbalancer", "loadBalancer.DNSName"),
                entry("port", "listener", "listener.Port"),
            ],
        },
    });
    let documents = [
        resource("ListenerRule", "web", &rule("/api/*")),
        resource("Listener", "web", &listener(80)),
        export.to_string(),
        resource("TargetGroup", "web", &target_group(&network, &["10.0.1.10", "10.0.1.11"])),
        resource("LoadBalancer", "web", &load_balancer(&network)),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let rule_arn = id(&test_env.ready("ListenerRule", "web").await?)?.to_owned();
    let ready_listener = test_env.ready("Listener", "web").await?;
    let group = test_env.ready("TargetGroup", "web").await?;
    let balancer = test_env.ready("LoadBalancer", "web").await?;
    test_env.ready("ConfigExport", "web").await?;

    let state =
        test_env.get("StateDeclaration", "loadbalancer.aws.web").await?["spec"]["data"]["loadBalancer"]
            .clone();
    let expected = [
        ("LoadBalancerArn", json!(id(&balancer)?)),
        ("VpcId", json!(network.vpc)),
        ("Scheme", json!("internal")),
        ("State", json!({"Code": "active"})),
        ("SecurityGroups", json!([network.group])),
    ];
    for (field, value) in expected {
        assert_eq!(state[field], value, "{field}: {state}");
    }
    let data = &test_env.get("ConfigMap", "web").await?["data"];
    assert_eq!((&data["host"], &data["port"]), (&state["DNSName"], &json!("80")));
    let arn = [("LoadBalancerArn", id(&balancer)?)];
    let attributes = call(&test_env, ELB, "DescribeLoadBalancerAttributes", &arn).await?;
    assert!(attributes.contains("idle_timeout.timeout_seconds</Key>"), "{attributes}");
    let groups =
        call(&test_env, ELB, "DescribeTargetGroups", &[("TargetGroupArns.member.1", id(&group)?)]).await?;
    assert_eq!(
        (text(&groups, "HealthCheckPath")?, text(&groups, "HealthCheckPort")?),
        ("/healthz".to_owned(), "8081".to_owned())
    );
    assert_eq!(targets(&test_env, id(&group)?).await?, ["10.0.1.10", "10.0.1.11"]);
    let tags =
        call(&test_env, ELB, "DescribeTags", &[("ResourceArns.member.1", id(&ready_listener)?)]).await?;
    assert!(tags.contains(group["metadata"]["namespace"].as_str().unwrap_or("?")), "{tags}");

    // Out-of-band changes, which are reverted.
    let by_hand = [("ListenerArn", id(&ready_listener)?), ("Port", "81")];
    call(&test_env, ELB, "ModifyListener", &by_hand).await?;
    let by_hand = [("TargetGroupArn", id(&group)?), ("Targets.member.1.Id", "10.0.1.11")];
    call(&test_env, ELB, "DeregisterTargets", &by_hand).await?;
    for kind in ["Listener", "TargetGroup"] {
        request_reconcile(&test_env, kind, "web", "1").await?;
    }
    let wanted = ["10.0.1.10".to_owned(), "10.0.1.11".to_owned()];
    until(|| async { Ok(targets(&test_env, id(&group)?).await? == wanted) }).await?;
    let arn = [("ListenerArns.member.1", id(&ready_listener)?)];
    let port = || async { text(&call(&test_env, ELB, "DescribeListeners", &arn).await?, "Port") };
    until(|| async { Ok(port().await? == "80") }).await?;

    // Edits: other targets, another port, which the export follows.
    let other = resource("TargetGroup", "web", &target_group(&network, &["10.0.1.11", "10.0.1.12"]));
    test_env.apply(&[other, resource("Listener", "web", &listener(8080))].join("\n---\n")).await?;
    test_env.ready("TargetGroup", "web").await?;
    let same = test_env.ready("Listener", "web").await?;
    assert_eq!(id(&same)?, id(&ready_listener)?);
    assert_eq!(targets(&test_env, id(&group)?).await?, ["10.0.1.11", "10.0.1.12"]);
    test_env.until("ConfigMap", "web", |map| map["data"]["port"] == "8080").await?;
    let mut other = rule("/v2/*");
    other["priority"] = json!({"value": 11});
    test_env.apply(&resource("ListenerRule", "web", &other)).await?;
    assert_eq!(id(&test_env.ready("ListenerRule", "web").await?)?, rule_arn);
    let rules = call(&test_env, ELB, "DescribeRules", &[("RuleArns.member.1", &rule_arn)]).await?;
    assert_eq!(text(&rules, "Priority")?, "11");
    assert!(rules.contains("/v2/*"), "{rules}");

    // All at once, the balancer first.
    for kind in ["LoadBalancer", "TargetGroup", "Listener", "ListenerRule", "ConfigExport"] {
        test_env.delete(kind, "web").await?;
    }
    for kind in ["LoadBalancer", "TargetGroup", "Listener", "ListenerRule", "ConfigExport"] {
        test_env.gone(kind, "web").await?;
    }
    for (action, element, arn) in [
        ("DescribeLoadBalancers", "LoadBalancerArn", id(&balancer)?),
        ("DescribeTargetGroups", "TargetGroupArn", id(&group)?),
    ] {
        let left = texts(&call(&test_env, ELB, action, &[]).await?, element);
        assert!(!left.contains(&arn.to_owned()), "{left:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_name_or_port_in_use_is_rejected_and_not_adopted() -> Result<()> {
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let [a, b] = &network.subnets;
    let name = format!("x{}", test_env.ns.name.chars().rev().take(12).collect::<String>().replace('-', ""));
    let fields = [("Name", name.as_str()), ("Subnets.member.1", a), ("Subnets.member.2", b)];
    let foreign = text(&call(&test_env, ELB, "CreateLoadBalancer", &fields).await?, "LoadBalancerArn")?;
    let fields = [
        ("LoadBalancerArn", foreign.as_str()),
        ("Port", "80"),
        ("Protocol", "HTTP"),
        ("DefaultActions.member.1.Type", "fixed-response"),
        ("DefaultActions.member.1.FixedResponseConfig.StatusCode", "200"),
    ];
    let listener = text(&call(&test_env, ELB, "CreateListener", &fields).await?, "ListenerArn")?;

    let mut spec = load_balancer(&network);
    spec["name"] = json!({"value": name});
    test_env.apply(&resource("LoadBalancer", "a", &spec)).await?;
    let message = test_env.not_ready("LoadBalancer", "a", "CloudRefused").await?;
    assert!(message.contains(&foreign) && message.contains("not managed by Kraken"), "{message}");
    let answer = json!({"fixedResponse": {"statusCode": {"value": 200}}});
    let at_80 = json!({
        "loadBalancerARN": {"value": foreign}, "port": {"value": 80}, "protocol": {"value": "HTTP"},
        "defaultAction": answer,
    });
    test_env.apply(&resource("Listener", "a", &at_80)).await?;
    let message = test_env.not_ready("Listener", "a", "CloudRefused").await?;
    assert!(message.contains("port 80") && message.contains(&listener), "{message}");

    // Adopted instead: it is retained when its resource is deleted.
    spec["lifecycle"] = json!({"adopt": {"id": foreign}});
    spec = json!({
        "name": spec["name"], "subnetIDs": spec["subnetIDs"], "lifecycle": spec["lifecycle"],
    });
    test_env.apply(&resource("LoadBalancer", "b", &spec)).await?;
    let adopted = test_env.ready("LoadBalancer", "b").await?;
    assert_eq!(id(&adopted)?, foreign);
    for (kind, name) in [("LoadBalancer", "a"), ("LoadBalancer", "b"), ("Listener", "a")] {
        test_env.delete(kind, name).await?;
        test_env.gone(kind, name).await?;
    }
    let left = texts(&call(&test_env, ELB, "DescribeLoadBalancers", &[]).await?, "LoadBalancerArn");
    assert!(left.contains(&foreign), "{left:?}");
    Ok(())
}

#[tokio::test]
async fn problems_are_reported_by_the_schema_the_rules_or_aws() -> Result<()> {
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let mut both = listener(80);
    both["defaultAction"]["redirect"] = json!({"port": {"value": 443}});
    let refusal = test_env.refused(&resource("Listener", "a", &both)).await?;
    assert!(refusal.contains("spec.defaultAction") && refusal.contains("set exactly one of"), "{refusal}");
    let mut protocol = listener(80);
    protocol["protocol"] = json!({"value": "http"});
    let refusal = test_env.refused(&resource("Listener", "a", &protocol)).await?;
    assert!(refusal.contains("spec.protocol.value") && refusal.contains("HTTP"), "{refusal}");

    let arn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/gone/0123456789abcdef";
    let with = |port: i64, protocol: &str, certificate: Value| {
        let mut spec = json!({
            "loadBalancerARN": {"value": arn}, "port": {"value": port}, "protocol": {"value": protocol},
            "defaultAction": {"fixedResponse": {"statusCode": {"value": 200}}},
        });
        if !certificate.is_null() {
            spec["certificateARN"] = json!({"value": certificate});
        }
        spec
    };
    for (spec, words) in [
        (with(0, "HTTP", Value::Null), "spec.port.value"),
        (with(65_536, "HTTP", Value::Null), "spec.port.value"),
        (with(443, "HTTPS", Value::Null), "is required for HTTPS and TLS"),
        (with(443, "HTTPS", json!("web.example")), "must be the ARN of a certificate"),
    ] {
        let refusal = test_env.refused(&resource("Listener", "a", &spec)).await?;
        assert!(refusal.contains(words), "{refusal}");
    }
    test_env.apply(&resource("Listener", "gone", &with(80, "HTTP", Value::Null))).await?;
    let message = test_env.not_ready("Listener", "gone", "CloudRefused").await?;
    for words in ["failed to create a listener", "LoadBalancerNotFound"] {
        assert!(message.contains(words), "{message}");
    }
    let mut spec = target_group(&network, &[]);
    spec["vpcID"] = json!({"value": "vpc-0123456789abcdef0"});
    test_env.apply(&resource("TargetGroup", "gone", &spec)).await?;
    let message = test_env.not_ready("TargetGroup", "gone", "CloudRefused").await?;
    assert!(message.contains("vpc-0123456789abcdef0"), "{message}");
    Ok(())
}

/// Waits until a condition is true.
pub(crate) async fn until<F: Future<Output = Result<bool>>>(holds: impl Fn() -> F) -> Result<()> {
    let start = std::time::Instant::now();
    while !holds().await? {
        if start.elapsed() > kraken_tests::test_env::TIMEOUT {
            bail!("the condition did not become true in time");
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_listener_uses_the_certificate_of_a_domain() -> Result<()> {
    let test_env = test_env().await?;
    let network = network(&test_env).await?;
    let domain = format!("{}.example.com", test_env.ns.name);
    let request = async |tag: &str| {
        let tags = json!([{"Key": "Test", "Value": tag}]);
        let body = json!({"DomainName": domain, "ValidationMethod": "DNS", "Tags": tags});
        let made = test_env.env.moto.acm("RequestCertificate", &body).await?;
        made["CertificateArn"].as_str().map(str::to_owned).with_context(|| format!("no certificate: {made}"))
    };
    let (own, other) = (request("own").await?, request("other").await?);
    assert_ne!(own, other);
    let mut https = listener(443);
    https["protocol"] = json!({"value": "HTTPS"});
    https["certificateARN"] = json!({"valueFrom": {"ref": "CertificateLookup/web"}});
    let lookup =
        |domain: &str| json!({"domainName": {"value": domain}, "tags": {"Test": "own"}, "pin": false});
    let documents = [
        resource("Listener", "web", &https),
        resource("TargetGroup", "web", &target_group(&network, &[])),
        resource("LoadBalancer", "web", &load_balancer(&network)),
        resource("CertificateLookup", "web", &lookup(&domain)),
        resource("CertificateLookup", "none", &lookup("none.example.com")),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let found = test_env.ready("CertificateLookup", "web").await?;
    assert_eq!(found["status"]["answer"]["ids"], json!([own]));
    let arn = id(&test_env.ready("Listener", "web").await?)?.to_owned();
    let seen = call(&test_env, ELB, "DescribeListeners", &[("ListenerArns.member.1", &arn)]).await?;
    assert_eq!(text(&seen, "CertificateArn")?, own);
    let why = test_env.not_ready("CertificateLookup", "none", "NotFound").await?;
    assert!(why.contains("domainName none.example.com, tags.Test own found none"), "{why}");

    // Without a pin, one that is valid longer is used at once. Its times have whole seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let newer = request("own").await?;
    request_reconcile(&test_env, "CertificateLookup", "web", "2026-01-01T00:00:00Z").await?;
    let seen_newer = |listener: &Value| listener.to_string().contains(&newer);
    test_env.until("StateDeclaration", "listener.aws.web", seen_newer).await?;
    Ok(())
}
