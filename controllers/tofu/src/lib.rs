//! `kraken-tofu`: the resource types of OpenTofu providers as kinds.
//!
//! A ProviderInstall ([`api`]) names a program and resource types. `install` loads the program and adds a [`TofuKind`] for each type, with
//! a CRD from its schema, and a [`TofuExternal`] with its calls, to the [running](kraken_spoke::controller::Kinds) controller. They have
//! what every kind has: references, plans with approval, drift, replacement, adoption and ordered deletion. A ProviderConfig is the
//! configuration that the resources of a namespace use (`config`).
//!
//! The plugins run in a `host`, which can be a process of its own: operations and their answers survive the controller.
//!
//! A provider has no tags to search by. What exists is known from a [journal], which is written before anything is created. A
//! creation whose process ended is found again by a marker that the creating call sent, for the types of which this was tested. Any other
//! one waits for a person: nothing is ever created twice.
//!
//! [journal]: journal::SECRET_TYPE

pub mod api;
mod config;
mod crd;
mod data;
mod external;
#[cfg(test)]
mod fixtures;
mod host;
mod install;
pub mod journal;
mod kind;
mod marker;
pub mod names;
mod observed;
mod options;
mod outputs;
mod program;
mod provider;
mod review;

use std::process::ExitCode;

pub use external::TofuExternal;
pub use kind::TofuKind;
pub use program::{TofuArgs, TofuController};
pub use provider::{Config, Program, ProgramOptions, Provider};

/// The first argument of a process that becomes a plugin.
const LAUNCH: &str = "launch-plugin";
/// The first argument of a process that runs plugins for a controller.
const HOST: &str = "host";

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some(LAUNCH) => {
            eprintln!("failed to start the plugin: {}", kraken_tfplugin::exec_plugin(arguments));
            ExitCode::FAILURE
        }
        Some(HOST) => host::main(arguments),
        _ => kraken_kind::runtime::main::<TofuController>(),
    }
}
