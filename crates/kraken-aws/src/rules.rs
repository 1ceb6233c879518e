//! Validation rules shared by many kinds, for values that AWS would reject, and their results. Pure.

/// The result of a rule: the problem, without the value, which may come from a Secret.
pub type ValidationResult<E = String> = Result<(), E>;

/// Why a value is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// The problem, without the value.
    pub text: String,
    /// A hint that may contain the value: shown only for values that are not from a Secret.
    pub hint: Option<String>,
    /// The index of the item of a list that the problem is about.
    pub item: Option<usize>,
}

impl From<String> for ValidationError {
    fn from(text: String) -> Self {
        Self { text, hint: None, item: None }
    }
}

impl ValidationError {
    /// The same problem, of this item of a list.
    #[must_use]
    pub fn of_item(self, index: usize) -> Self {
        Self { item: Some(index), ..self }
    }

    /// With the hint.
    pub fn shown(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}: {hint}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Every value is valid.
///
/// # Errors
/// Never.
pub fn any<T>(_: &T) -> ValidationResult {
    Ok(())
}

/// AWS ids: a prefix followed by lower-case letters and digits.
///
/// # Errors
/// If it does not have this format.
pub fn an_id(id: &str, prefix: &str) -> ValidationResult {
    let fits = id.len() <= 64
        && id.strip_prefix(prefix).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        });
    ensure(fits, || format!("must look like {prefix}0abc1234def567890"))
}

/// Numbers within inclusive bounds.
///
/// # Errors
/// If it is out of bounds.
pub fn between(value: i32, min: i32, max: i32) -> ValidationResult {
    ensure((min..=max).contains(&value), || format!("must be {min} to {max}"))
}

/// Texts with a maximum length in characters, and not only white space.
///
/// # Errors
/// If it is too long or blank.
pub fn a_text(text: &str, max: usize) -> ValidationResult {
    let fits = !text.trim().is_empty() && text.chars().count() <= max;
    ensure(fits, || format!("must have 1 to {max} characters"))
}

/// One of several values.
///
/// # Errors
/// If it is none of them; the message lists them.
pub fn one_of(word: &str, words: &[&str]) -> ValidationResult {
    ensure(words.contains(&word), || format!("must be one of {}", words.join(", ")))
}

/// Lists in which each item satisfies a rule.
///
/// # Errors
/// With the index of the first invalid item.
pub fn each<T: AsRef<str>>(
    items: &[T],
    rule: impl Fn(&str) -> ValidationResult,
) -> ValidationResult<ValidationError> {
    for (index, item) in items.iter().enumerate() {
        rule(item.as_ref()).map_err(|why| ValidationError::from(why).of_item(index))?;
    }
    Ok(())
}

/// Any rule.
///
/// # Errors
/// If the condition is false.
pub fn ensure(holds: bool, else_say: impl FnOnce() -> String) -> ValidationResult {
    if holds { Ok(()) } else { Err(else_say()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_prefix() {
        assert_eq!(an_id("vpc-0abc1234def567890", "vpc-"), Ok(()));
        for wrong in ["", "vpc-", "vpc", "VPC-1", "vpc-1 ", "subnet-1", "vpc-../1"] {
            assert!(an_id(wrong, "vpc-").unwrap_err().contains("must look like vpc-"), "{wrong}");
        }
    }

    #[test]
    fn bounds_are_included() {
        assert_eq!((between(0, 0, 65_535), between(65_535, 0, 65_535)), (Ok(()), Ok(())));
        assert_eq!(between(65_536, 0, 65_535), Err("must be 0 to 65535".to_owned()));
    }

    #[test]
    fn texts_are_not_blank_and_bounded() {
        assert_eq!(a_text("ops key", 7), Ok(()));
        assert_eq!(a_text("üüü", 3), Ok(()));
        assert_eq!((a_text(" ", 7), a_text("ops keys", 7)), (a_text("", 7), a_text("", 7)));
    }

    #[test]
    fn an_invalid_item_is_reported_with_its_index() {
        let ids = |items: &[&str]| each(items, |id| an_id(id, "sg-"));
        assert_eq!((ids(&[]), ids(&["sg-1", "sg-2"])), (Ok(()), Ok(())));
        let wrong = ids(&["sg-1", "web", "db"]).unwrap_err();
        assert_eq!((wrong.text.as_str(), wrong.item), ("must look like sg-0abc1234def567890", Some(1)));
    }
}
