//! The messages of both protocols. Only numbers and types of fields are transmitted, and those of these messages are the same in
//! protocol 5 and 6, so that there is one definition of each and no generated code.

use std::collections::BTreeMap;

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {}

/// A value, as MessagePack or JSON.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DynamicValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) msgpack: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) json: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Diagnostic {
    #[prost(int32, tag = "1")]
    pub(crate) severity: i32,
    #[prost(string, tag = "2")]
    pub(crate) summary: String,
    #[prost(string, tag = "3")]
    pub(crate) detail: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) attribute: Option<AttributePath>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttributePath {
    #[prost(message, repeated, tag = "1")]
    pub(crate) steps: Vec<PathStep>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PathStep {
    #[prost(oneof = "Selector", tags = "1, 2, 3")]
    pub(crate) selector: Option<Selector>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Selector {
    #[prost(string, tag = "1")]
    Attribute(String),
    #[prost(string, tag = "2")]
    Key(String),
    #[prost(int64, tag = "3")]
    Index(i64),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ClientCapabilities {
    #[prost(bool, tag = "1")]
    pub(crate) deferral_allowed: bool,
    #[prost(bool, tag = "2")]
    pub(crate) write_only_attributes_allowed: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Deferred {
    #[prost(int32, tag = "1")]
    pub(crate) reason: i32,
}

/// A response that has only diagnostics, or of which no more is needed.
pub(crate) mod checked {
    use super::{Diagnostic, Message};

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct First {
        #[prost(message, repeated, tag = "1")]
        pub(crate) diagnostics: Vec<Diagnostic>,
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProviderConfig {
    #[prost(message, optional, tag = "1")]
    pub(crate) config: Option<DynamicValue>,
}

/// The response of protocol 5 can change the configuration, that of protocol 6 has the same fields.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PreparedConfig {
    #[prost(message, optional, tag = "1")]
    pub(crate) prepared_config: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Configure {
    #[prost(string, tag = "1")]
    pub(crate) terraform_version: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

/// The configuration of a resource or data source, to be validated.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypeConfig {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<DynamicValue>,
    /// Of resources only.
    #[prost(message, optional, tag = "3")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RawState {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) json: Vec<u8>,
    /// The form of before 2019; never sent.
    #[prost(btree_map = "string, string", tag = "2")]
    pub(crate) flatmap: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Upgrade {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(int64, tag = "2")]
    pub(crate) version: i64,
    #[prost(message, optional, tag = "3")]
    pub(crate) raw_state: Option<RawState>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Upgraded {
    #[prost(message, optional, tag = "1")]
    pub(crate) upgraded_state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Read {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) current_state: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) private: Vec<u8>,
    #[prost(message, optional, tag = "5")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReadState {
    #[prost(message, optional, tag = "1")]
    pub(crate) new_state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) diagnostics: Vec<Diagnostic>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) private: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub(crate) deferred: Option<Deferred>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Plan {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) prior_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub(crate) proposed_new_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "4")]
    pub(crate) config: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) prior_private: Vec<u8>,
    #[prost(message, optional, tag = "7")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Planned {
    #[prost(message, optional, tag = "1")]
    pub(crate) planned_state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) requires_replace: Vec<AttributePath>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) planned_private: Vec<u8>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "6")]
    pub(crate) deferred: Option<Deferred>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Apply {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) prior_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub(crate) planned_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "4")]
    pub(crate) config: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) planned_private: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Applied {
    #[prost(message, optional, tag = "1")]
    pub(crate) new_state: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) private: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Import {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Imported {
    #[prost(message, repeated, tag = "1")]
    pub(crate) imported_resources: Vec<ImportedResource>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "3")]
    pub(crate) deferred: Option<Deferred>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ImportedResource {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) state: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) private: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReadDataSource {
    #[prost(string, tag = "1")]
    pub(crate) type_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<DynamicValue>,
    #[prost(message, optional, tag = "4")]
    pub(crate) client_capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DataSourceState {
    #[prost(message, optional, tag = "1")]
    pub(crate) state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "3")]
    pub(crate) deferred: Option<Deferred>,
}

/// Output of a plugin that go-plugin took from its standard streams.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StdioData {
    #[prost(int32, tag = "1")]
    pub(crate) channel: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) data: Vec<u8>,
}
