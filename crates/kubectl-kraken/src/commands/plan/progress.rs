//! The progress of an apply: each change of a resource of the plan, until all are ready or one needs a person. [`wait`] requires a client;
//! what one look at the resources shows is pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::{approval::Approvals, judge::BEING_DELETED, run::Plan};
use crate::{
    cluster::Cluster,
    commands::graph_of,
    discovery::Kinds,
    graph::{Graph, Node},
    print::{Lines, out},
    resource::{Next, Ready, Resource},
};

/// How often the progress is read.
const EVERY: Duration = Duration::from_secs(1);
/// How long a resource may wait for a person before that counts: references resolve, and controllers retry, in this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a resource may take to notice that a value which it refers to changed: its hub and its controller usually need a second.
const NOTICED: Duration = Duration::from_secs(20);

/// Prints each change of a resource of the plan, until all are ready, or one needs a person. Says nothing if nothing was applied and all
/// are ready.
pub(super) async fn wait(
    cluster: &Cluster,
    plan: &Plan,
    mut approvals: Option<Approvals>,
    limit: Duration,
) -> Result<ExitCode> {
    let started = Instant::now();
    let mut stuck_since: Option<Instant> = None;
    let mut progress = Progress::of(plan, &cluster.kinds);
    loop {
        let mut objects = vec![];
        for scope in &plan.scopes {
            objects.extend(scope.resources().await?.objects);
        }
        let graph = Graph::of(&cluster.kinds, objects);
        let look = progress.look(&graph, started.elapsed() >= NOTICED);
        out(&look.text)?;
        if let Some(approvals) = &mut approvals {
            approvals.give(cluster, plan, &graph).await?;
        }
        if look.is_ready && progress.deleted.is_empty() {
            if !plan.applies.is_empty() || !progress.printed.is_empty() {
                out(&format!("Everything is ready after {} s.\n", started.elapsed().as_secs()))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        stuck_since = if look.needs_person { stuck_since.or(Some(Instant::now())) } else { None };
        let is_stuck = stuck_since.is_some_and(|since| since.elapsed() >= PATIENCE);
        // What is being deleted is not waited for: it does not get ready.
        if look.is_ready || is_stuck || started.elapsed() >= limit {
            out(&progress.causes(&graph_of(&plan.scopes).await?))?;
            approvals.iter().try_for_each(Approvals::explain)?;
            return Ok(ExitCode::FAILURE);
        }
        sleep(EVERY).await;
    }
}

/// What was seen of the resources of a plan.
struct Progress<'a> {
    plan: &'a Plan,
    kinds: &'a Kinds,
    /// What was printed of each last.
    printed: BTreeMap<Node, String>,
    /// Those that were being deleted.
    deleted: BTreeSet<Node>,
}

/// What one look at the resources shows.
#[derive(Debug, PartialEq)]
struct Look {
    /// What is new, for a person.
    text: String,
    /// Whether all are ready, except for those that are being deleted.
    is_ready: bool,
    needs_person: bool,
}

impl<'a> Progress<'a> {
    fn of(plan: &'a Plan, kinds: &'a Kinds) -> Self {
        Self { plan, kinds, printed: BTreeMap::new(), deleted: BTreeSet::new() }
    }

    /// The objects of the plan, with what follows from it and with those that it does not change: an earlier run may have applied them.
    fn nodes(&self) -> BTreeMap<&'a Node, bool> {
        let mut nodes = BTreeMap::new();
        for entry in &self.plan.entries {
            *nodes.entry(&entry.node).or_default() |= entry.action.is_some();
        }
        nodes
    }

    /// `is_late`: whether a resource had the time to notice a value that changed.
    fn look(&mut self, graph: &Graph, is_late: bool) -> Look {
        let (mut text, mut is_ready, mut needs_person) = (Lines::default(), true, false);
        for (node, is_changed) in self.nodes() {
            let Some(resource) = graph.get(node) else {
                // A resource may have been deleted meanwhile.
                is_ready &= self.deleted.contains(node) || !self.kinds.has_state(&node.group, &node.kind);
                continue;
            };
            let line = format!("{node}  {}  {}", resource.reason, resource.message);
            let is_news = is_changed || resource.ready != Ready::Yes || self.printed.contains_key(node);
            if is_news && self.printed.get(node) != Some(&line) {
                text.line(&line);
                self.printed.insert(node.clone(), line);
            }
            if resource.is_deleting {
                self.deleted.insert(node.clone());
                continue;
            }
            self.deleted.remove(node); // somebody created it again
            let is_noticed =
                is_late || self.plan.followers.get(node).is_none_or(|before| *before != status(resource));
            is_ready &= resource.ready == Ready::Yes && is_noticed;
            // A resource that waits for one in progress needs nobody.
            needs_person |=
                resource.ready == Ready::No && graph.roots(node).iter().any(|root| root.next == Next::Person);
        }
        Look { text: text.finish(), is_ready, needs_person }
    }

    /// The first root cause of each resource that is not ready, once each.
    fn causes(&self, graph: &Graph) -> String {
        let mut text = Lines::default();
        text.line("Not ready. What to do:");
        for node in &self.deleted {
            text.line(format!("  {node}: {BEING_DELETED}"));
        }
        let mut seen = self.deleted.clone();
        for root in self.nodes().into_keys().flat_map(|node| graph.roots(node)) {
            if seen.insert(root.node.clone()) {
                let remedy = root.remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
                text.line(format!("  {}: {}{remedy}", root.node, root.message));
            }
        }
        text.finish()
    }
}

fn status(resource: &Resource) -> serde_json::Value {
    serde_json::to_value(&resource.status).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        commands::plan::entry::{Action, Entry},
        discovery::tests::kinds,
        graph::fixtures::{graph, node, not_ready, object, ready},
    };

    /// A plan of one VPC and a ConfigMap.
    fn plan(action: Action) -> Plan {
        let entries = vec![
            Entry::new(node("VPC", "main"), action, vec![]),
            Entry::new(node("ConfigMap", "settings"), Action::None, vec![]),
        ];
        Plan { entries, notes: vec![], applies: vec![], followers: BTreeMap::new(), scopes: vec![] }
    }

    #[test]
    fn a_resource_that_the_plan_does_not_change_must_be_ready_too() {
        let (plan, kinds) = (plan(Action::None), kinds());
        let mut progress = Progress::of(&plan, &kinds);
        let failed = not_ready("ImmutableField", "cidrBlock cannot be changed");
        let look = progress.look(&graph([object("VPC", "main", json!({}), failed)]), false);
        let text = "VPC/main  ImmutableField  cidrBlock cannot be changed\n".to_owned();
        assert_eq!(look, Look { text, is_ready: false, needs_person: true });
        let look = progress.look(&graph([object("VPC", "main", json!({}), ready())]), false);
        assert_eq!(look.text, "VPC/main  Available  in place\n");
        assert!(look.is_ready);
    }

    #[test]
    fn a_resource_that_was_just_applied_by_another_command_is_waited_for() {
        let (plan, kinds) = (plan(Action::None), kinds());
        let look =
            Progress::of(&plan, &kinds).look(&graph([object("VPC", "main", json!({}), json!({}))]), false);
        assert!(!look.is_ready && !look.needs_person, "{look:?}");
    }

    #[test]
    fn nothing_is_said_of_what_is_unchanged_and_ready() {
        let (plan, kinds) = (plan(Action::None), kinds());
        let look =
            Progress::of(&plan, &kinds).look(&graph([object("VPC", "main", json!({}), ready())]), false);
        assert_eq!(look, Look { text: String::new(), is_ready: true, needs_person: false });
    }

    #[test]
    fn a_resource_that_is_being_deleted_is_named_and_not_waited_for() {
        let (plan, kinds) = (plan(Action::Blocked), kinds());
        let mut progress = Progress::of(&plan, &kinds);
        let mut vpc = object("VPC", "main", json!({}), ready());
        vpc.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        let deleting = graph([vpc]);
        assert!(progress.look(&deleting, false).is_ready);
        assert!(progress.look(&graph([]), false).is_ready, "gone");
        let expected = format!("Not ready. What to do:\n  VPC/main: {BEING_DELETED}\n");
        assert_eq!(progress.causes(&deleting), expected);
    }
}
