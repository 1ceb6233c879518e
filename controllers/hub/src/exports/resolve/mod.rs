//! Step 1: the spec and the values -> the desired content of the target, or why there is none. Pure.

mod secret_types;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use kraken_runtime::hash::HashMap;

use kraken_api::{ConfigExportSpec, ConfigType, config_export::CREDENTIAL_TYPES};
use kraken_options::{
    Opt, Problem, ProblemKind, Resolution, Resolved, Resolver, Scrubber, Text, ValueFrom, Values, summary,
};

use crate::{
    exports::labels,
    resolve::names::{bounded, is_object_name},
};

/// The maximum size of the values of a ConfigMap or Secret, in bytes.
const MAX_CONTENT: usize = 1024 * 1024;
/// The message about a value that requires another type of target.
const SECRET_IN_CONFIG_MAP: &str =
    "comes from a Secret and cannot be exported to a ConfigMap: set configType: Secret";

/// The desired content of the target. `Debug` shows no value from a Secret.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Content(pub(crate) BTreeMap<String, Resolved<Text>>);

/// The result of resolving a spec with the known values.
#[derive(Debug)]
pub(crate) enum ContentState {
    /// Every entry has a value.
    Ready(Content),
    /// Entries have no value yet; the text names all.
    Waiting(String),
    /// The spec is invalid; the text names each field.
    Invalid(String),
}

/// A result with the scrubber for messages about it.
pub(crate) struct ResolvedExport {
    /// The state of the content.
    pub(crate) state: ContentState,
    /// Removes the values of Secrets from messages of the API server.
    pub(crate) scrubber: Scrubber,
}

impl fmt::Debug for ResolvedExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedExport").field("state", &self.state).finish_non_exhaustive()
    }
}

/// The value of an entry as text: "3.10" is not the number 3.1.
fn taken(resolver: &mut Resolver<'_>, index: usize, source: &ValueFrom) -> Option<Resolved<Text>> {
    #[cfg(test)]
    crate::store::dependents::export::PARSED.with(|parsed| parsed.set(parsed.get() + 1));
    resolver.take_from::<Text>(&format!("entries[{index}]"), source)
}

/// Resolves a spec. All problems are found at once. `secret_entries`: the entries that refer to a Secret.
pub(crate) fn resolve_content(
    namespace: &str,
    spec: &ConfigExportSpec,
    secret_entries: &BTreeSet<usize>,
    values: &Values,
) -> ResolvedExport {
    let mut resolver = Resolver::new(values);
    check(&mut resolver, namespace, spec, secret_entries);
    let content = take(&mut resolver, spec);
    let Resolution { problems, secrets, .. } = resolver.finish();
    let scrubber = Scrubber::new(&secrets);
    let state = if problems.iter().any(|problem| problem.kind != ProblemKind::Missing) {
        ContentState::Invalid(summary(&problems))
    } else {
        match content {
            Some(content) if problems.is_empty() => allowed(content, spec.config_type),
            _ => ContentState::Waiting(summary(&problems)),
        }
    };
    ResolvedExport { state, scrubber }
}

/// The problems that are independent of the values. `secret_entries`: the entries that refer to a Secret.
pub(crate) fn certain(
    namespace: &str,
    spec: &ConfigExportSpec,
    secret_entries: &BTreeSet<usize>,
) -> Vec<Problem> {
    let values = Values::default();
    let mut resolver = Resolver::new(&values);
    check(&mut resolver, namespace, spec, secret_entries);
    let _ = take(&mut resolver, spec);
    let mut problems = resolver.finish().problems;
    problems.retain(|problem| problem.kind != ProblemKind::Missing);
    problems
}

/// The rules that a schema cannot express.
fn check(
    resolver: &mut Resolver<'_>,
    namespace: &str,
    spec: &ConfigExportSpec,
    secret_entries: &BTreeSet<usize>,
) {
    let metadata = &spec.config_metadata;
    if let Some(other) = metadata.namespace.as_deref().filter(|other| *other != namespace) {
        let message =
            format!("is {}, but must be the namespace of the ConfigExport, {namespace}", bounded(other, 63));
        resolver.problem("configMetadata.namespace", message);
    }
    if !is_object_name(&metadata.name) {
        resolver.problem(
            "configMetadata.name",
            "is not a name of an object (lower case letters, digits, \"-\" and \".\")",
        );
    }
    if let Some(refused) = spec.secret_type.as_deref().filter(|name| CREDENTIAL_TYPES.contains(name)) {
        let message = format!(
            "is {refused}, and Kubernetes issues or accepts credentials for such a Secret; use another type"
        );
        resolver.problem("secretType", message);
    }
    if let Some(message) = secret_types::missing_keys(spec) {
        resolver.problem("secretType", message);
    }
    for (field, message) in labels::problems(metadata) {
        resolver.problem(&field, message);
    }
    let mut first: HashMap<&str, usize> = HashMap::default();
    for (index, entry) in spec.entries.iter().enumerate() {
        let field = format!("entries[{index}].key");
        if entry.key == "." || entry.key.starts_with("..") {
            resolver.problem(&field, "must not be \".\" or start with \"..\"");
        }
        if let Some(earlier) = first.get(entry.key.as_str()) {
            resolver.problem(
                &field,
                format!("\"{}\" is already the key of entries[{earlier}]", bounded(&entry.key, 64)),
            );
        } else {
            first.insert(&entry.key, index);
        }
        // By the reference only: it does not matter whether the Secret exists.
        if spec.config_type == ConfigType::ConfigMap && secret_entries.contains(&index) {
            resolver.problem(&format!("entries[{index}].valueFrom"), SECRET_IN_CONFIG_MAP);
        }
    }
}

fn take(resolver: &mut Resolver<'_>, spec: &ConfigExportSpec) -> Option<Content> {
    let mut content = Some(BTreeMap::new());
    for (index, entry) in spec.entries.iter().enumerate() {
        let value = match &entry.value {
            Opt::Value(value) => Some(Resolved::Public(Text(text(value)))),
            Opt::ValueFrom(source) => taken(resolver, index, source),
        };
        // Every entry is resolved, so that all problems are found.
        content = content.zip(value).map(|(mut content, value)| {
            content.insert(entry.key.clone(), value);
            content
        });
    }
    content.map(Content)
}

/// A string unchanged, any other type as compact JSON.
fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The content, if it may be written to this kind of target.
fn allowed(content: Content, config_type: ConfigType) -> ContentState {
    // `check` finds this by the references. The value decides too, so that a wrong list of them cannot disclose it.
    let secret = content.0.iter().find(|(_, value)| value.is_secret());
    if let (ConfigType::ConfigMap, Some((key, _))) = (config_type, secret) {
        return ContentState::Invalid(format!(
            "spec.entries: the value of key \"{}\" {SECRET_IN_CONFIG_MAP}",
            bounded(key, 64)
        ));
    }
    let size: usize = content.0.values().map(|value| value.expose().0.len()).sum();
    if size > MAX_CONTENT {
        return ContentState::Invalid(format!(
            "spec.entries: the values are {size} bytes in total; a {config_type:?} can contain at most {MAX_CONTENT}"
        ));
    }
    ContentState::Ready(content)
}

#[cfg(test)]
pub(crate) mod tests;
