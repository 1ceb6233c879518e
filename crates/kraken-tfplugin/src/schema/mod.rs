//! Schemas: the attributes and blocks of providers, resources and data sources.

mod check;
mod decode;
mod implied;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use crate::rpc::schema::AnyAttribute;
pub use decode::SchemaError;
pub(crate) use decode::provider;

use crate::types::Type;

/// Everything that a provider declares.
#[derive(Clone, Debug, Default)]
pub struct ProviderSchema {
    /// Its own configuration.
    pub provider: Arc<Schema>,
    /// Resources by the name of the type, such as `openstack_networking_network_v2`.
    pub resources: BTreeMap<String, Arc<Schema>>,
    /// Data sources by the name of the type.
    pub data_sources: BTreeMap<String, Arc<Schema>>,
    /// What it can do besides the calls that each provider has.
    pub capabilities: Capabilities,
}

/// Optional abilities of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It plans deletions, too; without it, a deletion needs no plan.
    pub plan_destroy: bool,
    /// It works without being asked for its schema, so that a schema which is known for the same file can be used.
    pub schema_optional: bool,
}

/// The schema of one configuration.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The version of the form of states, for [`Plugin::upgrade`](crate::Plugin::upgrade).
    pub version: i64,
    /// Its attributes and blocks.
    pub block: Block,
    /// The type of its values, which follows from the block.
    pub value_type: Type,
}

impl Schema {
    /// A schema with this block.
    pub fn new(version: i64, block: Block) -> Self {
        Self { version, value_type: block.value_type(), block }
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::new(0, Block::default())
    }
}

/// Attributes and blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Attributes by name.
    pub attributes: BTreeMap<String, Attribute>,
    /// Nested blocks by name.
    pub blocks: BTreeMap<String, NestedBlock>,
    /// What it is, as text or Markdown.
    pub description: String,
    /// Whether its use is discouraged.
    pub is_deprecated: bool,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "as the protocol has them")]
pub struct Attribute {
    /// Its type, or its own attributes.
    pub form: Form,
    /// What it is, as text or Markdown.
    pub description: String,
    /// It must be configured.
    pub is_required: bool,
    /// It can be configured.
    pub is_optional: bool,
    /// The provider sets it if it is not configured.
    pub is_computed: bool,
    /// Its value must not be shown.
    pub is_sensitive: bool,
    /// Its value is sent to the provider and is in no plan and no state.
    pub is_write_only: bool,
    /// Whether its use is discouraged.
    pub is_deprecated: bool,
}

impl Attribute {
    /// Whether its value must not be shown, as all that is only written.
    pub fn is_secret(&self) -> bool {
        self.is_sensitive || self.is_write_only
    }
}

/// What an attribute has as its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A value of a type.
    Plain(Type),
    /// Objects whose attributes have their own flags (protocol 6). Never [`Nesting::Group`].
    Nested {
        /// How many, and by what.
        nesting: Nesting,
        /// Attributes by name.
        attributes: BTreeMap<String, Attribute>,
    },
}

/// A block inside a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedBlock {
    /// Its attributes and blocks.
    pub block: Block,
    /// How many, and by what.
    pub nesting: Nesting,
    /// The fewest blocks; 0 without a minimum.
    pub min_items: u64,
    /// The most blocks; 0 without a maximum.
    pub max_items: u64,
}

/// How objects are inside another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One or none.
    Single,
    /// One, which exists with null attributes if it is not configured.
    Group,
    /// A list.
    List,
    /// A set.
    Set,
    /// A map by labels.
    Map,
}
