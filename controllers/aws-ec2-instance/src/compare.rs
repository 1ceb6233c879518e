//! Compares desired and observed state, with a remedy for each difference. Pure.
//!
//! The order of the differences is the order of the changes: surplus instances are terminated first, then fields are
//! changed in place, then fields of stopped instances, which are started afterwards. Finally another instance is stopped.

use kraken_aws::{
    fields::{ABSENT, NOT_SHOWN, SECRET, listed, shown, tag_path},
    tag_memory,
};
use kraken_spoke::{Comparison, Difference, FieldDiff, Remedy};

use crate::{
    api::Desired,
    change::Change,
    instance::{Instance, Observed},
};

mod settings;
mod stops;

/// Compares. The newest surplus instances are terminated; only the remaining ones are compared.
pub(crate) fn compare(desired: &Desired, observed: &Observed) -> Comparison<Change> {
    let (live, wanted) = (observed.live(), desired.count());
    let (kept, surplus) = live.split_at(live.len().min(wanted));
    let mut found = Found { kept, differences: vec![] };
    if !surplus.is_empty() {
        let ids = ids(surplus.iter().rev());
        let have = format!("{} instances", live.len());
        found.push("maxCount", shown(&desired.max_count), have, Remedy::Change(Change::Terminate(ids)));
    }
    tags(desired, &mut found);
    settings::compare(desired, &mut found);
    stops::compare(desired, observed, &mut found);
    Comparison {
        missing: missing(wanted, live.len()),
        settling: settling(kept),
        differences: found.differences,
    }
}

fn missing(wanted: usize, live: usize) -> Option<String> {
    match wanted.saturating_sub(live) {
        0 => None,
        1 => Some(format!("1 instance of {wanted}")),
        more => Some(format!("{more} instances of {wanted}")),
    }
}

fn settling(kept: &[&Instance]) -> Option<String> {
    let moving: Vec<_> = kept
        .iter()
        .filter(|instance| !instance.state.is_at_rest())
        .map(|instance| format!("{} is {}", instance.instance_id, instance.state.name))
        .collect();
    (!moving.is_empty()).then(|| format!("instance {}", listed(&moving)))
}

/// The differences of tags: desired tags, and tags that Kraken set before and that are no longer in the spec. Other
/// tags are not changed.
fn tags(desired: &Desired, found: &mut Found<'_>) {
    let absent = || ABSENT.to_owned();
    for (key, value) in &desired.tags {
        let differing = found.differing(|instance| match instance.tags.get(key) {
            Some(have) if have == value => None,
            have => Some(have.cloned().unwrap_or_else(absent)),
        });
        found.push_all(&tag_path(key), value.clone(), &differing, |ids| Change::SetTag {
            key: key.clone(),
            ids,
        });
    }
    let mut stale: Vec<String> =
        found.kept.iter().flat_map(|instance| stale_tags(desired, instance)).collect();
    stale.sort();
    stale.dedup();
    for key in stale {
        let differing = found.differing(|instance| {
            stale_tags(desired, instance).any(|stale| stale == key).then(|| instance.tags[&key].clone())
        });
        found.push_all(&tag_path(&key), absent(), &differing, |ids| Change::RemoveTag {
            key: key.clone(),
            ids,
        });
    }
}

fn stale_tags<'a>(desired: &'a Desired, instance: &'a Instance) -> impl Iterator<Item = String> + 'a {
    let memory = tag_memory::read(&instance.tags);
    kraken_aws::tags::users(&instance.tags)
        .into_keys()
        .filter(move |key| !desired.tags.contains_key(key) && tag_memory::knows(memory, key))
}

/// A differing instance with its observed value.
type Differing<'a> = Vec<(&'a Instance, String)>;

/// The differences found so far between the desired state and the instances that are kept.
struct Found<'a> {
    kept: &'a [&'a Instance],
    differences: Vec<Difference<Change>>,
}

impl<'a> Found<'a> {
    /// The differing instances, for which `have` returns the observed value.
    fn differing(&self, have: impl Fn(&Instance) -> Option<String>) -> Differing<'a> {
        self.kept.iter().filter_map(|instance| have(instance).map(|have| (*instance, have))).collect()
    }

    /// A difference that one change corrects on all instances.
    fn push_all(
        &mut self,
        path: &str,
        want: String,
        differing: &[(&Instance, String)],
        change: impl FnOnce(Vec<String>) -> Change,
    ) {
        self.push_by(path, want, differing, |ids| Remedy::Change(change(ids)));
    }

    /// A difference that one remedy corrects on all instances.
    fn push_by(
        &mut self,
        path: &str,
        want: String,
        differing: &[(&Instance, String)],
        remedy: impl FnOnce(Vec<String>) -> Remedy<Change>,
    ) {
        if !differing.is_empty() {
            let remedy = remedy(ids(differing.iter().map(|(instance, _)| instance)));
            self.push(path, want, self.have(differing), remedy);
        }
    }

    /// A difference of an immutable field.
    fn push_fixed(&mut self, path: &str, want: String, differing: &[(&Instance, String)]) {
        if !differing.is_empty() {
            let why = "it is set at launch only: restore the old value, or let Kraken replace the instances \
                       (spec.lifecycle.replace)";
            self.push(path, want, self.have(differing), Remedy::Immutable(why.to_owned()));
        }
    }

    fn push(&mut self, path: &str, want: String, have: String, remedy: Remedy<Change>) {
        self.differences.push(Difference { field: FieldDiff::new(path, want, have), remedy });
    }

    /// The observed values, with instance ids if they are ambiguous.
    fn have(&self, differing: &[(&Instance, String)]) -> String {
        match differing {
            [(_, have)] if self.kept.len() == 1 => have.clone(),
            many => {
                let each: Vec<_> =
                    many.iter().map(|(instance, have)| format!("{}: {have}", instance.instance_id)).collect();
                listed(&each)
            }
        }
    }
}

fn ids<'a>(instances: impl Iterator<Item = &'a &'a Instance>) -> Vec<String> {
    instances.map(|instance| instance.instance_id.clone()).collect()
}

#[cfg(test)]
mod tests;
