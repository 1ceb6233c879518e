//! The resolver: resolves the options of a spec to values, and collects their dependencies and problems.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::bounds::quote;
use crate::dependency::{Dependencies, Dependency};
use crate::faults::{faults, strings_in};
use crate::governed::{Governed, Taken, restricted};
use crate::option::{Opt, ValueFrom};
use crate::problem::{Problem, ProblemKind};
use crate::read;
use crate::resolved::{Resolved, Sensitive};
use crate::scrub::Scrubber;
use crate::template::{Piece, Template};
use crate::types::{JsonType, OptionType};
use crate::values::{Found, Values};

/// The message for a malformed short reference.
const NOT_A_REF: &str = "is not KIND/NAME or KIND/NAME/PATH, for example VPC/main or VPC/main/vpc.CidrBlock";

/// The message for a Secret in a public field.
const NO_SECRET: &str = "a Secret cannot be the source of this field, because its value is public";

/// Resolves the values of options.
///
/// A kind takes all its options before it uses any, so that all dependencies and problems are collected at once:
///
/// ```
/// # use kraken_options::{Opt, Resolved, Resolver};
/// # struct Spec { image_id: Opt<String>, max_count: Option<Opt<i32>> }
/// # struct Desired { image: Resolved<String>, count: Option<Resolved<i32>> }
/// fn desired(spec: &Spec, resolver: &mut Resolver<'_>) -> Option<Desired> {
///     let image = resolver.take("imageID", &spec.image_id);
///     let count = resolver.take_if("maxCount", spec.max_count.as_ref());
///     Some(Desired { image: image?, count: count? })
/// }
/// ```
///
/// With empty [`Values`] it finds all dependencies; with their values it returns the desired state.
#[derive(Debug)]
pub struct Resolver<'a> {
    values: &'a Values,
    dependencies: Dependencies,
    problems: Vec<Problem>,
    /// The indexes of problems that the kind reported: they are scrubbed at the end. Messages of the resolver contain
    /// no secret.
    own: Vec<usize>,
    secrets: Vec<SecretString>,
    secret_fields: BTreeSet<String>,
    /// Whether the current option is public by definition: Secrets are rejected.
    public: bool,
    /// The settings of an account.
    pub(crate) governed: Option<&'a Governed>,
    taken: Vec<Taken>,
}

/// The result of a resolver.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// All dependencies of the options, with and without a value.
    pub dependencies: Dependencies,
    /// All problems, in the order of the fields.
    pub problems: Vec<Problem>,
    /// Every secret text that went into a value, for a [`Scrubber`].
    pub secrets: Vec<SecretString>,
    /// The path of every field that refers to a Secret, whether that has a value or not: `userData`, `rules[1].cidr`.
    pub secret_fields: BTreeSet<String>,
    /// The values of all restricted fields, if an account governs the spec.
    pub taken: Vec<Taken>,
}

impl<'a> Resolver<'a> {
    /// A resolver with the known values.
    pub fn new(values: &'a Values) -> Self {
        let (dependencies, problems, own, secrets, secret_fields) = Default::default();
        let (public, governed, taken) = (false, None, vec![]);
        Self { values, dependencies, problems, own, secrets, secret_fields, public, governed, taken }
    }

    /// A resolver with the known values and the settings of an account.
    pub fn governed(values: &'a Values, governed: &'a Governed) -> Self {
        Self { governed: Some(governed), ..Self::new(values) }
    }

    /// The value of an option, or `None` after recording why there is none. `field` is its path in the spec.
    pub fn take<T: OptionType>(&mut self, field: &str, option: &Opt<T>) -> Option<Resolved<T>> {
        match option {
            Opt::Value(value) => Some(self.take_literal(field, value)),
            Opt::ValueFrom(source) => self.take_from(field, source),
        }
    }

    /// A literal.
    pub(crate) fn take_literal<T: OptionType>(&mut self, field: &str, value: &T) -> Resolved<T> {
        let value = Resolved::Public(value.clone());
        self.record(field, &value, None);
        value
    }

    /// Records the value of a restricted field.
    fn record<T: OptionType>(&mut self, field: &str, value: &Resolved<T>, source: Option<&ValueFrom>) {
        if let Some(restricted) = self.governed.and_then(|governed| restricted(governed.fields, field)) {
            self.taken.push(Taken::of(restricted, field, value, source));
        }
    }

    /// The value of an option that may be absent: `Some(None)` if it is, `None` after recording a problem.
    #[allow(clippy::option_option)] // "absent" and "problem" differ, and `?` unwraps the outer option
    pub fn take_if<T: OptionType>(
        &mut self,
        field: &str,
        option: Option<&Opt<T>>,
    ) -> Option<Option<Resolved<T>>> {
        match option {
            Some(option) => self.take(field, option).map(Some),
            None => Some(None),
        }
    }

    /// The value that a source holds: what [`take`](Self::take) does for `valueFrom`.
    pub fn take_from<T: OptionType>(&mut self, field: &str, source: &ValueFrom) -> Option<Resolved<T>> {
        let value = self.read_from(field, source)?;
        self.record(field, &value, Some(source));
        Some(value)
    }

    fn read_from<T: OptionType>(&mut self, field: &str, source: &ValueFrom) -> Option<Resolved<T>> {
        let (dependency, part) = match source {
            ValueFrom::ConfigMap(reference) => (Dependency::ConfigMap(reference.clone()), "configMap"),
            ValueFrom::Secret(reference) => (Dependency::Secret(reference.clone()), "secret"),
            ValueFrom::KrakenResource(reference) => {
                (Dependency::Resource(reference.clone()), "krakenResource")
            }
            ValueFrom::Ref(short) => {
                let Some(reference) = short.resource() else {
                    let message = format!("{} {NOT_A_REF}", quote(&short.0));
                    self.found(format!("{field}.valueFrom.ref"), ProblemKind::Invalid, message);
                    return None;
                };
                (Dependency::Resource(reference), "ref")
            }
            ValueFrom::TemplateString(text) => return self.take_template(field, text),
        };
        let dependency = dependency.normalised();
        if self.public && matches!(dependency, Dependency::Secret(_)) {
            self.found(format!("{field}.valueFrom.{part}"), ProblemKind::Invalid, NO_SECRET.to_owned());
            return None;
        }
        let faults = faults(&dependency);
        if !faults.is_empty() {
            for (name, kind, message) in faults {
                let (place, message) = if part == "ref" {
                    (format!("{field}.valueFrom.ref"), format!("its {name}: {message}"))
                } else {
                    (format!("{field}.valueFrom.{part}.{name}"), message)
                };
                self.found(place, kind, message);
            }
            return None;
        }
        match self.want(field, &dependency, T::TYPE)? {
            Found::Json(value) => match read::json(value) {
                Ok(value) => Some(Resolved::Public(value)),
                Err(error) => {
                    let message = format!("{dependency}: {}", error.describe(true));
                    self.found(field.to_owned(), ProblemKind::Type, message);
                    None
                }
            },
            Found::Text(text) => self.read_public(field, text, &dependency.to_string()),
            Found::Secret(text, version) => {
                let (text, version) = (text.expose_secret(), version.to_owned());
                self.read_secret(field, text, &dependency.to_string(), version)
            }
        }
    }

    /// Resolves values that are public by definition: Secrets are rejected.
    pub(crate) fn in_public<R>(&mut self, take: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.public, true);
        let taken = take(self);
        self.public = before;
        taken
    }

    /// Records a violated rule of the kind. Secret values are removed from the message.
    pub fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.own.push(self.problems.len());
        self.found(field.to_owned(), ProblemKind::Invalid, message.into());
    }

    /// The collected dependencies and problems.
    pub fn finish(self) -> Resolution {
        let Self { dependencies, mut problems, own, secrets, secret_fields, taken, .. } = self;
        if !own.is_empty() {
            let scrubber = Scrubber::new(&secrets);
            for index in own {
                if let Some(problem) = problems.get_mut(index) {
                    problem.message = scrubber.scrub(&problem.message);
                }
            }
        }
        Resolution { dependencies, problems, secrets, secret_fields, taken }
    }

    fn take_template<T: OptionType>(&mut self, field: &str, text: &str) -> Option<Resolved<T>> {
        let place = format!("{field}.valueFrom.templateString");
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(error) => {
                self.found(place, ProblemKind::Template, error.to_string());
                return None;
            }
        };
        if self.public && template.has_secret() {
            self.found(place, ProblemKind::Invalid, NO_SECRET.to_owned());
            return None;
        }
        let references: BTreeSet<_> = template.references().cloned().map(Dependency::normalised).collect();
        let mut found = BTreeMap::new();
        for dependency in &references {
            let faults = faults(dependency);
            for (name, _, message) in &faults {
                let message = format!("the {name} of {} {message}", quote(&dependency.to_string()));
                self.found(place.clone(), ProblemKind::Template, message);
            }
            if faults.is_empty()
                && let Some(value) = self.want(field, dependency, JsonType::Any)
            {
                found.insert(dependency, value);
            }
        }
        if found.len() < references.len() {
            return None;
        }
        let rendered = template.render(|dependency| match found.get(dependency)? {
            Found::Text(text) => Some(Piece::Text(text)),
            Found::Secret(text, _) => Some(Piece::Text(text.expose_secret())),
            Found::Json(value) => Some(Piece::Json(value)),
        });
        let text = match rendered {
            Ok(text) => text,
            Err(error) => {
                self.found(place, ProblemKind::Template, error.to_string());
                return None;
            }
        };
        if !template.has_secret() {
            return self.read_public(field, &text, "the rendered template");
        }
        let versions: BTreeSet<_> = found
            .values()
            .filter_map(|value| match value {
                Found::Secret(_, version) => Some(*version),
                _ => None,
            })
            .collect();
        let version = versions.into_iter().collect::<Vec<_>>().join(",");
        self.read_secret(field, &text, "the rendered template", version)
    }

    /// Records a dependency, and finds its value or records that it is missing.
    fn want(&mut self, field: &str, dependency: &Dependency, wanted: JsonType) -> Option<Found<'a>> {
        self.dependencies.add(dependency.clone(), wanted);
        if matches!(dependency, Dependency::Secret(_)) {
            self.secret_fields.insert(field.to_owned());
        }
        let found = self.values.find(dependency);
        match found {
            None => self.found(field.to_owned(), ProblemKind::Missing, self.values.why_missing(dependency)),
            Some(Found::Secret(text, _)) => self.secrets.push(text.clone()),
            Some(_) => {}
        }
        found
    }

    fn read_public<T: OptionType>(&mut self, field: &str, text: &str, source: &str) -> Option<Resolved<T>> {
        match read::text(text) {
            Ok(value) => Some(Resolved::Public(value)),
            Err(error) => {
                let message = format!("{} ({source}) {}", quote(text), error.describe(true));
                self.found(field.to_owned(), ProblemKind::Parse, message);
                None
            }
        }
    }

    fn read_secret<T: OptionType>(
        &mut self,
        field: &str,
        text: &str,
        source: &str,
        version: String,
    ) -> Option<Resolved<T>> {
        // The provider may quote one element of a list: each is a separate secret.
        if T::TYPE != JsonType::String
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            strings_in(&value, &mut self.secrets);
            value.wipe();
        }
        match read::text(text) {
            Ok(value) => Some(Resolved::Secret(Sensitive::new(value, version))),
            Err(error) => {
                self.found(
                    field.to_owned(),
                    ProblemKind::Parse,
                    format!("{source} {}", error.describe(false)),
                );
                None
            }
        }
    }

    fn found(&mut self, field: String, kind: ProblemKind, message: String) {
        self.problems.push(Problem { field, kind, message });
    }
}

#[cfg(test)]
mod tests;
