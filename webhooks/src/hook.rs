//! A webhook of a controller: one row of the table from which both the route and the configuration are generated. Pure.

use kube::Resource;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// A creation.
    Create,
    /// A change of the spec.
    Update,
    /// A deletion.
    Delete,
    /// A connect request; not used.
    Connect,
}

impl Operation {
    /// The value in the admission API.
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
    /// The name in the ValidatingWebhookConfiguration, which is a domain: `vpcs.aws.kraken-iac.eoinfennessy.com`.
    pub name: String,
    /// The API groups of the reviewed objects.
    pub groups: Vec<String>,
    /// The API version.
    pub version: String,
    /// The plural names; `*` matches every kind of the groups, without subresources.
    pub resources: Vec<String>,
    /// The reviewed operations.
    pub operations: Vec<Operation>,
}

impl Hook {
    /// The webhook of one kind: creation, changes of the spec, and the deletion of what is protected or has remote objects.
    pub fn of_kind<K: Resource<DynamicType = ()>>() -> Self {
        let (group, plural) = (K::group(&()), K::plural(&()));
        Self {
            name: format!("{plural}.{group}"),
            groups: vec![group.into_owned()],
            version: K::version(&()).into_owned(),
            resources: vec![plural.into_owned()],
            operations: vec![Operation::Create, Operation::Update, Operation::Delete],
        }
    }

    /// The URL path.
    pub fn path(&self) -> String {
        format!("/validate/{}", self.name)
    }
}
