//! Fuzzing of the decoding and resolution of states. An input is a StateDeclaration as JSON, and optionally a line `---` and a
//! path. The corpus and the first part of the target are in `tests/fuzz`.

use std::sync::Arc;

use anyhow::Result;
use kraken_api::{
    DependencyRequestSpec,
    dependency_request::ResourceDependency,
    state_declaration::{StateDeclarationSpec, Withheld},
};
use kraken_options::JsonType;
use kraken_runtime::hash::HashMap;
use kraken_testing::fuzz::{
    self, PATH_TOKENS, Rng, SEPARATOR, STATE_DICTIONARY, STATE_WORDS, Target, require,
};
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::{
    requests::answer::{Answer, MAX_TOTAL, answer},
    store::{
        index::ObjectRef,
        lookup::{Lookup, Lookups, StateData},
        read::parse_state,
        trust,
    },
};

/// The maximum length of a message about one dependency with its `…`, in bytes.
const MAX_MESSAGE: usize = 603;
/// The paths that every state is resolved with, besides the one of the input.
const PATHS: [&str; 9] = [
    "",
    "vpc.CidrBlock",
    "a.0",
    "[\"\"]",
    "$",
    "$..*",
    "$..[?@.a == 1]",
    "$.*[?length(@) > 1]",
    "$['a','b'][::2]",
];

#[test]
fn no_state_breaks_decoding_or_resolution() -> Result<()> {
    fuzz::run(&Target { name: "states", dictionary: STATE_DICTIONARY, generate: &generated, check: &check })
}

fn generated(rng: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let entry = rng.choice(corpus).and_then(|entry| serde_json::from_slice::<Value>(entry).ok());
    let mut document = entry.unwrap_or_else(|| {
        let withheld = json!([{"path": fuzz::pieces(rng, STATE_WORDS), "field": "imageID"}]);
        let spec = json!({"data": fuzz::json(rng, STATE_WORDS), "id": "vpc-1", "withheld": withheld});
        json!({"metadata": {"name": "static-a"}, "spec": spec})
    });
    for _ in 0..rng.usize(..4) {
        fuzz::mutate_json(rng, &mut document, STATE_WORDS);
    }
    let start = if rng.bool() { "$" } else { "" };
    format!("{document}{SEPARATOR}{start}{}", fuzz::pieces(rng, PATH_TOKENS)).into_bytes()
}

fn check(input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input);
    let (text, path) = text.split_once(SEPARATOR).unwrap_or((&*text, "vpc.CidrBlock"));
    let (lookup, is_trusted) = match parse_state(text) {
        Err(why) => {
            require(!why.contains(" at line"), || format!("the error has a position: {why}"))?;
            (Lookup::Unreadable(why.into()), false)
        }
        Ok((meta, state)) => lookup_of(&meta, state),
    };
    let dependencies: Vec<_> = PATHS
        .into_iter()
        .chain([path])
        .flat_map(|path| JsonType::ALL.map(|json_type| dependency(path, json_type)))
        .collect();
    let spec = DependencyRequestSpec {
        kraken_resource_dependencies: dependencies,
        ..DependencyRequestSpec::default()
    };
    let lookup = HashMap::from_iter([(ObjectRef::state("ns", "vpc", "main"), lookup)]);
    let answered = answer("ns", &spec, &Lookups { lookup, ..Lookups::default() });
    well_formed(&answered, &spec, is_trusted)
}

fn lookup_of(meta: &ObjectMeta, state: StateDeclarationSpec) -> (Lookup, bool) {
    if let Some(why) = trust::refusal(meta, &state) {
        return (Lookup::Untrusted(why.into()), false);
    }
    let StateDeclarationSpec { data, id, withheld } = state;
    // A user can write anything into the list.
    for Withheld { path, .. } in &withheld {
        let _ = Withheld { path: path.clone(), field: String::new() }.explains(path);
    }
    (Lookup::State(Arc::new(StateData { data, id, withheld })), true)
}

fn dependency(path: &str, json_type: JsonType) -> ResourceDependency {
    ResourceDependency {
        kind: "vpc".to_owned(),
        name: "main".to_owned(),
        namespace: None,
        path: path.to_owned(),
        json_type,
        follows: false,
    }
}

fn well_formed(answer: &Answer, spec: &DependencyRequestSpec, is_trusted: bool) -> Result<(), String> {
    let values = answer.values.from_kraken_resources.get("vpc").and_then(|names| names.get("main"));
    let values: Vec<_> = values.into_iter().flatten().collect();
    require(is_trusted || values.is_empty(), || "a state that is not trusted has values".to_owned())?;
    let size: usize = values.iter().map(|(_, value)| value.to_string().len()).sum();
    require(size <= MAX_TOTAL, || format!("the values have {size} bytes"))?;
    require(answer.transience.is_some() != answer.unmet.is_empty(), || {
        format!("transience {:?}", answer.transience)
    })?;
    for unmet in &answer.unmet {
        require(unmet.message.len() <= MAX_MESSAGE && !unmet.message.is_empty(), || {
            format!("a message of {} bytes", unmet.message.len())
        })?;
    }
    for wanted in &spec.kraken_resource_dependencies {
        let has_value = values.iter().any(|(path, _)| **path == wanted.path);
        let is_unmet = answer.unmet.iter().any(|unmet| unmet.entry == wanted.path);
        require(has_value || is_unmet, || format!("no answer for {:?}", wanted.path))?;
    }
    let accepted = |(path, value): &(&String, &Value)| {
        spec.kraken_resource_dependencies
            .iter()
            .any(|wanted| wanted.path == **path && wanted.json_type.accepts(value))
    };
    require(values.iter().all(accepted), || "a value has none of the types".to_owned())
}
