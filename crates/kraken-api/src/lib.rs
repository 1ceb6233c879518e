//! Kraken's own kinds and what every kind of infrastructure shares: lifecycle, status, conditions, names and labels.
//!
//! Nothing here talks to a cluster: these are the words that the hub, the spokes and the tools have in common.

pub mod conditions;
pub mod config_export;
pub mod crd;
pub mod dependency_request;
pub mod interval;
pub mod lifecycle;
pub mod names;
pub mod reasons;
pub mod state_declaration;
pub mod status;

pub use config_export::{ConfigExport, ConfigExportSpec, ConfigExportStatus, ConfigType, WhileWaiting};
pub use dependency_request::{DependencyRequest, DependencyRequestSpec, DependencyRequestStatus};
pub use interval::Interval;
pub use lifecycle::{
    Adopt, Approval, ById, ByTags, Deletion, DependsOn, Disruption, Drift, HasLifecycle, Lifecycle, Replace,
    Share,
};
pub use state_declaration::{StateDeclaration, StateDeclarationSpec};
pub use status::{AtCreation, FieldDiff, InPlace, Location, Plan, PlanAction, ResourceStatus};

/// The domain of every API group, label and annotation of Kraken.
pub const DOMAIN: &str = "kraken-iac.eoinfennessy.com";

/// The version of every kind.
pub const VERSION: &str = "v1alpha1";

/// The namespace that the controllers run in.
pub const SYSTEM_NAMESPACE: &str = "kraken-system";

/// The hub's binary, Deployment, service account and lease.
pub const HUB_NAME: &str = "kraken-hub";

/// Label of an owned DependencyRequest or StateDeclaration: its owner's kind and group, as [`names::owner_kind`] writes
/// them. A spoke watches its own alone by it.
pub const OWNER_KIND_LABEL: &str = "kraken-iac.eoinfennessy.com/owner-kind";

/// Annotation of a StateDeclaration: [`StateDeclarationSpec::content_hash`] of what its controller published, by which a
/// spoke sees that no write is due without reading the body, and the hub that nobody else has changed it.
pub const CONTENT_HASH_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/content-hash";

/// Annotation of the object that a ConfigExport writes: the UID of the ConfigExport.
pub const EXPORTED_BY_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/exported-by";

/// The names of the labels and annotations that a ConfigExport set on its target, as JSON: they are removed when its spec names
/// them no more, and others stay.
pub const EXPORTED_METADATA_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/exported-metadata";

/// Annotation of a StateDeclaration: the generation under which its spoke wrote it. Any other generation is somebody else's
/// edit, which is not to be believed and is reverted.
pub const PUBLISHED_GENERATION_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/published-generation";

/// Annotation by which a person asks for a reconcile now; any new value does.
pub const RECONCILE_REQUESTED_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/reconcile-requested-at";

/// Annotation by which a person approves a plan: its value is the plan's hash.
pub const APPROVED_PLAN_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/approved-plan";

/// Annotation that holds the persisted intent of a launch: written before the cloud is called.
pub const INTENT_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/intent";

/// Annotation by which a person confirms that something may be created although a breaker stopped it: the time of the
/// confirmation in RFC 3339, such as `2026-01-31T12:00:00Z`. It counts for what happened before that time, and for an hour
/// for what vanished.
pub const CREATION_CONFIRMED_ANNOTATION: &str = "kraken-iac.eoinfennessy.com/creation-confirmed-at";

/// Finalizer of every kind that manages something outside Kubernetes.
pub const FINALIZER: &str = "kraken-iac.eoinfennessy.com/external";

/// Finalizer of every DependencyRequest. Its spoke takes it off when what the owner has outside Kubernetes is gone: until then
/// it says who refers to whom, and so who must be deleted first, also while a whole namespace is deleted.
pub const REFERENCES_FINALIZER: &str = "kraken-iac.eoinfennessy.com/references";
