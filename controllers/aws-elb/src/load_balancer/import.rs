//! The attributes of a load balancer as they are written in a spec. Pure.

use std::str::FromStr;

use kraken_aws::import::literal;
use serde::Serialize;
use serde_json::Value;

use super::{
    api::LoadBalancerSpec,
    observed::{Balancer, DELETION_PROTECTION, IDLE_TIMEOUT},
};

/// The idle timeout of a new load balancer, in seconds.
const USUAL_TIMEOUT: i32 = 60;

impl LoadBalancerSpec {
    pub(super) fn import_protection(balancer: &Balancer) -> Option<Value> {
        attribute(balancer, DELETION_PROTECTION, &false)
    }

    pub(super) fn import_idle_timeout(balancer: &Balancer) -> Option<Value> {
        attribute(balancer, IDLE_TIMEOUT, &USUAL_TIMEOUT)
    }
}

/// The value of an attribute, unless it is that of a new load balancer.
fn attribute<T: FromStr + PartialEq + Serialize>(balancer: &Balancer, key: &str, usual: &T) -> Option<Value> {
    let value = balancer.attributes.as_ref()?.get(key)?.parse::<T>().ok()?;
    (value != *usual).then(|| literal(value))
}
