//! The common runtime of all Kraken controllers, from the arguments of the process to its clean exit.
//!
//! A controller implements [`Program`] and has a `main` of one line. It gets a [`Manager`]: a bounded client, the lease,
//! health, metrics, events and the shutdown signal. It uses guarded watches ([`watch`]), a queue with lanes and backoff
//! per key ([`queue`]), isolated workers ([`work`]) and conditional writes ([`patch`]).

mod alloc;
mod args;
pub mod client;
pub mod clock;
mod cluster;
pub mod coverage;
pub mod embedded;
pub mod errors;
pub mod events;
pub mod hash;
pub mod health;
mod hosted;
mod leadership;
pub mod lease;
pub mod list;
pub mod logs;
pub mod manager;
pub mod metrics;
pub mod patch;
mod process;
pub mod program;
pub mod queue;
pub mod random;
pub mod rbac;
pub mod report;
mod request;
mod resources;
pub mod serve;
pub mod shared_reads;
mod supervise;
pub mod task;
pub mod version;
pub mod watch;
mod webhooks;
pub mod work;

pub use args::{Namespaces, RunArgs};
pub use events::{EventType, Events};
pub use health::{Gate, Health, WatchBeat};
pub use hosted::{Hosted, SharedProcess};
pub use kraken_webhook as webhook;
pub use manager::Manager;
pub use metrics::Metrics;
pub use program::{Program, main, main_of_shared};
pub use request::{Bounded, Bounds, DeadlineExceeded, is_deadline};
pub use supervise::EndError;
