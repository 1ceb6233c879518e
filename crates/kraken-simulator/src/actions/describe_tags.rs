//! DescribeTags: the tags of all EC2 objects.

use crate::answer::Answer;
use crate::cloud::Cloud;
use crate::filters::Filter;
use crate::form::Form;
use crate::kind::Kind;
use crate::listing::{next_token, page_size, to_token};
use crate::markup::Xml;
use crate::refusal::Refusal;
use crate::registry::{ObjectRef, Visibility};

struct Row<'a> {
    key: &'a str,
    value: &'a str,
    id: &'a str,
    kind: &'static str,
}

/// A page ends at a whole number of tags; its token counts them.
pub(super) fn describe(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (filters, size) = (Filter::of(form)?, page_size(cloud, form, (5, 1000))?);
    let first = next_token(form)?;
    Filter::check(&filters, |name| ["key", "value", "resource-id", "resource-type"].contains(&name))?;
    let mut objects = candidates(cloud, &filters);
    objects.sort_unstable();
    objects.dedup();
    let mut rows = vec![];
    for object in objects {
        if !cloud.registry.is_seen(object, Visibility::Described, cloud.now) {
            continue;
        }
        let id = cloud.registry.entry(object).map_or("", |entry| &entry.id);
        let tags = cloud.registry.tags(object, cloud.now).iter();
        let all = tags.map(|(key, value)| Row { key, value, id, kind: object.kind.tag_type() });
        rows.extend(all.filter(|row| passes(&filters, row)));
    }
    let start = usize::try_from(first).unwrap_or(usize::MAX).min(rows.len());
    let end = start.saturating_add(size).min(rows.len());
    let mut body = Xml::default();
    body.list("tagSet", &rows[start..end], |xml, row| {
        xml.text("key", row.key);
        xml.text("resourceId", row.id);
        xml.text("resourceType", row.kind);
        xml.text("value", row.value);
    });
    if end < rows.len() {
        body.text("nextToken", to_token(end as u64));
    }
    Ok(Answer { body, ids: rows[start..end].iter().map(|row| row.id.to_owned()).collect() })
}

/// The smallest set of candidates.
fn candidates(cloud: &Cloud, filters: &[Filter]) -> Vec<ObjectRef> {
    let exact = |name: &str| {
        let filter = filters.iter().find(|filter| filter.name == name && filter.is_exact())?;
        Some(filter.values.clone())
    };
    if let Some(ids) = exact("resource-id") {
        let objects = ids.iter().filter_map(|id| cloud.registry.object(id));
        return objects.filter(|object| object.kind.is_of_ec2()).collect();
    }
    let kinds = Kind::ALL.iter().filter(|kind| kind.is_of_ec2()).filter(|kind| {
        let types = filters.iter().filter(|filter| filter.name == "resource-type");
        types.into_iter().all(|filter| filter.matches(kind.tag_type()))
    });
    let (keys, values) = (exact("key"), exact("value"));
    let of_kind = |kind: &Kind| -> Vec<ObjectRef> {
        let Some(objects) = cloud.registry.objects_of(*kind) else { return vec![] };
        let numbers: Vec<u64> = match (&keys, &values) {
            (Some(keys), Some(values)) => {
                let pairs = keys.iter().flat_map(|key| values.iter().map(move |value| (key, value)));
                let sets = pairs.filter_map(|(key, value)| objects.index.with(key, value));
                sets.flatten().copied().collect()
            }
            (Some(keys), None) => {
                keys.iter().filter_map(|key| objects.index.with_key(key)).flatten().copied().collect()
            }
            _ => objects.present.iter().copied().collect(),
        };
        numbers.into_iter().map(|number| ObjectRef { kind: *kind, number }).collect()
    };
    kinds.flat_map(of_kind).collect()
}

fn passes(filters: &[Filter], row: &Row<'_>) -> bool {
    filters.iter().all(|filter| {
        filter.matches(match filter.name.as_str() {
            "key" => row.key,
            "value" => row.value,
            "resource-id" => row.id,
            _ => row.kind,
        })
    })
}
