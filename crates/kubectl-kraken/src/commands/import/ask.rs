//! Asks the controllers: one ImportRequest for each kind, and for each part of a large answer. Client required.

use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use futures::future::try_join_all;
use kraken_api::{
    ImportRequest, ImportRequestSpec,
    import_request::{AccountName, ImportAnswer},
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use tokio::time::{Instant, sleep};

use super::Selection;
use crate::{cluster::Cluster, discovery::Kind, failure::explain};

/// The first pause between two looks for an answer; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What the controller of one kind answered, in all parts together.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) kind: String,
    pub(super) group: String,
    pub(super) api_version: String,
    pub(super) parts: Vec<ImportAnswer>,
}

/// Asks about all kinds at the same time. A kind without an answer has a problem instead.
pub(super) async fn ask(
    cluster: &Cluster,
    kinds: &[&Kind],
    selection: &Selection,
    timeout: Duration,
) -> Result<Vec<Answer>> {
    let api: Api<ImportRequest> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let until = Instant::now() + timeout;
    let each = kinds.iter().map(|kind| async {
        let resource = &kind.resource;
        let mut answer = Answer {
            kind: resource.kind.clone(),
            group: resource.group.clone(),
            api_version: resource.api_version.clone(),
            parts: vec![],
        };
        let mut spec = question(kind, selection);
        loop {
            let part = one(&api, &spec, until).await.map_err(|error| failed(error, cluster))?;
            spec.after.clone_from(&part.next);
            answer.parts.push(part);
            if spec.after.is_none() {
                return Ok::<_, Error>(answer);
            }
        }
    });
    try_join_all(each).await
}

fn question(kind: &Kind, selection: &Selection) -> ImportRequestSpec {
    ImportRequestSpec {
        group: kind.resource.group.clone(),
        kind: kind.resource.kind.clone(),
        account: selection.use_account.clone().map(|name| AccountName { name }),
        within: selection.vpc.clone(),
        tags: selection.tags.iter().cloned().collect(),
        after: None,
    }
}

/// Creates the request, waits for its answer, and deletes it.
async fn one(
    api: &Api<ImportRequest>,
    spec: &ImportRequestSpec,
    until: Instant,
) -> Result<ImportAnswer, kube::Error> {
    let mut request = ImportRequest::new("", spec.clone());
    request.metadata.name = None;
    request.metadata.generate_name = Some("import-".to_owned());
    let created = api.create(&PostParams::default(), &request).await?;
    let name = created.metadata.name.unwrap_or_default();
    let answer = wait(api, &name, spec, until).await;
    // One that remains is deleted by the controllers.
    let _ = api.delete(&name, &DeleteParams::default()).await;
    answer
}

async fn wait(
    api: &Api<ImportRequest>,
    name: &str,
    spec: &ImportRequestSpec,
    until: Instant,
) -> Result<ImportAnswer, kube::Error> {
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        let found = api.get_opt(name).await?;
        if let Some(answer) = found.and_then(|found| found.status).and_then(|status| status.answer) {
            return Ok(answer);
        }
        if Instant::now() >= until {
            let problem = format!(
                "the controller of {} did not answer: is it running, and of this version? Look with kubectl kraken check",
                spec.kind
            );
            return Ok(ImportAnswer { problem: Some(problem), ..ImportAnswer::default() });
        }
    }
}

fn failed(error: kube::Error, cluster: &Cluster) -> Error {
    match &error {
        kube::Error::Api(status) if status.code == 404 => anyhow!(
            "the cluster has no kind ImportRequest, or no namespace {}: create the namespace, or install this version of the hub",
            cluster.namespace
        ),
        _ => {
            let doing = format!("ask the controllers by an ImportRequest in namespace {}", cluster.namespace);
            explain(error, &doing, &cluster.server)
        }
    }
}
