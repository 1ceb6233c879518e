//! The kinds of the hub, and the API that all kinds of spokes share: lifecycle, status, conditions, names and labels.
//!
//! This crate contains no client. The hub, the spokes and the tools depend on it.

mod choices;
pub mod conditions;
pub mod config_export;
pub mod crd;
pub mod dependency_request;
pub mod effect;
pub mod import_request;
pub mod interval;
pub mod ledger;
pub mod lifecycle;
pub mod location;
pub mod lookup;
pub mod names;
pub mod reasons;
pub mod reference_grant;
pub mod state_declaration;
pub mod status;

pub use config_export::{ConfigExport, ConfigExportSpec, ConfigExportStatus, ConfigType, WhileWaiting};
pub use dependency_request::{DependencyRequest, DependencyRequestSpec, DependencyRequestStatus};
pub use import_request::{ImportRequest, ImportRequestSpec, ImportRequestStatus};
pub use interval::Interval;
pub use ledger::{Launches, Ledger};
pub use lifecycle::{
    Adopt, Approval, ById, ByTags, Deletion, DependsOn, Disruption, Drift, HasLifecycle, Lifecycle, Replace,
    Share,
};
pub use location::Location;
pub use reference_grant::{ReferenceGrant, ReferenceGrantSpec};
pub use state_declaration::{StateDeclaration, StateDeclarationSpec};
pub use status::{AtCreation, FieldDiff, InPlace, Plan, PlanAction, ResourceStatus};

/// The domain of every API group, label and annotation of Kraken.
pub const DOMAIN: &str = "kraken-iac.eoinfennessy.com";

/// The API version of every kind.
pub const VERSION: &str = "v1alpha1";

/// The default namespace of the controllers.
pub const SYSTEM_NAMESPACE: &str = "kraken-system";

/// The name of the hub's binary, Deployment, service account and lease.
pub const HUB_NAME: &str = "kraken-hub";

/// Label of an owned StateDeclaration: its owner's kind and group, as formatted by [`names::owner_kind`]. A spoke selects its own states
/// by it.
pub const OWNER_KIND_LABEL: &str = "kraken-iac.eoinfennessy.com/owner-kind";

/// Prefix of the labels of a DependencyRequest with the other namespaces that it refers to, by which a deletion finds the dependents
/// in other namespaces: the namespace follows, and the value is empty.
pub const REFERENCES_PREFIX: &str = "references.kraken-iac.eoinfennessy.com/";

/// Annotation of a StateDeclaration: [`StateDeclarationSpec::content_hash`] of the content that its controller
/// published. A spoke compares it to skip unnecessary writes without reading the body, and the hub to detect changes by
/// others.
pub const CONTENT_HASH_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/content-hash";

/// Annotation of the target of a ConfigExport: the UID of the ConfigExport.
pub const EXPORTED_BY_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/exported-by";
/// The annotation of a target of a ConfigExport with the name of the ConfigExport: a target that was restored from a backup, or that an
/// earlier ConfigExport of this name left behind, is recognized by it.
pub const EXPORTED_BY_NAME_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/exported-by-name";

/// Annotation of the target of a ConfigExport: the names of the labels and annotations that it set, as JSON. They are removed
/// when they are removed from its spec; others are preserved.
pub const EXPORTED_METADATA_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/exported-metadata";

/// Annotation of the target of a ConfigExport with `rotate`: when it became the current one, most recently, as in RFC 3339. Former targets
/// are kept in this order.
pub const CURRENT_SINCE_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/current-since";

/// Prefix of the annotation on the pod template of a workload that a ConfigExport restarts: the name of the ConfigExport follows, and
/// the value is the digest of the content.
pub const RESTARTED_FOR_PREFIX: &str = "restarted-for.kraken-iac.eoinfennessy.com/";

/// Annotation of a StateDeclaration: the generation under which its spoke wrote it. Any other generation is an edit by
/// another client, which is not trusted and is reverted.
pub const PUBLISHED_GENERATION_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/published-generation";

/// Label of a resource: the name of its disruption group in its namespace. One resource of a group is stopped for a change at a time.
/// Without it, all resources of a kind in the namespace are one group.
pub const DISRUPTION_GROUP_LABEL: &str = "kraken-iac.eoinfennessy.com/disruption-group";

/// Annotation of a CRD: the fields of the spec, separated by commas, that are set after the creation, so that their references
/// close no cycle.
pub const FOLLOWS_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/follows";

/// Annotation by which a user requests a reconcile; any new value triggers it.
pub const RECONCILE_REQUESTED_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/reconcile-requested-at";

/// Annotation of a dry run by which a user asks what the remote objects say about the spec: admission compares them, and warns of what it
/// finds. It has no effect on a stored object. Its value is `cloud`.
pub const PREVIEW_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/preview";

/// Annotation by which a user approves a plan: its value is the plan's hash.
pub const APPROVED_PLAN_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/approved-plan";

/// Annotation in which earlier versions kept the [ledger](Ledger). A controller that finds it moves it to the status.
pub const LEDGER_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/intent";

/// Annotation by which a user confirms that objects may be created although a circuit breaker stopped it: the time of the
/// confirmation in RFC 3339, such as `2026-01-31T12:00:00Z`. It applies to events before that time. For objects that
/// disappeared, it is valid for an hour.
pub const CREATION_CONFIRMED_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/creation-confirmed-at";

/// Finalizer of every kind with remote objects.
pub const FINALIZER: &str = "kraken-iac.eoinfennessy.com/external";

/// Finalizer of every DependencyRequest. Its spoke removes it when the remote objects of the owner are deleted. Until then the
/// request determines the order of deletion, even if a whole namespace is deleted.
pub const REFERENCES_FINALIZER: &str = "kraken-iac.eoinfennessy.com/references";

/// Finalizer of the Secrets of an account while resources use it. The hub adds and removes it: a spoke cannot write Secrets.
pub const KEPT_SECRET_FINALIZER: &str = "kraken-iac.eoinfennessy.com/account-in-use";

/// The finalizer of an account while resources of this spoke use it. Each spoke has one of its own, because it knows only its own
/// resources.
pub fn account_finalizer(spoke: &str) -> String {
    format!("in-use.{DOMAIN}/{spoke}")
}
