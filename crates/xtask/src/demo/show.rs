//! The output of the demo.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_simulator::Instance;
use kraken_testing::Environment;

use crate::board::{Change, View};
use crate::ui::{self, Colour, paint, table};

/// Prints a line whenever a resource's Ready condition or ids change: seconds, resource, condition, reason, message.
pub(super) fn changes() -> impl Fn(Change<'_>) + Send + Sync + 'static {
    let began = Instant::now();
    let printed: Mutex<HashMap<String, String>> = Mutex::default();
    move |change| {
        let (view, line) = match change {
            Change::Now(view) if view.ready.is_empty() => return,
            Change::Now(view) => (view, now(view)),
            Change::Gone(view) => (view, paint(Colour::Green, "deleted")),
        };
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.insert(view.title(), line.clone()).as_ref() != Some(&line) {
            println!("{:>6.1} s  {:<28} {line}", began.elapsed().as_secs_f64(), view.title());
        }
    }
}

fn now(view: &View) -> String {
    let colour = match view.ready.as_str() {
        "True" => Colour::Green,
        "False" => Colour::Yellow,
        _ => Colour::Bold,
    };
    // Padded before it is painted: the codes of a colour have a width for the formatter.
    let condition = paint(colour, &format!("{:<15}", format!("Ready={}", view.ready)));
    let ids = if view.external_ids.is_empty() {
        String::new()
    } else {
        format!("[{}] ", view.external_ids.join(" "))
    };
    format!("{condition}{:<22}{ids}{}", view.reason, view.message)
}

pub(super) fn config_map(name: &str, map: &ConfigMap) {
    println!("ConfigMap {name}");
    for (key, value) in map.data.iter().flatten() {
        println!("  {key:<12} {value}");
    }
}

pub(super) fn secret(name: &str, secret: &Secret) {
    println!("Secret {name}");
    for (key, value) in secret.data.iter().flatten() {
        println!("  {key:<12} ({} bytes, not shown)", value.0.len());
    }
}

pub(super) fn instances(instances: &[Instance], views: &[View]) {
    println!("Instances in moto");
    let owner = |id: &String| {
        views
            .iter()
            .find(|view| view.external_ids.contains(id))
            .map_or_else(|| "none".to_owned(), View::title)
    };
    let rows = instances.iter().map(|instance| {
        [
            instance.id.clone(),
            instance.state.clone(),
            instance.instance_type.clone(),
            instance.image_id.clone(),
            owner(&instance.id),
        ]
    });
    print!("{}", table(&["id", "state", "type", "image", "of"], rows));
}

pub(super) fn calls(calls: &BTreeMap<String, u64>) {
    let list: Vec<String> = calls.iter().map(|(action, number)| format!("{number} {action}")).collect();
    println!("Calls to AWS so far: {}", list.join(", "));
}

pub(super) fn print_next_steps(environment: &Environment) {
    print_commands(
        environment,
        "kubectl get ec2instances,configexports
  kubectl get configmap web-network -o yaml
  kubectl get dependencyrequests,statedeclarations
  kubectl patch configmap quickstart --type merge -p '{\"data\":{\"count\":\"3\"}}'
  kubectl get ec2instance worker --watch
  kubectl describe ec2instance batch
  kubectl delete ec2instance batch",
    );
}

pub(super) fn what_to_try_with_the_tier(environment: &Environment) {
    print_commands(
        environment,
        "kubectl get kraken
  kubectl get configmap web-address -o yaml
  kubectl get statedeclarations
  kubectl patch configmap web-tier --type merge -p '{\"data\":{\"port\":\"9090\"}}'
  kubectl delete vpc web --wait=false
  kubectl get vpc web -o wide",
    );
}

pub(super) fn what_to_try_with_the_shop(environment: &Environment) {
    print_commands(
        environment,
        "kubectl get kraken
  kubectl get configmap shop -o yaml
  kubectl get dbinstance shop -o wide
  kubectl patch configmap shop-settings --type merge -p '{\"data\":{\"minimum\":\"3\"}}'
  kubectl delete queue.aws.kraken-iac.eoinfennessy.com shop-failed --wait=false
  kubectl get queue.aws.kraken-iac.eoinfennessy.com shop-failed -o wide",
    );
}

pub(super) fn what_to_try_on_openstack(environment: &Environment) {
    print_commands(
        environment,
        "kubectl get openstack
  kubectl get providerinstall openstack -o yaml
  kubectl explain openstacknetworkingsubnetv2.spec
  kubectl patch configmap cloud --type merge -p '{\"data\":{\"cidr\":\"10.10.0.0/24\"}}'
  kubectl get openstacknetworkingsubnetv2 web -o wide
  kubectl delete openstacknetworkingnetworkv2 web --wait=false",
    );
}

fn print_commands(environment: &Environment, lines: &str) {
    println!(
        "
{}
The demo keeps running until you press Ctrl-C, which deletes the samples and stops every process. In another terminal:

{}

  {lines}

The `aws` command works in that terminal too: `aws ec2 describe-instances`. Logs are in {} and {}",
        paint(Colour::Bold, "== Try it yourself"),
        ui::exports(&environment.control_plane.admin_kubeconfig(), environment.moto.endpoint()),
        environment.control_plane.folder().display(),
        environment.suite.folder().display(),
    );
}
