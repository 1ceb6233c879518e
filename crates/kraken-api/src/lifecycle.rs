//! `spec.lifecycle`: how one resource is created, reconciled and deleted. Every kind of a spoke has it. All fields are
//! optional.

use std::{borrow::Cow, collections::BTreeMap};

use kraken_options::{KIND_PATTERN, NAME_PATTERN, NAMESPACE_PATTERN, ResourceRef};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Interval;

/// How this resource is created, reconciled and deleted. All fields are optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// The interval between resyncs, which detect drift, as a duration such as `5m` or `1h30m`, at most a year. `0`
    /// disables resyncs. Default: the controller's `--resync-interval` (default 5m). Example: `10m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resync_interval: Option<Interval>,

    /// The policy for drift: `Revert` (default) reverts it; `Report` writes it to `status.drift` and an event, and
    /// changes nothing. An edit of this resource is always applied. Example: `Report`.
    #[serde(default)]
    pub drift: Drift,

    /// Paths of fields that are neither compared nor updated, at most 64. Default: none. Example:
    /// `["tags.Team", "monitoring"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    pub ignore_changes: Vec<String>,

    /// What happens to the remote objects when this resource is deleted: `Delete` deletes them; `Retain` leaves them in
    /// the cloud and removes Kraken's tags. Default: `Retain` for each remote object that was adopted, and `Delete` for
    /// each that this resource created. Example: `Retain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Deletion")] // the schema of an optional enum has the text of the enum
    pub deletion: Option<Deletion>,

    /// Whether the remote objects are protected from deletion: if `true`, the deletion of this resource waits until
    /// this is `false`, and nothing is replaced. Default: `false`. Example: `true`.
    #[serde(default)]
    pub protect: bool,

    /// The existing remote object to manage instead of creating one. An object that another resource or another cluster
    /// owns is not adopted, nor are several matching objects. If the object must be changed, the plan is written to
    /// `status.plan` and requires approval. Default: none. Example: `{id: i-0abc1234def567890}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt: Option<Adopt>,

    /// The policy for an edit of a field that cannot be changed in place: `Never` (default) reports it in the Ready
    /// condition and changes nothing; `DeleteFirst` deletes the remote object and creates a new one; `CreateFirst`
    /// creates a new one, waits until it is ready, and then deletes the old one. Example: `CreateFirst`.
    #[serde(default)]
    pub replace: Replace,

    /// The policy for an edit of a field that the provider changes only while the remote object is stopped, such as an
    /// instance's type: `Forbid` (default) reports it in the Ready condition and changes nothing; `Allow` stops the
    /// object, changes the field and starts the object. Example: `Allow`.
    #[serde(default)]
    pub disruption: Disruption,

    /// How many resources of the disruption group may be stopped for a change at the same time, this one included: all
    /// resources of the kind in the namespace with the same label `kraken-iac.eoinfennessy.com/disruption-group` are a
    /// group, and the smallest number of those that are stopped counts. Default: 1. Bounds: 1 to 1000. Example: `2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1000))] // the schema of an optional number is nullable
    pub max_unavailable: Option<u32>,

    /// The approval of changes: `Automatic` (default) makes them at once; `Manual` writes the objects to be created,
    /// changed, replaced or deleted to `status.plan`, and proceeds only if the annotation
    /// `kraken-iac.eoinfennessy.com/approved-plan` contains the plan's hash and nothing has changed since. Example:
    /// `Manual`.
    #[serde(default)]
    pub approval: Approval,

    /// Whether the controller stops managing this resource: if `true`, it creates, changes and deletes nothing.
    /// Default: `false`. Example: `true`.
    #[serde(default)]
    pub paused: bool,

    /// Resources of this namespace that are created before this resource and deleted after it, although no field refers
    /// to them, at most 64. Default: none. Example: `[{kind: InternetGateway, name: main}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub depends_on: Vec<DependsOn>,

    /// Limits the published state. Default: the whole state of the kind. Example:
    /// `{include: ["instances.InstanceId"]}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

impl Lifecycle {
    /// The deletion policy of one remote object; `adopted` says whether it existed before the resource.
    pub fn deletion(&self, adopted: bool) -> Deletion {
        let default = if adopted { Deletion::Retain } else { Deletion::Delete };
        self.deletion.unwrap_or(default)
    }
}

/// The object to adopt: exactly one of `id` and `tags`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Adopt {
    /// By the provider's id.
    Id(ById),
    /// By tags, all of which must match exactly one object.
    Tags(ByTags),
}

/// See [`Adopt::Id`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ById {
    /// The id.
    pub id: String,
}

/// See [`Adopt::Tags`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByTags {
    /// The key and value of each tag.
    pub tags: BTreeMap<String, String>,
}

impl std::fmt::Display for Adopt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(by) => write!(f, "id {}", by.id),
            Self::Tags(by) => {
                let each: Vec<_> = by.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, "tags {}", each.join(", "))
            }
        }
    }
}

/// Implemented manually: a structural schema does not allow types within `oneOf`.
impl JsonSchema for Adopt {
    fn schema_name() -> Cow<'static, str> {
        "Adopt".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "oneOf": [{"required": ["id"]}, {"required": ["tags"]}],
            "properties": {
                "id": {
                    "type": "string", "minLength": 1, "maxLength": 2048, "pattern": "^[!-~]([ -~]*[!-~])?$",
                    "description": "The provider's id. Example: `i-0abc1234def567890`",
                },
                "tags": {
                    "type": "object", "minProperties": 1, "maxProperties": 10,
                    "additionalProperties": {"type": "string", "maxLength": 256},
                    "x-kubernetes-validations": [{
                        "rule": "self.all(key, key != '' && size(key) <= 128)",
                        "message": "keys have 1 to 128 characters",
                    }],
                    "description": "1 to 10 tags, all of which must match exactly one object. Example: \
                                    `{Name: web, Team: shop}`",
                },
            },
        })
    }
}

/// Whether changes require approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// Changes are made at once.
    #[default]
    Automatic,
    /// A user must approve each plan by its hash.
    Manual,
}

/// A resource that is created before this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependsOn {
    /// The kind, ignoring case and hyphens, with its API group if several providers have it. Example: `InternetGateway`
    /// or `InternetGateway.aws`.
    #[schemars(length(min = 1, max = 317), regex(pattern = KIND_PATTERN))]
    pub kind: String,
    /// The name. Example: `main`.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// The namespace, which must have a ReferenceGrant if it is another one. Default: that of this resource. Example: `platform`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE_PATTERN))]
    pub namespace: Option<String>,
}

impl DependsOn {
    /// The reference to its main id, whose value is not used.
    pub fn reference(&self) -> ResourceRef {
        let Self { kind, name, namespace } = self.clone();
        ResourceRef { kind, name, namespace, path: String::new() }
    }
}

/// The part of the state that is published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Paths of the state that are published, at most 64, each with all fields below it. Indexes of lists are omitted. The
    /// main id is always published. Default: none. Example: `["instances.InstanceId", "instances.PrivateIpAddress"]`.
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    pub include: Vec<String>,
}

/// The policy for drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Drift {
    /// Revert it.
    #[default]
    Revert,
    /// Write it to the status and change nothing.
    Report,
}

/// The policy for an edit of a field that cannot be changed in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Replace {
    /// Report it, and change nothing.
    #[default]
    Never,
    /// Delete the old object, then create the new one: there is downtime.
    DeleteFirst,
    /// Create the new object, then delete the old one: both exist for some time.
    CreateFirst,
}

/// The policy for an edit of a field that can be changed only while the remote object is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Disruption {
    /// Report it, and change nothing.
    #[default]
    Forbid,
    /// Stop the object, change the field, and start the object.
    Allow,
}

/// What happens to the remote objects when their resource is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Deletion {
    /// Delete them, and keep the resource until the provider reports that they are deleted.
    #[default]
    Delete,
    /// Leave them in the cloud, without Kraken's tags.
    Retain,
}

/// A spec with a [`Lifecycle`].
pub trait HasLifecycle {
    /// The lifecycle in the spec.
    fn lifecycle(&self) -> &Lifecycle;
}
