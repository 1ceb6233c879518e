//! A remote object gets another resource: `undelete` and `mv`.
//!
//! Both release the object (`lifecycle.deletion: Retain`) and adopt it with a successor (`lifecycle.adopt`), which the controller takes back
//! as created by this cluster. Each step can be repeated, and what is done is recorded in the cluster before it is done: after an
//! interruption at any point, the same command continues.

mod mv;
mod reference;
mod rewrite;
mod steps;
mod successor;
mod undelete;

pub(super) use mv::run as mv;
pub(super) use undelete::run as undelete;

use std::path::PathBuf;

/// What `mv` renames.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Moved {
    /// KIND/NAME.
    pub(crate) target: String,
    /// The new name.
    pub(crate) name: String,
    /// Also rewrite the YAML files in this file or folder, and its folders. Can be repeated.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) filename: Vec<PathBuf>,
}

/// How a transfer is asked for and waited for.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Consent {
    /// Do it without a question.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// How long to wait for the controller, in seconds.
    #[arg(long, default_value_t = 300)]
    pub(crate) timeout: u64,
}
