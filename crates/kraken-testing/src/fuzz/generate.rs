//! Inputs that are nearly valid: tokens of a grammar, joined, and JSON.

use fastrand::Rng;
use serde_json::{Map, Value};

/// The maximum number of tokens of a text.
const PIECES: usize = 24;
/// The maximum depth of generated JSON.
const DEPTH: usize = 6;

/// Characters that parsers, terminals and headers treat specially.
const CHARACTERS: [char; 14] = [
    '\0',
    '\n',
    '\r',
    '\t',
    ' ',
    '"',
    '\\',
    'ä',
    '\u{202e}',
    '\u{200b}',
    '\u{feff}',
    '\u{fffd}',
    '\u{10ffff}',
    '\u{85}',
];

/// Text of tokens of a grammar, with a few other characters between them.
pub fn pieces(rng: &mut Rng, tokens: &[&str]) -> String {
    let mut text = String::new();
    for _ in 0..rng.usize(..=PIECES) {
        if rng.u8(..8) == 0 {
            text.push(character(rng));
        } else {
            text.push_str(rng.choice(tokens).copied().unwrap_or_default());
        }
    }
    text
}

fn character(rng: &mut Rng) -> char {
    if rng.bool() { rng.char(..) } else { rng.choice(CHARACTERS).unwrap_or_default() }
}

/// Any JSON, with these words as its texts and keys.
pub fn json(rng: &mut Rng, words: &[&str]) -> Value {
    at_depth(rng, words, DEPTH)
}

fn at_depth(rng: &mut Rng, words: &[&str], left: usize) -> Value {
    // Half of the cases are objects or lists, unless the maximum depth is reached.
    let shapes = if left == 0 { 6 } else { 12 };
    match rng.u8(..shapes) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => rng.i64(-3..1000).into(),
        3 => number(rng),
        4 => pieces(rng, words).into(),
        5 => rng.choice(words).copied().unwrap_or_default().into(),
        6 | 7 => (0..rng.usize(..4)).map(|_| at_depth(rng, words, left - 1)).collect(),
        _ => {
            let mut members = Map::new();
            for _ in 0..rng.usize(..5) {
                let key = rng.choice(words).copied().unwrap_or_default().to_owned();
                members.insert(key, at_depth(rng, words, left - 1));
            }
            members.into()
        }
    }
}

/// A number at a limit of a type.
pub(super) fn number(rng: &mut Rng) -> Value {
    let all: [Value; 12] = [
        i64::MIN.into(),
        i64::MAX.into(),
        u64::MAX.into(),
        i32::MAX.into(),
        (i64::from(i32::MAX) + 1).into(),
        u16::MAX.into(),
        (-1).into(),
        (-0.0).into(),
        3.0.into(),
        0.1.into(),
        1e300.into(),
        9_007_199_254_740_994.0.into(),
    ];
    rng.choice(all).unwrap_or_default()
}
