//! Schemas from the messages of both protocols.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Attribute, Block, Capabilities, Form, NestedBlock, Nesting, ProviderSchema, Schema};
use crate::rpc::schema::{self as wire, AnyAttribute};
use crate::types::{Type, TypeError};

/// Why a provider's schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// An attribute has an invalid type.
    #[error("attribute {name}: {why}")]
    Type {
        /// The name of the attribute.
        name: String,
        /// The reason.
        why: TypeError,
    },
    /// Objects are nested in a way that the protocol does not have.
    #[error("{name} has unknown nesting {nesting}")]
    Nesting {
        /// The name of the block or attribute.
        name: String,
        /// The number of the nesting.
        nesting: i32,
    },
}

pub(crate) fn provider<A: AnyAttribute>(response: wire::Response<A>) -> Result<ProviderSchema, SchemaError> {
    let all = |schemas: BTreeMap<String, wire::Schema<A>>| {
        let decoded = schemas.into_iter().map(|(name, wire)| Ok((name, Arc::new(schema(wire)?))));
        decoded.collect::<Result<BTreeMap<_, _>, SchemaError>>()
    };
    let capabilities = response.server_capabilities.unwrap_or_default();
    Ok(ProviderSchema {
        provider: Arc::new(response.provider.map(schema).transpose()?.unwrap_or_default()),
        resources: all(response.resource_schemas)?,
        data_sources: all(response.data_source_schemas)?,
        capabilities: Capabilities {
            plan_destroy: capabilities.plan_destroy,
            schema_optional: capabilities.get_provider_schema_optional,
        },
    })
}

fn schema<A: AnyAttribute>(wire: wire::Schema<A>) -> Result<Schema, SchemaError> {
    let block = wire.block.map(block).transpose()?.unwrap_or_default();
    Ok(Schema::new(wire.version, block))
}

fn block<A: AnyAttribute>(wire: wire::Block<A>) -> Result<Block, SchemaError> {
    let blocks = wire.block_types.into_iter().map(|nested| {
        let nesting = nesting(&nested.type_name, nested.nesting)?;
        let block = nested.block.map(block).transpose()?.unwrap_or_default();
        let items = |number: i64| u64::try_from(number).unwrap_or_default();
        let (min_items, max_items) = (items(nested.min_items), items(nested.max_items));
        Ok((nested.type_name, NestedBlock { block, nesting, min_items, max_items }))
    });
    Ok(Block {
        attributes: attributes(wire.attributes)?,
        blocks: blocks.collect::<Result<_, SchemaError>>()?,
        description: wire.description,
        is_deprecated: wire.deprecated,
    })
}

fn attributes<A: AnyAttribute>(wire: Vec<A>) -> Result<BTreeMap<String, Attribute>, SchemaError> {
    wire.into_iter().map(|wire| attribute(wire.into_common())).collect()
}

fn attribute(wire: wire::CommonAttribute) -> Result<(String, Attribute), SchemaError> {
    let form = match wire.nested_type {
        Some(nested) => {
            let nesting = nesting(&wire.name, nested.nesting)?;
            Form::Nested { nesting, attributes: attributes(nested.attributes)? }
        }
        None => Form::Plain(
            Type::parse(&wire.r#type).map_err(|why| SchemaError::Type { name: wire.name.clone(), why })?,
        ),
    };
    let attribute = Attribute {
        form,
        description: wire.description,
        is_required: wire.required,
        is_optional: wire.optional,
        is_computed: wire.computed,
        is_sensitive: wire.sensitive,
        is_write_only: wire.write_only,
        is_deprecated: wire.deprecated,
    };
    Ok((wire.name, attribute))
}

fn nesting(name: &str, number: i32) -> Result<Nesting, SchemaError> {
    match number {
        1 => Ok(Nesting::Single),
        2 => Ok(Nesting::List),
        3 => Ok(Nesting::Set),
        4 => Ok(Nesting::Map),
        5 => Ok(Nesting::Group),
        nesting => Err(SchemaError::Nesting { name: name.to_owned(), nesting }),
    }
}
