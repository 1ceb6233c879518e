//! CreateTags and DeleteTags.

use crate::simulator::cloud::{Cloud, Thing};
use crate::simulator::form::Form;
use crate::simulator::refusal::{Refusal, is_well_formed};
use crate::simulator::tags::Tags;

use super::{Answer, done};

const MOST_TAGS: usize = 50;

/// Sets tags; all or none.
pub(super) fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (ids, things) = resources(cloud, form)?;
    let added = form.tags();
    if added.is_empty() {
        form.required("Tag")?;
    }
    let mut changes = vec![];
    for thing in things {
        let mut tags = latest(cloud, thing);
        tags.extend(added.iter().map(|(key, value)| (key.clone(), value.clone().unwrap_or_default())));
        changes.push((thing, checked(tags)?));
    }
    for (thing, tags) in changes {
        cloud.set_tags(thing, tags);
    }
    Ok(done(ids))
}

/// Removes tags: those of a key or, with a value, that very tag; all of them if none is named.
pub(super) fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (ids, things) = resources(cloud, form)?;
    let named = form.tags();
    for thing in things {
        let mut tags = latest(cloud, thing);
        tags.retain(|key, have| {
            let meant = |(named, value): &(String, Option<String>)| {
                named == key && value.as_ref().is_none_or(|value| value == have)
            };
            !named.is_empty() && !named.iter().any(meant)
        });
        cloud.set_tags(thing, tags);
    }
    Ok(done(ids))
}

fn latest(cloud: &Cloud, thing: Thing) -> Tags {
    cloud.history(thing).map(|history| history.latest().clone()).unwrap_or_default()
}

fn resources(cloud: &Cloud, form: &Form) -> Result<(Vec<String>, Vec<Thing>), Refusal> {
    let ids = form.list("ResourceId");
    if ids.is_empty() {
        form.required("ResourceId")?;
    }
    let instances: Vec<&str> = ids.iter().copied().filter(|id| id.starts_with("i-")).collect();
    let mut things: Vec<Thing> = cloud.known(&instances)?.into_iter().map(Thing::Instance).collect();
    for id in ids.iter().filter(|id| !id.starts_with("i-")) {
        if !is_well_formed(id, "vol-") {
            return Err(Refusal::new("InvalidID", format!("The ID '{id}' is not valid")));
        }
        let there = |number: &u64| {
            let instance = cloud.instances.get(number);
            instance.is_some_and(|one| one.known_from <= cloud.now && one.has_volume(cloud.now))
        };
        match cloud.thing(id) {
            Some(Thing::Volume(number)) if there(&number) => things.push(Thing::Volume(number)),
            _ => {
                return Err(Refusal::new(
                    "InvalidVolume.NotFound",
                    format!("The volume '{id}' does not exist."),
                ));
            }
        }
    }
    Ok((ids.into_iter().map(str::to_owned).collect(), things))
}

/// AWS's rules for the tags of one thing.
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
