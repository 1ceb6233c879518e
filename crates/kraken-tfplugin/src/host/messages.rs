//! What a host is asked, and what it replies. The bodies of calls are passed on as they are: a host knows neither schemas nor values.

use std::collections::BTreeMap;

use prost::{Message, Oneof};

use crate::plugin::CallError;

/// One request, alone on its connection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(oneof = "Ask", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub(crate) ask: Option<Ask>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Ask {
    #[prost(message, tag = "1")]
    Start(StartRequest),
    /// The plugin is configured: the next one who wants its key gets it.
    #[prost(uint64, tag = "2")]
    Share(u64),
    #[prost(message, tag = "3")]
    Call(Call),
    #[prost(uint64, tag = "4")]
    End(u64),
    /// A ticket for an operation of the resource with this UID.
    #[prost(string, tag = "5")]
    Reserve(String),
    #[prost(message, tag = "6")]
    Operate(Operate),
    #[prost(message, tag = "7")]
    Recall(Recall),
    #[prost(message, tag = "8")]
    Acknowledge(Ticket),
}

/// A program that a host starts as a plugin.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct StartRequest {
    /// The path of the program.
    #[prost(string, tag = "1")]
    pub program: String,
    /// The SHA-256 of the program, in 64 hexadecimal digits; `None` starts any program.
    #[prost(string, optional, tag = "2")]
    pub sha256: Option<String>,
    /// Its whole environment.
    #[prost(btree_map = "string, string", tag = "3")]
    pub environment: BTreeMap<String, String>,
    /// What the plugin is shared by: a digest of the program and its configuration. Without one, it is not shared.
    #[prost(string, optional, tag = "4")]
    pub key: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Call {
    #[prost(uint64, tag = "1")]
    pub(crate) plugin: u64,
    #[prost(string, tag = "2")]
    pub(crate) path: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) body: Vec<u8>,
}

/// A call that is executed at most once, and whose answer is kept.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Operate {
    #[prost(message, optional, tag = "1")]
    pub(crate) ticket: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) call: Option<Call>,
    #[prost(string, tag = "3")]
    pub(crate) label: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Recall {
    #[prost(string, tag = "1")]
    pub(crate) uid: String,
    /// One of which it is asked whether it was used.
    #[prost(message, optional, tag = "2")]
    pub(crate) ticket: Option<Ticket>,
}

/// The permission for one operation. A host never issues a ticket twice.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Ticket {
    /// The host that issued it. A host that was started again is another one.
    #[prost(string, tag = "1")]
    pub host: String,
    /// The UID of the resource.
    #[prost(string, tag = "2")]
    pub uid: String,
    /// Its number.
    #[prost(uint64, tag = "3")]
    pub number: u64,
}

/// The fields that a request has a reply in.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Reply {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) body: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(crate) started: Option<Started>,
    #[prost(message, optional, tag = "3")]
    pub(crate) ticket: Option<Ticket>,
    #[prost(message, optional, tag = "4")]
    pub(crate) kept: Option<KeptOperation>,
    /// Whether the ticket that was asked for is of this host and was never used; it cannot be used any more.
    #[prost(bool, tag = "5")]
    pub(crate) is_unused: bool,
    #[prost(message, optional, tag = "6")]
    pub(crate) failure: Option<Failure>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Started {
    #[prost(uint64, tag = "1")]
    pub(crate) plugin: u64,
    /// Of the plugin: 5 or 6.
    #[prost(uint32, tag = "2")]
    pub(crate) protocol: u32,
    #[prost(int32, tag = "3")]
    pub(crate) process: i32,
    /// Whether it was running, configured.
    #[prost(bool, tag = "4")]
    pub(crate) is_shared: bool,
}

/// An operation whose answer was not acknowledged.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeptOperation {
    #[prost(message, optional, tag = "1")]
    pub(crate) ticket: Option<Ticket>,
    #[prost(string, tag = "2")]
    pub(crate) label: String,
    #[prost(bool, tag = "3")]
    pub(crate) is_running: bool,
    /// Without an answer of the plugin, the failure is set.
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) body: Vec<u8>,
    #[prost(message, optional, tag = "5")]
    pub(crate) failure: Option<Failure>,
}

/// A [`CallError`] of a host.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Failure {
    #[prost(oneof = "Why", tags = "1, 2, 3, 4, 5, 6")]
    pub(crate) why: Option<Why>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum Why {
    #[prost(message, tag = "1")]
    Rpc(RpcFailure),
    #[prost(string, tag = "2")]
    Ended(String),
    #[prost(bool, tag = "3")]
    Stopping(bool),
    #[prost(string, tag = "4")]
    NotBegun(String),
    #[prost(string, tag = "5")]
    NotStarted(String),
    #[prost(string, tag = "6")]
    Other(String),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct RpcFailure {
    #[prost(string, tag = "1")]
    pub(crate) code: String,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let why = match error {
            CallError::Rpc { code, message } => Why::Rpc(RpcFailure { code, message }),
            CallError::Ended(status) => Why::Ended(status),
            CallError::Stopping => Why::Stopping(true),
            CallError::NotBegun(why) => Why::NotBegun(why),
            CallError::NotStarted(why) => Why::NotStarted(why),
            // A host returns no other one.
            other => Why::Other(other.to_string()),
        };
        Self { why: Some(why) }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        match failure.why {
            Some(Why::Rpc(RpcFailure { code, message })) => Self::Rpc { code, message },
            Some(Why::Ended(status)) => Self::Ended(status),
            Some(Why::Stopping(_)) => Self::Stopping,
            Some(Why::NotBegun(why)) => Self::NotBegun(why),
            Some(Why::NotStarted(why)) => Self::NotStarted(why),
            Some(Why::Other(why)) => Self::Host(why),
            None => Self::Host("it replied with an unknown failure".to_owned()),
        }
    }
}
