//! Checks that no value leaves a namespace without a grant.

use std::time::Duration;

use serde_json::Value;

use super::{CallingProcess, Checks, Class};
use crate::kinds::key;

impl Checks {
    /// After the hub has written an answer: each value of another namespace is permitted by a grant that the hub can have known.
    pub(super) fn check_grants(&mut self, now: Duration, by: &CallingProcess, request: Option<&Value>) {
        let Some(request) = request else { return };
        let from = request["metadata"]["namespace"].as_str().unwrap_or_default();
        let answered = request["status"]["dependentValues"]["fromKrakenResources"].as_object();
        let named = answered.into_iter().flatten().flat_map(|(kind, names)| {
            names.as_object().into_iter().flatten().map(move |(name, _)| (kind, name))
        });
        let others = named.filter_map(|(kind, name)| Some((kind, name.split_once(':')?)));
        let refused =
            others.filter(|(_, (namespace, _))| *namespace != from).find(|(kind, (namespace, name))| {
                !self.history.records.values().any(|grant| {
                    grant.kind == "ReferenceGrant"
                        && grant.namespace == *namespace
                        && grant.gone.is_none_or(|at| !self.is_long_ago(at, now))
                        && self
                            .history
                            .candidates(grant, by, now, self.calm)
                            .iter()
                            .any(|version| permits(&version.value, from, kind, name))
                })
            });
        if let Some((kind, (namespace, name))) = refused {
            let message = format!(
                "the hub gives {from} a value of {kind} {name} in {namespace}, which has no grant for it"
            );
            self.violated(now, Class::NotPermitted, message);
        }
    }
}

/// Whether a grant permits a reference of this namespace.
pub(crate) fn permits(grant: &Value, from: &str, kind: &str, name: &str) -> bool {
    let list = |field: &str| grant["spec"][field].as_array().cloned().unwrap_or_default();
    list("from").iter().any(|granted| granted["namespace"] == from)
        && list("to").iter().any(|granted| {
            granted["kind"].as_str().is_some_and(|granted| key(granted) == key(kind))
                && granted["name"].as_str().is_none_or(|granted| granted == name)
        })
}
