//! States and the other objects of Kraken's own API: decoding, encoding and the digest of a state. Their resolution is fuzzed
//! in the hub, with the same corpus: a StateDeclaration, and optionally a line `---` and a path.

use anyhow::Result;
use kraken_api::{
    ConfigExportSpec, DependencyRequestSpec, DependencyRequestStatus, Lifecycle, ResourceStatus,
    StateDeclaration, StateDeclarationSpec,
};
use kraken_testing::fuzz::{self, Rng, SEPARATOR, STATE_DICTIONARY, STATE_WORDS, Target, require};
use serde_json::{Value, json};

use crate::{decoded, mutated_document};

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
    drop(decoded::<DependencyRequestSpec>(&spec)?);
    drop(decoded::<DependencyRequestStatus>(&spec)?);
    drop(decoded::<ConfigExportSpec>(&spec)?);
    drop(decoded::<Lifecycle>(&spec)?);
    drop(decoded::<ResourceStatus>(&spec)?);
    match decoded::<StateDeclarationSpec>(&spec)? {
        Some(state) => digest(&state, path),
        None => Ok(()),
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
