//! Properties that hold for every input: nothing panics, what is parsed is kept, and no secret gets out.

use std::collections::BTreeMap;

use kraken_options::{
    Budget, Element, Elements, KeyRef, ListOpt, LookupReason, MapOpt, Opt, OptionType, Path, Public,
    PublicMap, Resolved, Resolver, ResourceRef, Scrubber, SecretData, SecretString, ShortRef, Template, Text,
    ValueFrom, Values, summary,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Text made of the pieces that the grammars care about, so that much of it is nearly right.
fn nearly(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn path_text() -> impl Strategy<Value = String> {
    nearly(&[
        "$", ".", "..", "[", "]", "['", "']", "[\"", "\"]", "\\", "a", "b.c", "0", "-1", "*", ":", ",", "?",
        "@", "@.a", "(", ")", "==", "<", "&&", "||", "!", "length(", "match(", "count(", "'a'", "1e5", " ",
        "\n", "$.a[?@.b", "ä",
    ])
}

fn template_text() -> impl Strategy<Value = String> {
    nearly(&[
        "{{",
        "}}",
        "{",
        "}",
        " ",
        ".",
        "[\"",
        "\"]",
        "ConfigMap",
        "Secret",
        ".Subnet",
        ".db",
        ".password",
        "\"",
        "\\",
        "{{ .Secret.db.password }}",
        "{{ .ConfigMap.sizes.small }}",
        "$",
        "|",
        "\n",
        "ä",
    ])
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9-]{1,9}", Just("db".to_owned()), Just("sizes".to_owned()), ".{0,300}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("[a-c]")),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let key = prop_oneof!["[abc]", "[0-2]", ".{0,4}"];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(key, inner, 0..5).prop_map(|m| json!(m))
        ]
    })
}

fn source() -> impl Strategy<Value = ValueFrom> {
    let key = || (name(), name()).prop_map(|(name, key)| KeyRef { name, key });
    let resource =
        (name(), name(), path_text()).prop_map(|(kind, name, path)| ResourceRef { kind, name, path });
    prop_oneof![
        key().prop_map(ValueFrom::ConfigMap),
        key().prop_map(ValueFrom::Secret),
        resource.prop_map(ValueFrom::KrakenResource),
        (name(), name(), path_text())
            .prop_map(|(kind, name, path)| ValueFrom::Ref(ShortRef(format!("{kind}/{name}/{path}")))),
        ".{0,20}".prop_map(|text| ValueFrom::Ref(ShortRef(text))),
        template_text().prop_map(ValueFrom::TemplateString),
    ]
}

fn elements(source: impl Strategy<Value = ValueFrom>) -> impl Strategy<Value = Vec<Element<String>>> {
    vec(prop_oneof![".{0,8}".prop_map(Element::Literal), source.prop_map(Element::ValueFrom)], 0..5)
}

fn values(secret: &str, public: &str) -> Values {
    let keys = BTreeMap::from([("password".to_owned(), SecretString::from(secret))]);
    let db = SecretData { version: "uid/7".to_owned(), keys };
    let sizes = BTreeMap::from([("small".to_owned(), public.to_owned())]);
    Values {
        config_maps: BTreeMap::from([("sizes".to_owned(), sizes)]),
        secrets: BTreeMap::from([("db".to_owned(), db)]),
        ..Values::default()
    }
}

fn secret_source() -> impl Strategy<Value = ValueFrom> {
    let direct = KeyRef { name: "db".to_owned(), key: "password".to_owned() };
    prop_oneof![
        Just(ValueFrom::Secret(direct)),
        "[ -z]{0,9}"
            .prop_map(|text| ValueFrom::TemplateString(format!("{text}{{{{ .Secret.db.password }}}}"))),
    ]
}

/// Everything that can be printed of taking this option.
fn everything_shown<T: OptionType>(source: &ValueFrom, values: &Values) -> String {
    let mut resolver = Resolver::new(values);
    let taken = resolver.take::<T>("field", &Opt::ValueFrom(source.clone()));
    let shown = format!("{taken:?} {resolver:?} {values:?}");
    let resolution = resolver.finish();
    assert!(taken.is_none_or(|taken| taken.is_secret()), "a secret became public");
    let lines: Vec<_> = resolution.problems.iter().map(ToString::to_string).collect();
    format!("{shown} {resolution:?} {lines:?} {}", summary(&resolution.problems))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_and_following_a_path_never_panics(text in path_text(), data in json_value()) {
        if let Ok(path) = Path::parse(&text) {
            let _ = path.find(&data);
        }
    }

    #[test]
    fn any_text_may_be_parsed_as_a_path(text in ".{0,1100}") {
        let _ = Path::parse(&text);
        let _ = Path::parse(&format!("${text}"));
    }

    #[test]
    fn a_path_is_parsed_again_from_what_it_shows(text in path_text()) {
        if let Ok(path) = Path::parse(&text) {
            prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn every_value_of_a_document_is_found_by_its_path(data in json_value()) {
        let mut left = vec![(String::new(), &data)];
        while let Some((path, node)) = left.pop() {
            if !path.is_empty() {
                let found = Path::parse(&path).unwrap().find(&data);
                match found {
                    Ok(found) => prop_assert_eq!(&found, node),
                    Err(error) => {
                        let is_null = matches!(error.reason, LookupReason::Null { .. });
                        prop_assert!(node.is_null() && is_null);
                    }
                }
            }
            match node {
                Value::Array(items) => {
                    left.extend(items.iter().enumerate().map(|(index, item)| (format!("{path}[{index}]"), item)));
                }
                Value::Object(members) => left.extend(members.iter().map(|(key, member)| {
                    let key = key.replace('\\', "\\\\").replace('"', "\\\"");
                    (format!("{path}[\"{key}\"]"), member)
                })),
                _ => {}
            }
        }
    }

    #[test]
    fn a_path_error_shows_no_value(key in "[a-z]{1,5}", path in "[a-z]{1,5}(\\.[a-z0-9]{1,5}){0,3}") {
        let hidden = "HIDDEN-VALUE";
        let data = json!({key.clone(): {"a": hidden, "b": [hidden, {"c": hidden}]}, "z": hidden});
        for path in [path.clone(), format!("{key}.{path}"), format!("{key}.b.{path}"), format!("$.{key}.{path}x")] {
            if let Err(error) = Path::parse(&path).map_or(Ok(Value::Null), |path| path.find(&data)) {
                let (shown, debugged) = (error.to_string(), format!("{error:?}"));
                prop_assert!(!shown.contains(hidden) && !debugged.contains(hidden));
            }
        }
    }

    #[test]
    fn parsing_a_template_never_panics(text in template_text()) {
        if let Ok(template) = Template::parse(&text) {
            let _ = template.render(|_| None);
        }
    }

    #[test]
    fn text_without_two_braces_is_its_own_template(text in ".{0,200}") {
        let text = text.replace("{{", "{ ");
        let rendered = Template::parse(&text).unwrap().render(|_| None).unwrap();
        prop_assert_eq!(rendered.as_str(), text.as_str());
    }

    #[test]
    fn an_option_is_read_again_as_it_was_written(source in source(), value in any::<i64>()) {
        for option in [Opt::Value(value), Opt::ValueFrom(source)] {
            let written = serde_json::to_value(&option).unwrap();
            prop_assert_eq!(serde_json::from_value::<Opt<i64>>(written).unwrap(), option);
        }
    }

    #[test]
    fn a_list_is_read_again_as_it_was_written(elements in elements(source())) {
        let list: ListOpt<String> = Opt::Value(Elements(elements));
        let written = serde_json::to_value(&list).unwrap();
        prop_assert_eq!(serde_json::from_value::<ListOpt<String>>(written).unwrap(), list);
    }

    #[test]
    fn a_map_is_read_again_as_it_was_written(keys in vec(".{0,9}", 5), elements in elements(source())) {
        let map: PublicMap<String> = Public(MapOpt(keys.into_iter().zip(elements).collect()));
        let written = serde_json::to_value(&map).unwrap();
        prop_assert_eq!(serde_json::from_value::<PublicMap<String>>(written).unwrap(), map);
    }

    #[test]
    fn what_is_public_reads_no_secret_and_asks_for_none(
        elements in elements(prop_oneof![source(), secret_source()]),
        one in prop_oneof![source(), secret_source()],
    ) {
        let values = values("QsecretQ", "public");
        let mut resolver = Resolver::new(&values);
        let keys = (0..elements.len()).map(|n| n.to_string());
        let taken = resolver.take_public_map("tags", &Public(MapOpt(keys.zip(elements).collect())));
        let option = resolver.take_public::<String>("name", &Public(Opt::ValueFrom(one)));
        prop_assert!(option.is_none_or(|option| !option.is_secret()));
        let shown = format!("{taken:?}");
        let resolution = resolver.finish();
        prop_assert!(!shown.contains("QsecretQ"));
        prop_assert!(resolution.dependencies.secrets.is_empty() && resolution.secrets.is_empty());
        prop_assert!(resolution.secret_fields.is_empty());
    }

    #[test]
    fn every_field_that_refers_to_a_secret_is_known_whether_it_has_a_value_or_not(source in source()) {
        let found = |values: &Values| {
            let mut resolver = Resolver::new(values);
            let _ = resolver.take_from::<String>("field", &source);
            resolver.finish()
        };
        let (nothing, known) = (found(&Values::default()), found(&values("QsecretQ", "public")));
        prop_assert_eq!(&nothing.secret_fields, &known.secret_fields);
        prop_assert_eq!(nothing.secret_fields.is_empty(), nothing.dependencies.secrets.is_empty());
    }

    #[test]
    fn paths_that_share_a_budget_find_what_each_finds_alone_until_it_is_spent(
        paths in vec(path_text(), 1..8),
        data in json_value(),
    ) {
        let mut budget = Budget::default();
        for path in paths.iter().filter_map(|text| Path::parse(text).ok()) {
            let before = budget.steps_taken();
            prop_assert_eq!(path.find_within(&data, &mut budget), path.find(&data));
            prop_assert!(budget.steps_taken() >= before);
        }
    }

    #[test]
    fn a_list_is_taken_element_by_element_as_options_are(elements in elements(source()), text in ".{0,20}") {
        let values = values(&text, &text);
        let (mut one, mut each) = (Resolver::new(&values), Resolver::new(&values));
        let list = Opt::Value(Elements(elements.clone()));
        let taken = one.take_list("field", &list);
        let by_one: Vec<_> = elements.into_iter().enumerate().map(|(index, element)| {
            let option = match element {
                Element::Literal(literal) => Opt::Value(literal),
                Element::ValueFrom(source) => Opt::ValueFrom(source),
            };
            each.take(&format!("field.value[{index}]"), &option)
        }).collect();
        let (one, each) = (one.finish(), each.finish());
        prop_assert_eq!(one.problems, each.problems);
        prop_assert_eq!(one.dependencies, each.dependencies);
        prop_assert_eq!(one.secrets.len(), each.secrets.len());
        let by_one: Option<Vec<_>> = by_one.into_iter().collect();
        prop_assert_eq!(taken.is_some(), by_one.is_some());
        if let (Some(taken), Some(by_one)) = (taken, by_one) {
            prop_assert_eq!(taken.is_secret(), by_one.iter().any(Resolved::is_secret));
            prop_assert_eq!(taken.expose(), &by_one.iter().map(|e| e.expose().clone()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_secret_element_is_ever_shown(
        mut elements in elements(source()),
        source in secret_source(),
        at in any::<prop::sample::Index>(),
        secret in "Q[A-Za-z0-9]{7,30}Q",
    ) {
        let values = values(&secret, "public");
        elements.insert(at.index(elements.len() + 1), Element::ValueFrom(source));
        let mut resolver = Resolver::new(&values);
        let taken = resolver.take_list("field", &Opt::Value(Elements(elements)));
        prop_assert!(taken.as_ref().is_none_or(Resolved::is_secret));
        let shown = format!("{taken:?} {resolver:?}");
        let resolution = resolver.finish();
        let shown = format!("{shown} {resolution:?} {}", summary(&resolution.problems));
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }

    #[test]
    fn reading_any_json_as_an_option_never_panics(value in json_value()) {
        let _ = serde_json::from_value::<ListOpt<Value>>(json!({"value": [value.clone()]}));
        let _ = serde_json::from_value::<ListOpt<String>>(json!({"value": value.clone()}));
        let _ = serde_json::from_value::<Opt<Value>>(value.clone());
        let _ = serde_json::from_value::<Opt<i64>>(json!({"valueFrom": value}));
    }

    #[test]
    fn resolving_any_source_never_panics(source in source(), text in ".{0,20}", value in json_value()) {
        let mut values = values(&text, &text);
        if let ValueFrom::KrakenResource(ResourceRef { kind, name, path }) = &source {
            let paths = BTreeMap::from([(path.clone(), value)]);
            let names = BTreeMap::from([(name.clone(), paths)]);
            values.resources.insert(kraken_options::kind_key(kind), names);
        }
        let mut resolver = Resolver::new(&values);
        let field = "field";
        let _ = resolver.take_from::<String>(field, &source);
        let _ = resolver.take_from::<bool>(field, &source);
        let _ = resolver.take_from::<i32>(field, &source);
        let _ = resolver.take_from::<u16>(field, &source);
        let _ = resolver.take_from::<f64>(field, &source);
        let _ = resolver.take_from::<Vec<String>>(field, &source);
        let _ = resolver.take_from::<BTreeMap<String, i64>>(field, &source);
        let _ = resolver.take_from::<Value>(field, &source);
        let _ = resolver.take_from::<Text>(field, &source);
        prop_assert!(summary(&resolver.finish().problems).chars().count() < 1100);
    }

    #[test]
    fn a_short_reference_equals_the_long_form(
        kind in "[A-Za-z][A-Za-z0-9-]{0,8}([.][a-z][a-z0-9-]{0,5}){0,2}",
        name in "[a-z0-9]{1,9}",
        path in prop_oneof![Just(String::new()), path_text()],
    ) {
        let slash = if path.is_empty() { "" } else { "/" };
        let short = ShortRef(format!("{kind}/{name}{slash}{path}"));
        let long = ResourceRef { kind, name, path };
        prop_assert_eq!(short.resource(), Some(long.clone()));
        let values = Values::default();
        let learnt = |source: ValueFrom| {
            let mut resolver = Resolver::new(&values);
            let taken = resolver.take_from::<String>("field", &source);
            let resolution = resolver.finish();
            (taken, resolution.dependencies, resolution.problems.iter().map(|p| p.kind).collect::<Vec<_>>())
        };
        prop_assert_eq!(learnt(ValueFrom::Ref(short)), learnt(ValueFrom::KrakenResource(long)));
    }

    #[test]
    fn a_kind_is_the_same_however_often_it_is_normalised(kind in nearly(&["a", "B", "-", ".", "1", "aws"])) {
        let key = kraken_options::kind_key(&kind);
        prop_assert_eq!(kraken_options::kind_key(&key), key);
    }

    #[test]
    fn dependencies_do_not_depend_on_what_is_known(sources in vec(source(), 0..5), text in ".{0,20}") {
        let (empty, known) = (Values::default(), values(&text, &text));
        let learn = |values| {
            let mut resolver = Resolver::new(values);
            for source in &sources {
                let _ = resolver.take_from::<i64>("field", source);
            }
            resolver.finish().dependencies
        };
        prop_assert_eq!(learn(&empty), learn(&known));
    }

    #[test]
    fn no_secret_is_ever_shown(source in secret_source(), secret in "Q[A-Za-z0-9]{7,30}Q") {
        let secrets = [secret.clone(), format!(" {secret}\n"), format!("[\"{secret}\"]"), format!("{{\"a\": \"{secret}\"}}")];
        for text in secrets {
            let values = values(&text, "public");
            let shown = [
                everything_shown::<String>(&source, &values),
                everything_shown::<i64>(&source, &values),
                everything_shown::<bool>(&source, &values),
                everything_shown::<Vec<i64>>(&source, &values),
                everything_shown::<Vec<String>>(&source, &values),
                everything_shown::<BTreeMap<String, i64>>(&source, &values),
                everything_shown::<Value>(&source, &values),
            ];
            prop_assert!(shown.iter().all(|shown| !shown.contains(&secret)));
        }
    }

    #[test]
    fn scrubbed_text_holds_no_secret(
        secrets in vec("[^*\\s][^*]{2,10}[^*\\s]", 1..4),
        parts in vec((".{0,9}", 0_usize..4), 0..6),
    ) {
        let scrubber = Scrubber::new(&secrets.iter().map(|s| SecretString::from(s.as_str())).collect::<Vec<_>>());
        let part = |(text, n): &(String, usize)| [text.clone(), secrets.get(*n).cloned().unwrap_or_default()];
        let text: String = parts.iter().flat_map(part).collect();
        let scrubbed = scrubber.scrub(&text);
        let value = scrubber.scrub_json(json!({text.clone(): [text.clone(), {"a": text.clone()}]})).to_string();
        for secret in &secrets {
            prop_assert!(!scrubbed.contains(secret.as_str()), "{}", scrubbed);
            prop_assert!(!value.contains(secret.as_str()), "{}", value);
        }
        if !secrets.iter().any(|secret| text.contains(secret.trim())) && text.is_ascii() && !text.contains('*') {
            // Nothing else is touched, but for the encoded forms, which such a short text does not hold by chance.
            prop_assert_eq!(scrubbed, text);
        }
    }
}
