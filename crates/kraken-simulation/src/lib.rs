//! The deterministic simulation: the unchanged hub and spokes as tasks of one thread, on an in-memory API server and the
//! cloud simulator, in virtual time. A seed decides the operations, the faults and the order of events; the same
//! seed gives the same trace.

pub mod apiserver;
pub mod apply;
pub mod batch;
pub mod check;
pub mod coverage;
pub mod engine;
pub mod faults;
pub mod generate;
pub mod kinds;
pub mod mutant_search;
pub mod oracle;
pub mod parity;
mod provider_types;
pub mod providers;
mod random;
pub mod run;
pub mod schedule;
pub mod shrink;
pub mod story;
