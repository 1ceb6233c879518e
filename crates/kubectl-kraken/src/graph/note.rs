//! One note for each resource: why it is not ready, or what is special about it. Pure.

use kraken_api::Plan;

use super::{Graph, causes::causes};
use crate::resource::{Ready, Resource};

/// The number of objects that a note names.
const MAX_NAMES: usize = 3;

impl Graph {
    /// The note of a resource, in one line; empty if nothing is special about it.
    pub(crate) fn note(&self, resource: &Resource) -> String {
        let mut notes = vec![];
        if resource.is_deleting {
            notes.push("being deleted".to_owned());
        }
        match resource.pending_plan() {
            Some(plan) if resource.ready != Ready::Yes => notes.push(format!("approve {}", plan_line(plan))),
            _ if resource.ready != Ready::Yes => notes.push(self.why_not(resource)),
            _ => {}
        }
        if resource.lacks_hub() {
            notes.push("the hub does not run: changes of what it refers to have no effect".to_owned());
        }
        if let Some(diff) = resource.status.drift.first() {
            let more = resource.status.drift.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            notes.push(format!("drift: spec.{} is {}, wanted {}{more}", diff.path, diff.have, diff.want));
        }
        if !resource.status.adopted.is_empty() {
            notes.push("adopted".to_owned());
        }
        if resource.is_protected() {
            notes.push("protected".to_owned());
        }
        notes.join("; ")
    }

    fn why_not(&self, resource: &Resource) -> String {
        let (mut waits_for, mut messages) = (vec![], vec![]);
        for cause in causes(self, resource) {
            let is_explained = self.get(&cause.on).is_some_and(|on| on.ready != Ready::Yes);
            match cause.message {
                Some(message) if !is_explained && !messages.contains(&message) => messages.push(message),
                None if !is_explained => {}
                _ if waits_for.contains(&cause.on) => {}
                _ => waits_for.push(cause.on),
            }
        }
        if !waits_for.is_empty() {
            let mut names: Vec<_> = waits_for.iter().take(MAX_NAMES).map(ToString::to_string).collect();
            if waits_for.len() > MAX_NAMES {
                names.push(format!("{} more", waits_for.len() - MAX_NAMES));
            }
            messages.push(format!("waits for {}", names.join(", ")));
        }
        if messages.is_empty() { resource.message.clone() } else { messages.join("; ") }
    }
}

/// A plan in one line: `Replace a14e9c64: 1 instance of 1; subnetID`.
pub(crate) fn plan_line(plan: &Plan) -> String {
    let mut what: Vec<String> = Some(plan.what.clone()).filter(|what| !what.is_empty()).into_iter().collect();
    let paths: Vec<_> = plan.changes.iter().map(|change| change.path.as_str()).collect();
    if !paths.is_empty() {
        what.push(paths.join(", "));
    }
    let what = if what.is_empty() { String::new() } else { format!(": {}", what.join("; ")) };
    format!("{:?} {}{what}", plan.action, plan.hash)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::graph::fixtures::*;

    fn note(kind: &str, name: &str, objects: Vec<kube::api::DynamicObject>) -> String {
        let graph = graph(objects);
        graph.note(graph.get(&node(kind, name)).unwrap())
    }

    fn with(mut status: Value, more: Value) -> Value {
        for (key, value) in more.as_object().unwrap() {
            status[key] = value.clone();
        }
        status
    }

    #[test]
    fn a_note_names_what_a_resource_waits_for_and_repeats_no_explanation() {
        assert_eq!(note("VPC", "shop", stack()), "");
        assert_eq!(note("EC2Instance", "web-a", stack()), "Secret db does not exist");
        assert_eq!(note("TargetGroup", "web", stack()), "waits for EC2Instance/web-a, EC2Instance/web-b");
        let listener = note("Listener", "https", stack());
        assert_eq!(
            listener,
            "ConfigMap shop has no key \"certificate\" (it has: env); waits for TargetGroup/web"
        );
    }

    #[test]
    fn plans_drift_and_adoption_are_noted() {
        let plan = json!({"plan": {"hash": "a14e", "action": "Replace", "target": "t",
            "changes": [{"path": "subnetID", "want": "b", "have": "a"}]}});
        let waiting = with(not_ready("AwaitingApproval", "would replace"), plan);
        assert_eq!(
            note("EC2Instance", "a", vec![object("EC2Instance", "a", json!({}), waiting)]),
            "approve Replace a14e: subnetID"
        );
        let drifted = with(
            ready(),
            json!({"adopted": ["sg-1"], "drift": [{"path": "tags.Team", "want": "a", "have": "b"}]}),
        );
        let protected = json!({"lifecycle": {"protect": true}});
        assert_eq!(
            note("SecurityGroup", "a", vec![object("SecurityGroup", "a", protected, drifted)]),
            "drift: spec.tags.Team is b, wanted a; adopted; protected"
        );
    }
}
