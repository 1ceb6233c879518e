//! A simulated OpenTofu provider: the unchanged calls, journal and host of `kraken-tofu`, and a provider whose service is in memory.
//!
//! The controller and the host are processes of the simulation. What is between them, and between the provider and its service, passes
//! [gates](super::gate), so that each can crash, lose or delay each request.

mod program;
mod service;
mod way;
mod world;

pub(super) use program::{Args, SimulatedTofu};
pub(super) use service::Provider;
pub(super) use way::Way;
pub use world::{Remote, World};

use std::time::Duration;

use kraken_runtime::random;
use serde_json::Value;

use crate::apiserver::ApiServer;
use crate::apply::Kube;
use crate::provider_types::SIZE;
use crate::schedule::{self, Tamper};

/// A random part of a time.
fn part_of(most: Duration) -> Duration {
    most * u32::try_from(random::number() % 1000).unwrap_or_default() / 1000
}

/// Changes an object of the service out of band, as somebody with its own tools.
pub(super) fn tamper(
    api: &ApiServer,
    world: &World,
    remote: &schedule::Remote,
    tamper: &Tamper,
) -> Result<(), String> {
    let schedule::Remote::Of(name, number) = remote else { return Err("it has no name".to_owned()) };
    let object = Kube::new(api).get(name).ok_or_else(|| format!("there is no {name}"))?;
    let ids = object["status"]["externalIds"].as_array().cloned().unwrap_or_default();
    let id = (!ids.is_empty()).then(|| ids[number % ids.len()].clone());
    let id = id.as_ref().and_then(Value::as_str).ok_or_else(|| "it has no object".to_owned())?;
    let is_done = match tamper {
        Tamper::Delete => world.delete(id),
        Tamper::Change { number } => world.tamper(id, SIZE, &format!("changed-{number}")),
        _ => false,
    };
    if is_done { Ok(()) } else { Err("it is gone".to_owned()) }
}
