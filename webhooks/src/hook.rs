//! What a controller reviews: one row of the table that makes both the route and its part of the configuration. Pure.

use kube::CustomResourceExt;

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is created.
    Create,
    /// Its spec is changed.
    Update,
    /// It is deleted.
    Delete,
    /// Something is connected to it; never asked for.
    Connect,
}

impl Operation {
    /// As the API server spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// One webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its name in the ValidatingWebhookConfiguration, which is a domain: `vpcs.aws.kraken-iac.eoinfennessy.com`.
    pub name: String,
    /// The API groups of what it reviews.
    pub groups: Vec<String>,
    /// Their version.
    pub version: String,
    /// The plural names; `*` is every kind of the groups, without subresources.
    pub resources: Vec<String>,
    /// When it is asked.
    pub operations: Vec<Operation>,
}

impl Hook {
    /// The webhook of one kind: creation, changes of the spec, and the deletion of what is protected.
    pub fn of_kind<K: CustomResourceExt>() -> Self {
        let spec = K::crd().spec;
        Self {
            name: format!("{}.{}", spec.names.plural, spec.group),
            groups: vec![spec.group],
            version: spec.versions.first().map(|version| version.name.clone()).unwrap_or_default(),
            resources: vec![spec.names.plural],
            operations: vec![Operation::Create, Operation::Update, Operation::Delete],
        }
    }

    /// Where it is served.
    pub fn path(&self) -> String {
        format!("/validate/{}", self.name)
    }
}
