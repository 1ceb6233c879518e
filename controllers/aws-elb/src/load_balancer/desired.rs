//! The rules between the fields of a load balancer, and the comparison of its attributes. Pure.

use kraken_aws::{diff::changed, resolved::exposed, validator::SpecValidator};
use kraken_kind::Difference;

use super::{
    api::{Change, Desired, LoadBalancerSpec, PartialDesired},
    observed::{Balancer, DELETION_PROTECTION, IDLE_TIMEOUT},
};
use crate::words::BalancerType;

/// Attributes are texts, and read by deep observations only.
impl LoadBalancerSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let Some(kind) = &partial.balancer_type else { return };
        let is_network = exposed(kind.as_ref()) == Some(BalancerType::Network);
        let is_one = partial.subnet_ids.as_ref().is_some_and(|ids| ids.expose().len() == 1);
        if is_network && self.idle_timeout_seconds.is_some() {
            validator.problem("idleTimeoutSeconds", "is not supported for a network load balancer");
        } else if !is_network && is_one {
            let why = "must have at least 2 items, of different zones, for an application load balancer";
            validator.problem("subnetIDs", why);
        }
    }

    pub(super) fn compare_protection(desired: &Desired, balancer: &Balancer) -> Option<Difference<Change>> {
        let have = balancer.attributes.as_ref()?.get(DELETION_PROTECTION);
        let wanted = desired.deletion_protection.as_ref()?.map(ToString::to_string);
        changed("deletionProtection", Some(&wanted), have, Change::DeletionProtection)
    }

    pub(super) fn compare_idle_timeout(desired: &Desired, balancer: &Balancer) -> Option<Difference<Change>> {
        let have = balancer.attributes.as_ref()?.get(IDLE_TIMEOUT);
        let wanted = desired.idle_timeout_seconds.as_ref()?.map(ToString::to_string);
        changed("idleTimeoutSeconds", Some(&wanted), have, Change::IdleTimeout)
    }
}
