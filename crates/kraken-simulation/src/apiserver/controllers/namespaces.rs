//! The namespace controller: empties a namespace that is being deleted, kind by kind, and lets it go when nothing is left.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::Pace;
use crate::apiserver::{Inner, delete::Options, kinds::Kind, request::Target, selectors::Selector};

/// How long it waits for finalizers: half of Kubernetes' estimate of 15 s, and one.
const RETRY: Duration = Duration::from_secs(8);

/// Works for as long as it is polled.
pub(super) async fn run(server: Arc<Inner>, mut pace: Pace) {
    let mut seen = 0;
    loop {
        let leaving = server.leaving();
        if leaving.is_empty() {
            server.concerned(&mut seen).await;
            continue;
        }
        for namespace in leaving {
            let mut kinds: Vec<Arc<Kind>> =
                server.kinds.iter().filter(|kind| kind.namespaced).cloned().collect();
            while let Some(kind) = pace.take(&mut kinds) {
                if server.is_used(&kind, &namespace) {
                    pace.pause().await;
                    server.empty(&kind, &namespace);
                }
            }
            pace.pause().await;
            server.finalize(&namespace);
        }
        if !server.leaving().is_empty() {
            tokio::time::sleep(RETRY).await;
        }
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

    /// Lets the namespace go if it is empty.
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
