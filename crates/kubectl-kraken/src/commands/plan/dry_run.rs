//! The dry runs of a plan. Client required.
//!
//! Each is compared with what exists in the cloud, unless the provider of the kind did not answer before: a plan of many objects does not
//! wait for each. The references of an adoption that lead to objects with known ids, of the cluster or adopted by the same plan, have no
//! values yet: for the comparison, a second dry run has the ids in their place.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use anyhow::Result;
use kraken_api::effect::{Effect, NO_ANSWER, NOT_COMPARED};
use kraken_options::{ResourceRef, ValueFrom};
use serde_json::{Value, json};

use super::{
    ask::Answer,
    follow::effects,
    request::Request,
    values::{means, resource_of, with_literals},
};
use crate::{
    cluster::Cluster,
    graph::{Graph, Node},
};

/// The dry runs of one plan.
pub(super) struct DryRuns<'a> {
    cluster: &'a Cluster,
    ids: BTreeMap<Node, String>,
    /// What was said of the kinds whose provider does not answer, by group and kind.
    silent: Mutex<BTreeMap<(String, String), String>>,
}

impl<'a> DryRuns<'a> {
    pub(super) fn new<'r>(
        cluster: &'a Cluster,
        graph: &Graph,
        requests: impl Iterator<Item = &'r Request>,
    ) -> Self {
        let adopted = requests.filter_map(|request| Some((request.node.clone(), adopted_id(request)?)));
        let stored = graph.resources().filter_map(|resource| {
            Some((resource.node.clone(), resource.status.external_ids.first()?.clone()))
        });
        // What exists already has the id that it has.
        Self { cluster, ids: adopted.chain(stored).collect(), silent: Mutex::default() }
    }

    /// The answer about one object.
    pub(super) async fn ask(&self, request: &mut Request) -> Result<Result<Answer, kube::Error>> {
        let kind = (request.node.group.clone(), request.node.kind.clone());
        let silence = self.silent.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).cloned();
        let silence = silence.filter(|_| request.previews);
        request.previews &= silence.is_none();
        let mut answer = match self.answer(request).await? {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(line) = self::silence(request, &answer) {
            self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, line);
        }
        answer.warnings.extend(silence.map(|line| format!("{}: {line}", request.node)));
        Ok(Ok(answer))
    }

    /// The same, whatever the provider of the kind did before.
    pub(super) async fn ask_alone(&self, request: &mut Request) -> Result<Result<Answer, kube::Error>> {
        request.previews = true;
        self.answer(request).await
    }

    async fn answer(&self, request: &mut Request) -> Result<Result<Answer, kube::Error>> {
        let mut answer = match request.try_out(self.cluster).await? {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(compared) = self.with_ids(request, &answer) {
            answer.warnings.extend(self.compared(compared).await?);
        }
        Ok(Ok(answer))
    }

    /// What the cloud says to this request; nothing if it is rejected, because the true one was not.
    async fn compared(&self, mut request: Request) -> Result<Vec<String>> {
        let answer = request.try_out(self.cluster).await?;
        let prefix = format!("{}: ", request.node);
        let is_about_cloud = |warning: &String| {
            warning
                .strip_prefix(&prefix)
                .is_some_and(|line| is_observed(line) || line.starts_with(NOT_COMPARED))
        };
        let warnings = answer.map(|answer| answer.warnings).unwrap_or_default();
        Ok(warnings.into_iter().filter(is_about_cloud).collect())
    }

    /// The request of an adoption that could not be compared, with ids in the place of references.
    fn with_ids(&self, request: &Request, answer: &Answer) -> Option<Request> {
        let document = request.document.as_ref()?;
        let is_compared = effects(&request.node, answer.warnings.clone())
            .iter()
            .any(|line| is_observed(line) || line.starts_with(NOT_COMPARED));
        if !request.previews || is_compared || !document["spec"]["lifecycle"]["adopt"].is_object() {
            return None;
        }
        let spec = with_literals(&document["spec"], &|from| self.literal(&request.node, from))?;
        let mut document = document.clone();
        document["spec"] = spec;
        let mut compared = Request::new(request.node.clone(), request.resource.clone(), Some(document));
        compared.previews = true;
        Some(compared)
    }

    fn literal(&self, user: &Node, from: &ValueFrom) -> Option<Value> {
        let of = resource_of(from).filter(ResourceRef::is_id)?;
        self.ids.iter().find(|(node, _)| means(user, &of, node)).map(|(_, id)| json!(id))
    }
}

/// What an answer says if the provider of the object was silent.
pub(super) fn silence(request: &Request, answer: &Answer) -> Option<String> {
    let said = effects(&request.node, answer.warnings.clone());
    said.into_iter().find(|line| line.starts_with(&format!("{NOT_COMPARED}{NO_ANSWER}")))
}

/// The id that a document adopts.
fn adopted_id(request: &Request) -> Option<String> {
    let spec = &request.document.as_ref()?["spec"];
    spec["lifecycle"]["adopt"]["id"].as_str().map(str::to_owned)
}

fn is_observed(line: &str) -> bool {
    Effect::of(line).is_some_and(Effect::is_observed)
}
