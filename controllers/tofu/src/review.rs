//! What a provider says of a spec before it is stored: its own validation, with the values that the spec itself has.

use std::sync::Arc;

use kraken_kind::{FailureClass, options::Problem, runtime::webhook::ReviewResult};
use kraken_tfplugin::{CallError, Diagnostic, schema::Schema};
use serde_json::Value as Json;

use crate::{
    config::Configs,
    kind, options,
    provider::{Program, collect_secrets},
};

/// The validations of one provider.
#[derive(Clone, Debug)]
pub(crate) struct Reviewer {
    pub(crate) configs: Configs,
    pub(crate) program: Arc<Program>,
}

/// What is validated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Resource,
    Data,
}

impl Reviewer {
    /// What the provider says of the spec of a resource, or of a data source, of this type. A provider that cannot be asked says nothing:
    /// a condition of the resource will say why.
    pub(crate) async fn review(&self, of: Of, type_name: &str, schema: &Schema, spec: &Json) -> ReviewResult {
        let Some(config) = options::literals(schema, spec) else { return ReviewResult::default() };
        let provider = self.configs.validator(&self.program);
        let Ok(plugin) = provider.plugin().await else { return ReviewResult::default() };
        let validated = match of {
            Of::Resource => plugin.validate(type_name, &config).await,
            Of::Data => plugin.validate_data_source(type_name, &config).await,
        };
        let diagnostics = match validated {
            Ok(warnings) => warnings,
            Err(CallError::Provider(diagnostics)) => diagnostics,
            Err(_) => return ReviewResult::default(),
        };
        let mut secrets = vec![];
        collect_secrets(&schema.block, &config, &mut secrets);
        let text = |one: &Diagnostic| {
            let text = Diagnostic { path: None, ..one.clone() }.to_string();
            provider.failure("", FailureClass::Terminal, &text, &secrets).message
        };
        let field = |one: &Diagnostic| {
            one.path.as_ref().map(|path| kind::field(&schema.block, path)).unwrap_or_default()
        };
        let (errors, warnings): (Vec<_>, Vec<_>) = diagnostics.iter().partition(|one| one.is_error());
        let warning = |one: &&Diagnostic| match field(one) {
            field if field.is_empty() => text(one),
            field => format!("spec.{field}: {}", text(one)),
        };
        ReviewResult {
            problems: errors.iter().map(|one| Problem::invalid(&field(one), text(one))).collect(),
            warnings: warnings.iter().map(warning).collect(),
        }
    }
}
