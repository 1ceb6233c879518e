//! The namespace controller: deletes the content of a namespace that is being deleted, kind by kind, and then finalizes
//! it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::Pace;
use crate::{delete::Options, kinds::Kind, request::Target, selectors::Selector, state::Inner};

/// How long it waits for finalizers: half of Kubernetes' estimate of 15 s, and one.
const RETRY: Duration = Duration::from_secs(8);

/// Works for as long as it is polled.
pub(super) async fn run(server: Arc<Inner>, mut pace: Pace, changed: &(impl Fn() + Sync)) {
    let mut seen = 0;
    loop {
        let leaving = server.leaving();
        if leaving.is_empty() {
            server.wait_for_change(&mut seen).await;
            continue;
        }
        for namespace in leaving {
            let mut kinds: Vec<Arc<Kind>> =
                server.kinds.iter().filter(|kind| kind.namespaced).cloned().collect();
            while let Some(kind) = pace.take(&mut kinds) {
                if server.is_used(&kind, &namespace) {
                    pace.pause().await;
                    server.empty(&kind, &namespace);
                    changed();
                }
            }
            pace.pause().await;
            server.report(&namespace);
            server.finalize(&namespace);
            changed();
        }
        if !server.leaving().is_empty() {
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// The conditions of a namespace whose contents are deleted.
const FINE: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

fn set_condition(
    conditions: &mut Vec<Value>,
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: &str,
) {
    let old = conditions.iter_mut().find(|condition| condition["type"] == type_);
    let is_same = old.as_ref().is_some_and(|old| old["status"] == status);
    let since = old.as_ref().filter(|_| is_same).map(|old| old["lastTransitionTime"].clone());
    let since = since.unwrap_or_else(|| now.into());
    let new = json!({
        "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    match old {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

impl Inner {
    /// The namespaces that are being deleted.
    fn leaving(&self) -> Vec<String> {
        let Some(kind) = self.kinds.find("", "namespaces") else { return Vec::new() };
        let state = self.state.lock();
        let objects = state.store.table(kind.index).into_iter().flat_map(|table| table.objects.values());
        let leaving = objects.filter(|object| {
            object.is_deleting()
                && object.value["spec"]["finalizers"].as_array().is_some_and(|of| !of.is_empty())
        });
        leaving.filter_map(|object| object.meta("name").as_str().map(str::to_owned)).collect()
    }

    fn is_used(&self, kind: &Kind, namespace: &str) -> bool {
        let state = self.state.lock();
        let mut keys = state.store.table(kind.index).into_iter().flat_map(|table| table.objects.keys());
        keys.any(|key| key.namespace == namespace)
    }

    fn empty(&self, kind: &Arc<Kind>, namespace: &str) {
        let target = Target {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            name: String::new(),
            subresource: String::new(),
        };
        let Ok(selector) = Selector::new(kind, namespace, None, None) else { return };
        let options = Options::in_background();
        if self.delete_all(&mut self.state.lock(), &target, &selector, &options).is_err() {
            tracing::debug!(namespace, kind = kind.kind, "not emptied");
        }
    }

    /// Reports the remaining content in the status.
    fn report(&self, namespace: &str) {
        let now = self.now();
        let mut state = self.state.lock();
        let (mut resources, mut finalizers) = (Vec::new(), BTreeMap::<String, usize>::new());
        for kind in self.kinds.iter().filter(|kind| kind.namespaced) {
            let objects = state.store.table(kind.index).into_iter().flat_map(|table| &table.objects);
            let mut count = 0;
            for (_, object) in objects.filter(|(key, _)| key.namespace == namespace) {
                count += 1;
                for name in
                    object.meta("finalizers").as_array().into_iter().flatten().filter_map(Value::as_str)
                {
                    *finalizers.entry(name.to_owned()).or_default() += 1;
                }
            }
            if count > 0 {
                resources.push(format!("{}.{} has {count} resource instances", kind.plural, kind.group));
            }
        }
        resources.sort();
        let mut finalizers: Vec<String> =
            finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
        finalizers.sort();
        let Some(kind) = self.kinds.find("", "namespaces") else { return };
        let target = Target {
            kind: kind.clone(),
            namespace: String::new(),
            name: namespace.to_owned(),
            subresource: "status".to_owned(),
        };
        self.edit(&mut state, &target, |value| {
            let mut conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
            for (type_, reason, message) in FINE {
                let (status, reason, message) = match type_ {
                    "NamespaceContentRemaining" if !resources.is_empty() => {
                        let message = format!("Some resources are remaining: {}", resources.join(", "));
                        ("True", "SomeResourcesRemain", message)
                    }
                    "NamespaceFinalizersRemaining" if !finalizers.is_empty() => {
                        let left = finalizers.join(", ");
                        let message =
                            format!("Some content in the namespace has finalizers remaining: {left}");
                        ("True", "SomeFinalizersRemain", message)
                    }
                    _ => ("False", reason, message.to_owned()),
                };
                set_condition(&mut conditions, type_, status, reason, message, &now);
            }
            value["status"]["conditions"] = Value::Array(conditions);
        });
    }

    /// Finalizes the namespace if it is empty.
    fn finalize(&self, namespace: &str) {
        let is_empty =
            !self.kinds.iter().filter(|kind| kind.namespaced).any(|kind| self.is_used(kind, namespace));
        let Some(kind) = self.kinds.find("", "namespaces").filter(|_| is_empty) else { return };
        let target = Target {
            kind: kind.clone(),
            namespace: String::new(),
            name: namespace.to_owned(),
            subresource: "finalize".to_owned(),
        };
        self.edit(&mut self.state.lock(), &target, |value| {
            let mut left = value["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
            left.retain(|name| name != "kubernetes");
            value["spec"] = if left.is_empty() { json!({}) } else { json!({"finalizers": left}) };
        });
    }
}
