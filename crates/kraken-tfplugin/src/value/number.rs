//! Numbers without a limit of their precision: a plugin may send integers of any size and decimal fractions as text.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Longest text of a number, in bytes. The 512 bits of precision that plugins calculate with have 155 digits; an exact
/// binary fraction has up to 1,075.
const MAX_TEXT: usize = 2048;
/// Numbers with more zeros than this before or after their digits are displayed with an exponent.
const MAX_ZEROS: i64 = 400;

/// A decimal number, exact: `-12.5` is the digits `125` with the exponent -1 and the sign.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number {
    is_negative: bool,
    /// Without zeros at the beginning and the end; empty for zero.
    digits: String,
    exponent: i64,
}

/// Text or a float that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a number")]
pub struct NotANumber;

impl Number {
    fn new(is_negative: bool, digits: &str, exponent: i64) -> Self {
        let significant = digits.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Self { is_negative: false, digits: String::new(), exponent: 0 };
        }
        let zeros = i64::try_from(significant.len() - trimmed.len()).unwrap_or(i64::MAX);
        Self { is_negative, digits: trimmed.to_owned(), exponent: exponent.saturating_add(zeros) }
    }

    /// The exact value of a binary fraction: `0.1` has 55 decimals.
    ///
    /// # Errors
    /// When it is infinite or not a number.
    pub fn from_f64(number: f64) -> Result<Self, NotANumber> {
        if number.is_finite() { format!("{number:.1074}").parse() } else { Err(NotANumber) }
    }

    /// Whether it has no fraction.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The integer, if it is one of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        (self.is_integer() && self.exponent < 20).then(|| self.to_string().parse().ok()).flatten()
    }

    /// The integer, if it is one of 64 bits without a sign.
    pub fn as_u64(&self) -> Option<u64> {
        (self.is_integer() && self.exponent < 20).then(|| self.to_string().parse().ok()).flatten()
    }

    /// The nearest binary fraction.
    pub fn to_f64(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The binary fraction that is exactly this number, if there is one.
    pub fn as_exact_f64(&self) -> Option<f64> {
        let nearest = self.to_f64();
        (Self::from_f64(nearest).as_ref() == Ok(self)).then_some(nearest)
    }

    /// The binary fraction whose shortest decimal text is this number, if there is one.
    pub(super) fn as_shortest_f64(&self) -> Option<f64> {
        let nearest = self.to_f64();
        (nearest.is_finite() && format!("{nearest:e}").parse().as_ref() == Ok(self)).then_some(nearest)
    }

    /// The power of ten of the first digit.
    fn magnitude(&self) -> i64 {
        self.exponent.saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::new(number < 0, &number.unsigned_abs().to_string(), 0)
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self::new(false, &number.to_string(), 0)
    }
}

impl FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        if text.len() > MAX_TEXT {
            return Err(NotANumber);
        }
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| NotANumber)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotANumber);
        }
        let decimals = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        Ok(Self::new(is_negative, &digits, i64::from(exponent) - decimals))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits.is_empty() {
            return f.write_str("0");
        }
        if self.is_negative {
            f.write_str("-")?;
        }
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
        let (digits, magnitude) = (&self.digits, self.magnitude());
        if self.exponent > MAX_ZEROS || magnitude < -MAX_ZEROS {
            write!(f, "{digits}e{}", self.exponent)
        } else if self.exponent >= 0 {
            write!(f, "{digits}{}", zeros(self.exponent))
        } else if magnitude <= 0 {
            write!(f, "0.{}{digits}", zeros(-magnitude))
        } else {
            let (whole, fraction) = digits.split_at(usize::try_from(magnitude).unwrap_or_default());
            write!(f, "{whole}.{fraction}")
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        // Digits without zeros at the end compare as text: "12" is before "123".
        let by_size =
            || self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits.cmp(&other.digits));
        sign(self)
            .cmp(&sign(other))
            .then_with(|| if self.is_negative { by_size().reverse() } else { by_size() })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn equal_numbers_have_one_form() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("+0012.500", "12.5"),
            ("1e3", "1000"),
            ("1200e-4", "0.12"),
            ("-0.0001E2", "-0.01"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1e999999", "1e999999"),
            ("1.5e-999999", "15e-1000000"),
        ] {
            assert_eq!(number(text).to_string(), expected);
        }
    }

    #[test]
    fn text_that_is_no_number_is_rejected() {
        for text in
            ["", "-", ".", "1.2.3", "0x10", "1e", "1e99999999999", "inf", "NaN", " 1", &"1".repeat(3000)]
        {
            assert!(text.parse::<Number>().is_err(), "{text}");
        }
        assert!(Number::from_f64(f64::INFINITY).is_err());
    }

    #[test]
    fn a_binary_fraction_is_not_the_decimal_one_that_it_displays() {
        assert_eq!(Number::from_f64(0.5).unwrap(), number("0.5"));
        let tenth = Number::from_f64(0.1).unwrap();
        assert!(tenth.to_string().starts_with("0.1000000000000000055511151231257827"));
        assert_eq!((tenth.as_exact_f64(), number("0.1").as_exact_f64()), (Some(0.1), None));
        assert_eq!((tenth.as_shortest_f64(), number("0.1").as_shortest_f64()), (None, Some(0.1)));
    }

    #[test]
    fn integers_of_64_bits_are_found() {
        assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(
            (number("9223372036854775808").as_i64(), number("9223372036854775808").as_u64()),
            (None, Some(1 << 63))
        );
        assert_eq!(
            (number("1e19").as_u64(), number("1e30").as_u64(), number("1.5").as_i64()),
            (Some(10_000_000_000_000_000_000), None, None)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn numbers_are_ordered_as_integers(a: i64, b: i64) {
            prop_assert_eq!(Number::from(a).cmp(&Number::from(b)), a.cmp(&b));
            prop_assert_eq!(Number::from(a).as_i64(), Some(a));
        }

        #[test]
        fn binary_fractions_are_kept_exactly(a in proptest::num::f64::NORMAL | proptest::num::f64::ZERO | proptest::num::f64::SUBNORMAL) {
            let exact = Number::from_f64(a).unwrap();
            prop_assert_eq!(exact.as_exact_f64(), Some(a + 0.0));
            prop_assert_eq!(exact.to_string().parse::<Number>().unwrap(), exact);
        }
    }
}
