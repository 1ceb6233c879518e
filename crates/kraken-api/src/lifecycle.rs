//! `spec.lifecycle`: how one resource is created, healed and deleted. Every spoke kind has it; all of it is optional.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Interval;

/// How this resource is created, healed and deleted. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// How often drift is looked for, as a duration such as `5m` or `1h30m`, at most a year. `0` turns it off.
    /// Default: the controller's `--resync-interval` (5m unless set).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resync_interval: Option<Interval>,

    /// What to do when the infrastructure differs from this resource: `Revert` (default) changes it back; `Report`
    /// writes the difference to `status.drift` and an event, and touches nothing. An edit of this resource is always
    /// carried out.
    #[serde(default)]
    pub drift: Drift,

    /// Paths of fields whose drift is ignored, at most 64. Example: `["tags.Team", "monitoring"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    pub ignore_changes: Vec<String>,

    /// What happens to the infrastructure when this resource is deleted: `Delete` deletes it; `Retain` leaves it and takes
    /// Kraken's tags off. Default: `Retain` for each remote object that was adopted, and `Delete` for each that this
    /// resource created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Deletion>,

    /// `true` refuses to delete the infrastructure: a deleted resource waits until this is `false` again.
    /// Default: `false`.
    #[serde(default)]
    pub protect: bool,

    /// Manage one thing that exists already instead of creating one. Nothing is touched that another resource or another
    /// cluster owns, nor when several things match. If something would have to change, the plan is shown in
    /// `status.plan` first and waits for approval. Default: none. Example: `{id: i-0abc1234def567890}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopt: Option<Adopt>,

    /// What to do when a changed field cannot be changed in place: `Never` (default) says so in the Ready condition and
    /// touches nothing; `DeleteFirst` deletes what is there and creates it anew; `CreateFirst` creates the new one, waits
    /// until it is up, and then deletes the old one.
    #[serde(default)]
    pub replace: Replace,

    /// What to do about a field that the provider changes only while the remote object is stopped, such as an instance's
    /// type: `Forbid` (default) says in the Ready condition what it takes, and touches nothing; `Allow` stops the object,
    /// changes the field and starts it again. Example: `Allow`.
    #[serde(default)]
    pub disruption: Disruption,

    /// Who decides that something is done: `Automatic` (default) acts at once; `Manual` shows in `status.plan` what would be
    /// created, changed, replaced or deleted, and acts only when the annotation
    /// `kraken-iac.eoinfennessy.com/approved-plan` carries the plan's hash and nothing has changed since.
    #[serde(default)]
    pub approval: Approval,

    /// `true` makes the controller touch nothing, neither create, change, heal nor delete. Default: `false`.
    #[serde(default)]
    pub paused: bool,

    /// Resources of this namespace that come first and go last although no field refers to them, at most 64. Default:
    /// none. Example: `[{kind: InternetGateway, name: main}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub depends_on: Vec<DependsOn>,

    /// Limits what the StateDeclaration publishes to others. Default: everything the kind publishes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

impl Lifecycle {
    /// What a deletion means for one remote object, `adopted` saying whether it was there before the resource.
    pub fn deletion(&self, adopted: bool) -> Deletion {
        let default = if adopted { Deletion::Retain } else { Deletion::Delete };
        self.deletion.unwrap_or(default)
    }
}

/// What to adopt: exactly one of `id` and `tags`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Adopt {
    /// By the cloud's own id.
    Id(ById),
    /// By tags, all of which must match, and only one thing may.
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
    /// Key and value of each tag.
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

/// Written by hand: a structural schema takes no types within `oneOf`.
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
                    "type": "string", "minLength": 1, "maxLength": 2048,
                    "description": "The cloud's own id. Example: `i-0abc1234def567890`",
                },
                "tags": {
                    "type": "object", "minProperties": 1, "maxProperties": 10,
                    "additionalProperties": {"type": "string", "maxLength": 256},
                    "description": "1 to 10 tags, all of which must match; only one thing may. Example: \
                                    `{Name: web, Team: shop}`",
                },
            },
        })
    }
}

/// Who decides that something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// The controller acts at once.
    #[default]
    Automatic,
    /// A person approves each plan by its hash.
    Manual,
}

/// A resource that comes first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependsOn {
    /// Its kind, without regard to case and hyphens, with its API group if several providers have it. Example:
    /// `InternetGateway` or `InternetGateway.aws`.
    #[schemars(length(min = 1, max = 317))]
    pub kind: String,
    /// Its name. Example: `main`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What is published to others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Paths of the state that are published, at most 64, each with all that is below it; the elements of a list are
    /// passed through. The main id is always published. Example: `["instances.InstanceId", "instances.PrivateIpAddress"]`.
    #[schemars(length(max = 64), inner(length(min = 1, max = 256)))]
    pub include: Vec<String>,
}

/// What to do about drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Drift {
    /// Change the infrastructure back.
    #[default]
    Revert,
    /// Write the difference to the status and touch nothing.
    Report,
}

/// What to do when a field cannot be changed in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Replace {
    /// Say so, and touch nothing.
    #[default]
    Never,
    /// Delete the old, then create the new: there is a gap.
    DeleteFirst,
    /// Create the new, then delete the old: both exist for a while.
    CreateFirst,
}

/// What to do about a field that can be changed only while the remote object is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Disruption {
    /// Say what it takes, and touch nothing.
    #[default]
    Forbid,
    /// Stop the object, change the field, start the object again.
    Allow,
}

/// What happens to the infrastructure when its resource is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Deletion {
    /// Delete it, and keep the resource until the cloud says that it is gone.
    #[default]
    Delete,
    /// Leave it as it is, without Kraken's tags.
    Retain,
}

/// A spec that carries a [`Lifecycle`].
pub trait HasLifecycle {
    /// The lifecycle as the user wrote it.
    fn lifecycle(&self) -> &Lifecycle;
}
