//! Fuzzing of everything that decodes what a user or another controller wrote. One module per target; its corpus is in
//! `corpus/<module>`. The target `states` has a second part in the hub, whose code is private.

mod options;
mod paths;
mod reviews;
mod states;
mod templates;

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A document of the corpus that is JSON, mutated several times; any JSON if there is none.
fn mutated_document(rng: &mut kraken_testing::fuzz::Rng, corpus: &[Vec<u8>], words: &[&str]) -> Value {
    let entry = rng.choice(corpus).and_then(|entry| serde_json::from_slice::<Value>(entry).ok());
    let mut document = entry.unwrap_or_else(|| kraken_testing::fuzz::json(rng, words));
    for _ in 0..rng.usize(1..6) {
        kraken_testing::fuzz::mutate_json(rng, &mut document, words);
    }
    document
}

/// The decoded document, if it decodes; an error if it differs after it is encoded and decoded again.
fn decoded<O>(document: &Value) -> Result<Option<O>, String>
where
    O: DeserializeOwned + Serialize + PartialEq + Debug,
{
    let Ok(decoded) = serde_json::from_value::<O>(document.clone()) else { return Ok(None) };
    let written =
        serde_json::to_value(&decoded).map_err(|error| format!("{decoded:?} does not encode: {error}"))?;
    match serde_json::from_value::<O>(written.clone()) {
        Ok(again) if again == decoded => Ok(Some(decoded)),
        Ok(again) => Err(format!("{decoded:?} became {again:?}")),
        Err(error) => Err(format!("{written} was encoded and does not decode: {error}")),
    }
}
