//! What the reconcile loop and a kind exchange.

mod calls;
mod comparison;
mod edit;
mod fate;
mod features;
mod finding;
mod spoke_kind;

pub use calls::{Candidate, Identity, Launch, ObserveRequest, OwnSecret};
pub use comparison::MISSING;
pub use comparison::{Comparison, Difference, Remedy};
pub use edit::Edit;
pub use fate::Fate;
pub use features::Features;
pub use finding::{Finding, Unanswered};
pub use spoke_kind::SpokeKind;
