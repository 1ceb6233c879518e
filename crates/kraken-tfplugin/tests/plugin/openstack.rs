//! The provider of OpenStack, with the SDK of before plugin-framework, on a real OpenStack: `OS_AUTH_URL` and the other variables of
//! its clients name one on which networks may be created.

use std::env;
use std::time::Instant;

use kraken_tfplugin::{Action, Plugin, ResourceState, Value};
use serde_json::{Value as Json, json};

use crate::ktest::{apply, host, paths, request_of};
use crate::programs;

struct Cloud {
    plugin: Plugin,
}

impl Cloud {
    fn config(&self, type_name: &str, config: &Json) -> Value {
        Value::from_config(config, &self.plugin.schema().resources[type_name].value_type).unwrap()
    }

    /// Creates an object, of which the next plan must be empty, also after its state was stored.
    async fn create(&self, type_name: &str, config: Json) -> ResourceState {
        let started = Instant::now();
        let desired = self.config(type_name, &config);
        self.plugin.validate(type_name, &desired).await.unwrap();
        let plan = self.plugin.plan(type_name, &ResourceState::default(), &desired).await.unwrap();
        assert_eq!(plan.action(), Action::Create);
        let applied = apply(&self.plugin, plan).await.unwrap();
        assert!(!applied.is_failed(), "{type_name}: {:?}", applied.diagnostics);
        let schema = &self.plugin.schema().resources[type_name];
        let stored = applied.state.value.to_json().unwrap();
        let value = self.plugin.upgrade(type_name, schema.version, &stored).await.unwrap().value;
        let stored = ResourceState { value, private: applied.state.private };
        let read = self.plugin.read(type_name, &stored).await.unwrap().value;
        let plan = self.plugin.plan(type_name, &read, &desired).await.unwrap();
        println!("{type_name}: {:?}, {:?}", started.elapsed(), plan.differences);
        assert_eq!(plan.action(), Action::None, "{type_name}: {plan:?}");
        read
    }

    async fn delete(&self, type_name: &str, state: ResourceState) {
        let plan = self.plugin.plan(type_name, &state, &Value::Null).await.unwrap();
        assert_eq!(plan.action(), Action::Delete);
        let applied = apply(&self.plugin, plan).await.unwrap();
        assert!(!applied.is_failed() && !applied.state.exists(), "{type_name}: {:?}", applied.diagnostics);
        let read = self.plugin.read(type_name, &state).await.unwrap().value;
        assert!(!read.exists(), "{type_name}");
    }
}

#[tokio::test]
#[ignore = "requires OpenStack"]
async fn networks_are_created_changed_and_deleted() {
    let mut request = request_of(&programs::openstack());
    request.environment = env::vars().filter(|(name, _)| name.starts_with("OS_")).collect();
    let started = Instant::now();
    let cloud = Cloud { plugin: Plugin::start(&host(), request).await.unwrap() };
    println!("started after {:?}", started.elapsed());
    let plugin = &cloud.plugin;
    plugin.configure(&Value::object([])).await.unwrap();
    let id = |state: &ResourceState| state.value.attribute("id").as_str().unwrap().to_owned();

    let network = "openstack_networking_network_v2";
    let marker = format!("web [kraken {:012x}]", std::process::id());
    let web = json!({"name": "web", "description": marker, "admin_state_up": true, "tags": ["a", "b"]});
    let created = cloud.create(network, web.clone()).await;

    let source = &plugin.schema().data_sources[network].value_type;
    let search = Value::from_config(&json!({"description": marker}), source).unwrap();
    let found = plugin.read_data_source(network, &search).await.unwrap().value;
    assert_eq!(found.attribute("id"), created.value.attribute("id"));

    // An import knows no tags, so that the plan that follows is not empty.
    let imported = plugin.import(network, &id(&created)).await.unwrap().value;
    let imported = plugin.read(network, &imported).await.unwrap().value;
    let plan = plugin.plan(network, &imported, &cloud.config(network, &web)).await.unwrap();
    println!("plan after the import: {:?}", paths(&plan));

    let subnet = "openstack_networking_subnet_v2";
    let config = |cidr: &str| {
        json!({
            "network_id": id(&created), "cidr": cidr, "ip_version": 4,
            "allocation_pool": [{"start": "10.9.0.10", "end": "10.9.0.20"}],
            "dns_nameservers": ["10.9.0.2"],
        })
    };
    let subnet_state = cloud.create(subnet, config("10.9.0.0/24")).await;
    let plan =
        plugin.plan(subnet, &subnet_state, &cloud.config(subnet, &config("10.9.0.0/25"))).await.unwrap();
    assert_eq!(plan.action(), Action::Replace);
    assert_eq!(plan.requires_replace.iter().map(ToString::to_string).collect::<Vec<_>>(), ["cidr"]);

    let group = "openstack_networking_secgroup_v2";
    let group_state = cloud.create(group, json!({"name": "web", "delete_default_rules": true})).await;
    let rule = "openstack_networking_secgroup_rule_v2";
    let https = json!({
        "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 443, "port_range_max": 443,
        "remote_ip_prefix": "0.0.0.0/0", "security_group_id": id(&group_state),
    });
    let rule_state = cloud.create(rule, https).await;

    let port = "openstack_networking_port_v2";
    let address = json!([{"subnet_id": id(&subnet_state), "ip_address": "10.9.0.15"}]);
    let port_config = json!({
        "name": "web", "network_id": id(&created), "fixed_ip": address, "security_group_ids": [id(&group_state)],
    });
    let port_state = cloud.create(port, port_config).await;

    let router = "openstack_networking_router_v2";
    let router_state = cloud.create(router, json!({"name": "web"})).await;
    let interface = "openstack_networking_router_interface_v2";
    let joined = json!({"router_id": id(&router_state), "subnet_id": id(&subnet_state)});
    let interface_state = cloud.create(interface, joined).await;

    // A change in place.
    let renamed = json!({"name": "web2", "description": marker, "admin_state_up": true, "tags": ["b"]});
    let plan = plugin.plan(network, &created, &cloud.config(network, &renamed)).await.unwrap();
    assert_eq!(plan.action(), Action::Update);
    println!("plan of a change: {:?}", plan.differences);
    let changed = apply(plugin, plan).await.unwrap().state;

    // The provider's own error, with the text of the service.
    let invalid = cloud.config(subnet, &json!({"network_id": "none", "cidr": "10.9.0.0/24"}));
    let plan = plugin.plan(subnet, &ResourceState::default(), &invalid).await.unwrap();
    let failed = apply(plugin, plan).await.unwrap();
    assert!(failed.is_failed() && !failed.state.exists());
    println!("an error: {}", failed.diagnostics[0]);

    for (type_name, state) in [
        (interface, interface_state),
        (router, router_state),
        (port, port_state),
        (rule, rule_state),
        (group, group_state),
        (subnet, subnet_state),
        (network, changed),
    ] {
        cloud.delete(type_name, state).await;
    }
    plugin.end().await;
}
