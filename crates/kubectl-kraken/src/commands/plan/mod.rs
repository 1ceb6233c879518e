//! `kubectl kraken plan`: what an apply, or a deletion, of a set of objects will do. Every answer is one of admission, to a dry run:
//! nothing is written, neither in the cluster nor in the cloud.

mod apply;
mod approval;
mod ask;
pub(in crate::commands) mod documents;
mod dry_run;
mod entry;
mod follow;
mod judge;
mod patch;
mod planner;
mod print;
mod progress;
mod rejection;
mod request;
mod reviewed;
mod run;
mod values;

pub(crate) use apply::Consent;
pub(super) use apply::run as apply;
pub(super) use patch::LAST_APPLIED;
pub(crate) use run::Selection;
pub(super) use run::{deletion, run};
