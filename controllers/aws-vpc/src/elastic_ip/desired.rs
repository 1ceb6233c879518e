//! The rules between the fields of an address. Pure.

use kraken_aws::validator::SpecValidator;

use super::api::{ElasticIPSpec, PartialDesired};

impl ElasticIPSpec {
    pub(super) fn between_fields(&self, _: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if self.instance_id.is_some() && self.network_interface_id.is_some() {
            validator.problem("networkInterfaceID", "cannot be combined with instanceID");
        }
    }
}
