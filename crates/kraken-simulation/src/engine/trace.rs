//! The trace: one line per call, operation and fault, in order. The same schedule produces the same trace, byte for
//! byte.

use std::fmt;
use std::time::Duration;

use crate::schedule::{Controller, Side};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The virtual time since the start.
    pub at: Duration,
    /// What.
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A controller called the API server or the cloud.
    Call(CallEvent),
    /// An operation, as text.
    Operation(String),
    /// A fault, as text.
    Fault(String),
    /// The start or end of a process, as text.
    Process(String),
    /// A phase of the simulation.
    Phase(String),
}

/// One call and its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEvent {
    /// The caller.
    pub process: ProcessId,
    /// To whom.
    pub side: Side,
    /// As in [`kraken_simulator::hook::Call::name`]: `PATCH vpcs/status`, `CreateVpc`.
    pub name: String,
    /// Whether it may change something.
    pub writes: bool,
    /// The namespace of the object, empty if there is none.
    pub namespace: String,
    /// The name of the object, empty if there is none.
    pub object: String,
    /// The status code; none if the call never took effect.
    pub status: Option<u16>,
    /// Hash of the body.
    pub body: u64,
    /// Hash of the response, for writes.
    pub answer: u64,
    /// The effect of a fault on it.
    pub effect: Option<&'static str>,
}

/// One process of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId {
    /// Which program.
    pub controller: Controller,
    /// Which of its replicas: 0, and 1 while there is a second one.
    pub replica: u32,
    /// How often this replica has been started, from 1.
    pub incarnation: u32,
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.controller, self.replica, self.incarnation)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.3} ", self.at.as_secs_f64())?;
        match &self.what {
            EventKind::Call(call) => call.fmt(f),
            EventKind::Operation(text) => write!(f, "operation {text}"),
            EventKind::Fault(text) => write!(f, "fault {text}"),
            EventKind::Process(text) => write!(f, "process {text}"),
            EventKind::Phase(text) => write!(f, "phase {text}"),
        }
    }
}

impl fmt::Display for CallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.side == Side::Kube { "kube" } else { "cloud" };
        write!(f, "{} {to} {}", self.process, self.name)?;
        if !self.object.is_empty() {
            write!(f, " {}/{}", self.namespace, self.object)?;
        }
        match self.status {
            Some(status) => write!(f, " -> {status}")?,
            None => f.write_str(" -> no effect")?,
        }
        write!(f, " [{:016x} {:016x}]", self.body, self.answer)?;
        if let Some(effect) = self.effect {
            write!(f, " ({effect})")?;
        }
        Ok(())
    }
}

/// All events of a simulation, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Vec<Event>);

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

/// A hash of the length and of eight bytes at a time: bodies are compared and not stored.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}
