//! Checks that Secret values occur nowhere else. Tests use the canary as Secret value, and each test searches for it at
//! its end.

use anyhow::{Result, bail};
use kraken_testing::{Environment, canary::Canary};
use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};

/// Every kind that a test may have objects of, but Secrets.
const KINDS: [(&str, &[&str]); 5] = [
    ("", &["ConfigMap", "Event"]),
    ("core.kraken-iac.eoinfennessy.com", &["DependencyRequest", "StateDeclaration"]),
    ("configexport.kraken-iac.eoinfennessy.com", &["ConfigExport"]),
    (
        "aws.kraken-iac.eoinfennessy.com",
        &[
            "Account",
            "EC2Instance",
            "ElasticIP",
            "InternetGateway",
            "KeyPair",
            "Listener",
            "ListenerRule",
            "LoadBalancer",
            "NATGateway",
            "RouteTable",
            "SecurityGroup",
            "Subnet",
            "TargetGroup",
            "Volume",
            "VPC",
        ],
    ),
    ("testing.kraken-iac.eoinfennessy.com", &["Gadget"]),
];

/// Searches the objects of a namespace, and the logs and metrics of the controllers.
///
/// # Errors
/// The location of the canary, or a failed request.
pub async fn search(env: &Environment, namespace: &str) -> Result<()> {
    let (client, canary) = (env.control_plane.client().await?, Canary::new());
    for (group, kinds) in KINDS {
        for kind in kinds {
            if let Some(form) = in_objects(&client, namespace, group, kind, &canary).await? {
                bail!("a value of a Secret is in an object of kind {kind}, {form}");
            }
        }
    }
    for controller in env.suite.controllers() {
        let log = controller.log_text()?;
        if let Some(line) = log.lines().find(|line| canary.found(line).is_some()) {
            bail!("a value of a Secret is in the log of {}: {line}", controller.name());
        }
        if let Ok(metrics) = controller.metrics().await
            && canary.found(&metrics).is_some()
        {
            bail!("a value of a Secret is in the metrics of {}", controller.name());
        }
    }
    Ok(())
}

async fn in_objects(
    client: &Client,
    namespace: &str,
    group: &str,
    kind: &str,
    canary: &Canary,
) -> Result<Option<&'static str>> {
    let version = if group.is_empty() { "v1" } else { "v1alpha1" };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    // As text: some tests have objects that are nested deeper than a JSON reader of Rust follows.
    let request = http::Request::get(api.resource_url()).body(vec![])?;
    match client.request_text(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None), // no such kind here
        text => Ok(canary.found(&text?)),
    }
}
