//! Accounts: provider credentials and rules that a resource selects in its spec, and the connections that use them.
//!
//! A kind whose provider has accounts declares them in [`crate::Features::accounts`] and implements [`crate::Calls::connect`].
//! The loop connects at the beginning of each reconcile. Each connection has its own batches and its own count of vanished
//! objects, so that no resource receives data that its own credentials could not have read.

mod recent;
mod secrets;

use std::{
    collections::BTreeMap,
    fmt::{self, Debug, Display, Formatter},
    sync::Arc,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kraken_api::{Adopt, Location, dependency_request::KeyDependency};
use kraken_options::{Governed, Problem, RestrictedValue};
use kraken_runtime::{patch::ApiError, watch::ObjectKey};
use kube::{api::ObjectMeta, core::ApiResource};

pub use crate::dynamic::{Connected, Connection};
pub use recent::{KEPT, Recent};
pub use secrets::{Secrets, SecretsError};

/// The usual name of the default account of a namespace, for resources that name no account.
pub const DEFAULT_ACCOUNT: &str = "default";

/// The kind of the accounts of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountKind {
    /// Its API group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Its plural.
    pub plural: &'static str,
    /// The field of a spec that names the account, such as `account`.
    pub field: &'static str,
    /// The name of the account that resources use which name none, if it exists.
    pub default_name: &'static str,
    /// The description of the field in the schema of each kind.
    pub description: &'static str,
    /// The description of the name in this field.
    pub name_description: &'static str,
}

impl AccountKind {
    /// Where it is served.
    pub fn resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: format!("{}/{}", self.group, self.version),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// The field as in messages: `spec.account`.
    pub fn path(&self) -> String {
        format!("spec.{}", self.field)
    }
}

/// An account according to the watch.
#[derive(Clone, Debug)]
pub struct KnownAccount {
    /// Its metadata.
    pub meta: ObjectMeta,
    /// The keys of Secrets that it names.
    pub secrets: Vec<KeyDependency>,
}

/// The rules of one account. Pure. By default, it adds and restricts nothing.
pub trait Rules: Debug + Send + Sync + 'static {
    /// The default entries of maps, and the restricted fields.
    fn governed(&self) -> &Governed {
        static NOTHING: Governed = Governed { defaults: BTreeMap::new(), fields: &[] };
        &NOTHING
    }
    /// A digest of what the account adds to a desired state: a changed digest is an edit and not drift. Empty if it adds nothing.
    #[expect(clippy::unnecessary_literal_bound, reason = "that of other rules is their own")]
    fn digest(&self) -> &str {
        ""
    }
    /// All violations of the account's rules, each with the field and the rule.
    fn refused(&self, _taken: &[RestrictedValue], _adopt: Option<&Adopt>) -> Vec<Problem> {
        vec![]
    }
    /// Why the account must not be used at this location, if its credentials belong to another account than its spec allows.
    fn location_violation(&self, _here: &Location) -> Option<String> {
        None
    }
    /// The name of the account, for messages.
    fn name(&self) -> &str;
    /// The kind of the account, for messages.
    fn kind(&self) -> &'static str {
        "Account"
    }
}

/// Why a resource cannot be connected.
#[derive(Debug)]
pub enum Refusal {
    /// The account does not exist.
    NotFound(String),
    /// The account exists and cannot be used.
    NotReady(String),
    /// The account could not be read.
    Unreadable(ApiError),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(why) | Self::NotReady(why) => f.write_str(why),
            Self::Unreadable(error) => Display::fmt(error, f),
        }
    }
}

/// The existing accounts according to a watch: no method makes a request. Admission and the orphan sweep use it; a reconcile
/// uses [`crate::Calls::connect`].
pub trait KnownAccounts: Debug + Send + Sync + 'static {
    /// All accounts, in no particular order.
    fn all(&self) -> Vec<ObjectKey>;
    /// The account of this namespace and name, if it exists and decodes.
    fn known(&self, key: &ObjectKey) -> Option<KnownAccount>;
    /// The rules for a resource of this namespace that names this account, or none. `None` if there are none, or if the
    /// account does not exist or cannot be used.
    fn rules(&self, namespace: &str, account: Option<&str>) -> Option<Arc<dyn Rules>>;
    /// Whether the controller's own credentials may be used only through an account.
    fn is_required(&self) -> bool;
    /// Whether all kinds run whose resources can use this account. Otherwise, nobody knows whether it is used, and it is not released.
    fn users_are_known(&self, _account: &ObjectKey) -> bool {
        true
    }
}

/// Called with the namespace and the name of an account that changed.
pub type OnChange = Arc<dyn Fn(&ObjectKey) + Send + Sync>;

/// Adds the field that names the account to the schema of a kind.
pub fn with_account(crd: &mut CustomResourceDefinition, kind: &AccountKind) {
    let text = |text: &str| Some(text.to_owned());
    let name = JSONSchemaProps {
        type_: text("string"),
        description: text(kind.name_description),
        min_length: Some(1),
        max_length: Some(253),
        pattern: text(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
        ..JSONSchemaProps::default()
    };
    let account = JSONSchemaProps {
        type_: text("object"),
        description: text(kind.description),
        required: Some(vec!["name".to_owned()]),
        properties: Some([("name".to_owned(), name)].into()),
        ..JSONSchemaProps::default()
    };
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let spec = schema.and_then(|schema| schema.properties.as_mut()?.get_mut("spec"));
        if let Some(spec) = spec {
            spec.properties.get_or_insert_default().insert(kind.field.to_owned(), account.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_with_accounts_has_their_name_in_its_schema() {
        const KIND: AccountKind = AccountKind {
            group: "g",
            version: "v1",
            kind: "Account",
            plural: "accounts",
            field: "account",
            default_name: DEFAULT_ACCOUNT,
            description: "d",
            name_description: "n",
        };
        let mut crd = serde_json::from_value(serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {},
            "spec": {
                "group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}}}}}],
            },
        }))
        .unwrap();
        with_account(&mut crd, &KIND);
        let crd = serde_json::to_value(crd).unwrap();
        let spec =
            &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        assert_eq!(spec["account"]["required"], serde_json::json!(["name"]));
        assert_eq!(spec["account"]["properties"]["name"]["maxLength"], 253);
        assert!(spec["size"].is_object());
    }
}
