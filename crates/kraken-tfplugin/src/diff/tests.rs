use serde_json::json;

use super::*;
use crate::schema::NestedBlock;
use crate::types::Type;

fn attribute(of: Type, is_sensitive: bool) -> Attribute {
    Attribute {
        form: Form::Plain(of),
        description: String::new(),
        is_required: false,
        is_optional: true,
        is_computed: true,
        is_sensitive,
        is_write_only: false,
        is_deprecated: false,
    }
}

fn user() -> Block {
    let attributes = [("name", false), ("password", true)]
        .map(|(name, is_sensitive)| (name.to_owned(), attribute(Type::String, is_sensitive)));
    Block { attributes: attributes.into(), ..Block::default() }
}

/// Tags, a list and a set of users.
fn schema() -> Block {
    let tags = attribute(Type::Map(Box::new(Type::String)), false);
    let size = attribute(Type::Number, false);
    let nested = |nesting| NestedBlock { block: user(), nesting, min_items: 0, max_items: 0 };
    Block {
        attributes: [("tags".to_owned(), tags), ("size".to_owned(), size)].into(),
        blocks: [("admin", Nesting::List), ("user", Nesting::Set)]
            .map(|(name, nesting)| (name.to_owned(), nested(nesting)))
            .into(),
        ..Block::default()
    }
}

fn person(name: &str, password: &str) -> Value {
    Value::object([("name", name.into()), ("password", password.into())])
}

/// Path, before and after of each difference.
fn found(before: &Value, after: &Value) -> Vec<(String, Json, Json)> {
    let all = differences(&schema(), before, after);
    let text = format!("{all:?}");
    assert!(!text.contains("secret"), "{text}");
    all.into_iter().map(|found| (found.path.to_string(), found.before, found.after)).collect()
}

#[test]
fn a_difference_names_the_innermost_attribute() {
    let tags = |value: &str| {
        let tags = [("a".to_owned(), Value::from("1")), ("b".to_owned(), value.into())];
        Value::object([("tags", Value::Map(tags.into()))])
    };
    assert_eq!(found(&tags("2"), &tags("3")), [(r#"tags["b"]"#.to_owned(), json!("2"), json!("3"))]);
    assert_eq!(found(&tags("2"), &tags("2")), []);
}

#[test]
fn secret_values_are_absent() {
    let admin = |password: &str| Value::object([("admin", Value::List(vec![person("root", password)]))]);
    let hidden = [("admin[0].password".to_owned(), json!(SENSITIVE), json!(SENSITIVE))];
    assert_eq!(found(&admin("secret1"), &admin("secret2")), hidden);
    let users = |password: &str| Value::object([("user", Value::set([person("root", password)]))]);
    let shown = json!([{"name": "root", "password": SENSITIVE}]);
    let all = differences(&schema(), &users("secret1"), &users("secret2"));
    assert_eq!((&all[0].before, &all[0].after, all[0].is_sensitive), (&shown, &shown, true));
    assert_eq!(found(&Value::Null, &admin("secret1"))[0].2, json!({"name": "root", "password": SENSITIVE}));
    assert_eq!(masked(&schema(), &users("secret1")), json!({"user": shown}));
}

#[test]
fn an_unknown_value_is_known_after_apply() {
    let after = Value::object([("size", Value::Unknown), ("user", Value::Unknown)]);
    let all = differences(&schema(), &Value::Null, &after);
    assert!(all.iter().all(|found| found.is_unknown && found.after == KNOWN_AFTER_APPLY), "{all:?}");
    assert_eq!(all.iter().map(|found| found.path.to_string()).collect::<Vec<_>>(), ["size", "user"]);
}

#[test]
fn blocks_that_are_absent_are_no_difference_to_none() {
    let empty = Value::object([("admin", Value::List(vec![])), ("user", Value::set([]))]);
    assert_eq!(found(&Value::Null, &empty), []);
}

#[test]
fn fractions_are_compared_as_binary_ones() {
    let size = |text: &str| Value::object([("size", Value::Number(text.parse().unwrap()))]);
    let binary = Value::object([("size", Value::Number(crate::Number::from_f64(0.1).unwrap()))]);
    assert_eq!(found(&size("0.1"), &binary), []);
    assert_eq!(found(&size("9007199254740993"), &size("9007199254740992")).len(), 1);
}

#[test]
fn values_that_differ_always_have_a_difference() {
    let tags = |keys: &[&str]| {
        Value::object([(
            "tags",
            Value::Map(keys.iter().map(|key| ((*key).to_owned(), Value::Null)).collect()),
        )])
    };
    assert_eq!(found(&tags(&["a"]), &tags(&[])), [("tags".to_owned(), json!({"a": null}), json!({}))]);
    let block = Block {
        attributes: [("any".to_owned(), attribute(Type::Dynamic, false))].into(),
        ..Block::default()
    };
    let any = |of| Value::object([("any", Value::Dynamic(Box::new((of, Value::List(vec![])))))]);
    let all = differences(&block, &any(Type::Tuple(vec![])), &any(Type::List(Box::new(Type::String))));
    assert_eq!(all.iter().map(|found| found.path.to_string()).collect::<Vec<_>>(), ["any"]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
    #[test]
    fn a_plan_without_differences_is_one_without_a_change(before: [Option<u8>; 3], after: [Option<u8>; 3]) {
        let block = Block {
            attributes: [("list".to_owned(), attribute(Type::List(Box::new(Type::Number)), false))].into(),
            ..Block::default()
        };
        // Lists of up to three elements, which may be null.
        let list = |elements: [Option<u8>; 3]| {
            let known = elements.iter().flatten().take_while(|element| **element > 20);
            let elements = known.map(|element| if element % 3 == 0 { Value::Null } else { i64::from(*element % 2).into() });
            Value::object([("list", Value::List(elements.collect()))])
        };
        let (before, after) = (list(before), list(after));
        proptest::prop_assert_eq!(differences(&block, &before, &after).is_empty(), before == after);
    }
}
