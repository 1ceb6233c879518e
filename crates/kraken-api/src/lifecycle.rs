//! `spec.lifecycle`: how one resource is created, healed and deleted. Every spoke kind has it; all of it is optional.

use schemars::JsonSchema;
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

    /// What happens to the infrastructure when this resource is deleted: `Delete` (default) deletes it; `Retain`
    /// leaves it and takes Kraken's tags off.
    #[serde(default)]
    pub deletion: Deletion,

    /// `true` refuses to delete the infrastructure: a deleted resource waits until this is `false` again.
    /// Default: `false`.
    #[serde(default)]
    pub protect: bool,

    /// What to do when a changed field cannot be changed in place: `Never` (default) says so in the Ready condition and
    /// touches nothing; `DeleteFirst` deletes what is there and creates it anew; `CreateFirst` creates the new one, waits
    /// until it is up, and then deletes the old one.
    #[serde(default)]
    pub replace: Replace,

    /// `true` makes the controller touch nothing, neither create, change, heal nor delete. Default: `false`.
    #[serde(default)]
    pub paused: bool,
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
