//! The resource types of the simulated provider.

use std::sync::{Arc, LazyLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_tfplugin::schema::{Attribute, Block, Form, ProviderSchema, Schema};
use kraken_tfplugin::{Type, wire};
use kraken_tofu::TofuKind;
use wire::schema::{CommonAttribute, Response};

/// A type whose objects are found by the marker in their description, after a creation without a response.
pub(crate) const FILE: &str = "ktest_file";
/// A type whose objects nothing finds.
pub(crate) const NOTE: &str = "ktest_note";

/// Chosen by the service.
pub(crate) const ID: &str = "id";
/// Chosen by the service.
pub(crate) const ADDRESS: &str = "address";
/// Never changed by the tests, so that it tells whose object it is.
pub(crate) const NAME: &str = "name";
/// Changed in place.
pub(crate) const SIZE: &str = "size";
/// Changed by a replacement.
pub(crate) const ZONE: &str = "zone";
/// Has the marker.
pub(crate) const DESCRIPTION: &str = "description";

/// What the provider declares.
pub(crate) fn schema() -> &'static Arc<ProviderSchema> {
    static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| {
        let texts = |names: &[(&str, [bool; 3])]| {
            let attributes = names.iter().map(|(name, form)| ((*name).to_owned(), text(*form)));
            Arc::new(Schema::new(0, Block { attributes: attributes.collect(), ..Block::default() }))
        };
        let (required, optional, computed) =
            ([true, false, false], [false, true, false], [false, false, true]);
        let note =
            [(ID, computed), (ADDRESS, computed), (NAME, required), (SIZE, optional), (ZONE, optional)];
        let file = [note.as_slice(), &[(DESCRIPTION, optional)]].concat();
        let source = [(ID, [false, true, true]), (DESCRIPTION, optional)];
        Arc::new(ProviderSchema {
            resources: [(FILE.to_owned(), texts(&file)), (NOTE.to_owned(), texts(&note))].into(),
            data_sources: [(FILE.to_owned(), texts(&source))].into(),
            ..ProviderSchema::default()
        })
    });
    &SCHEMA
}

fn text([is_required, is_optional, is_computed]: [bool; 3]) -> Attribute {
    Attribute {
        form: Form::Plain(Type::String),
        description: String::new(),
        is_required,
        is_optional,
        is_computed,
        is_sensitive: false,
        is_write_only: false,
        is_deprecated: false,
    }
}

/// The same as the provider's answer.
pub(crate) fn encoded() -> Response<CommonAttribute> {
    let schemas = |of: &std::collections::BTreeMap<String, Arc<Schema>>| {
        of.iter().map(|(name, schema)| (name.clone(), of_wire(schema))).collect()
    };
    Response {
        provider: Some(wire::schema::Schema::default()),
        resource_schemas: schemas(&schema().resources),
        data_source_schemas: schemas(&schema().data_sources),
        ..Response::default()
    }
}

fn of_wire(schema: &Schema) -> wire::schema::Schema<CommonAttribute> {
    let attributes = schema.block.attributes.iter().map(|(name, attribute)| CommonAttribute {
        name: name.clone(),
        r#type: br#""string""#.to_vec(),
        required: attribute.is_required,
        optional: attribute.is_optional,
        computed: attribute.is_computed,
        ..CommonAttribute::default()
    });
    let block = wire::schema::Block { attributes: attributes.collect(), ..Default::default() };
    wire::schema::Schema { version: 0, block: Some(block) }
}

/// Its kinds.
pub(crate) fn kinds() -> Vec<TofuKind> {
    schema().resources.iter().map(|(name, schema)| TofuKind::new(name, schema.clone())).collect()
}

/// Their CRDs.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    kinds().iter().map(TofuKind::crd).collect()
}
