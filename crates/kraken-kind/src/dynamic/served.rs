//! A kind as a process serves it.

use std::sync::Arc;

use super::{Calls, Kind};

/// A kind and its calls.
pub type Served = (Arc<dyn Kind>, Arc<dyn Calls>);
