//! Reviews of ConfigExports: their own rules, another export with the same target (a warning), and their references.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use kraken_api::ConfigExport;
use kraken_options::{JsonType, Opt, Problem};
use kraken_runtime::{
    watch::ObjectKey,
    webhook::{Operation, ReviewResult, Subject, Validator},
};
use kube::ResourceExt;

use crate::{
    admission::{
        references::evaluate,
        walk::{self, Reference},
    },
    exports::resolve::certain,
    store::dependents::export::{Parsed, shared_name, target},
    store::index::Dependent,
    watch::cluster_state::ClusterState,
    watch::owned::controlling_export,
};

/// Reviews ConfigExports.
pub(crate) struct Exports {
    cluster: Arc<ClusterState>,
}

impl fmt::Debug for Exports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exports").finish_non_exhaustive()
    }
}

impl Exports {
    /// Reviews against this cluster state.
    pub(crate) fn new(cluster: Arc<ClusterState>) -> Self {
        Self { cluster }
    }

    async fn verdict(&self, subject: Subject) -> ReviewResult {
        let Subject { operation, namespace, name, object, .. } = subject;
        let mut export: ConfigExport = match serde_json::from_value((*object).clone()) {
            Ok(export) => export,
            Err(error) => {
                return ReviewResult {
                    problems: vec![Problem::invalid("", format!("failed to decode: {error}"))],
                    warnings: vec![],
                };
            }
        };
        export.metadata.namespace = Some(namespace.clone());
        let parsed = Parsed::of(&export);
        let mut verdict = ReviewResult {
            problems: certain(&namespace, &export.spec, &parsed.secret_entries),
            warnings: vec![],
        };
        if !self.cluster.is_synced() {
            return verdict;
        }
        self.compare_targets(&mut verdict, operation, &export, &name);
        let found = references(&export);
        if !found.is_empty() {
            let dependent = Dependent::Export(ObjectKey::new(&namespace, &name));
            let judged = evaluate(&self.cluster, &namespace, &dependent, parsed.edges.provides, found).await;
            verdict.problems.extend(judged.problems);
            verdict.warnings.extend(judged.warnings);
        }
        verdict
    }

    fn compare_targets(
        &self,
        verdict: &mut ReviewResult,
        operation: Operation,
        export: &ConfigExport,
        name: &str,
    ) {
        let namespace = export.namespace().unwrap_or_default();
        let wanted = target(&namespace, &export.spec);
        let rival = self.cluster.exports.all().into_iter().find_map(|other| {
            let is_other = other.metadata.deletion_timestamp.is_none()
                && other.namespace().as_deref() == Some(&namespace)
                && other.name_any() != name;
            let shared = is_other.then(|| shared_name(&export.spec, &other.spec)).flatten();
            shared.map(|shared| (shared, other.name_any()))
        });
        if let Some((shared, rival)) = rival {
            let kind = export.spec.config_type;
            // The other one may be deleted next: after a renaming in Git, the new name is applied first.
            let message = format!(
                "{kind:?} {shared} is the target of ConfigExport {rival}; it is taken over when {rival} is deleted, and not changed before"
            );
            verdict.warnings.push(Problem::invalid("configMetadata.name", message).to_string());
        } else if operation == Operation::Create
            && !export.spec.rotate
            && self.cluster.meta(&wanted, |meta| controlling_export(meta).is_none()).unwrap_or_default()
        {
            verdict.warnings.push(
                Problem::invalid(
                    "configMetadata.name",
                    format!("{wanted} exists and was not created by a ConfigExport; it will not be changed"),
                )
                .to_string(),
            );
        }
    }
}

/// The references of the entries, which accept any type.
fn references(export: &ConfigExport) -> Vec<Reference> {
    let of = |(index, entry): (usize, &kraken_api::config_export::ExportEntry)| {
        let Opt::ValueFrom(source) = &entry.value else { return vec![] };
        walk::of_source(&format!("entries[{index}]"), source, JsonType::Any)
    };
    export.spec.entries.iter().enumerate().flat_map(of).collect()
}

impl Validator for Exports {
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult> {
        Box::pin(self.verdict(subject))
    }
}
