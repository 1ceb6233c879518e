//! Describe calls of the load balancing API: by ARN, by name, and by `PageSize` and `Marker`.

use std::collections::BTreeSet;

use crate::answer::Answer;
use crate::cloud::Cloud;
use crate::form::Form;
use crate::listing::ids;
use crate::markup::Xml;
use crate::refusal::Refusal;
use crate::registry::Visibility;
use crate::store::CloudObject;

/// AWS's limit.
const MOST: usize = 400;

/// A kind that the Describe calls of the load balancing API return.
pub(super) trait WriteXml: CloudObject {
    /// The parameter with ARNs.
    const ARNS: &'static str;
    /// The element of the response with the results.
    const SET: &'static str;

    fn write_xml(&self, xml: &mut Xml, cloud: &Cloud);
}

/// The response with the visible objects, page by page; all matching ones if the call has neither ARNs nor names.
pub(super) fn describe<T: WriteXml>(
    cloud: &Cloud,
    form: &Form,
    named: Option<&BTreeSet<u64>>,
    passes: impl Fn(&T) -> bool,
) -> Result<Answer, Refusal> {
    let (size, first) = (page_size(cloud, form)?, marker(form)?);
    let arns = form.list(T::ARNS);
    let requested =
        (!arns.is_empty()).then(|| cloud.numbers(T::KIND, &arns, Visibility::Described)).transpose()?;
    let seen = |number: &u64| cloud.registry.is_seen(T::object(*number), Visibility::Described, cloud.now);
    let is_named = |number: &u64| {
        let by_arn = requested.as_ref().is_none_or(|requested| requested.contains(number));
        by_arn && named.is_none_or(|named| named.contains(number))
    };
    let mut found = cloud
        .all::<T>()
        .range(first..)
        .filter(|(number, object)| seen(number) && is_named(number) && passes(object));
    let page: Vec<(&u64, &T)> = found.by_ref().take(size).collect();
    let mut body = Xml::default();
    body.members(T::SET, &page, |xml, (_, object)| object.write_xml(xml, cloud));
    if let Some((next, _)) = found.next() {
        body.text("NextMarker", format!("page-{next:x}"));
    }
    Ok(Answer { body, ids: ids::<T>(cloud, page.into_iter().map(|(number, _)| *number)) })
}

/// The response to a create or change call.
pub(super) fn answer<T: WriteXml>(cloud: &Cloud, number: u64) -> Answer {
    let mut body = Xml::default();
    body.members(T::SET, cloud.all::<T>().get(&number), |xml, object| object.write_xml(xml, cloud));
    Answer { body, ids: ids::<T>(cloud, [number]) }
}

fn page_size(cloud: &Cloud, form: &Form) -> Result<usize, Refusal> {
    let size = form.number("PageSize")?.unwrap_or(MOST);
    if !(1..=MOST).contains(&size) {
        return Err(Refusal::invalid(format!(
            "1 validation error detected: Value '{size}' at 'pageSize' failed to satisfy constraint: Member must \
             have value between 1 and {MOST}"
        )));
    }
    Ok(size.min(cloud.options.page_size).max(1))
}

/// The start of a page. It contains the number of the next object, so that no object is skipped if an earlier object is
/// deleted.
fn marker(form: &Form) -> Result<u64, Refusal> {
    let Some(marker) = form.get("Marker").filter(|marker| !marker.is_empty()) else { return Ok(0) };
    let number = marker.strip_prefix("page-").and_then(|number| u64::from_str_radix(number, 16).ok());
    number.ok_or_else(|| Refusal::invalid("Invalid marker"))
}
