//! The value of one source: a reference, a short reference or a template.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::ExposeSecret;
use serde_json::Value;

use super::Resolver;
use crate::bounds::{quote, shorten};
use crate::dependency::Dependency;
use crate::faults::{faults, strings_in};
use crate::json_type::JsonType;
use crate::option::ValueFrom;
use crate::problem::ProblemKind;
use crate::read::{self, Unreadable};
use crate::resolved::{Resolved, Sensitive};
use crate::template::{Piece, Template};
use crate::types::OptionType;
use crate::values::Found;

/// The message for a malformed short reference.
const NOT_A_REF: &str = "is not KIND/NAME or KIND/NAME/PATH, for example VPC/main or VPC/main/vpc.CidrBlock";

/// The message for a Secret in a public field.
const NO_SECRET: &str = "a Secret cannot be the source of this field, because its value is public";

impl<'a> Resolver<'a> {
    /// The value of a source, or `None` after recording why there is none.
    pub(super) fn read_from<T: OptionType>(
        &mut self,
        field: &str,
        source: &ValueFrom,
    ) -> Option<Resolved<T>> {
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
        match self.find(field, &dependency, T::TYPE)? {
            Found::Json(value) => match read::json(value) {
                Ok(value) => Some(Resolved::Public(value)),
                Err(error) => {
                    let advice = match (&dependency, &error) {
                        (Dependency::Resource(reference), Unreadable::Mismatch(wanted, _)) => {
                            reference.conversion(value, *wanted)
                        }
                        _ => None,
                    };
                    let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
                    let message = format!("{dependency}: {}{advice}", error.describe(true));
                    self.found(field.to_owned(), ProblemKind::Type, message);
                    None
                }
            },
            Found::Text(text) => self.read_public(field, text, &dependency.to_string()),
            Found::Secret { text, version, digest } => {
                let origin = (version.to_owned(), digest.map(str::to_owned));
                self.read_secret(field, text.expose_secret(), &dependency.to_string(), origin)
            }
        }
    }

    /// The value that a rule rejects, and its source: `"ami-1\\n" (ConfigMap sizes key "image")`.
    pub(super) fn described<T: OptionType>(value: &Resolved<T>, source: &ValueFrom) -> String {
        let source = match source {
            ValueFrom::ConfigMap(reference) => Dependency::ConfigMap(reference.clone()).to_string(),
            ValueFrom::Secret(reference) => Dependency::Secret(reference.clone()).to_string(),
            ValueFrom::KrakenResource(reference) => Dependency::Resource(reference.clone()).to_string(),
            ValueFrom::Ref(short) => short.0.clone(),
            ValueFrom::TemplateString(_) => "the rendered template".to_owned(),
        };
        match value.public().map(serde_json::to_value) {
            Some(Ok(Value::String(text))) => format!("{} ({source})", quote(&text)),
            Some(Ok(value)) => format!("{} ({source})", shorten(&value.to_string(), 64)),
            _ => format!("the value of {source}"),
        }
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
                && let Some(value) = self.find(field, dependency, JsonType::Any)
            {
                found.insert(dependency, value);
            }
        }
        if found.len() < references.len() {
            return None;
        }
        let rendered = template.render(|dependency| match found.get(dependency)? {
            Found::Text(text) => Some(Piece::Text(text)),
            Found::Secret { text, .. } => Some(Piece::Text(text.expose_secret())),
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
                Found::Secret { version, .. } => Some(*version),
                _ => None,
            })
            .collect();
        let version = versions.into_iter().collect::<Vec<_>>().join(",");
        // The digest of a Secret in the place of its value.
        let digest = template.digest(|dependency| match found.get(dependency)? {
            Found::Text(text) => Some(Piece::Text(text)),
            Found::Secret { digest, .. } => digest.map(Piece::Text),
            Found::Json(value) => Some(Piece::Json(value)),
        });
        self.read_secret(field, &text, "the rendered template", (version, digest))
    }

    /// Records a dependency, and finds its value or records that it is missing.
    fn find(&mut self, field: &str, dependency: &Dependency, json_type: JsonType) -> Option<Found<'a>> {
        if self.follows {
            self.dependencies.add_following(dependency.clone(), json_type);
        } else {
            self.dependencies.add(dependency.clone(), json_type);
        }
        if matches!(dependency, Dependency::Secret(_)) {
            self.secret_fields.insert(field.to_owned());
        }
        let found = self.values.find(dependency);
        match found {
            None => {
                self.found(field.to_owned(), ProblemKind::Missing, self.values.cause_of_absence(dependency));
            }
            Some(Found::Secret { text, .. }) => self.secrets.push(text.clone()),
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
        (version, digest): (String, Option<String>),
    ) -> Option<Resolved<T>> {
        // The provider may quote one element of a list: each is a separate secret.
        if T::TYPE != JsonType::String
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            strings_in(&value, &mut self.secrets);
            value.wipe();
        }
        match read::text(text) {
            Ok(value) => Some(Resolved::Secret(Sensitive::new(value, version).with_digest(digest))),
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
}
