use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Types without dynamic ones, to a depth of three.
fn types() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String), Just(Type::Dynamic)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|of| Type::List(Box::new(of))),
            inner.clone().prop_map(|of| Type::Set(Box::new(of))),
            inner.clone().prop_map(|of| Type::Map(Box::new(of))),
            vec(inner.clone(), 0..3).prop_map(Type::Tuple),
            btree_map("[a-z]{1,3}", inner, 0..3).prop_map(Type::Object),
        ]
    })
}

/// Values of a type.
fn values(of: &Type) -> BoxedStrategy<Value> {
    let known = match of {
        Type::Dynamic => {
            let inner = prop_oneof![Just(Type::String), Just(Type::List(Box::new(Type::Bool)))];
            let dynamic = inner.prop_flat_map(|of| (Just(of.clone()), values(&of)));
            dynamic.prop_map(|dynamic| Value::Dynamic(Box::new(dynamic))).boxed()
        }
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Number => numbers().prop_map(Value::Number).boxed(),
        Type::String => ".{0,8}".prop_map(Value::String).boxed(),
        Type::List(of) => vec(values(of), 0..3).prop_map(Value::List).boxed(),
        Type::Set(of) => vec(values(of), 0..3).prop_map(Value::set).boxed(),
        Type::Map(of) => btree_map(".{0,4}", values(of), 0..3).prop_map(Value::Map).boxed(),
        Type::Tuple(types) => types.iter().map(values).collect::<Vec<_>>().prop_map(Value::List).boxed(),
        Type::Object(types) => {
            let names: Vec<_> = types.keys().cloned().collect();
            let values: Vec<_> = types.values().map(values).collect();
            values.prop_map(move |values| Value::Object(names.iter().cloned().zip(values).collect())).boxed()
        }
    };
    prop_oneof![8 => known, 1 => Just(Value::Null), 1 => Just(Value::Unknown)].boxed()
}

fn numbers() -> impl Strategy<Value = Number> {
    let text = |text: String| text.parse::<Number>().unwrap();
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        proptest::num::f64::NORMAL.prop_map(|float| Number::from_f64(float).unwrap()),
        "-?[0-9]{1,40}(\\.[0-9]{1,40})?(e-?[0-9]{1,3})?".prop_map(text),
    ]
}

fn typed_values() -> impl Strategy<Value = (Type, Value)> {
    types().prop_flat_map(|of| (Just(of.clone()), values(&of)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_value_survives_message_pack((of, value) in typed_values()) {
        let bytes = value.to_msgpack(&of).unwrap();
        prop_assert_eq!(Value::from_msgpack(&bytes, &of).unwrap(), value);
    }

    #[test]
    fn a_state_survives_json((of, value) in typed_values()) {
        let value = value.unknown_as_null();
        let text = value.to_json().unwrap().to_string();
        let again = Value::from_json(&serde_json::from_str(&text).unwrap(), &of).unwrap();
        // A binary fraction is written with the shortest decimal text, as OpenTofu does.
        prop_assert_eq!(again.to_json().unwrap().to_string(), text);
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in vec(any::<u8>(), 0..64), of in types()) {
        let _ = Value::from_msgpack(&bytes, &of);
    }

    #[test]
    fn a_type_survives_json(of in types()) {
        prop_assert_eq!(Type::from_json(&of.to_json()).unwrap(), of);
    }
}

fn strings() -> Type {
    Type::Set(Box::new(Type::String))
}

#[test]
fn message_pack_has_the_bytes_that_plugins_use() {
    let bytes = |value: Value, of: Type| hex::encode(value.to_msgpack(&of).unwrap());
    assert_eq!(bytes(Value::Null, Type::String), "c0");
    assert_eq!(bytes(Value::Unknown, Type::String), "d40000");
    assert_eq!(bytes(Value::from(-1), Type::Number), "ff");
    assert_eq!(bytes(Value::Number("0.5".parse().unwrap()), Type::Number), "cb3fe0000000000000");
    // Not a binary fraction, and too large for an integer: text.
    assert_eq!(bytes(Value::Number("0.1".parse().unwrap()), Type::Number), "a3302e31");
    assert_eq!(
        bytes(Value::Number("1e19".parse().unwrap()), Type::Number),
        format!("b4{}", hex::encode("10000000000000000000"))
    );
    let object = Type::Object([("a".to_owned(), Type::Bool), ("b".to_owned(), Type::String)].into());
    assert_eq!(bytes(Value::object([("a", Value::Bool(true))]), object), "82a161c3a162c0");
    let dynamic = Value::Dynamic(Box::new((Type::String, "x".into())));
    assert_eq!(bytes(dynamic, Type::Dynamic), format!("92c408{}a178", hex::encode("\"string\"")));
}

#[test]
fn an_unknown_value_with_statements_about_it_is_unknown() {
    // Extension 12 with a map: not null.
    let bytes = hex::decode("c7030c8101c2").unwrap();
    assert_eq!(Value::from_msgpack(&bytes, &Type::String), Ok(Value::Unknown));
}

#[test]
fn a_value_that_is_nested_too_deeply_is_an_error() {
    let nested =
        |depth| [[&[0x92, 0xc4, 9], &b"\"dynamic\""[..]].concat().repeat(depth), vec![0xc0]].concat();
    assert!(Value::from_msgpack(&nested(100), &Type::Dynamic).is_ok());
    assert!(Value::from_msgpack(&nested(100_000), &Type::Dynamic).is_err());
    let lists = [vec![0x91; 100_000], vec![0xc0]].concat();
    assert!(Value::from_msgpack(&lists, &strings()).is_err());
}

#[test]
fn sets_are_equal_in_any_order() {
    let (a, b) = (Value::from("a"), Value::from("b"));
    assert_eq!(Value::set([b.clone(), a.clone(), b.clone()]), Value::set([a, b]));
    let Value::Set(unknown) = Value::set([Value::Unknown, Value::Unknown]) else { panic!() };
    assert_eq!(unknown.as_slice().len(), 2);
}

#[test]
fn an_error_says_where_and_contains_no_value() {
    let of = Type::Object([("tags".to_owned(), strings())].into());
    let error = Value::from_config(&json!({"tags": ["a", 5]}), &of).unwrap_err();
    assert_eq!(error.to_string(), "tags[1]: expected string, got number");
    let error = Value::from_config(&json!({"tag": []}), &of).unwrap_err();
    assert_eq!(error.to_string(), "has no attribute tag");
    let error = Value::object([("tags", "secret".into())]).to_msgpack(&of).unwrap_err();
    assert_eq!(error.to_string(), "tags: expected set of string, got string");
    let error = Value::object([("tags", Value::set([Value::Unknown]))]).to_json().unwrap_err();
    assert_eq!(error.to_string(), "tags[0]: is unknown");
}

#[test]
fn a_number_that_json_would_round_is_text() {
    let json = |text: &str| Value::Number(text.parse().unwrap()).to_json().unwrap();
    assert_eq!(json("18446744073709551615"), json!(u64::MAX));
    assert_eq!(json("18446744073709551616"), json!("18446744073709551616"));
    assert_eq!(json("0.1"), json!(0.1));
    assert_eq!(json("0.12345678901234567890"), json!("0.1234567890123456789"));
    let tenth = Value::Number(Number::from_f64(0.1).unwrap());
    assert_eq!(tenth.to_json().unwrap(), json!(0.1));
    assert_eq!(
        Value::from_json(&json!("1e400"), &Type::Number).unwrap().to_json().unwrap(),
        json!(format!("1{}", "0".repeat(400)))
    );
}

#[test]
fn a_dynamic_value_has_its_type_in_a_state_and_not_in_a_configuration() {
    let config = Value::from_config(&json!({"a": [1, "b"]}), &Type::Dynamic).unwrap();
    let state = config.to_json().unwrap();
    assert_eq!(
        state,
        json!({"type": ["object", {"a": ["tuple", ["number", "string"]]}], "value": {"a": [1, "b"]}})
    );
    assert_eq!(Value::from_json(&state, &Type::Dynamic).unwrap(), config);
}

#[test]
fn a_path_leads_to_a_value_and_ends_at_a_set() {
    let value =
        Value::object([("nets", Value::List(vec![Value::object([("ids", Value::set(["a".into()]))])]))]);
    let path = |steps: &[Step]| steps.iter().cloned().collect::<Path>();
    let (nets, ids) = (Step::Attribute("nets".to_owned()), Step::Attribute("ids".to_owned()));
    let found = value.get(&path(&[nets.clone(), Step::Index(0), ids.clone(), Step::Key("a".to_owned())]));
    assert_eq!(found, Some(&Value::set(["a".into()])));
    assert_eq!(value.get(&path(&[nets, Step::Index(1), ids])), None);
}

#[test]
fn attributes_that_a_type_does_not_have_are_left_out_of_a_state() {
    let of = Type::parse(br#"["object", {"name": "string", "rule": ["list", ["object", {"port": "number"}]], "tags": ["map", "string"]}]"#).unwrap();
    let state = json!({"name": "a", "size": 1, "rule": [{"port": 1, "old": 2}], "tags": {"a": "b"}});
    let expected = json!({"name": "a", "rule": [{"port": 1}], "tags": {"a": "b"}});
    assert_eq!(super::without_unknown(&state, &of), expected);
}
