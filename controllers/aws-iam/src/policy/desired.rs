//! The document of a policy: resolved, compared and imported. Pure.

use kraken_aws::{prelude::*, resolved::Joined};
use serde_json::Value;

use super::{
    api::{Change, Desired, PolicySpec},
    observed::Policy,
};
use crate::document::{self, Document};

impl PolicySpec {
    pub(super) fn document(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Document>> {
        document::resolved("document", &self.document, validator)
    }

    pub(super) fn compare_document(desired: &Desired, policy: &Policy) -> Option<Difference<Change>> {
        document::compared("document", &desired.document, &policy.document, Change::Version)
    }

    pub(super) fn import_document(policy: &Policy) -> Option<Value> {
        document::imported(&policy.document)
    }
}
