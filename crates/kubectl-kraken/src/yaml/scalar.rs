//! What a scalar means, as kubectl reads it: `sigs.k8s.io/yaml` resolves scalars as go-yaml v2 does, by the rules of YAML 1.1 with its own
//! exceptions, and converts the result to JSON. A parser of YAML 1.2 reads `on`, `010` and `1e999` otherwise, so that a plan would be of
//! another object than the one that `kubectl apply` stores. Pure.

use granit_parser::{ScalarStyle, Tag};
use serde_json::Value;

const NAMESPACE: &str = "tag:yaml.org,2002:";

/// A scalar with the type that go-yaml gives it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// More than an `i64` holds.
    Uint(u64),
    Float(f64),
    Text(String),
}

impl Scalar {
    /// # Errors
    /// If the text is not of the type that its tag says.
    pub(super) fn read(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Self, String> {
        let tag = tag.map(|tag| tag.suffix_in_namespace(NAMESPACE).unwrap_or_default());
        let resolved = match tag.as_deref() {
            None if style == ScalarStyle::Plain => return Ok(resolve(text)),
            Some("bool" | "int" | "float" | "null") => resolve(text),
            Some("binary") => return Err("the tag !!binary is not supported: write the text".to_owned()),
            // Tags that it does not know are ignored, and so is that the text is plain.
            _ => return Ok(Self::Text(text.to_owned())),
        };
        match (tag.as_deref(), resolved) {
            #[expect(clippy::cast_precision_loss, reason = "as go-yaml")]
            (Some("float"), Self::Int(number)) => Ok(Self::Float(number as f64)),
            (Some("float"), found @ Self::Float(_))
            | (Some("int"), found @ (Self::Int(_) | Self::Uint(_)))
            | (Some("bool"), found @ Self::Bool(_))
            | (Some("null"), found @ Self::Null) => Ok(found),
            (tag, _) => Err(format!("{text:?} is not of the type of its tag !!{}", tag.unwrap_or_default())),
        }
    }

    /// As a value of JSON.
    ///
    /// # Errors
    /// If JSON cannot express it.
    pub(super) fn value(&self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(is) => Value::from(*is),
            Self::Int(number) => Value::from(*number),
            Self::Uint(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Float(number) if !number.is_finite() => {
                return Err(format!(
                    "{} is not a number in JSON: quote it if it is a text",
                    special(*number)
                ));
            }
            // Go writes 1e3 as 1000, which a schema accepts as an integer.
            Self::Float(number) => {
                let written = number.to_string();
                let whole = written.parse::<i64>().map(Value::from);
                whole
                    .or_else(|_| written.parse::<u64>().map(Value::from))
                    .unwrap_or_else(|_| (*number).into())
            }
        })
    }

    /// As a key of an object of JSON.
    ///
    /// # Errors
    /// If kubectl rejects such a key.
    pub(super) fn key(&self) -> Result<String, String> {
        Ok(match self {
            Self::Null => return Err("a key is null: quote it if it is a text".to_owned()),
            Self::Uint(number) => return Err(format!("the key {number} is too large: quote it")),
            Self::Bool(is) => is.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Float(number) if !number.is_finite() => special(*number).to_owned(),
            Self::Float(number) => shortest(*number),
        })
    }
}

/// The type and value of a plain scalar: `resolve` of go-yaml v2.
fn resolve(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'.') if has_go_underscores(text) => float(&text.replace('_', "")),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain)).or_else(|| signed_binary(&plain))
        }
        _ => None,
    };
    number.unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

/// `strconv.ParseInt` and `ParseUint` with the base of the prefix: a leading 0 is octal.
fn integer(text: &str) -> Option<Scalar> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if text.starts_with('-') { -number } else { number };
    let unsigned = || u64::try_from(number).ok().filter(|_| !text.starts_with('+')).map(Scalar::Uint);
    i64::try_from(number).ok().map(Scalar::Int).or_else(unsigned)
}

/// A number that overflows is a text, so that a hash such as 105e432083614936 stays one.
fn float(text: &str) -> Option<Scalar> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text| str::strip_prefix(text, ['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        text.split_once(['e', 'E']).map_or((text, "0"), |(mantissa, rest)| (mantissa, rest));
    let is_mantissa = match unsigned(mantissa).split_once('.') {
        None => digits(unsigned(mantissa)),
        Some((whole, "")) => digits(whole),
        Some((whole, part)) => (whole.is_empty() || digits(whole)) && digits(part),
    };
    let is_float = is_mantissa && digits(unsigned(exponent));
    let number = is_float.then(|| text.parse::<f64>().ok()).flatten();
    number.filter(|number| number.is_finite()).map(Scalar::Float)
}

/// go-yaml accepts a sign behind the prefix too.
fn signed_binary(text: &str) -> Option<Scalar> {
    let number = match text.strip_prefix("-0b") {
        Some(digits) => i64::from_str_radix(&format!("-{digits}"), 2),
        None => i64::from_str_radix(text.strip_prefix("0b")?, 2),
    };
    number.ok().map(Scalar::Int)
}

/// Whether each underscore is between two digits, as `strconv.ParseFloat` wants it.
fn has_go_underscores(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut underscores = (0..bytes.len()).filter(|at| bytes[*at] == b'_');
    underscores.all(|at| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)))
}

fn special(number: f64) -> &'static str {
    match number {
        number if number.is_nan() => ".nan",
        number if number > 0.0 => ".inf",
        _ => "-.inf",
    }
}

/// `strconv.FormatFloat(number, 'g', -1, 32)`, with which sigs.k8s.io/yaml writes keys.
fn shortest(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the bit size 32")]
    let number = number as f32;
    let scientific = format!("{number:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return special(number.into()).to_owned();
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        _ => number.to_string(),
    }
}
