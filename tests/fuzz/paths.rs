//! Paths: parsing, printing and evaluation. An input is a path, and optionally a line `---` and a JSON document.

use anyhow::Result;
use kraken_options::{Budget, Path};
use kraken_testing::fuzz::{self, PATH_TOKENS, Rng, SEPARATOR, Target, require};
use serde_json::{Value, json};

/// The steps of one budget.
const MAX_STEPS: usize = 1_000_000;
/// The maximum size of a value, if each byte of 1 MiB is escaped.
const MAX_VALUE: usize = 8 * 1024 * 1024;

const WORDS: &[&str] = &["a", "b", "vpc", "items", "0", "-1", "", "key.with.dots", "\u{202e}", "\0", "[a-c]"];

#[test]
fn no_path_breaks_parsing_or_evaluation() -> Result<()> {
    fuzz::run(&Target { name: "paths", dictionary: PATH_TOKENS, generate: &generated, check: &check })
}

fn generated(rng: &mut Rng, _: &[Vec<u8>]) -> Vec<u8> {
    let start = if rng.bool() { "$" } else { "" };
    let path = format!("{start}{}", fuzz::pieces(rng, PATH_TOKENS));
    format!("{path}{SEPARATOR}{}", fuzz::json(rng, WORDS)).into_bytes()
}

fn check(input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input);
    let (path, document) = text.split_once(SEPARATOR).unwrap_or((&*text, ""));
    let parsed = match Path::parse(path) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = error.to_string();
            return require(error.chars().count() <= 400 && !error.contains('\n'), || {
                format!("the error is not one short line: {error:?}")
            });
        }
    };
    require(parsed.as_str() == path, || format!("{path:?} is printed as {:?}", parsed.as_str()))?;
    let again = Path::parse(&parsed.to_string());
    require(again.as_ref() == Ok(&parsed), || format!("{path:?} is parsed again as {again:?}"))?;
    let data = serde_json::from_str(document).unwrap_or_else(|_| sample());
    evaluation(&parsed, &data)
}

fn sample() -> Value {
    json!({
        "a": {"b": [1, 2.5, "c", null, {"a": true}]},
        "vpc": {"CidrBlock": "10.0.0.0/16", "Tags": {"key.with.dots": "x", "": 0}},
        "items": [{"a": 1}, {"a": "abc"}, [[], {}], -1],
    })
}

fn evaluation(path: &Path, data: &Value) -> Result<(), String> {
    let mut budget = Budget::default();
    for _ in 0..3 {
        let before = budget.steps_taken();
        let found = path.find_within(data, &mut budget);
        let after = budget.steps_taken();
        require((before..=MAX_STEPS).contains(&after), || format!("{before} steps became {after}"))?;
        match found {
            Ok(value) => {
                require(!value.is_null(), || "null was found".to_owned())?;
                let length = value.to_string().len();
                require(length <= MAX_VALUE, || format!("the value has {length} bytes"))?;
                let is_list = value.is_array();
                require(path.is_singular() || is_list, || "a query did not return a list".to_owned())?;
            }
            Err(error) => {
                let length = error.to_string().len();
                require(length <= 8 * 1024, || format!("the error has {length} bytes"))?;
            }
        }
    }
    let (first, second) = (path.find(data), path.find(data));
    require(first == second, || format!("{first:?} and then {second:?}"))
}
