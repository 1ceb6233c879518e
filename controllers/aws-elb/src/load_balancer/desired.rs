//! The rules between the fields of a load balancer, and the comparison of its attributes. Pure.

use kraken_aws::{diff::changed, resolved::given, validator::SpecValidator};
use kraken_spoke::Difference;

use super::{
    api::{Change, Desired, LoadBalancerSpec, PartialDesired},
    observed::{Balancer, DELETION_PROTECTION, IDLE_TIMEOUT},
};
use crate::words::BalancerType;

/// Attributes are texts, and read by deep observations only.
impl LoadBalancerSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let is_one = partial.subnet_ids.as_ref().is_some_and(|ids| ids.expose().len() == 1);
        // If the type is known.
        let kind = partial
            .balancer_type
            .is_some()
            .then(|| given(&partial.balancer_type).copied().unwrap_or(BalancerType::Application));
        match kind {
            Some(BalancerType::Application) if is_one => {
                validator.problem(
                    "subnetIDs",
                    "must have at least 2 items, of different zones, for an application load balancer",
                );
            }
            Some(BalancerType::Network) if self.idle_timeout_seconds.is_some() => {
                validator.problem("idleTimeoutSeconds", "is not supported for a network load balancer");
            }
            _ => {}
        }
    }

    pub(super) fn compare_deletion_protection(
        desired: &Desired,
        balancer: &Balancer,
    ) -> Option<Difference<Change>> {
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
