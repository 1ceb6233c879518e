//! `kubectl kraken check`: whether the installation is complete and works, as far as the rights of the caller show it.

mod accounts;
mod certificates;
mod judge;
mod rights;

use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        admissionregistration::v1::ValidatingWebhookConfiguration, apps::v1::Deployment,
        coordination::v1::Lease,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_api::{DOMAIN, SYSTEM_NAMESPACE};
use kube::{Api, Resource, api::ListParams};
use serde::de::DeserializeOwned;

use crate::{
    cluster::Cluster,
    connection::Connection,
    discovery::Kinds,
    failure::{explain, is_forbidden},
    print::{Color, Style, Table, out},
};

pub(super) use judge::image_version;

/// The label of all objects of an installation.
pub(super) const PART_OF: &str = "app.kubernetes.io/part-of=kraken";

/// How a part of the installation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Ok,
    /// Not known, for lack of rights, or not as recommended.
    Note,
    Fails,
}

/// What was found about one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    level: Level,
    part: String,
    text: String,
}

impl Finding {
    fn new(level: Level, part: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level, part: part.into(), text: text.into() }
    }
}

pub(super) async fn run(connection: &Connection) -> Result<ExitCode> {
    let mut cluster = Cluster::without_kinds(connection).await?;
    let client = &cluster.client;
    let version = client
        .apiserver_version()
        .await
        .map_err(|error| explain(error, "get the version", &cluster.server))?;
    let (groups, crds, deployments, leases, webhooks) = futures::join!(
        client.list_api_groups_aggregated(),
        all::<CustomResourceDefinition>(&cluster, None),
        of_installation::<Deployment>(&cluster),
        of_system_namespace(&cluster),
        all::<ValidatingWebhookConfiguration>(&cluster, Some(PART_OF)),
    );
    let kinds = Kinds::of(groups.map_err(|error| explain(error, "discover the kinds", &cluster.server))?);
    let mut findings = vec![judge::server(&cluster.server, &version)];
    findings.extend(judge::kinds(&kinds));
    findings.extend(each(crds?, "CustomResourceDefinitions", |crds| {
        let is_own = |crd: &&CustomResourceDefinition| crd.spec.group.ends_with(DOMAIN);
        crds.iter().filter(is_own).filter_map(judge::crd).collect()
    }));
    let deployments = deployments?;
    findings.extend(each(deployments.as_deref(), "Deployments", judge::deployments));
    let leases = leases?;
    let now = Timestamp::now();
    findings.extend(each(leases.as_deref(), "Leases", |leases| judge::leases(leases, now)));
    findings.extend(each(webhooks?.as_deref(), "ValidatingWebhookConfigurations", |webhooks| {
        let mut findings = judge::webhooks(webhooks, leases.as_deref(), deployments.as_deref());
        findings.extend(certificates::authorities(webhooks, now));
        findings
    }));
    cluster.kinds = kinds;
    let (accounts, of_controllers, of_user) = futures::join!(
        accounts::credentials(&cluster),
        rights::of_controllers(&cluster, deployments.as_deref()),
        rights::of_user(&cluster, &cluster.kinds),
    );
    findings.extend(accounts?);
    findings.extend(of_controllers?);
    findings.extend(of_user?);
    out(&table(&findings).render(Style::of_stdout()))?;
    let is_broken = findings.iter().any(|finding| finding.level == Level::Fails);
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(findings: &[Finding]) -> Table {
    let has_color = Style::of_stdout().has_color;
    let mut table = Table::new(&["", "PART", "FINDING"]);
    for Finding { level, part, text } in findings {
        let (word, color) = match level {
            Level::Ok => ("ok", Color::Green),
            Level::Note => ("note", Color::Yellow),
            Level::Fails => ("FAILS", Color::Red),
        };
        table.row([(word, Some(color).filter(|_| has_color)), (part, None), (text, None)]);
    }
    table
}

/// The findings about objects, or that they may not be listed.
fn each<T>(objects: Option<T>, what: &str, judge: impl FnOnce(T) -> Vec<Finding>) -> Vec<Finding> {
    objects.map_or_else(
        || {
            let text = format!("not checked: you may not list {what}, which cluster administrators may");
            vec![Finding::new(Level::Note, what, text)]
        },
        judge,
    )
}

/// All objects of a kind of the cluster; `None` without the right.
async fn all<K>(cluster: &Cluster, labels: Option<&str>) -> Result<Option<Vec<K>>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    listed(Api::all(cluster.client.clone()), labels, cluster).await
}

/// Those of an installation in any namespace, or else in the default one.
pub(super) async fn of_installation<K>(cluster: &Cluster) -> Result<Option<Vec<K>>>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    match listed(Api::all(cluster.client.clone()), Some(PART_OF), cluster).await? {
        Some(objects) => Ok(Some(objects)),
        None => {
            listed(Api::namespaced(cluster.client.clone(), SYSTEM_NAMESPACE), Some(PART_OF), cluster).await
        }
    }
}

/// Leases have no labels.
async fn of_system_namespace(cluster: &Cluster) -> Result<Option<Vec<Lease>>> {
    listed(Api::namespaced(cluster.client.clone(), SYSTEM_NAMESPACE), None, cluster).await
}

async fn listed<K>(api: Api<K>, labels: Option<&str>, cluster: &Cluster) -> Result<Option<Vec<K>>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = ListParams { label_selector: labels.map(str::to_owned), ..ListParams::default() };
    match api.list(&params).await {
        Ok(list) => Ok(Some(list.items)),
        Err(error) if is_forbidden(&error) => Ok(None),
        Err(error) => Err(explain(error, &format!("list {}", K::plural(&())), &cluster.server)),
    }
}
