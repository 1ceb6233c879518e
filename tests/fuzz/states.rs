//! States and the other objects of Kraken's own API: decoding, encoding and the digest of a state. Their resolution is fuzzed
//! in the hub, with the same corpus: a StateDeclaration, and optionally a line `---` and a path.

use std::fmt::Debug;

use anyhow::Result;
use kraken_api::{
    ConfigExportSpec, DependencyRequestSpec, DependencyRequestStatus, Lifecycle, ResourceStatus,
    StateDeclaration, StateDeclarationSpec,
};
use kraken_testing::fuzz::{self, Rng, SEPARATOR, STATE_DICTIONARY, STATE_WORDS, Target, require};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::mutated_document;

#[test]
fn no_object_breaks_the_types_of_the_api() -> Result<()> {
    fuzz::run(&Target { name: "states", dictionary: STATE_DICTIONARY, generate: &generated, check: &check })
}

fn generated(rng: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let document = if rng.bool() {
        let withheld = json!([{"path": fuzz::pieces(rng, STATE_WORDS), "field": "imageID"}]);
        let spec = json!({"data": fuzz::json(rng, STATE_WORDS), "id": fuzz::pieces(rng, STATE_WORDS), "withheld": withheld});
        json!({"metadata": {"name": "static-a"}, "spec": spec})
    } else {
        mutated_document(rng, corpus, STATE_WORDS)
    };
    document.to_string().into_bytes()
}

fn check(input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input);
    let (text, path) = text.split_once(SEPARATOR).unwrap_or((&*text, "vpc.CidrBlock"));
    // As the controllers decode: directly from text.
    drop(serde_json::from_str::<StateDeclaration>(text));
    let Ok(document) = serde_json::from_str::<Value>(text) else { return Ok(()) };
    let spec = document.get("spec").cloned().unwrap_or_default();
    drop(coded::<DependencyRequestSpec>(&spec)?);
    drop(coded::<DependencyRequestStatus>(&spec)?);
    drop(coded::<ConfigExportSpec>(&spec)?);
    drop(coded::<Lifecycle>(&spec)?);
    drop(coded::<ResourceStatus>(&spec)?);
    match coded::<StateDeclarationSpec>(&spec)? {
        Some(state) => digest(&state, path),
        None => Ok(()),
    }
}

/// Decodes; an object that decodes is equal after it is encoded and decoded again.
fn coded<O: DeserializeOwned + Serialize + PartialEq + Debug>(spec: &Value) -> Result<Option<O>, String> {
    let Ok(decoded) = serde_json::from_value::<O>(spec.clone()) else { return Ok(None) };
    let written =
        serde_json::to_value(&decoded).map_err(|error| format!("{decoded:?} does not encode: {error}"))?;
    match serde_json::from_value::<O>(written) {
        Ok(again) if again == decoded => Ok(Some(decoded)),
        again => Err(format!("{decoded:?} became {again:?}")),
    }
}

/// The digest does not depend on null members, and differs for another id.
fn digest(state: &StateDeclarationSpec, path: &str) -> Result<(), String> {
    let mut edited = state.clone();
    if let Value::Object(members) = &mut edited.data
        && !members.contains_key("absent")
    {
        members.insert("absent".to_owned(), Value::Null);
    }
    require(edited.content_hash() == state.content_hash(), || "a null member changes the digest".to_owned())?;
    edited.id = Some(format!("{}x", state.id.as_deref().unwrap_or_default()));
    require(edited.content_hash() != state.content_hash(), || "another id has the same digest".to_owned())?;
    for withheld in &state.withheld {
        require(withheld.path.is_empty() || !withheld.explains(""), || {
            format!("{:?} explains a missing id", withheld.path)
        })?;
        let _ = withheld.explains(path);
    }
    Ok(())
}
