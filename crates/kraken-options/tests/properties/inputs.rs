//! The strategies that generate inputs.

use std::collections::BTreeMap;

use kraken_options::{Element, KeyRef, ResourceRef, SecretData, SecretString, ShortRef, ValueFrom, Values};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Text of tokens of a grammar, which is often nearly valid.
pub(crate) fn tokens_of(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

pub(crate) fn path_text() -> impl Strategy<Value = String> {
    tokens_of(&[
        "$", ".", "..", "[", "]", "['", "']", "[\"", "\"]", "\\", "a", "b.c", "0", "-1", "*", ":", ",", "?",
        "@", "@.a", "(", ")", "==", "<", "&&", "||", "!", "length(", "match(", "count(", "'a'", "1e5", " ",
        "\n", "$.a[?@.b", "ä",
    ])
}

pub(crate) fn template_text() -> impl Strategy<Value = String> {
    tokens_of(&[
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

pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9-]{1,9}", Just("db".to_owned()), Just("sizes".to_owned()), ".{0,300}"]
}

pub(crate) fn json_value() -> impl Strategy<Value = Value> {
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

pub(crate) fn source() -> impl Strategy<Value = ValueFrom> {
    let key = || (name(), name()).prop_map(|(name, key)| KeyRef { name, key });
    let resource = (name(), name(), proptest::option::of(name()), path_text())
        .prop_map(|(kind, name, namespace, path)| ResourceRef { kind, name, namespace, path });
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

pub(crate) fn elements(
    source: impl Strategy<Value = ValueFrom>,
) -> impl Strategy<Value = Vec<Element<String>>> {
    vec(prop_oneof![".{0,8}".prop_map(Element::Literal), source.prop_map(Element::ValueFrom)], 0..5)
}

pub(crate) fn values(secret: &str, public: &str) -> Values {
    let keys = BTreeMap::from([("password".to_owned(), SecretString::from(secret))]);
    let db = SecretData { version: "uid/7".to_owned(), keys, ..SecretData::default() };
    let sizes = BTreeMap::from([("small".to_owned(), public.to_owned())]);
    Values {
        config_maps: BTreeMap::from([("sizes".to_owned(), sizes)]),
        secrets: BTreeMap::from([("db".to_owned(), db)]),
        ..Values::default()
    }
}

pub(crate) fn secret_source() -> impl Strategy<Value = ValueFrom> {
    let direct = KeyRef { name: "db".to_owned(), key: "password".to_owned() };
    prop_oneof![
        Just(ValueFrom::Secret(direct)),
        "[ -z]{0,9}"
            .prop_map(|text| ValueFrom::TemplateString(format!("{text}{{{{ .Secret.db.password }}}}"))),
    ]
}
