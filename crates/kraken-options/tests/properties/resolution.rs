//! Serialization and resolution of options.

use std::collections::BTreeMap;

use kraken_options::{
    Element, Elements, ListOpt, MapOpt, Opt, Public, PublicMap, Resolved, Resolver, ResourceRef, ShortRef,
    Text, ValueFrom, Values, summary,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    config,
    inputs::{elements, json_value, path_text, source, tokens_of, values},
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_serialized_option_deserializes_to_the_same_option(source in source(), value in any::<i64>()) {
        for option in [Opt::Value(value), Opt::ValueFrom(source)] {
            let written = serde_json::to_value(&option).unwrap();
            prop_assert_eq!(serde_json::from_value::<Opt<i64>>(written).unwrap(), option);
        }
    }

    #[test]
    fn a_serialized_list_deserializes_to_the_same_list(elements in elements(source())) {
        let list: ListOpt<String> = Opt::Value(Elements(elements));
        let written = serde_json::to_value(&list).unwrap();
        prop_assert_eq!(serde_json::from_value::<ListOpt<String>>(written).unwrap(), list);
    }

    #[test]
    fn a_serialized_map_deserializes_to_the_same_map(keys in vec(".{0,9}", 5), elements in elements(source())) {
        let map: PublicMap<String> = Public(MapOpt(keys.into_iter().zip(elements).collect()));
        let written = serde_json::to_value(&map).unwrap();
        prop_assert_eq!(serde_json::from_value::<PublicMap<String>>(written).unwrap(), map);
    }

    #[test]
    fn a_list_resolves_as_its_elements_do(elements in elements(source()), text in ".{0,20}") {
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
    fn reading_any_json_as_an_option_never_panics(value in json_value()) {
        let _ = serde_json::from_value::<ListOpt<Value>>(json!({"value": [value.clone()]}));
        let _ = serde_json::from_value::<ListOpt<String>>(json!({"value": value.clone()}));
        let _ = serde_json::from_value::<Opt<Value>>(value.clone());
        let _ = serde_json::from_value::<Opt<i64>>(json!({"valueFrom": value}));
    }

    #[test]
    fn resolving_any_source_never_panics(source in source(), text in ".{0,20}", value in json_value()) {
        let mut values = values(&text, &text);
        if let ValueFrom::KrakenResource(reference) = &source {
            let paths = BTreeMap::from([(reference.path.clone(), value)]);
            let names = BTreeMap::from([(reference.full_name().into_owned(), paths)]);
            values.resources.insert(kraken_options::kind_key(&reference.kind), names);
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
        name in "([a-z0-9]{1,9}:)?[a-z0-9]{1,9}",
        path in prop_oneof![Just(String::new()), path_text()],
    ) {
        let slash = if path.is_empty() { "" } else { "/" };
        let short = ShortRef(format!("{kind}/{name}{slash}{path}"));
        let long = ResourceRef::of(&kind, &name, &path);
        prop_assert_eq!(short.resource(), Some(long.clone()));
        let values = Values::default();
        let resolution_of = |source: ValueFrom| {
            let mut resolver = Resolver::new(&values);
            let taken = resolver.take_from::<String>("field", &source);
            let resolution = resolver.finish();
            (taken, resolution.dependencies, resolution.problems.iter().map(|p| p.kind).collect::<Vec<_>>())
        };
        prop_assert_eq!(resolution_of(ValueFrom::Ref(short)), resolution_of(ValueFrom::KrakenResource(long)));
    }

    #[test]
    fn normalising_a_kind_twice_changes_nothing(kind in tokens_of(&["a", "B", "-", ".", "1", "aws"])) {
        let key = kraken_options::kind_key(&kind);
        prop_assert_eq!(kraken_options::kind_key(&key), key);
    }

    #[test]
    fn dependencies_are_independent_of_known_values(sources in vec(source(), 0..5), text in ".{0,20}") {
        let (empty, known) = (Values::default(), values(&text, &text));
        let dependencies_with = |values| {
            let mut resolver = Resolver::new(values);
            for source in &sources {
                let _ = resolver.take_from::<i64>("field", source);
            }
            resolver.finish().dependencies
        };
        prop_assert_eq!(dependencies_with(&empty), dependencies_with(&known));
    }
}
