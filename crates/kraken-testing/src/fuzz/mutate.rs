//! Mutations of bytes: flips, removals, duplications, truncation, words of the format, and splices of two inputs.

use fastrand::Rng;

/// The maximum number of mutations of one input.
const MUTATIONS: usize = 8;
/// The maximum length of an input, in bytes. Duplications would double it each time.
const MAX_LENGTH: usize = 256 * 1024;

/// Bytes at the limits of ASCII and UTF-8.
const BYTES: [u8; 12] = [0, b'\n', b'"', b'\\', b'{', b'}', b'[', b']', 0x7f, 0x80, 0xc3, 0xff];

/// One of the inputs, mutated.
pub(super) fn mutate(rng: &mut Rng, inputs: &[Vec<u8>], dictionary: &[&str]) -> Vec<u8> {
    let mut input = rng.choice(inputs).cloned().unwrap_or_default();
    for _ in 0..rng.usize(1..=MUTATIONS) {
        once(rng, &mut input, inputs, dictionary);
        input.truncate(MAX_LENGTH);
    }
    input
}

fn once(rng: &mut Rng, input: &mut Vec<u8>, inputs: &[Vec<u8>], dictionary: &[&str]) {
    let (start, end) = range(rng, input.len());
    match rng.u8(..9) {
        0 => {
            if let Some(byte) = input.get_mut(start) {
                *byte ^= 1 << rng.u8(..8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(start) {
                *byte = rng.choice(BYTES).unwrap_or_default();
            }
        }
        2 => drop(input.drain(start..end)),
        3 => input.truncate(start),
        4 => {
            let part = input[start..end].to_vec();
            insert(input, end, &part);
        }
        5 => {
            // Deep nesting and long runs of one token.
            let part = input[start..end.min(start + 8)].repeat(rng.usize(2..300));
            insert(input, end, &part);
        }
        6 => {
            let other = rng.choice(inputs).cloned().unwrap_or_default();
            let (from, to) = range(rng, other.len());
            insert(input, start, &other[from..to]);
        }
        7 => insert(input, start, &[rng.u8(..)]),
        _ => {
            let word = rng.choice(dictionary).copied().unwrap_or_default();
            drop(input.splice(start..end.min(start + word.len()), word.bytes()));
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    drop(input.splice(at..at, part.iter().copied()));
}

/// A range in an input of this length: mostly short, so that most of the input is preserved.
fn range(rng: &mut Rng, length: usize) -> (usize, usize) {
    let start = rng.usize(..=length);
    let most = if rng.u8(..4) == 0 { length - start } else { (length - start).min(16) };
    (start, start + rng.usize(..=most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_change_inputs_and_are_bounded() {
        let inputs = [b"{\"value\": [1, 2, 3]}".to_vec(), b"x".repeat(MAX_LENGTH), vec![]];
        let mut rng = Rng::with_seed(1);
        let mutated: Vec<_> = (0..500).map(|_| mutate(&mut rng, &inputs, &["null"])).collect();
        assert!(mutated.iter().all(|input| input.len() <= MAX_LENGTH));
        assert!(mutated.iter().filter(|input| !inputs.contains(input)).count() > 400);
        assert!(mutated.iter().any(|input| input.windows(4).any(|part| part == b"null")));
    }
}
