//! CreateTags and DeleteTags.

use std::collections::BTreeMap;

use crate::answer::{Answer, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::registry::{ObjectRef, Visibility};
use crate::tags::Tags;

const MOST_TAGS: usize = 50;

/// Sets tags; all or none.
pub(super) fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (ids, objects) = resources(cloud, form)?;
    let added = form.tags();
    if added.is_empty() {
        form.required("Tag")?;
    }
    let mut changes = vec![];
    for object in objects {
        let mut tags = cloud.registry.latest_tags(object);
        tags.extend(added.iter().map(|(key, value)| (key.clone(), value.clone().unwrap_or_default())));
        changes.push((object, checked(tags)?));
    }
    for (object, tags) in changes {
        cloud.set_tags(object, tags);
    }
    Ok(done(ids))
}

/// Removes tags: by key or, with a value, by key and value; all tags if the call has no keys.
pub(super) fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (ids, objects) = resources(cloud, form)?;
    let named = form.tags();
    for object in objects {
        let mut tags = cloud.registry.latest_tags(object);
        tags.retain(|key, have| {
            let meant = |(named, value): &(String, Option<String>)| {
                named == key && value.as_ref().is_none_or(|value| value == have)
            };
            !named.is_empty() && !named.iter().any(meant)
        });
        cloud.set_tags(object, tags);
    }
    Ok(done(ids))
}

fn resources(cloud: &Cloud, form: &Form) -> Result<(Vec<String>, Vec<ObjectRef>), Refusal> {
    let ids = form.list("ResourceId");
    if ids.is_empty() {
        form.required("ResourceId")?;
    }
    let mut by_kind = BTreeMap::<Kind, Vec<&str>>::new();
    for id in &ids {
        let kind = Kind::ALL.into_iter().find(|kind| kind.is_of_ec2() && id.starts_with(kind.prefix()));
        let unknown = || Refusal::new("InvalidID", format!("The ID '{id}' is not valid"));
        by_kind.entry(kind.ok_or_else(unknown)?).or_default().push(id);
    }
    let mut objects = vec![];
    for (kind, ids) in by_kind {
        let numbers = cloud.numbers(kind, &ids, Visibility::Known)?;
        objects.extend(numbers.into_iter().map(|number| ObjectRef { kind, number }));
    }
    Ok((ids.into_iter().map(str::to_owned).collect(), objects))
}

/// The tags in a create call: only for the created kind.
pub(crate) fn given(form: &Form, kind: Kind) -> Result<Tags, Refusal> {
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
pub(crate) fn checked(tags: Tags) -> Result<Tags, Refusal> {
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
