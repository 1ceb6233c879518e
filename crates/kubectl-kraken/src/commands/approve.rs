//! `kubectl kraken approve`: shows plans, asks, and writes the approval of exactly the plan that was shown.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use kraken_api::{APPROVED_PLAN_ANNOTATION, Plan};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{answer, selected};
use crate::{
    cluster::Cluster,
    failure::{explain, is_forbidden},
    graph::{Graph, Node},
    print::{Lines, clean, out},
    resource::Resource,
    target::Target,
};

/// How often a write that conflicts with another one is repeated.
const ATTEMPTS: usize = 5;

/// Who decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// A person, for each plan.
    Asked,
    /// All plans are approved.
    Given,
    /// Only a plan with this hash is approved.
    Hash(String),
}

/// The answer of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    All,
    Quit,
}

impl Consent {
    pub(super) fn of(is_given: bool, hash: Option<String>) -> Self {
        match hash {
            Some(hash) => Self::Hash(hash),
            None if is_given => Self::Given,
            None => Self::Asked,
        }
    }
}

impl Answer {
    /// Anything else than a clear yes is a no.
    fn of(line: &str) -> Self {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "a" | "all" => Self::All,
            "q" | "quit" => Self::Quit,
            _ => Self::No,
        }
    }
}

pub(super) async fn run(cluster: &Cluster, words: &[String], mut consent: Consent) -> Result<ExitCode> {
    let graph = selected(cluster, words).await?;
    let pending: Vec<(&Node, &Plan)> = graph
        .resources()
        .filter_map(|resource| resource.pending_plan().map(|plan| (&resource.node, plan)))
        .collect();
    if pending.is_empty() {
        out("No plan awaits approval.\n")?;
        // Whoever names a hash expects a plan.
        return Ok(if matches!(consent, Consent::Hash(_)) { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let mut is_refused = false;
    for (node, plan) in pending {
        out(&described(node, plan))?;
        match &consent {
            Consent::Hash(hash) if *hash != plan.hash => {
                eprintln!("not approved: the hash of the plan is {}, not {}", clean(&plan.hash), clean(hash));
                is_refused = true;
                continue;
            }
            Consent::Hash(_) | Consent::Given => {}
            Consent::Asked => match ask()? {
                Answer::Yes => {}
                Answer::All => consent = Consent::Given,
                Answer::No => continue,
                Answer::Quit => break,
            },
        }
        match approve(cluster, node, &plan.hash).await? {
            None => out(&format!("{} approved: plan {}\n", clean(&node.to_string()), clean(&plan.hash)))?,
            Some(why) => {
                eprintln!("not approved: {}", clean(&why));
                is_refused = true;
            }
        }
    }
    Ok(if is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The plan as its status has it. Pure.
fn described(node: &Node, plan: &Plan) -> String {
    let mut text = Lines::default();
    text.line(format!("{node} in namespace {}: {:?}, plan {}", node.namespace, plan.action, plan.hash));
    if !plan.what.is_empty() {
        text.line(format!("  {}", plan.what));
    }
    for change in &plan.changes {
        text.line(format!("  spec.{}: {} -> {}", change.path, change.have, change.want));
    }
    if let Some(stale) = &plan.stale {
        text.line(format!("  {stale}"));
    }
    text.finish()
}

/// The plans that await approval, for programs. Pure.
pub(super) fn json(graph: &Graph) -> Value {
    let plan = |resource: &Resource| {
        let Node { namespace, group, kind, name } = &resource.node;
        let plan = resource.pending_plan()?;
        Some(json!({"namespace": namespace, "group": group, "kind": kind, "name": name, "plan": plan}))
    };
    graph.resources().filter_map(plan).collect()
}

/// The words of the API server.
fn denied(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

fn ask() -> Result<Answer> {
    let nobody = "nobody answered, nothing more was approved: use --yes to approve without a question";
    Ok(Answer::of(&answer("Approve? [y/N/a(ll)/q] ", nobody)?))
}

/// Writes the approval; or says why not, if the plan is another one by now.
///
/// The write fails if the resource changed since it was read, so that the plan that is approved is the one that was compared.
pub(super) async fn approve(cluster: &Cluster, node: &Node, hash: &str) -> Result<Option<String>> {
    let kind = cluster.kind(&format!("{}.{}", node.kind, node.group))?;
    let api = cluster.api(kind, Some(&node.namespace));
    let target = Target { kind: format!("{}.{}", node.kind, node.group), name: node.name.clone() };
    for _ in 0..ATTEMPTS {
        let doing = format!("get {node} in namespace {}", node.namespace);
        let object =
            api.get_opt(&target.name).await.map_err(|error| explain(error, &doing, &cluster.server))?;
        let Some(object) = object else { return Ok(Some(format!("{node} does not exist any more"))) };
        let version = object.metadata.resource_version.clone();
        let now = Resource::of(kind.typed(object));
        match now.as_ref().and_then(|resource| resource.status.plan.as_ref()) {
            Some(plan) if plan.hash == hash => {}
            Some(plan) => {
                return Ok(Some(format!(
                    "the plan of {node} changed from {hash} to {} since it was shown; run the command again",
                    plan.hash
                )));
            }
            None => return Ok(Some(format!("{node} has no plan any more"))),
        }
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": {APPROVED_PLAN_ANNOTATION: hash}}});
        match api.patch(&target.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => return Ok(None),
            // A controller wrote its status in between.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) if is_forbidden(&error) => {
                return Err(anyhow!(
                    "you may not approve plans of {node}: ask for the ClusterRole admin or kraken-approve, which have the verb \
                     approve ({})",
                    denied(&error)
                ));
            }
            Err(error) => {
                return Err(explain(error, &format!("approve the plan of {node}"), &cluster.server));
            }
        }
    }
    Ok(Some(format!("{node} is changed all the time; run the command again")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::{graph, node, not_ready, object};

    #[test]
    fn a_plan_is_shown_with_its_changes_and_without_control_characters() {
        let mut status = not_ready("AwaitingApproval", "would replace");
        status["plan"] = json!({"hash": "a14e9c64", "action": "Replace", "target": "t", "what": "1 instance\u{1b}[2J",
            "changes": [{"path": "subnetID", "want": "subnet-2", "have": "subnet-1"}]});
        let graph = graph([object("EC2Instance", "web", json!({}), status)]);
        let node = node("EC2Instance", "web");
        let plan = graph.get(&node).unwrap().pending_plan().unwrap();
        let expected = "EC2Instance/web in namespace shop: Replace, plan a14e9c64\n  1 instance\u{fffd}[2J\n  spec.subnetID: subnet-1 -> subnet-2\n";
        assert_eq!(described(&node, plan), expected);
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, answer) in [
            ("y\n", Answer::Yes),
            ("YES", Answer::Yes),
            ("a", Answer::All),
            ("q", Answer::Quit),
            ("", Answer::No),
            ("\n", Answer::No),
            ("yy", Answer::No),
            ("n", Answer::No),
        ] {
            assert_eq!(Answer::of(line), answer, "{line:?}");
        }
    }

    #[test]
    fn a_hash_is_stricter_than_yes() {
        assert_eq!(Consent::of(true, Some("a".into())), Consent::Hash("a".into()));
        assert_eq!(Consent::of(false, None), Consent::Asked);
    }
}
