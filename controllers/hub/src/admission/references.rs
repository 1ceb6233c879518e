//! Reviews of the references of an object, with the `answer` function of DependencyRequests.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use kraken_api::{
    DependencyRequestSpec,
    names::{owned_name, owner_kind},
    reasons::DependencyReason as Reason,
    state_declaration::STATIC_KIND,
};
use kraken_options::{Dependencies, Dependency, Problem};
use kraken_runtime::{
    watch::ObjectKey,
    webhook::{ReviewResult, Subject, Validator},
    work,
};

use crate::{
    admission::{
        schemas::Schemas,
        walk::{self, Reference},
    },
    requests::answer::{Answer, answer},
    resolve::find::{self, Transience},
    store::index::{Class, Dependent, Edges, ObjectRef},
    store::lookup::Lookups,
    watch::cluster_state::ClusterState,
};

/// Reviews the references of any kind.
pub(crate) struct References {
    cluster: Arc<ClusterState>,
    schemas: Schemas,
}

impl fmt::Debug for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("References").finish_non_exhaustive()
    }
}

impl References {
    /// Reviews against this cluster state.
    pub(crate) fn new(cluster: Arc<ClusterState>) -> Self {
        let schemas = Schemas::new(cluster.manager.client.clone());
        Self { cluster, schemas }
    }

    async fn verdict(&self, subject: Subject) -> ReviewResult {
        if !self.cluster.is_synced() {
            return ReviewResult::default();
        }
        let Subject { group, kind, plural, namespace, name, object, .. } = subject;
        let schema = self.schemas.of(&plural, &group).await;
        let schema = schema.as_deref();
        let follows = schema.map(|schema| schema.follows.as_slice()).unwrap_or_default();
        let found = walk::references(&object["spec"], schema.map(|schema| &schema.spec), follows);
        if found.is_empty() {
            return ReviewResult::default();
        }
        let owned = owned_name(&owner_kind(&kind, &group), &name);
        let provides = (!name.is_empty()).then(|| ObjectRef::new(Class::State, &namespace, &owned));
        let dependent = Dependent::Request(ObjectKey::new(&namespace, &owned));
        evaluate(&self.cluster, &namespace, &dependent, provides, found).await
    }
}

impl Validator for References {
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult> {
        Box::pin(self.verdict(subject))
    }
}

/// The object that a dependency refers to.
fn named(namespace: &str, dependency: &Dependency) -> ObjectRef {
    match dependency {
        Dependency::ConfigMap(key) => ObjectRef::new(Class::ConfigMap, namespace, &key.name),
        Dependency::Secret(key) => ObjectRef::new(Class::Secret, namespace, &key.name),
        Dependency::Resource(wanted) => ObjectRef::referenced(namespace, wanted),
    }
}

/// Reviews these references.
pub(super) async fn evaluate(
    cluster: &ClusterState,
    namespace: &str,
    dependent: &Dependent,
    provides: Option<ObjectRef>,
    found: Vec<Reference>,
) -> ReviewResult {
    // A review does not need the body of a Secret.
    let (secrets, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|reference| matches!(reference.dependency, Dependency::Secret(_)));
    let edge = |reference: &Reference| (named(namespace, &reference.dependency), reference.follows);
    let edges = Edges::of(others.iter().map(edge), provides.clone());
    let mut lookups = cluster.lookups(dependent, &edges).await;
    let all = Edges::of(secrets.iter().chain(&others).map(edge), provides);
    lookups.cycles = cluster.cycles_closed_by(&all);

    let mut verdict = ReviewResult::default();
    for reference in &secrets {
        let secret = named(namespace, &reference.dependency);
        if let Some(cycle) = lookups.cycles.get(&secret) {
            add_cycle(&mut verdict, &reference.field, cycle, is_itself(&secret, all.provides.as_ref()));
        }
    }
    let paths = others.iter().filter_map(|reference| match &reference.dependency {
        Dependency::Resource(wanted) => Some(wanted.path.as_str()),
        _ => None,
    });
    let of_others = if find::are_costly(paths) {
        let namespace = namespace.to_owned();
        work::compute(move || answered(&namespace, &others, all.provides.as_ref(), &lookups)).await
    } else {
        answered(namespace, &others, all.provides.as_ref(), &lookups)
    };
    verdict.problems.extend(of_others.problems);
    verdict.warnings.extend(of_others.warnings);
    verdict
}

/// A reference to the object itself is never right. Other cycles are with stored objects, which may be changed next.
fn add_cycle(verdict: &mut ReviewResult, field: &str, cycle: &str, is_itself: bool) {
    if is_itself {
        verdict.problems.push(Problem::invalid(field, cycle));
    } else {
        verdict.warnings.push(warning(
            field,
            &format!("{cycle}: none of them gets a value until one reference is removed"),
        ));
    }
}

fn is_itself(named: &ObjectRef, provides: Option<&ObjectRef>) -> bool {
    provides.is_some_and(|provided| named.refers_to(provided))
}

/// A wrong type is solved by an edit of this object, so it is rejected, except if it is that of a static state, which a user writes.
/// Any other problem that requires an edit is a warning, and so is a reference that another namespace does not permit, whether or not
/// the object exists. What does not exist or has no value yet is neither: resources that are
/// applied together have no order.
fn answered(
    namespace: &str,
    references: &[Reference],
    provides: Option<&ObjectRef>,
    lookups: &Lookups,
) -> ReviewResult {
    let mut verdict = ReviewResult::default();
    for Reference { field, dependency, json_type, .. } in references {
        let mut one = Dependencies::default();
        one.add(dependency.clone(), *json_type);
        let Answer { unmet, transience, .. } = answer(namespace, &DependencyRequestSpec::from(&one), lookups);
        let is_refused = unmet.iter().any(|unmet| unmet.reason == Reason::RefNotPermitted.as_str());
        if transience < Some(Transience::Permanent) && !is_refused {
            continue;
        }
        for unmet in unmet {
            let is = |reason: Reason| unmet.reason == reason.as_str();
            if is(Reason::ReferenceCycle) {
                let is_itself = is_itself(&named(namespace, dependency), provides);
                add_cycle(&mut verdict, field, &unmet.message, is_itself);
            } else if is(Reason::TypeMismatch) && !is_static(dependency) {
                verdict.problems.push(Problem::invalid(field, unmet.message));
            } else if !is(Reason::ReadFailed) {
                verdict.warnings.push(warning(field, &unmet.message));
            }
        }
    }
    verdict
}

fn is_static(dependency: &Dependency) -> bool {
    matches!(dependency, Dependency::Resource(wanted) if wanted.kind == STATIC_KIND)
}

fn warning(field: &str, message: &str) -> String {
    Problem::invalid(field, message).to_string()
}

#[cfg(test)]
mod tests {
    use kraken_options::{JsonType, ResourceRef};
    use kraken_runtime::hash::HashMap;
    use serde_json::json;

    use super::*;
    use crate::store::lookup::{Lookup, StateData};

    fn reference(name: &str, json_type: JsonType) -> Reference {
        let wanted = ResourceRef::of("vpc", name, "vpc.CidrBlock");
        let (field, dependency) = (format!("{name}Field"), Dependency::Resource(wanted));
        Reference { field, dependency, json_type, follows: false }
    }

    fn lookups() -> Lookups {
        let data = json!({"vpc": {"CidrBlock": "10.0.0.0/16"}});
        let state = Lookup::State(Arc::new(StateData { data, ..StateData::default() }));
        let lookup = HashMap::from_iter([(ObjectRef::state("ns", "vpc", "main"), state)]);
        let cycle = "reference cycle: subnet a -> vpc loop -> subnet a".to_owned();
        let own = "reference cycle: vpc own -> vpc own".to_owned();
        let cycles = HashMap::from_iter([
            (ObjectRef::state("ns", "vpc", "loop"), cycle),
            (ObjectRef::state("ns", "vpc", "own"), own),
        ]);
        Lookups { lookup, cycles, ..Lookups::default() }
    }

    #[test]
    fn wrong_type_and_own_value_are_rejected_and_other_cycle_and_missing_path_are_warnings() {
        let mut typo = reference("main", JsonType::String);
        typo.field = "typoField".to_owned();
        if let Dependency::Resource(wanted) = &mut typo.dependency {
            wanted.path = "vpc.CidrBlok".to_owned();
        }
        let references = [
            reference("main", JsonType::String),
            reference("main", JsonType::Integer),
            reference("loop", JsonType::String),
            reference("own", JsonType::String),
            typo,
        ];
        let own = ObjectRef::state("ns", "vpc", "own");
        let ReviewResult { problems, warnings } = answered("ns", &references, Some(&own), &lookups());
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "spec.mainField: vpc main: path vpc.CidrBlock is of type string, and integer is expected",
                "spec.ownField: reference cycle: vpc own -> vpc own",
            ]
        );
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].starts_with("spec.loopField: reference cycle: subnet a -> vpc loop"),
            "{warnings:?}"
        );
        assert!(warnings[1].starts_with("spec.typoField: vpc main: "), "{warnings:?}");
    }

    #[test]
    fn reference_that_another_namespace_does_not_permit_is_a_warning() {
        let mut lookups = lookups();
        let mut other = reference("main", JsonType::Integer);
        if let Dependency::Resource(wanted) = &mut other.dependency {
            wanted.namespace = Some("platform".to_owned());
        }
        let refused = Lookup::NotPermitted("namespace platform has no ReferenceGrant".into());
        lookups.lookup.insert(ObjectRef::state("platform", "vpc", "main"), refused);
        let ReviewResult { problems, warnings } = answered("ns", &[other], None, &lookups);
        assert!(problems.is_empty());
        assert_eq!(warnings, ["spec.mainField: namespace platform has no ReferenceGrant"]);
    }

    #[test]
    fn what_has_no_value_yet_is_not_a_warning() {
        let mut lookups = lookups();
        lookups.lookup.insert(ObjectRef::state("ns", "vpc", "waits"), Lookup::Expected);
        let references = [reference("later", JsonType::String), reference("waits", JsonType::String)];
        let ReviewResult { problems, warnings } = answered("ns", &references, None, &lookups);
        assert!(problems.is_empty() && warnings.is_empty(), "{warnings:?}");
    }
}
