//! The messages of a provider's schema, the only ones in which the protocols differ: the fields of attributes have other numbers.

#![expect(missing_docs, reason = "the names of the protocol")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use prost::Message;

use super::messages::Diagnostic;

#[derive(Clone, PartialEq, Message)]
pub struct Response<A: AnyAttribute> {
    #[prost(message, optional, tag = "1")]
    pub provider: Option<Schema<A>>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub resource_schemas: BTreeMap<String, Schema<A>>,
    #[prost(btree_map = "string, message", tag = "3")]
    pub data_source_schemas: BTreeMap<String, Schema<A>>,
    #[prost(message, repeated, tag = "4")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "6")]
    pub server_capabilities: Option<ServerCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServerCapabilities {
    #[prost(bool, tag = "1")]
    pub plan_destroy: bool,
    #[prost(bool, tag = "2")]
    pub get_provider_schema_optional: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Schema<A: AnyAttribute> {
    #[prost(int64, tag = "1")]
    pub version: i64,
    #[prost(message, optional, tag = "2")]
    pub block: Option<Block<A>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Block<A: AnyAttribute> {
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<A>,
    #[prost(message, repeated, tag = "3")]
    pub block_types: Vec<NestedBlock<A>>,
    #[prost(string, tag = "4")]
    pub description: String,
    #[prost(bool, tag = "6")]
    pub deprecated: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct NestedBlock<A: AnyAttribute> {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub block: Option<Block<A>>,
    #[prost(int32, tag = "3")]
    pub nesting: i32,
    #[prost(int64, tag = "4")]
    pub min_items: i64,
    #[prost(int64, tag = "5")]
    pub max_items: i64,
}

/// An attribute of protocol 5.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute5 {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "2")]
    r#type: Vec<u8>,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(bool, tag = "4")]
    required: bool,
    #[prost(bool, tag = "5")]
    optional: bool,
    #[prost(bool, tag = "6")]
    computed: bool,
    #[prost(bool, tag = "7")]
    sensitive: bool,
    #[prost(bool, tag = "9")]
    deprecated: bool,
    #[prost(bool, tag = "10")]
    write_only: bool,
}

/// An attribute of protocol 6, and the form that both become.
#[derive(Clone, PartialEq, Message)]
pub struct CommonAttribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub r#type: Vec<u8>,
    #[prost(string, tag = "3")]
    pub description: String,
    #[prost(bool, tag = "4")]
    pub required: bool,
    #[prost(bool, tag = "5")]
    pub optional: bool,
    #[prost(bool, tag = "6")]
    pub computed: bool,
    #[prost(bool, tag = "7")]
    pub sensitive: bool,
    #[prost(bool, tag = "9")]
    pub deprecated: bool,
    #[prost(message, optional, tag = "10")]
    pub nested_type: Option<NestedType>,
    #[prost(bool, tag = "11")]
    pub write_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct NestedType {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<CommonAttribute>,
    #[prost(int32, tag = "3")]
    pub nesting: i32,
}

/// An attribute of either protocol.
pub trait AnyAttribute: Message + Default + PartialEq + Debug {
    fn into_common(self) -> CommonAttribute;
}

impl AnyAttribute for CommonAttribute {
    fn into_common(self) -> CommonAttribute {
        self
    }
}

impl AnyAttribute for Attribute5 {
    fn into_common(self) -> CommonAttribute {
        CommonAttribute {
            name: self.name,
            r#type: self.r#type,
            description: self.description,
            required: self.required,
            optional: self.optional,
            computed: self.computed,
            sensitive: self.sensitive,
            deprecated: self.deprecated,
            nested_type: None,
            write_only: self.write_only,
        }
    }
}
