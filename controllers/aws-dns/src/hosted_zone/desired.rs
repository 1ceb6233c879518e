//! The name and the comment of a zone: compared and imported. Pure.

use kraken_aws::{import::literal, prelude::*};
use serde_json::Value;

use super::{
    api::{Change, Desired, HostedZoneSpec},
    observed::Zone,
};
use crate::names::canonical;

impl Zone {
    /// The comment; empty for none.
    pub(super) fn comment(&self) -> String {
        self.config.as_ref().and_then(|config| config.comment.clone()).unwrap_or_default()
    }
}

impl HostedZoneSpec {
    pub(super) fn compare_name(desired: &Desired, zone: &Zone) -> Option<Difference<Change>> {
        let wanted = desired.name.map(|name| canonical(name));
        fixed("name", Some(&wanted), Some(&canonical(&zone.name)))
    }

    pub(super) fn import_name(zone: &Zone) -> Option<Value> {
        Some(canonical(&zone.name)).filter(|name| !name.is_empty()).map(literal)
    }

    pub(super) fn compare_comment(desired: &Desired, zone: &Zone) -> Option<Difference<Change>> {
        changed("comment", desired.comment.as_ref(), Some(&zone.comment()), Change::Comment)
    }

    pub(super) fn import_comment(zone: &Zone) -> Option<Value> {
        Some(zone.comment()).filter(|comment| !comment.is_empty()).map(literal)
    }
}
