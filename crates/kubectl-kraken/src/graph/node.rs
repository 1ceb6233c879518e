//! The name of an object in the graph.

use std::fmt;

/// An object in a namespace: a resource, a ConfigMap, a Secret or a static state, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) namespace: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Node {
    pub(crate) fn new(namespace: &str, group: &str, kind: &str, name: &str) -> Self {
        let [namespace, group, kind, name] = [namespace, group, kind, name].map(str::to_owned);
        Self { namespace, group, kind, name }
    }

    /// As `Kind/name`, or `Kind/namespace:name` if the other object is in another namespace.
    pub(crate) fn seen_from(&self, other: &Self) -> String {
        let Self { namespace, kind, name, .. } = self;
        if *namespace == other.namespace { self.to_string() } else { format!("{kind}/{namespace}:{name}") }
    }

    /// As an argument of kubectl: `ec2instance/web`.
    pub(crate) fn argument(&self) -> String {
        format!("{}/{}", self.kind.to_lowercase(), self.name)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}
