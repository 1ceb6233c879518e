//! Volumes and their attachments to instances.

use tokio::time::Instant;

use crate::markup::Xml;
use crate::state_transition::StateTransition;

use super::instance::ROOT_DEVICE;
use super::shape::{Modification, Shape};

/// A volume.
#[derive(Debug, Clone)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) zone: String,
    pub(crate) shape: Shape,
    pub(crate) encrypted: bool,
    pub(crate) snapshot: Option<String>,
    pub(crate) created: String,
    pub(crate) transition: StateTransition<&'static str>,
    pub(crate) attachment: Option<Attachment>,
    pub(crate) modification: Option<Modification>,
}

impl Volume {
    /// `creating`, `available` or `in-use`.
    pub(crate) fn state(&self, now: Instant) -> &'static str {
        if self.attachment.is_some() { "in-use" } else { self.transition.state(now) }
    }
}

/// The attachment of a volume.
#[derive(Debug, Clone)]
pub(crate) struct Attachment {
    pub(crate) instance: String,
    pub(crate) device: String,
    pub(crate) goes_with_it: bool,
    pub(crate) transition: StateTransition<&'static str>,
    pub(crate) since: String,
}

impl Attachment {
    /// The attachment of a volume that an instance was launched with.
    pub(crate) fn of_root(instance: &str, goes_with_it: bool, now: Instant, since: String) -> Self {
        Self {
            instance: instance.to_owned(),
            device: ROOT_DEVICE.to_owned(),
            goes_with_it,
            transition: StateTransition::new("attached", "attached", now, std::time::Duration::ZERO),
            since,
        }
    }

    pub(crate) fn state(&self, now: Instant) -> &'static str {
        self.transition.state(now)
    }

    pub(crate) fn write(&self, xml: &mut Xml, volume: &str, state: &str) {
        xml.text("volumeId", volume);
        xml.text("instanceId", &self.instance);
        xml.text("device", &self.device);
        xml.text("status", state);
        xml.text("attachTime", &self.since);
    }
}
