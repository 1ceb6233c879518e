//! Shortens a failing input: parts are removed as long as it still fails.

/// The maximum number of attempts: a short input that is not the shortest is good enough.
const ATTEMPTS: usize = 2000;

/// The shortest input that was found.
pub(super) fn minimize(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut best = input.to_vec();
    let mut left = ATTEMPTS;
    let mut length = best.len().div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < best.len() && left > 0 {
            left -= 1;
            let end = (at + length).min(best.len());
            let shorter = [&best[..at], &best[end..]].concat();
            if fails(&shorter) {
                best = shorter;
            } else {
                at = end;
            }
        }
        length /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bytes_that_are_required_remain() {
        let input =
            [b"x".repeat(500), b"a".to_vec(), b"y".repeat(70), b"b".to_vec(), b"z".repeat(9)].concat();
        let fails = |input: &[u8]| input.contains(&b'a') && input.contains(&b'b');
        assert_eq!(minimize(&input, fails), b"ab");
    }

    #[test]
    fn input_that_always_fails_becomes_empty() {
        assert_eq!(minimize(b"anything", |_| true), b"");
        assert_eq!(minimize(b"", |_| true), b"");
    }
}
