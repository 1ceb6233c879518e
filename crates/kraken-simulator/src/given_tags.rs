//! The tags in the parameters of EC2's calls, and AWS's rules for them.

use super::form::Form;
use super::kind::Kind;
use super::refusal::Refusal;
use super::tags::Tags;

const MOST_TAGS: usize = 50;

/// The tags in a create call: only for the created kind.
pub(super) fn given(form: &Form, kind: Kind) -> Result<Tags, Refusal> {
    for specification in form.structures("TagSpecification") {
        let named = specification.get("ResourceType").unwrap_or_default();
        if named != kind.tag_type() {
            let message = format!("'{named}' is not a valid taggable resource type for this operation.");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
    }
    specified(form, kind)
}

/// The tags in a create call for objects of one kind.
pub(super) fn specified(form: &Form, kind: Kind) -> Result<Tags, Refusal> {
    let specifications = form.structures("TagSpecification").into_iter();
    let of_kind = specifications.filter(|one| one.get("ResourceType") == Some(kind.tag_type()));
    let tags = of_kind.flat_map(|specification| specification.tags());
    checked(tags.map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

/// AWS's rules for the tags of one object.
pub(super) fn checked(tags: Tags) -> Result<Tags, Refusal> {
    if tags.len() > MOST_TAGS {
        let message = format!("The maximum number of tags that you can attach to a resource is {MOST_TAGS}");
        return Err(Refusal::new("TagLimitExceeded", message));
    }
    for (key, value) in &tags {
        if key.to_lowercase().starts_with("aws:") {
            let message = "Tag keys starting with 'aws:' are reserved for internal use";
            return Err(Refusal::new("InvalidParameterValue", message));
        }
        if key.is_empty() || key.chars().count() > 128 || value.chars().count() > 256 {
            let message =
                format!("Tag '{key}' exceeds the maximum length of a key (128) or value (256), or is empty");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
    }
    Ok(tags)
}
