//! Scheduled transitions of objects.

use super::registry::ObjectRef;

/// A scheduled transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// Changed tags are described.
    Settled(ObjectRef),
    /// An instance is terminated.
    Terminated(u64),
    /// A NAT gateway is deleted.
    NatDeleted(u64),
    /// A volume is detached.
    Detached(u64),
    /// The interfaces of a deleted load balancer are deleted.
    Released(u64),
    /// A deleted object is no longer described.
    Vanished(ObjectRef),
}
