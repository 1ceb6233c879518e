//! Options: decoding, encoding and resolution for every type. An input is JSON or YAML.

use std::collections::BTreeMap;

use anyhow::Result;
use kraken_options::{
    ListOpt, MapOpt, Opt, OptionType, Public, PublicMap, Resolution, Resolver, SecretData, SecretString,
    Text, ValueFrom, Values, summary,
};
use kraken_testing::fuzz::{self, Rng, Target, require};
use serde_json::{Value, json};

use crate::{decoded, mutated_document};

/// Part of every value of a Secret, and of no input.
const SECRET: &str = "QhiddenQ";
const SOURCES: [&str; 5] = ["configMap", "secret", "krakenResource", "ref", "templateString"];

const WORDS: &[&str] = &[
    "value",
    "valueFrom",
    "configMap",
    "secret",
    "krakenResource",
    "ref",
    "templateString",
    "name",
    "key",
    "kind",
    "path",
    "db",
    "password",
    "list",
    "map",
    "number",
    "sizes",
    "small",
    "VPC",
    "vpc",
    "main",
    "VPC/main",
    "VPC/main/vpc.CidrBlock",
    "Static/facts/a",
    "{{ .Secret.db.password }}",
    "x{{ .Secret.db.list }}",
    "{{ .ConfigMap.sizes.small }}",
    "$.instances[?@.a == 1]",
    "items",
    "3",
    "true",
    "",
    "\0",
    "\u{202e}",
    "a/b",
    "$(a)",
];
const DICTIONARY: &[&str] = &[
    "{\"value\": ",
    "{\"valueFrom\": {",
    "\"secret\": {\"name\": \"db\", \"key\": \"password\"}",
    "null",
    "\\ud800",
    "\\u0000",
    "1e999",
    "-0",
    "18446744073709551616",
    "[[[[[[[[",
    "{\"a\":",
    "valueFrom:\n  ",
    "- ",
    "&a ",
    "*a",
    "!!int ",
    ",",
    "\"\"",
];

#[test]
fn no_option_breaks_decoding_or_shows_a_secret() -> Result<()> {
    fuzz::run(&Target { name: "options", dictionary: DICTIONARY, generate: &generated, check: &check })
}

fn generated(rng: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let document = match rng.u8(..4) {
        0 => fuzz::json(rng, WORDS),
        1 => {
            let (name, key) =
                (word(rng, &["db", "sizes", "other"]), word(rng, &["password", "list", "small"]));
            let source = json!({(word(rng, &SOURCES)): {"name": name, "key": key, "kind": "vpc"}});
            json!({"valueFrom": source})
        }
        2 => json!({"value": [fuzz::json(rng, WORDS), {"valueFrom": fuzz::json(rng, WORDS)}]}),
        _ => mutated_document(rng, corpus, WORDS),
    };
    document.to_string().into_bytes()
}

fn word<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    rng.choice(words).copied().unwrap_or_default()
}

fn check(input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input).replace(SECRET, "");
    // A text with duplicate fields decodes differently from its value: neither panics.
    drop(serde_json::from_str::<Opt<Value>>(&text));
    drop(serde_json::from_str::<ListOpt<String>>(&text));
    let json = serde_json::from_str::<Value>(&text).ok();
    let Some(document) = json.or_else(|| serde_saphyr::from_str::<Value>(&text).ok()) else { return Ok(()) };
    drop(decoded::<ValueFrom>(&document)?);
    exactly_one(&document)?;
    option::<String>(&document)?;
    option::<bool>(&document)?;
    option::<i32>(&document)?;
    option::<i64>(&document)?;
    option::<u16>(&document)?;
    option::<u32>(&document)?;
    option::<f64>(&document)?;
    option::<Text>(&document)?;
    option::<Value>(&document)?;
    option::<Vec<String>>(&document)?;
    option::<BTreeMap<String, i64>>(&document)
}

/// The members of an object that are not null, of these.
fn members(document: &Value, names: &[&str]) -> usize {
    names.iter().filter(|name| document.get(name).is_some_and(|member| !member.is_null())).count()
}

/// The rule of the schema: exactly one of `value` and `valueFrom`, and one source.
fn exactly_one(document: &Value) -> Result<(), String> {
    let decoded = serde_json::from_value::<Opt<Value>>(document.clone());
    if members(document, &["value", "valueFrom"]) != 1 || !document.is_object() {
        return require(decoded.is_err(), || format!("accepted: {document}"));
    }
    let Some(source) = document.get("valueFrom").filter(|source| !source.is_null()) else {
        return require(decoded.is_ok(), || format!("rejected: {document}: {decoded:?}"));
    };
    let is_one = source.is_object() && members(source, &SOURCES) == 1;
    require(is_one || decoded.is_err(), || format!("accepted: {document}"))
}

/// The option, the list and the map of a type, with public and other values.
fn option<T: OptionType>(document: &Value) -> Result<(), String> {
    let values = values();
    if let Some(option) = decoded::<Opt<T>>(document)? {
        shown(&values, |resolver| format!("{:?}", resolver.take("field", &option)))?;
        public(&values, |resolver| format!("{:?}", resolver.take_public("field", &Public(option.clone()))))?;
    }
    if let Some(list) = decoded::<ListOpt<T>>(document)? {
        shown(&values, |resolver| format!("{:?}", resolver.take_list("field", &list)))?;
    }
    if let Some(map) = decoded::<MapOpt<T>>(document)? {
        shown(&values, |resolver| format!("{:?}", resolver.take_map("field", &map)))?;
    }
    if let Some(map) = decoded::<PublicMap<T>>(document)? {
        public(&values, |resolver| format!("{:?}", resolver.take_public_map("field", &map)))?;
    }
    Ok(())
}

/// Nothing that can be printed has a value of a Secret.
fn shown(values: &Values, take: impl FnOnce(&mut Resolver<'_>) -> String) -> Result<Resolution, String> {
    let mut resolver = Resolver::new(values);
    let taken = take(&mut resolver);
    let printed = format!("{taken} {resolver:?}");
    let resolution = resolver.finish();
    let lines: Vec<_> = resolution.problems.iter().map(ToString::to_string).collect();
    let one_line = summary(&resolution.problems);
    let printed = format!("{printed} {resolution:?} {lines:?} {one_line}");
    require(!printed.contains(SECRET), || "a value of a Secret is shown".to_owned())?;
    require(one_line.chars().count() < 1100, || "the summary is too long".to_owned())?;
    Ok(resolution)
}

/// A public option reads no Secret.
fn public(values: &Values, take: impl FnOnce(&mut Resolver<'_>) -> String) -> Result<(), String> {
    let resolution = shown(values, take)?;
    let reads_none = resolution.dependencies.secrets.is_empty() && resolution.secrets.is_empty();
    require(reads_none, || "a public option reads a Secret".to_owned())
}

fn values() -> Values {
    let keys = [
        ("password", SECRET.to_owned()),
        ("list", format!("[\"{SECRET}\", 3]")),
        ("map", format!("{{\"a\": \"{SECRET}\"}}")),
        ("number", format!("3{SECRET}")),
    ];
    let keys = BTreeMap::from(keys.map(|(key, text)| (key.to_owned(), SecretString::from(text))));
    let db = SecretData { version: "uid/7".to_owned(), keys, ..SecretData::default() };
    let sizes = BTreeMap::from([("small".to_owned(), "3".to_owned())]);
    let state =
        BTreeMap::from([(String::new(), json!("vpc-1")), ("vpc.CidrBlock".to_owned(), json!("10.0.0.0/16"))]);
    Values {
        config_maps: BTreeMap::from([("sizes".to_owned(), sizes)]),
        secrets: BTreeMap::from([("db".to_owned(), db)]),
        resources: BTreeMap::from([("vpc".to_owned(), BTreeMap::from([("main".to_owned(), state)]))]),
        causes: BTreeMap::new(),
    }
}
