//! What is said of the references of an object: the same `answer` as to a DependencyRequest, before anything is stored.

use std::{collections::BTreeSet, fmt, sync::Arc};

use futures::future::BoxFuture;
use kraken_api::{
    DependencyRequestSpec,
    names::{owned_name, owner_kind},
    reasons::DependencyReason as Reason,
};
use kraken_options::{Dependencies, Dependency, Problem};
use kraken_runtime::{
    watch::ObjectKey,
    webhook::{Subject, Validator, Verdict},
    work,
};

use crate::{
    admission::{
        is_synced, problem,
        schemas::Schemas,
        walk::{self, Reference},
    },
    facts::Known,
    find,
    index::{Asker, Asks, Class, Named},
    requests::answer::answer,
    world::World,
};

/// Reviews the references of any kind.
pub struct References {
    world: Arc<World>,
    schemas: Schemas,
}

impl fmt::Debug for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("References").finish_non_exhaustive()
    }
}

impl References {
    /// Over this graph.
    pub fn new(world: Arc<World>) -> Self {
        let schemas = Schemas::new(world.shell.client.clone());
        Self { world, schemas }
    }

    async fn verdict(&self, subject: Subject) -> Verdict {
        if !is_synced(&self.world) {
            return Verdict::default();
        }
        let Subject { group, kind, plural, namespace, name, object, .. } = subject;
        let schema = self.schemas.of(&plural, &group).await;
        let found = walk::references(&object["spec"], schema.as_deref());
        if found.is_empty() {
            return Verdict::default();
        }
        let owned = owned_name(&owner_kind(&kind, &group), &name);
        let provides = (!name.is_empty()).then(|| Named::new(Class::State, &namespace, &owned));
        let asker = Asker::Request(ObjectKey::new(&namespace, &owned));
        judge(&self.world, &namespace, &asker, provides, found).await
    }
}

impl Validator for References {
    fn review(&self, subject: Subject) -> BoxFuture<'_, Verdict> {
        Box::pin(self.verdict(subject))
    }
}

/// What an asker names by a dependency.
fn named(namespace: &str, dependency: &Dependency) -> Named {
    match dependency {
        Dependency::ConfigMap(key) => Named::new(Class::ConfigMap, namespace, &key.name),
        Dependency::Secret(key) => Named::new(Class::Secret, namespace, &key.name),
        Dependency::Resource(wanted) => Named::state(namespace, &wanted.kind, &wanted.name),
    }
}

/// What is said of these references.
pub(super) async fn judge(
    world: &World,
    namespace: &str,
    asker: &Asker,
    provides: Option<Named>,
    found: Vec<Reference>,
) -> Verdict {
    // The body of a Secret is nothing that a review needs.
    let (secrets, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|reference| matches!(reference.dependency, Dependency::Secret(_)));
    let needs = |references: &[Reference]| -> BTreeSet<_> {
        references.iter().map(|reference| named(namespace, &reference.dependency)).collect()
    };
    let asks = Asks { needs: needs(&others), provides: provides.clone() };
    let mut known = world.known(asker, &asks).await;
    let all = Asks { needs: needs(&secrets).union(&asks.needs).cloned().collect(), provides };
    known.circles = world.would_close(&all);

    let mut verdict = Verdict::default();
    for reference in &secrets {
        let secret = named(namespace, &reference.dependency);
        if let Some(circle) = known.circles.get(&secret) {
            verdict.problems.push(problem(&reference.field, circle.as_str()));
        } else if world.version(&secret).is_none() {
            verdict.warnings.push(said(&reference.field, &format!("{secret} does not exist (yet)")));
        }
    }
    let paths = others.iter().filter_map(|reference| match &reference.dependency {
        Dependency::Resource(wanted) => Some(wanted.path.as_str()),
        _ => None,
    });
    let of_others = if find::are_costly(paths) {
        let namespace = namespace.to_owned();
        work::compute(move || answered(&namespace, &others, &known)).await
    } else {
        answered(namespace, &others, &known)
    };
    verdict.problems.extend(of_others.problems);
    verdict.warnings.extend(of_others.warnings);
    verdict
}

/// A cycle and a wrong type need an edit of this very object, or of one that exists: they are refused. Everything else may come.
fn answered(namespace: &str, references: &[Reference], known: &Known) -> Verdict {
    let mut verdict = Verdict::default();
    for Reference { field, dependency, json_type } in references {
        let mut one = Dependencies::default();
        one.add(dependency.clone(), *json_type);
        for unmet in answer(namespace, &DependencyRequestSpec::from(&one), known).unmet {
            let is_refused = [Reason::ReferenceCycle, Reason::TypeMismatch]
                .iter()
                .any(|reason| unmet.reason == reason.as_str());
            if is_refused {
                verdict.problems.push(problem(field, unmet.message));
            } else if unmet.reason != Reason::ReadFailed.as_str() {
                verdict.warnings.push(said(field, &unmet.message));
            }
        }
    }
    verdict
}

fn said(field: &str, message: &str) -> String {
    let problem: Problem = problem(field, message);
    problem.to_string()
}

#[cfg(test)]
mod tests {
    use kraken_options::{JsonType, ResourceRef};
    use kraken_runtime::hash::HashMap;
    use serde_json::json;

    use super::*;
    use crate::facts::{Fact, StateData};

    fn reference(name: &str, json_type: JsonType) -> Reference {
        let wanted = ResourceRef { kind: "vpc".into(), name: name.into(), path: "vpc.CidrBlock".into() };
        Reference { field: format!("{name}Field"), dependency: Dependency::Resource(wanted), json_type }
    }

    fn known() -> Known {
        let data = json!({"vpc": {"CidrBlock": "10.0.0.0/16"}});
        let state = Fact::State(Arc::new(StateData { data, ..StateData::default() }));
        let facts = HashMap::from_iter([(Named::state("ns", "vpc", "main"), state)]);
        let circle = "reference cycle: subnet a -> vpc loop -> subnet a".to_owned();
        let circles = HashMap::from_iter([(Named::state("ns", "vpc", "loop"), circle)]);
        Known { facts, circles }
    }

    #[test]
    fn wrong_type_and_cycle_are_refused_and_what_does_not_exist_yet_is_a_warning() {
        let references = [
            reference("main", JsonType::String),
            reference("main", JsonType::Integer),
            reference("loop", JsonType::String),
            reference("later", JsonType::String),
        ];
        let Verdict { problems, warnings } = answered("ns", &references, &known());
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "spec.mainField: vpc main: path vpc.CidrBlock is of type string, and integer is wanted",
                "spec.loopField: reference cycle: subnet a -> vpc loop -> subnet a",
            ]
        );
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("spec.laterField: "), "{warnings:?}");
    }
}
