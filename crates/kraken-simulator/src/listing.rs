//! Describe calls by id and by filter, with pagination, for all kinds of objects.

use std::collections::BTreeSet;

use super::answer::Answer;
use super::cloud::Cloud;
use super::described::Described;
use super::filters::{Filter, candidates};
use super::form::Form;
use super::markup::Xml;
use super::refusal::Refusal;
use super::registry::Visibility;
use super::store::CloudObject;

/// The content of a page, and the start of the next one.
#[derive(Debug)]
pub(super) struct Page<'a, T> {
    pub(super) members: Vec<(u64, &'a T)>,
    next: Option<u64>,
}

impl<T: Described> Page<'_, T> {
    /// The response with the members in `body`.
    pub(super) fn answer(self, cloud: &Cloud, mut body: Xml) -> Answer {
        if let Some(number) = self.next {
            body.text("nextToken", to_token(number));
        }
        let numbers = self.members.iter().map(|(number, _)| *number);
        Answer { body, ids: ids::<T>(cloud, numbers) }
    }
}

/// The ids of these numbers.
pub(super) fn ids<T: CloudObject>(cloud: &Cloud, numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    let entries = numbers.into_iter().filter_map(|number| cloud.registry.entry(T::object(number)));
    entries.map(|entry| entry.id.clone()).collect()
}

/// A whole Describe call.
pub(super) fn describe<T: Described>(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    describe_of::<T>(cloud, form, None)
}

/// A Describe call for these objects only, for parameters other than ids.
pub(super) fn describe_of<T: Described>(
    cloud: &Cloud,
    form: &Form,
    only: Option<&BTreeSet<u64>>,
) -> Result<Answer, Refusal> {
    let page = page::<T>(cloud, form, only)?;
    let mut body = Xml::default();
    body.list(T::SET, &page.members, |xml, (number, object)| write(xml, cloud, *number, *object));
    Ok(page.answer(cloud, body))
}

/// The whole description of an object.
pub(super) fn write<T: Described>(xml: &mut Xml, cloud: &Cloud, number: u64, object: &T) {
    object.write(xml, cloud);
    xml.tags(cloud.registry.tags(T::object(number), cloud.now));
}

/// The response to a create call: the object, in an element with this name.
pub(super) fn made<T: Described>(cloud: &Cloud, number: u64, name: &str) -> Answer {
    let mut body = Xml::default();
    if let Some(object) = cloud.all::<T>().get(&number) {
        body.tag(name, |xml| write(xml, cloud, number, object));
    }
    Answer { body, ids: ids::<T>(cloud, [number]) }
}

/// The requested page.
pub(super) fn page<'a, T: Described>(
    cloud: &'a Cloud,
    form: &Form,
    only: Option<&BTreeSet<u64>>,
) -> Result<Page<'a, T>, Refusal> {
    let ids = form.list(T::IDS);
    let filters = Filter::of(form)?;
    Filter::check(&filters, Filter::is_of::<T>)?;
    let (size, first) = match T::PAGE {
        Some(bounds) => (page_size(cloud, form, bounds)?, next_token(form)?),
        None => (usize::MAX, 0),
    };
    let mut chosen =
        (!ids.is_empty()).then(|| cloud.numbers(T::KIND, &ids, Visibility::Described)).transpose()?;
    if let Some(only) = only {
        chosen.get_or_insert_default().extend(only);
    }
    let mut page = Page { members: vec![], next: None };
    let Some(objects) = cloud.registry.objects_of(T::KIND) else { return Ok(page) };
    let numbers: Box<dyn Iterator<Item = u64>> = match chosen {
        None => candidates(objects, &filters, first),
        Some(chosen) => Box::new(chosen.into_iter().filter(move |number| *number >= first)),
    };
    for number in numbers {
        let Some(object) = cloud.all::<T>().get(&number) else { continue };
        let seen = cloud.registry.is_seen(T::object(number), Visibility::Described, cloud.now);
        if !seen || !filters.iter().all(|filter| filter.passes(cloud, number, object)) {
            continue;
        }
        if page.members.len() == size {
            page.next = Some(number);
            break;
        }
        page.members.push((number, object));
    }
    Ok(page)
}

/// The page size.
pub(super) fn page_size(cloud: &Cloud, form: &Form, bounds: (usize, usize)) -> Result<usize, Refusal> {
    let (least, most) = bounds;
    let requested = form.number("MaxResults")?;
    match requested {
        Some(size) if !(least..=most).contains(&size) => {
            let bound =
                if size < least { format!("greater than {least}") } else { format!("less than {most}") };
            let message =
                format!("Value ( {size} ) for parameter maxResults is invalid. Expecting a value {bound}.");
            Err(Refusal::new("InvalidParameterValue", message))
        }
        _ => Ok(requested.unwrap_or(usize::MAX).min(cloud.options.page_size).max(1)),
    }
}

/// The start of a page. It contains the number of the next object and not an offset, so that no object is skipped if an
/// earlier object is deleted.
pub(super) fn next_token(form: &Form) -> Result<u64, Refusal> {
    let Some(token) = form.get("NextToken").filter(|token| !token.is_empty()) else { return Ok(0) };
    let number = token.strip_prefix("page-").and_then(|number| u64::from_str_radix(number, 16).ok());
    number.ok_or_else(|| Refusal::new("InvalidNextToken", "The specified NextToken is not valid."))
}

pub(super) fn to_token(number: u64) -> String {
    format!("page-{number:x}")
}
