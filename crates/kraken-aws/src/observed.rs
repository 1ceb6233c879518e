//! Observed objects, which [`crate::aws_observed`] converts from those of the SDK.

use crate::{lookup::Tagged, tags::Tags};

/// A text of the SDK, or an enum as its text.
pub fn text<T: AsRef<str>>(value: Option<T>) -> Option<String> {
    value.map(|value| value.as_ref().to_owned())
}

/// As [`text`]; an empty one counts as missing.
pub fn non_empty<T: AsRef<str>>(value: Option<T>) -> Option<String> {
    text(value).filter(|text| !text.is_empty())
}

/// An observed object whose tags can be read by another call.
pub trait WithTags: Tagged {
    /// The object with these tags.
    #[must_use]
    fn with_tags(self, tags: Tags) -> Self;
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::types::SubnetState;

    #[test]
    fn an_enum_is_its_text_and_an_empty_text_can_count_as_missing() {
        assert_eq!(text(Some(SubnetState::Pending)).as_deref(), Some("pending"));
        assert_eq!(text(Some("")).as_deref(), Some(""));
        assert_eq!(text(None::<String>), None);
        assert_eq!((non_empty(Some("a")).as_deref(), non_empty(Some(""))), (Some("a"), None));
    }
}
