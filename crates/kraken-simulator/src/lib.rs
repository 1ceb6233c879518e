//! A simulator of the parts of EC2, Elastic Load Balancing and STS that Kraken uses: fast, and faithful where moto is not (client
//! tokens, state transitions, delayed reads, pagination, limits, protection, capacity). It records every call, and faults and hooks can be
//! injected before and after each call's effect.
//!
//! It runs on a separate thread and executes one call at a time. A [hook](Simulator::on_call) runs on that thread:
//! no other call is executed at the same time. It may use the [`Simulator`], but not over HTTP.
//!
//! [`Simulator::in_process`] has neither thread nor socket: [`Simulator::connector`] is an HTTP client for AWS's SDK, and time
//! is that of the runtime that uses it. Its behavior depends only on the calls, their times and its options.
//!
//! The simulator depends on no other crate of Kraken. The proxies in front of moto and kube-apiserver, which are in `kraken-testing`, use its
//! [failures](FailureMode), [`hook`], [`serve`], [`http`] and [`xml`].
//!
//! Not simulated: every well-formed image or type is accepted; there is no default VPC and no network traffic.

mod accounts;
mod actions;
mod answer;
mod base64;
mod calling;
mod changes;
mod cloud;
mod connector;
mod described;
mod dispatch;
mod documented;
mod elb;
mod event;
mod failure;
mod filters;
mod form;
mod given_tags;
pub mod hook;
pub mod http;
mod inspect;
mod journal;
mod kind;
mod listing;
mod markup;
mod model;
mod network;
mod objects;
mod options;
mod out_of_band;
mod public;
mod record;
mod refusal;
mod registry;
mod releases;
mod script;
pub mod serve;
mod served;
mod server;
mod service;
mod shared;
mod simulator;
mod stale;
mod state_transition;
mod store;
mod sts;
mod tags;
mod throttle;
mod time;
mod touched;
pub mod xml;

pub use accounts::{RoutedCall, SimulatedAccounts};
pub use changes::{Change, ChangeType};
pub use dispatch::is_simulated;
pub use documented::{DocumentedError, documented_error, documented_errors};
pub use failure::{FailureMode, FailurePoint};
pub use inspect::{LiveObject, ObjectRecord};
pub use journal::{Call, CallDecision, Outcome, Phase};
pub use kind::Kind;
pub use options::{Limit, REGION, SimulatorOptions};
pub use out_of_band::{OutOfBandChange, out_of_band_changes};
pub use record::{Instance, InstanceRecord};
pub use served::public_texts;
pub use service::Service;
pub use simulator::Simulator;

#[cfg(test)]
mod tests;
