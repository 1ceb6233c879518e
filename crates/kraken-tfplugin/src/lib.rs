//! A client of the provider plugins of OpenTofu and Terraform.
//!
//! A provider is a program. A [`Host`] starts it as a [`Plugin`], whose calls validate configurations, read objects, plan
//! changes and apply them. Protocols 5 and 6 have one interface here. The behavior is OpenTofu's: [`proposed_new_state`] merges
//! state and configuration as it does, and an object differs from its configuration exactly if a plan is not empty.
//!
//! ```text
//! start -> schema -> configure -> (upgrade a stored state ->) read -> plan -> reserve -> apply -> acknowledge -> ... -> end
//! ```
//!
//! - [`Value`] and [`Type`] are the data, with MessagePack for the plugin and JSON for states and configurations.
//! - [`schema`] says which attributes a type has, and which of them are secret.
//! - [`Plan`] is pure data: its [differences](Plan::differences) have no secret values, and [`Plan::action`] says what to do.
//! - [`Plugin::apply`] is an operation of the host, which nothing cancels: a provider that is interrupted forgets what it created. The
//!   host may be another process ([`serve`]), so that the operation and its answer survive this one.
//!
//! The connection is not encrypted: it is a Unix socket in a folder that only this user can enter, and its file is removed as soon as
//! we are connected. The environment of a plugin is empty but for what
//! the caller sets. Texts of a provider can contain values of its configuration, so callers scrub them.

mod diagnostic;
mod diff;
mod host;
mod path;
mod plugin;
mod process;
mod proposed;
mod rpc;
pub mod schema;
mod types;
mod value;

pub use diagnostic::{Diagnostic, Severity};
pub use diff::{Difference, KNOWN_AFTER_APPLY, SENSITIVE, differences, masked};
pub use host::{
    Asked, Host, HostLink, HostOptions, Reach, Recalled, Replied, Service, StartRequest, Ticket, serve,
};
pub use path::{Path, Step};
pub use plugin::{Action, Answer, Applied, CallError, Plan, Plugin, ResourceState};
pub use process::{StartError, exec_plugin};
pub use proposed::proposed_new_state;
pub use rpc::Protocol;
pub use types::{Type, TypeError};
/// The messages of both protocols, for a [`Service`].
pub mod wire {
    pub use prost::Message;

    pub use crate::rpc::messages::*;
    pub use crate::rpc::schema;
}
pub use value::{ConvertError, Elements, NotANumber, Number, Value};
