//! The resolver: turns the options of a spec into values, and collects what they depend on and what is wrong with them.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::bounds::quote;
use crate::dependency::{Dependencies, Dependency};
use crate::names::{key_fault, kind_fault, name_fault};
use crate::option::{KeyRef, Opt, ResourceRef, ValueFrom};
use crate::path::Path;
use crate::problem::{Problem, ProblemKind};
use crate::read;
use crate::resolved::{Resolved, Sensitive};
use crate::scrub::Scrubber;
use crate::template::{Piece, Template};
use crate::types::{JsonType, OptionType};
use crate::values::{Found, Values};

/// Takes the values of options, one after the other.
///
/// A kind takes all its options before it looks at any, so that everything is learnt at once:
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
/// Called with empty [`Values`], this finds all dependencies; called with their values, it yields the desired state.
#[derive(Debug)]
pub struct Resolver<'a> {
    values: &'a Values,
    dependencies: Dependencies,
    problems: Vec<Problem>,
    /// Which problems a kind worded itself: they are scrubbed at the end. Those worded here hold no secret.
    own: Vec<usize>,
    secrets: Vec<SecretString>,
}

/// What a resolver learnt.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// Everything that the options depend on, whether it has a value or not.
    pub dependencies: Dependencies,
    /// Everything that is wrong, in the order of the fields.
    pub problems: Vec<Problem>,
    /// Every secret text that went into a value, for a [`Scrubber`].
    pub secrets: Vec<SecretString>,
}

impl<'a> Resolver<'a> {
    /// A resolver over the values that are known.
    pub fn new(values: &'a Values) -> Self {
        let (dependencies, problems, own, secrets) = Default::default();
        Self { values, dependencies, problems, own, secrets }
    }

    /// The value of an option, or `None` after recording why there is none. `field` is its path in the spec.
    pub fn take<T: OptionType>(&mut self, field: &str, option: &Opt<T>) -> Option<Resolved<T>> {
        match option {
            Opt::Value(value) => Some(Resolved::Public(value.clone())),
            Opt::ValueFrom(source) => self.take_from(field, source),
        }
    }

    /// The value of an option that may be absent: `Some(None)` if it is, `None` after recording a problem.
    #[allow(clippy::option_option)] // "absent" and "problem" differ, and `?` takes off the outer one
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
        let (dependency, part) = match source {
            ValueFrom::ConfigMap(reference) => (Dependency::ConfigMap(reference.clone()), "configMap"),
            ValueFrom::Secret(reference) => (Dependency::Secret(reference.clone()), "secret"),
            ValueFrom::KrakenResource(reference) => {
                (Dependency::Resource(reference.clone()), "krakenResource")
            }
            ValueFrom::TemplateString(text) => return self.take_template(field, text),
        };
        let dependency = dependency.normalised();
        let faults = faults(&dependency);
        if !faults.is_empty() {
            for (name, kind, message) in faults {
                self.found(format!("{field}.valueFrom.{part}.{name}"), kind, message);
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

    /// Records that a rule of the kind is broken. What a Secret holds is removed from the message.
    pub fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.own.push(self.problems.len());
        self.found(field.to_owned(), ProblemKind::Invalid, message.into());
    }

    /// What was learnt.
    pub fn finish(self) -> Resolution {
        let Self { dependencies, mut problems, own, secrets, .. } = self;
        if !own.is_empty() {
            let scrubber = Scrubber::new(&secrets);
            for index in own {
                if let Some(problem) = problems.get_mut(index) {
                    problem.message = scrubber.scrub(&problem.message);
                }
            }
        }
        Resolution { dependencies, problems, secrets }
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
        // The cloud may quote one element of a list: each is a secret of its own.
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

/// What is wrong with the names of a reference: which one, of which kind the problem is, and the message.
fn faults(dependency: &Dependency) -> Vec<(&'static str, ProblemKind, String)> {
    let invalid = |name, fault: Option<String>| fault.map(|message| (name, ProblemKind::Invalid, message));
    match dependency {
        Dependency::ConfigMap(KeyRef { name, key }) | Dependency::Secret(KeyRef { name, key }) => {
            [invalid("name", name_fault(name)), invalid("key", key_fault(key))]
                .into_iter()
                .flatten()
                .collect()
        }
        Dependency::Resource(reference @ ResourceRef { kind, name, path }) => {
            let path = if reference.is_id() { None } else { Path::parse(path).err() };
            let path = path.map(|error| ("path", ProblemKind::Path, error.to_string()));
            [invalid("kind", kind_fault(kind)), invalid("name", name_fault(name)), path]
                .into_iter()
                .flatten()
                .collect()
        }
    }
}

fn strings_in(value: &Value, secrets: &mut Vec<SecretString>) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => secrets.push(text.as_str().into()),
            Value::Array(items) => left.extend(items),
            Value::Object(members) => left.extend(members.values()),
            Value::Number(number) => secrets.push(number.to_string().into()),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Text;
    use crate::values::SecretData;
    use serde_json::json;

    /// What the tests below refer to; each spoils a little of it.
    fn values() -> Values {
        let sizes =
            [("small", "t2.nano"), ("count", "3\n"), ("list", "[\"a\", \"b\"]"), ("big", "99999999999")];
        let db = [("password", "hunter2"), ("port", "5432"), ("list", "[\"first-one\", \"second-one\"]")];
        let fields =
            [("", json!("lb-1")), ("dns", json!("web.example")), ("count", json!(3)), ("none", json!(null))];
        let texts = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
        let secret = |(key, text): (&str, &str)| (key.to_owned(), SecretString::from(text));
        let db = SecretData { version: "uid/7".into(), keys: db.map(secret).into() };
        let paths: BTreeMap<_, _> = fields.map(|(path, value)| (path.to_owned(), value)).into();
        Values {
            config_maps: [("sizes".to_owned(), sizes.map(texts).into())].into(),
            secrets: [("db".to_owned(), db)].into(),
            resources: [("loadbalancer".to_owned(), [("web".to_owned(), paths)].into())].into(),
            causes: BTreeMap::new(),
        }
    }

    fn key(name: &str, key: &str) -> KeyRef {
        KeyRef { name: name.into(), key: key.into() }
    }

    fn config_map<T>(name: &str, of: &str) -> Opt<T> {
        Opt::ValueFrom(ValueFrom::ConfigMap(key(name, of)))
    }

    fn secret<T>(name: &str, of: &str) -> Opt<T> {
        Opt::ValueFrom(ValueFrom::Secret(key(name, of)))
    }

    fn resource<T>(kind: &str, name: &str, path: &str) -> Opt<T> {
        let (kind, name, path) = (kind.into(), name.into(), path.into());
        Opt::ValueFrom(ValueFrom::KrakenResource(ResourceRef { kind, name, path }))
    }

    fn template<T>(text: &str) -> Opt<T> {
        Opt::ValueFrom(ValueFrom::TemplateString(text.into()))
    }

    fn take<T: OptionType>(option: &Opt<T>) -> (Option<Resolved<T>>, Resolution) {
        let values = values();
        let mut resolver = Resolver::new(&values);
        let taken = resolver.take("field", option);
        (taken, resolver.finish())
    }

    fn resolves<T: OptionType>(option: &Opt<T>, expected: T) {
        let (taken, resolution) = take(option);
        assert_eq!(resolution.problems, []);
        assert_eq!(taken, Some(Resolved::Public(expected)));
    }

    fn resolves_in_secret<T: OptionType>(option: &Opt<T>, expected: T) {
        let (taken, resolution) = take(option);
        assert_eq!(resolution.problems, []);
        assert_eq!(taken, Some(Resolved::Secret(Sensitive::new(expected, "uid/7".into()))));
        assert!(!resolution.secrets.is_empty());
    }

    fn fails<T: OptionType>(option: &Opt<T>, kind: ProblemKind, shown: &str) {
        let (taken, resolution) = take(option);
        assert_eq!(taken, None);
        let problems: Vec<_> = resolution.problems.iter().map(|p| (p.kind, p.to_string())).collect();
        assert_eq!(problems, [(kind, shown.to_owned())]);
    }

    #[test]
    fn a_literal_resolves_to_itself() {
        resolves(&Opt::Value(3_i64), 3);
        assert!(take(&Opt::Value(3_i64)).1.dependencies.is_empty());
    }

    #[test]
    fn a_config_map_resolves_to_its_text_read_as_the_type() {
        resolves(&config_map("sizes", "small"), "t2.nano".to_owned());
        resolves(&config_map("sizes", "count"), 3_i32);
        resolves(&config_map("sizes", "count"), "3\n".to_owned());
        resolves(&config_map("sizes", "list"), vec!["a".to_owned(), "b".to_owned()]);
        resolves(&config_map("sizes", "list"), json!(["a", "b"]));
        resolves(&config_map("sizes", "list"), Text("[\"a\", \"b\"]".into()));
    }

    #[test]
    fn a_secret_resolves_to_a_secret() {
        resolves_in_secret(&secret("db", "password"), "hunter2".to_owned());
        resolves_in_secret(&secret("db", "port"), 5432_u16);
    }

    #[test]
    fn a_resource_resolves_however_its_kind_is_spelled() {
        for kind in ["LoadBalancer", "loadbalancer", "load-balancer"] {
            resolves(&resource(kind, "web", "dns"), "web.example".to_owned());
            resolves(&resource(kind, "web", "count"), 3_i64);
        }
    }

    #[test]
    fn a_resource_without_a_path_resolves_to_its_main_id() {
        resolves(&resource("LoadBalancer", "web", ""), "lb-1".to_owned());
        resolves(&template("id={{ .LoadBalancer.web }}"), "id=lb-1".to_owned());
        fails::<i64>(
            &resource("LoadBalancer", "web", ""),
            ProblemKind::Type,
            "spec.field: the id of loadbalancer web: expected integer, found string",
        );
        fails::<String>(
            &resource("vpc", "main", ""),
            ProblemKind::Missing,
            "spec.field: waiting for the id of vpc main",
        );
        fails::<String>(
            &template("{{ .VPC.main }}"),
            ProblemKind::Missing,
            "spec.field: waiting for the id of vpc main",
        );
    }

    #[test]
    fn a_template_resolves_to_its_text_read_as_the_type() {
        resolves(&template("http://{{ .LoadBalancer.web.dns }}/"), "http://web.example/".to_owned());
        resolves(&template("1{{ .LoadBalancer.web.count }}"), 13_i64);
        resolves(&template("{{ .ConfigMap.sizes.list }}"), vec!["a".to_owned(), "b".to_owned()]);
    }

    #[test]
    fn one_secret_in_a_template_makes_all_of_it_secret() {
        let text = "{{ .ConfigMap.sizes.small }}:{{ .Secret.db.password }}@{{ .Secret.db.port }}";
        resolves_in_secret(&template(text), "t2.nano:hunter2@5432".to_owned());
    }

    #[test]
    fn versions_of_several_secrets_are_joined() {
        let mut values = values();
        let other = SecretData { version: "other/9".into(), ..values.secrets["db"].clone() };
        values.secrets.insert("other".into(), other);
        let mut resolver = Resolver::new(&values);
        let text = "{{ .Secret.other.port }}{{ .Secret.db.port }}{{ .Secret.db.password }}";
        let taken: Option<Resolved<String>> = resolver.take("field", &template(text));
        assert_eq!(taken.unwrap().secret_version(), Some("other/9,uid/7"));
    }

    #[test]
    fn elements_of_a_secret_list_are_secrets_of_their_own() {
        let (taken, resolution) = take::<Vec<String>>(&secret("db", "list"));
        assert_eq!(taken.unwrap().expose().len(), 2);
        let scrubbed = Scrubber::new(&resolution.secrets).scrub("no such group second-one");
        assert_eq!(scrubbed, "no such group ***");
    }

    #[test]
    fn what_is_missing_says_what_it_waits_for() {
        fails::<String>(
            &config_map("sizes", "huge"),
            ProblemKind::Missing,
            "spec.field: ConfigMap sizes has no key \"huge\"",
        );
        fails::<String>(
            &config_map("app", "port"),
            ProblemKind::Missing,
            "spec.field: waiting for ConfigMap app key \"port\"",
        );
        fails::<String>(
            &secret("db", "user"),
            ProblemKind::Missing,
            "spec.field: Secret db has no key \"user\"",
        );
        fails::<String>(
            &resource("EC2Instance", "a", "instances.0.InstanceType"),
            ProblemKind::Missing,
            "spec.field: waiting for ec2instance a path instances.0.InstanceType",
        );
        fails::<Value>(
            &resource("loadbalancer", "web", "none"),
            ProblemKind::Missing,
            "spec.field: waiting for loadbalancer web path none",
        );
        fails::<String>(
            &template("{{ .Secret.x.y }}{{ .Secret.x.y }}"),
            ProblemKind::Missing,
            "spec.field: waiting for Secret x key \"y\"",
        );
    }

    #[test]
    fn the_cause_of_a_missing_value_is_told_for_every_spelling_of_its_kind() {
        let mut values = values();
        let asked = ResourceRef { kind: "subnet".into(), name: "a".into(), path: "id".into() };
        values.causes.insert(Dependency::Resource(asked), "subnet a does not exist".into());
        let mut resolver = Resolver::new(&values);
        assert_eq!(resolver.take::<String>("field", &resource("Sub-Net", "a", "id")), None);
        assert_eq!(resolver.finish().problems[0].message, "subnet a does not exist");
    }

    #[test]
    fn a_resource_value_of_another_type_is_a_type_problem() {
        fails::<i64>(
            &resource("loadbalancer", "web", "dns"),
            ProblemKind::Type,
            "spec.field: loadbalancer web path dns: expected integer, found string",
        );
        fails::<String>(
            &resource("loadbalancer", "web", "count"),
            ProblemKind::Type,
            "spec.field: loadbalancer web path count: expected string, found integer",
        );
    }

    #[test]
    fn text_that_cannot_be_read_is_a_parse_problem() {
        fails::<i64>(
            &config_map("sizes", "small"),
            ProblemKind::Parse,
            "spec.field: \"t2.nano\" (ConfigMap sizes key \"small\") is not an integer",
        );
        fails::<i32>(
            &config_map("sizes", "big"),
            ProblemKind::Parse,
            "spec.field: \"99999999999\" (ConfigMap sizes key \"big\") is out of range: -2147483648 to 2147483647",
        );
        fails::<bool>(
            &template("{{ .LoadBalancer.web.dns }}"),
            ProblemKind::Parse,
            "spec.field: \"web.example\" (the rendered template) is not a boolean (true or false)",
        );
    }

    #[test]
    fn a_parse_problem_never_shows_a_secret() {
        fails::<i64>(
            &secret("db", "password"),
            ProblemKind::Parse,
            "spec.field: Secret db key \"password\" is not an integer",
        );
        fails::<Vec<i64>>(
            &secret("db", "list"),
            ProblemKind::Parse,
            "spec.field: Secret db key \"list\" is a JSON list, but its content does not fit",
        );
        fails::<i64>(
            &template("{{ .Secret.db.password }}"),
            ProblemKind::Parse,
            "spec.field: the rendered template is not an integer",
        );
    }

    #[test]
    fn malformed_names_are_told_with_their_own_field() {
        fails::<String>(
            &config_map("", "small"),
            ProblemKind::Invalid,
            "spec.field.valueFrom.configMap.name: is empty",
        );
        fails::<String>(
            &secret("db", &"k".repeat(254)),
            ProblemKind::Invalid,
            "spec.field.valueFrom.secret.key: is longer than 253 characters",
        );
        fails::<String>(
            &resource("", "web", "dns"),
            ProblemKind::Invalid,
            "spec.field.valueFrom.krakenResource.kind: is empty",
        );
        fails::<String>(
            &resource("loadbalancer", "web", "a..b"),
            ProblemKind::Path,
            "spec.field.valueFrom.krakenResource.path: expected a name at byte 2",
        );
        fails::<String>(
            &template("{{ port }}"),
            ProblemKind::Template,
            "spec.field.valueFrom.templateString: expected a reference such as .ConfigMap.name.key at byte 3",
        );
    }

    #[test]
    fn a_reference_with_a_malformed_name_is_not_asked_for() {
        let outside = "../../kube-system/secrets/x";
        assert!(take::<String>(&secret(outside, "a")).1.dependencies.is_empty());
        let (taken, resolution) = take::<String>(&template(&format!("{{{{ .Secret[\"{outside}\"].a }}}}")));
        assert_eq!(taken, None);
        assert!(resolution.dependencies.is_empty());
        assert_eq!(resolution.problems[0].kind, ProblemKind::Template);
    }

    #[test]
    fn all_problems_and_all_dependencies_are_told_at_once() {
        let empty = Values::default();
        let mut resolver = Resolver::new(&empty);
        assert_eq!(resolver.take::<String>("a", &config_map("x", "y")), None);
        assert_eq!(resolver.take::<i64>("b", &secret("x", "y")), None);
        assert_eq!(resolver.take::<String>("c", &template("{{ .Subnet.a.id }}{{ .ConfigMap.x.z }}")), None);
        assert_eq!(resolver.take::<i64>("d", &resource("Subnet", "a", "size")), None);
        let Resolution { dependencies, problems, .. } = resolver.finish();
        assert_eq!(dependencies.config_maps, BTreeSet::from([key("x", "y"), key("x", "z")]));
        assert_eq!(dependencies.secrets, BTreeSet::from([key("x", "y")]));
        let resources: Vec<_> = dependencies.resources.iter().map(|(r, t)| (r.path.as_str(), *t)).collect();
        assert_eq!(resources, [("id", JsonType::Any), ("size", JsonType::Integer)]);
        let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["a", "b", "c", "c", "d"]);
    }

    #[test]
    fn an_absent_option_is_no_problem() {
        let values = values();
        let mut resolver = Resolver::new(&values);
        assert_eq!(resolver.take_if::<i64>("a", None), Some(None));
        assert_eq!(resolver.take_if("b", Some(&Opt::Value(3_i64))), Some(Some(Resolved::Public(3))));
        assert_eq!(resolver.take_if::<i64>("c", Some(&config_map("x", "y"))), None);
        assert_eq!(resolver.finish().problems.len(), 1);
    }

    #[test]
    fn a_rule_of_the_kind_is_told_without_secrets() {
        let values = values();
        let mut resolver = Resolver::new(&values);
        resolver.problem("userData", "does not start with #!, but with hunter2");
        assert!(resolver.take::<String>("field", &secret("db", "password")).is_some());
        let problem = &resolver.finish().problems[0];
        assert_eq!(problem.to_string(), "spec.userData: does not start with #!, but with ***");
        assert_eq!(problem.kind, ProblemKind::Invalid);
    }

    #[test]
    fn a_template_that_renders_to_too_much_is_a_template_problem() {
        let mut values = values();
        values.config_maps.get_mut("sizes").unwrap().insert("long".into(), "x".repeat(600_000));
        let mut resolver = Resolver::new(&values);
        let text = "{{ .ConfigMap.sizes.long }}{{ .ConfigMap.sizes.long }}";
        assert_eq!(resolver.take::<String>("field", &template(text)), None);
        assert_eq!(resolver.finish().problems[0].kind, ProblemKind::Template);
    }
}
