//! Field ownership and server-side apply, as structured-merge-diff does it.

mod compare;
mod element;
mod managed;
mod merge;
mod owned;
mod remove;
mod replicas;
mod set;
mod typed;

pub(super) use managed::{Managed, Manager, Operation};
pub(super) use merge::applied;
pub(super) use owned::updated;
pub(super) use replicas::scaled;
pub(super) use typed::is_typed;
