//! Resource types of the unmodified provider of OpenStack as kinds, on a real OpenStack: `OS_AUTH_URL` and the other variables of its
//! clients name one on which networks may be created.
#![allow(clippy::unwrap_used, reason = "helpers of these tests only")]

mod types;

use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use kraken_testing::process::kill_at_once;
use kraken_tests::TestEnv;
use kraken_tfplugin::{Host, HostLink, HostOptions, Plugin, StartRequest, Value};
use kraken_tofu::{Provider, api::Recovery, names::GROUP};
use serde_json::{Value as Json, json};

use crate::{
    tofu::{configured, controller, programs},
    tofu_install::{host::hosted_of, setting_of},
};

const TYPES: [&str; 6] = [
    "openstack_networking_network_v2",
    "openstack_networking_subnet_v2",
    "openstack_networking_router_v2",
    "openstack_networking_secgroup_v2",
    "openstack_networking_secgroup_rule_v2",
    "openstack_networking_port_v2",
];

fn object(kind: &str, name: &str, spec: &Json) -> String {
    let kind = format!("OpenstackNetworking{kind}V2");
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "metadata": {"name": name}, "spec": spec})
        .to_string()
}

fn kind(short: &str) -> String {
    format!("OpenstackNetworking{short}V2")
}

async fn provider() -> Result<Arc<Provider>> {
    let program = tokio::task::spawn_blocking(programs::openstack).await?;
    let of = |name: &str| env::var(name).ok();
    let config = json!({
        "auth_url": of("OS_AUTH_URL").context("OS_AUTH_URL is not set")?, "user_name": of("OS_USERNAME"),
        "password": of("OS_PASSWORD"), "tenant_name": of("OS_PROJECT_NAME"), "region": of("OS_REGION_NAME"),
        "user_domain_id": of("OS_USER_DOMAIN_ID"), "project_domain_id": of("OS_PROJECT_DOMAIN_ID"),
    });
    configured(program, config).await
}

#[tokio::test]
#[ignore = "requires OpenStack"]
async fn network_of_a_team_is_created_changed_and_deleted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let provider = provider().await?;
    let _controller = controller(&test_env, &provider, &TYPES).await?;
    let reference = |of: &str, name: &str| json!({"valueFrom": {"ref": format!("{}/{name}", kind(of))}});
    let stack = [
        object(
            "Port",
            "web",
            &json!({
                "name": {"value": "web"}, "network_id": reference("Network", "web"),
                "fixed_ip": [{"subnet_id": reference("Subnet", "web"), "ip_address": {"value": "10.9.0.15"}}],
            }),
        ),
        object(
            "SecgroupRule",
            "https",
            &json!({
                "direction": {"value": "ingress"}, "ethertype": {"value": "IPv4"}, "protocol": {"value": "tcp"},
                "port_range_min": {"value": 443}, "port_range_max": {"value": 443},
                "remote_ip_prefix": {"value": "0.0.0.0/0"}, "security_group_id": reference("Secgroup", "web"),
            }),
        ),
        object("Secgroup", "web", &json!({"name": {"value": "web"}})),
        object(
            "Subnet",
            "web",
            &json!({
                "network_id": reference("Network", "web"), "cidr": {"value": "10.9.0.0/24"}, "ip_version": {"value": 4},
            }),
        ),
        object("Router", "web", &json!({"name": {"value": "web"}})),
        object("Network", "web", &json!({"name": {"value": "web"}, "description": {"value": "Of the shop"}})),
    ];
    test_env.apply(&stack.join("\n---\n")).await?;
    let all = [
        ("Port", "web"),
        ("SecgroupRule", "https"),
        ("Secgroup", "web"),
        ("Subnet", "web"),
        ("Router", "web"),
        ("Network", "web"),
    ];
    for (short, name) in all {
        test_env.ready(&kind(short), name).await?;
    }
    test_env.patch(&kind("Network"), "web", json!({"spec": {"name": {"value": "shop"}}})).await?;
    test_env
        .until("StateDeclaration", "openstacknetworkingnetworkv2.tofu.web", |state| {
            state["spec"]["data"]["name"] == "shop"
        })
        .await?;
    // All at once: each waits for its dependents.
    for (short, name) in all.iter().rev() {
        test_env.delete(&kind(short), name).await?;
    }
    for (short, name) in all {
        test_env.gone(&kind(short), name).await?;
    }
    Ok(())
}

fn literal(name: &str) -> Result<Json> {
    Ok(json!({"value": env::var(name).with_context(|| format!("{name} is not set"))?}))
}

/// A Secret with the password, and the ProviderConfig.
fn config() -> Result<[Json; 2]> {
    let password = literal("OS_PASSWORD")?["value"].clone();
    Ok([
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "openstack"}, "stringData": {"password": password}}),
        json!({
            "apiVersion": "providers.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ProviderConfig",
            "metadata": {"name": "openstack"}, "spec": {"provider": "openstack", "config": {
                "auth_url": literal("OS_AUTH_URL")?, "region": literal("OS_REGION_NAME")?, "user_name": literal("OS_USERNAME")?,
                "tenant_name": literal("OS_PROJECT_NAME")?, "user_domain_id": literal("OS_USER_DOMAIN_ID")?,
                "project_domain_id": literal("OS_PROJECT_DOMAIN_ID")?,
                "password": {"valueFrom": {"secret": {"name": "openstack", "key": "password"}}},
            }},
        }),
    ])
}

/// All types of the provider, through a ProviderInstall, with a password from a Secret and an address in a ConfigMap.
#[tokio::test]
#[ignore = "requires OpenStack"]
async fn all_types_are_installed_and_a_network_is_made_from_yaml() -> Result<()> {
    let s = setting_of("openstack", programs::openstack).await?;
    let started = Instant::now();
    s.install(&json!({"dataSources": ["openstack_networking_*"]})).await?;
    let (message, status) = s.installed("Installed").await?;
    let marked = status.types.iter().filter(|one| one.recovery == Some(Recovery::Marked));
    let marked: Vec<&str> = marked.map(|one| one.type_name.as_str()).collect();
    println!("{message} in {:?}; marked: {}", started.elapsed(), marked.join(", "));
    assert!(status.kinds > Some(100) && marked.len() == 10, "{:?} {marked:?}", status.kinds);
    let test_env = &s.test_env;
    let [secret, config] = config()?;
    let documents = [
        secret,
        config,
        json!({
            "apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport", "metadata": {"name": "web"},
            "spec": {"configType": "ConfigMap", "configMetadata": {"name": "web"}, "entries": [
                {"key": "gateway", "valueFrom": {"ref": format!("{}/web/gateway_ip", kind("Subnet"))}},
            ]},
        }),
    ];
    // No other object of the cloud has this name.
    let name = json!({"value": test_env.ns.name});
    let reference = |of: &str| json!({"valueFrom": {"ref": format!("{}/web", kind(of))}});
    let subnet = json!({"network_id": reference("Network"), "cidr": {"value": "10.8.0.0/24"}});
    let stack = [object("Subnet", "web", &subnet), object("Network", "web", &json!({"name": name}))];
    let documents = documents.iter().map(Json::to_string).chain(stack).collect::<Vec<_>>();
    test_env.apply(&documents.join("\n---\n")).await?;
    let exported = test_env.until("ConfigMap", "web", |map| map["data"]["gateway"].is_string()).await?;
    assert_eq!(exported["data"]["gateway"], "10.8.0.1");
    test_env.ready("ProviderConfig", "openstack").await?;
    for short in ["Network", "Subnet"] {
        test_env.ready(&kind(short), "web").await?;
    }

    // The provider's own validation.
    let mut wrong = subnet.clone();
    wrong["ip_version"] = json!({"value": 5});
    let refused = test_env.refused(&object("Subnet", "wrong", &wrong)).await?;
    println!("{refused}");
    assert!(refused.contains("spec.ip_version: expected ip_version to be one of"), "{refused}");

    // A credential of the team, which the provider generates: it is in a Secret, and another ProviderConfig uses it.
    let credential = "OpenstackIdentityApplicationCredentialV3";
    let of_kind = |kind: &str, name: &str, spec: Json| {
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string()
    };
    let outputs = json!({"secretName": "team"});
    let spec = json!({"name": name, "sensitiveOutputs": outputs});
    test_env.apply(&of_kind(credential, "team", spec)).await?;
    let made = test_env.ready(credential, "team").await?;
    let config = json!({
        "apiVersion": "providers.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ProviderConfig",
        "metadata": {"name": "team"}, "spec": {"provider": "openstack", "config": {
            "auth_url": literal("OS_AUTH_URL")?, "region": literal("OS_REGION_NAME")?,
            "application_credential_id": {"value": made["status"]["externalIds"][0]},
            "application_credential_secret": {"valueFrom": {"secret": {"name": "team", "key": "secret"}}},
        }},
    });
    let data = "DataOpenstackNetworkingNetworkV2";
    let search = json!({"name": name, "providerConfig": {"name": "team"}});
    test_env.apply(&[config.to_string(), of_kind(data, "web", search)].join("\n---\n")).await?;
    let found = test_env.ready(data, "web").await?;
    let network = test_env.get(&kind("Network"), "web").await?;
    assert_eq!(found["status"]["answer"]["ids"], network["status"]["externalIds"]);
    for (kind, name) in [(data, "web"), ("ProviderConfig", "team"), (credential, "team")] {
        test_env.delete(kind, name).await?;
        test_env.gone(kind, name).await?;
    }
    test_env.gone("Secret", "team").await?;

    for short in ["Network", "Subnet"] {
        test_env.delete(&kind(short), "web").await?;
    }
    test_env.delete("ConfigExport", "web").await?;
    for short in ["Network", "Subnet"] {
        test_env.gone(&kind(short), "web").await?;
    }
    let memory = s.test_env.env.suite.controller("tofu")?.rss_bytes()?;
    println!("{} MB in the controller", memory / 1_000_000);
    s.uninstall().await?;
    s.uninstalled().await
}

/// A provider that sees what exists.
async fn witness() -> Result<Plugin> {
    let request = StartRequest {
        program: tokio::task::spawn_blocking(programs::openstack).await?.display().to_string(),
        environment: env::vars().filter(|(name, _)| name.starts_with("OS_")).collect(),
        ..StartRequest::default()
    };
    let host = HostLink::Own(Host::new(HostOptions::new("witness")));
    let witness = Plugin::start(&host, request).await?;
    witness.configure(&Value::object([])).await?;
    Ok(witness)
}

#[tokio::test]
#[ignore = "requires OpenStack"]
async fn network_whose_provider_was_killed_exists_once() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let provider = provider().await?;
    let _controller = controller(&test_env, &provider, &TYPES[..1]).await?;
    let witness = witness().await?;
    let source = &witness.schema().data_sources[TYPES[0]].value_type;
    for (index, delay) in [40, 120, 250, 400, 700].into_iter().enumerate() {
        let name = format!("killed-{index}");
        test_env.apply(&object("Network", &name, &json!({"name": {"value": name}}))).await?;
        // Until the creation is requested.
        let has_ledger = |object: &Json| object["metadata"]["finalizers"].is_array();
        test_env.until(&kind("Network"), &name, has_ledger).await?;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        if let Some(process) = provider.process_id().await {
            // It may have ended just now.
            let _ = kill_at_once(process);
        }
        let ready = test_env.ready(&kind("Network"), &name).await?;
        // It fails if there are two.
        let query = Value::from_config(&json!({"name": name}), source).unwrap();
        let only = witness.read_data_source(TYPES[0], &query).await?.value;
        assert_eq!(only.attribute("id").as_str(), ready["status"]["externalIds"][0].as_str());
    }
    for index in 0..5 {
        test_env.delete(&kind("Network"), &format!("killed-{index}")).await?;
        test_env.gone(&kind("Network"), &format!("killed-{index}")).await?;
    }
    Ok(())
}

/// The table of interrupted creations, for a type whose objects cannot be found.
#[tokio::test]
#[ignore = "requires OpenStack"]
async fn address_scope_whose_controller_is_killed_exists_once() -> Result<()> {
    const TYPE: &str = "openstack_networking_addressscope_v2";
    let mut h = hosted_of("openstack", programs::openstack).await?;
    h.s.install(&json!({"resources": [TYPE]})).await?;
    let (_, status) = h.s.installed("Installed").await?;
    assert_eq!((status.marked, status.by_hand), (Some(0), Some(1)));
    h.s.test_env.apply(&config()?.map(|one| one.to_string()).join("\n---\n")).await?;
    h.s.test_env.ready("ProviderConfig", "openstack").await?;
    let (witness, kind) = (witness().await?, kind("Addressscope"));
    let source = witness.schema().data_sources[TYPE].value_type.clone();
    let spec = |name: &str| json!({"name": {"value": name}, "ip_version": {"value": 4}});
    // The id of the only one with this name; an error if there are several.
    let only = async |name: &str| {
        let query = Value::from_config(&json!({"name": name}), &source).unwrap();
        match witness.read_data_source(TYPE, &query).await {
            Ok(found) => Ok(found.value.attribute("id").as_str().map(str::to_owned)),
            Err(error) if error.to_string().starts_with(&format!("No {TYPE} found")) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let mut names = vec![];
    for delay in [50, 100, 150, 200, 250, 300, 350, 400] {
        let name = format!("{}-{delay}", h.s.test_env.ns.name);
        h.s.test_env.apply(&object("Addressscope", &name, &spec(&name))).await?;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        h.kill_controller().await?;
        let existed = only(&name).await?.is_some();
        h.start_controller().await?;
        let ready = h.s.test_env.ready(&kind, &name).await?;
        println!(
            "the controller was killed after {delay} ms; the object existed: {existed}; now there is one"
        );
        assert_eq!(only(&name).await?.as_deref(), ready["status"]["externalIds"][0].as_str());
        names.push(name);
    }
    for name in &names {
        h.s.test_env.delete(&kind, name).await?;
        h.s.test_env.gone(&kind, name).await?;
        assert_eq!(only(name).await?, None);
    }
    for delay in [100, 250, 400] {
        let name = format!("{}-both-{delay}", h.s.test_env.ns.name);
        h.s.test_env.apply(&object("Addressscope", &name, &spec(&name))).await?;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        h.kill_controller().await?;
        h.kill_host().await?;
        h.start_host()?;
        h.start_controller().await?;
        let settled = |one: &Json| {
            let ready = &one["status"]["conditions"][0];
            ready["status"] == "True" || ready["reason"] == "CreationUnknown"
        };
        let object = h.s.test_env.until(&kind, &name, settled).await?;
        let (reason, exists) =
            (object["status"]["conditions"][0]["reason"].clone(), only(&name).await?.is_some());
        println!("both were killed after {delay} ms: {reason}; the object exists: {exists}");
        let confirmed =
            json!({"kraken-iac.eoinfennessy.com/creation-confirmed-at": jiff::Timestamp::now().to_string()});
        h.s.test_env.patch(&kind, &name, json!({"metadata": {"annotations": confirmed}})).await?;
        h.s.test_env.delete(&kind, &name).await?;
        h.s.test_env.gone(&kind, &name).await?;
    }
    h.s.uninstall().await?;
    h.s.uninstalled().await
}
