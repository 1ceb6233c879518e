//! The names of all decisions and outcomes of the loop, for the coverage table of the deterministic simulation. Pure.

use kraken_kind::FailureClass;
use strum::VariantNames;

use crate::{decide::Decision, outcome::Outcome};

/// The area of [`DECISIONS`] in [`kraken_runtime::coverage`].
pub const DECISION: &str = "decision";
/// The area of [`OUTCOMES`].
pub const OUTCOME: &str = "outcome";
/// The area of [`FAILURES`].
pub const FAILURE: &str = "failure";

/// Every decision of the loop.
pub const DECISIONS: &[&str] = Decision::<()>::VARIANTS;
/// Every outcome of a reconcile.
pub const OUTCOMES: &[&str] = Outcome::VARIANTS;
/// Every class of failure of a provider.
pub const FAILURES: &[&str] = FailureClass::VARIANTS;
