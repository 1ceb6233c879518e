//! The resolver: resolves the options of a spec to values, and collects their dependencies and problems.

mod source;

use std::collections::BTreeSet;

use secrecy::SecretString;

use crate::dependency::Dependencies;
use crate::governed::{Governed, RestrictedValue, restricted};
use crate::option::{Opt, ValueFrom};
use crate::problem::{Problem, ProblemKind};
use crate::resolved::Resolved;
use crate::scrub::Scrubber;
use crate::types::OptionType;
use crate::values::Values;

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
    /// Whether the current option follows the creation of the resource.
    pub(super) follows: bool,
    following: Vec<Problem>,
    /// The settings of an account.
    pub(crate) governed: Option<&'a Governed>,
    taken: Vec<RestrictedValue>,
    /// The values of references that may violate a rule of the kind: the field, and the text for its messages.
    sources: Vec<(String, String)>,
}

/// A field that follows the creation of the resource, while it is resolved.
#[must_use = "the field ends with `followed`"]
#[derive(Debug)]
pub struct Following(usize);

/// The result of a resolver.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// All dependencies of the options, with and without a value.
    pub dependencies: Dependencies,
    /// All problems, in the order of the fields.
    pub problems: Vec<Problem>,
    /// The missing values of fields that [follow](Resolver::follow) the creation, which are left out.
    pub following: Vec<Problem>,
    /// Every secret text that went into a value, for a [`Scrubber`].
    pub secrets: Vec<SecretString>,
    /// The path of every field that refers to a Secret, whether that has a value or not: `userData`, `rules[1].cidr`.
    pub secret_fields: BTreeSet<String>,
    /// The values of all restricted fields, if an account governs the spec.
    pub taken: Vec<RestrictedValue>,
}

impl<'a> Resolver<'a> {
    /// A resolver with the known values.
    pub fn new(values: &'a Values) -> Self {
        let (dependencies, problems, own, secrets, secret_fields) = Default::default();
        let sources = vec![];
        let (public, follows, following, governed, taken) = (false, false, vec![], None, vec![]);
        Self {
            values,
            dependencies,
            problems,
            own,
            secrets,
            secret_fields,
            public,
            follows,
            following,
            governed,
            taken,
            sources,
        }
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
            self.taken.push(RestrictedValue::of(restricted, field, value, source));
        }
    }

    /// Records that an option is absent and that the provider chooses its value, to which the rules of an account apply too.
    pub fn unset(&mut self, field: &str) {
        if let Some(restricted) = self.governed.and_then(|governed| restricted(governed.fields, field)) {
            self.taken.push(RestrictedValue::unset(restricted, field));
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
        self.sources.push((field.to_owned(), Self::described(&value, source)));
        Some(value)
    }

    /// Resolves values that are public by definition: Secrets are rejected.
    pub(crate) fn in_public<R>(&mut self, take: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.public, true);
        let taken = take(self);
        self.public = before;
        taken
    }

    /// Begins a field that is set after the creation of the resource, such as the rules of a security group: its references do not
    /// order the creation. Ends with [`followed`](Self::followed).
    pub fn follow(&mut self) -> Following {
        self.follows = true;
        Following(self.problems.len())
    }

    /// Ends a field that follows. If nothing but values of references is missing, the field is left out: `Some(None)`.
    #[allow(clippy::option_option)] // "absent" and "problem" differ, and `?` unwraps the outer option
    pub fn followed<T>(&mut self, Following(from): Following, taken: Option<Option<T>>) -> Option<Option<T>> {
        self.follows = false;
        let is_waiting = |problem: &Problem| problem.kind == ProblemKind::Missing;
        let found = self.problems.get(from..).unwrap_or_default();
        if taken.is_some() || found.is_empty() || !found.iter().all(is_waiting) {
            return taken;
        }
        self.following.extend(self.problems.drain(from..));
        Some(None)
    }

    /// Records a violated rule of the kind, after the value and its source if the value of the field came from a reference.
    /// Secret values are removed from the message.
    pub fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.own.push(self.problems.len());
        let message = message.into();
        let source = self.sources.iter().find(|(of, _)| of == field);
        let message = source.map_or(message.clone(), |(_, value)| format!("{value} {message}"));
        self.found(field.to_owned(), ProblemKind::Invalid, message);
    }

    /// The collected dependencies and problems.
    pub fn finish(self) -> Resolution {
        let Self { dependencies, mut problems, own, following, secrets, secret_fields, taken, .. } = self;
        if !own.is_empty() {
            let scrubber = Scrubber::new(&secrets);
            for index in own {
                if let Some(problem) = problems.get_mut(index) {
                    problem.message = scrubber.scrub(&problem.message);
                }
            }
        }
        Resolution { dependencies, problems, following, secrets, secret_fields, taken }
    }

    fn found(&mut self, field: String, kind: ProblemKind, message: String) {
        self.problems.push(Problem { field, kind, message });
    }
}

#[cfg(test)]
mod tests;
