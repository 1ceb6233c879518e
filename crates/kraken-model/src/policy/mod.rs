//! The policies: what may hold a change of remote objects that is due. Each is one pure function in a file of its own, from what it
//! must know to the outcome that ends the reconcile. Nothing else reads the options of `spec.lifecycle` that permit or forbid a change.
//! An object that does not decode passes the same ones: [`undecoded`] reads what they need.
//!
//! A change is due once all of them permit it. In the order in which they are asked:
//!
//! | Policy | Holds | Outcome |
//! |---|---|---|
//! | [`paused`] | everything | `Paused` |
//! | [`account`] | everything that the rules of the account forbid | `Account` |
//! | [`location`] | everything, if the remote objects are elsewhere | `WrongLocation` |
//! | [`drift`] | the reversion of drift | `Drifted` |
//! | [`disruption`], [`replacement`] | changes that stop or replace an object | `Immutable` |
//! | [`mass_loss`] | the recreation of objects that vanished | `MassLossHeld` |
//! | [`adoption`] | the adoption of another object than the one that is meant | `AdoptionRefused` |
//! | [`protection`] | deletions, also of replaced objects | `Protected` |
//! | [`approval`] | what a person has not approved | `AwaitingApproval` |
//! | [`launch_excess`] | more objects than the spec accounts for | `LaunchRefused` |
//! | [`unknown_creation`] | launches and the end of deletions, while an object may exist that nothing can find | `CreationUnknown` |
//! | [`launch_limit`] | launches that do not last | `LaunchLimit` |
//!
//! [`retention`] holds nothing: it decides whether an object is deleted or kept.

use crate::outcome::Outcome;

pub mod account;
pub mod adoption;
pub mod approval;
pub mod disruption;
pub mod drift;
pub mod launch_excess;
pub mod launch_limit;
pub mod location;
pub mod mass_loss;
pub mod paused;
pub mod protection;
pub mod replacement;
pub mod retention;
pub mod undecoded;
pub mod unknown_creation;

/// The answer of a policy: nothing, or the outcome that ends the reconcile.
pub type Permit = Result<(), Outcome>;
