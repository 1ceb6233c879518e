//! The kind, as users write it.

use kraken_kind::{HasLifecycle, Lifecycle, Opt, ResourceStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A toy resource with a size and a colour.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "testing.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "Gadget",
    namespaced,
    status = "ResourceStatus",
    doc = "A toy resource with a size and a colour, in a cloud for tests only."
)]
#[serde(rename_all = "camelCase")]
pub struct GadgetSpec {
    /// The size, 1 to 100. It can be changed. Example: `{value: 3}`.
    pub size: Opt<i64>,

    /// The colour. It cannot be changed. Default: `grey`. Example: `{value: red}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colour: Option<Opt<String>>,

    /// The number of gadgets, 1 to 10. Default: `1`. Example: `{value: 2}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Opt<i64>>,

    /// A password that is never shown, and applied at creation only. Example:
    /// `{valueFrom: {secret: {name: words, key: first}}}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<Opt<String>>,

    /// How it is created, reconciled and deleted.
    #[serde(default)]
    pub lifecycle: Lifecycle,
}

impl HasLifecycle for GadgetSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
