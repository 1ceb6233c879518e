//! Properties that hold for every input: no input causes a panic, parsed values are preserved, and no secret is disclosed.

mod inputs;
mod paths;
mod resolution;
mod secrets;

use proptest::prelude::ProptestConfig;

/// No failing inputs are stored: they become unit tests.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() }
}
