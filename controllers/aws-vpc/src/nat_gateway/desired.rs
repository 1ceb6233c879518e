//! The rules between the fields of a NAT gateway. Pure.

use kraken_aws::validator::SpecValidator;

use super::api::{Desired, NATGatewaySpec, PartialDesired};

impl Desired {
    /// Whether its connectivity type is `public`, which is the default.
    pub(super) fn is_public(&self) -> bool {
        self.connectivity_type.as_ref().is_none_or(|kind| kind.expose() != "private")
    }
}

impl NATGatewaySpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let Some(kind) = &partial.connectivity_type else { return };
        match kind.as_ref().map_or("public", |kind| kind.expose()) {
            "public" if self.allocation_id.is_none() => {
                validator.problem("allocationID", "is required for a public gateway");
            }
            "private" if self.allocation_id.is_some() => {
                validator.problem("allocationID", "is only allowed for a public gateway");
            }
            _ => {}
        }
    }
}
