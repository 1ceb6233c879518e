//! Fuzzing without nightly Rust: a kept corpus is replayed, then inputs are generated and mutated.
//!
//! A target is a function from bytes to a result. It fails if it returns an error, panics or takes too long. The bytes of a failing
//! input are minimized and written to a file, which becomes an entry of the corpus when the defect is fixed: every later run
//! replays it.
//!
//! Variables of the environment:
//! - `KRAKEN_FUZZ_CASES`: the number of cases per target. Default: 3,000.
//! - `KRAKEN_FUZZ_SECONDS`: the time per target, instead of a number of cases.
//! - `KRAKEN_FUZZ_SEED`: the seed of the inputs. Default: 0, so that two runs are equal.

mod attempt;
mod corpus;
mod generate;
mod minimize;
mod mutate;
mod mutate_json;
mod target;
mod tokens;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
pub use fastrand::Rng;

pub use generate::{json, pieces};
pub use mutate_json::mutate_json;
pub use target::{Generate, Target};
pub use tokens::{PATH_TOKENS, STATE_DICTIONARY, STATE_WORDS};

use attempt::attempt;
use corpus::Entry;

/// The default number of cases: all targets together take about ten seconds.
const CASES: u64 = 3000;

/// Separates the parts of an input that has two, such as a path and a document.
pub const SEPARATOR: &str = "\n---\n";

/// The result of a check of one property, for [`Target::check`].
///
/// # Errors
/// The text, if the property does not hold.
pub fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// How long a target runs, and its seed.
#[derive(Clone, Copy, Debug)]
struct Settings {
    cases: u64,
    time: Option<Duration>,
    seed: u64,
}

impl Settings {
    fn from_environment() -> Result<Self> {
        let time = variable("KRAKEN_FUZZ_SECONDS")?.map(Duration::from_secs);
        let cases = variable("KRAKEN_FUZZ_CASES")?.unwrap_or(CASES);
        Ok(Self { cases, time, seed: variable("KRAKEN_FUZZ_SEED")?.unwrap_or_default() })
    }

    fn is_over(&self, cases: u64, elapsed: Duration) -> bool {
        self.time.map_or(cases >= self.cases, |time| elapsed >= time)
    }
}

fn variable(name: &str) -> Result<Option<u64>> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    text.parse().map(Some).with_context(|| format!("{name} is {text:?}, and not a number"))
}

/// Replays the corpus of a target, then runs it on new inputs.
///
/// # Errors
/// If an input fails: the violated property, the seed, and the path of the file with the minimized input. If the corpus is missing.
pub fn run(target: &Target<'_>) -> Result<()> {
    let settings = Settings::from_environment()?;
    let entries = corpus::read(target.name)?;
    ensure!(!entries.is_empty(), "the corpus of {} is empty", target.name);
    for Entry { path, input } in &entries {
        if let Err(why) = attempt(target, input) {
            bail!("{}: {} of the corpus: {why}", target.name, path.display());
        }
    }
    let corpus: Vec<_> = entries.into_iter().map(|entry| entry.input).collect();
    let started = Instant::now();
    let mut case = 0;
    while !settings.is_over(case, started.elapsed()) {
        let input = input_of(target, &corpus, settings.seed, case);
        if let Err(why) = attempt(target, &input) {
            return Err(failure(target, settings.seed, case, &input, &why));
        }
        case += 1;
    }
    corpus::forget_current(target.name)
}

/// The input of a case depends on the seed, the number of the case, and the corpus only.
fn input_of(target: &Target<'_>, corpus: &[Vec<u8>], seed: u64, case: u64) -> Vec<u8> {
    // An odd constant separates the cases of two adjacent seeds.
    let mut rng = Rng::with_seed(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match rng.u8(..4) {
        0 | 1 => (target.generate)(&mut rng, corpus),
        2 => mutate::mutate(&mut rng, corpus, target.dictionary),
        _ => {
            let nearly = (target.generate)(&mut rng, corpus);
            mutate::mutate(&mut rng, &[nearly], target.dictionary)
        }
    }
}

fn failure(target: &Target<'_>, seed: u64, case: u64, input: &[u8], why: &str) -> anyhow::Error {
    let small = minimize::minimize(input, |candidate| attempt(target, candidate).is_err());
    let place = match corpus::keep(target.name, &small) {
        Ok(path) => format!("the minimized input is in {}", path.display()),
        Err(error) => format!("the minimized input was not written ({error:#}): {:?}", text_of(&small)),
    };
    let folder = corpus::FOLDER;
    anyhow::anyhow!(
        "{}: {why}\nKRAKEN_FUZZ_SEED={seed}, case {case}; {place}. When it is fixed, copy the file to {folder}/{}",
        target.name,
        target.name,
    )
}

fn text_of(input: &[u8]) -> String {
    String::from_utf8_lossy(input).chars().take(2000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(rng: &mut Rng, _: &[Vec<u8>]) -> Vec<u8> {
        pieces(rng, &["a", "b"]).into_bytes()
    }

    fn target(check: &dyn Fn(&[u8]) -> Result<(), String>) -> Target<'_> {
        Target { name: "test-of-the-runner", dictionary: &["abc"], generate: &generated, check }
    }

    #[test]
    fn input_depends_on_seed_and_case_only() {
        let check = |_: &[u8]| Ok(());
        let target = target(&check);
        let corpus = [b"one".to_vec(), b"two".to_vec()];
        let inputs = |seed| (0..50).map(|case| input_of(&target, &corpus, seed, case)).collect::<Vec<_>>();
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }

    #[test]
    fn failing_case_is_reported_with_its_seed_and_a_minimized_input() {
        let check = |input: &[u8]| if input.contains(&b'!') { Err("has a !".to_owned()) } else { Ok(()) };
        let error = failure(&target(&check), 3, 9, b"abc ! def", "has a !").to_string();
        assert!(error.contains("KRAKEN_FUZZ_SEED=3, case 9"), "{error}");
        let path = error.split("is in ").nth(1).and_then(|rest| rest.split(". When").next()).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"!");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn time_replaces_the_number_of_cases() {
        let settings = Settings { cases: 10, time: None, seed: 0 };
        assert!(!settings.is_over(9, Duration::MAX) && settings.is_over(10, Duration::ZERO));
        let settings = Settings { time: Some(Duration::from_secs(5)), ..settings };
        assert!(
            !settings.is_over(1000, Duration::from_secs(4)) && settings.is_over(0, Duration::from_secs(5))
        );
    }
}
