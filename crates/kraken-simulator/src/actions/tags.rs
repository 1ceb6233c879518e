//! CreateTags and DeleteTags.

use std::collections::BTreeMap;

use crate::answer::{Answer, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::given_tags::checked;
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::registry::{ObjectRef, Visibility};

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
