//! GET of one object, and lists: at the newest version, at one that is named, or from a cache that may lag.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use hyper::body::Bytes;
use serde_json::json;

use super::{
    fault::Fault,
    kinds::Kind,
    request::{self, Form, Query, Target},
    scale,
    selectors::Selector,
    state::{Inner, State},
    store::{Key, Object},
};

impl Inner {
    /// GET of one object.
    pub(super) fn get(
        &self,
        state: &State,
        target: &Target,
        query: &Query,
        form: Form,
    ) -> Result<Bytes, Fault> {
        let kind = &target.kind;
        let key = target.key();
        let object = if query.get("resourceVersion") == Some("0") {
            self.cached(state, kind).1.get(&key).cloned()
        } else {
            state.store.get(kind.index, &key).cloned()
        };
        let object = object.ok_or_else(|| Fault::not_found(kind, &target.name))?;
        if target.subresource == "scale" {
            return Ok(scale::read(kind, &object.value)?.to_string().into());
        }
        Ok(object.bytes(form))
    }

    /// A list, or a page of it.
    pub(super) fn list(
        &self,
        state: &State,
        target: &Target,
        query: &Query,
        form: Form,
    ) -> Result<Bytes, Fault> {
        let kind = &target.kind;
        let form = item_form(kind, form);
        request::check_list(query)?;
        let selector = selector(target, query)?;
        // A cache answers lists at version 0, and pays no attention to limits. There is none of Events.
        let is_cached = query.get("resourceVersion") == Some("0") && kind.plural != "events";
        let limit = query.number("limit")?.filter(|_| !is_cached);
        let limit = limit.unwrap_or_default();
        let page = match query.get("continue") {
            Some(token) => Some(Page::read(token)?),
            None => None,
        };
        let (revision, objects) = match &page {
            Some(page) => self.exactly(state, kind, page.revision)?,
            None => self.version(state, kind, query, &selector)?,
        };
        let after = page.map(|page| page.after);
        let mut items = Vec::new();
        let mut next = None;
        let (mut left, mut is_cut) = (0_u64, false);
        for (key, object) in objects.iter() {
            if after.as_ref().is_some_and(|after| key <= after) || !selector.is_in(&key.namespace) {
                continue;
            }
            let is_full = limit > 0 && items.len() as u64 >= limit;
            // Whether what is left is selected is only known when it is read.
            is_cut |= is_full && !selector.is_of_one();
            if !selector.matches(&object.value) {
                continue;
            }
            if is_full {
                left += 1;
                continue;
            }
            next = Some(key);
            items.push(object.bytes(form));
        }
        let next = next.filter(|_| is_cut).map(|after| Page { revision, after: after.clone() }.text());
        let is_selective = query.get("labelSelector").is_some() || query.get("fieldSelector").is_some();
        let left = (!is_selective && left > 0).then_some(left);
        Ok(body(kind, form, revision, &items, next, left))
    }

    /// The requested version of a list.
    fn version<'s>(
        &self,
        state: &'s State,
        kind: &Kind,
        query: &Query,
        selector: &Selector,
    ) -> Result<Version<'s>, Fault> {
        let requested = query.number("resourceVersion")?;
        let newest = state.store.revision;
        match (requested, query.get("resourceVersionMatch")) {
            (Some(revision), Some("Exact")) => self.exactly(state, kind, revision),
            (Some(0), _) => Ok(self.cached(state, kind)),
            // A limit without a match means this version as well, unless a single object is requested.
            (Some(revision), None)
                if query.get("limit").is_some_and(|limit| limit != "0") && !selector.is_of_one() =>
            {
                self.exactly(state, kind, revision)
            }
            (Some(revision), _) if revision > newest => Err(Fault::too_large_version(revision, newest)),
            _ => {
                let table = state.store.table(kind.index);
                Ok((newest, table.map_or_else(Cow::default, |table| Cow::Borrowed(&table.objects))))
            }
        }
    }

    fn exactly<'s>(&self, state: &'s State, kind: &Kind, revision: u64) -> Result<Version<'s>, Fault> {
        if revision > state.store.revision {
            return Err(Fault::too_large_version(revision, state.store.revision));
        }
        if revision < state.store.compacted {
            return Err(Fault::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            ));
        }
        let table = state.store.table(kind.index);
        Ok((revision, table.map_or_else(Cow::default, |table| Cow::Owned(table.at(revision)))))
    }

    /// The version that the watch cache has: it may lag.
    fn cached<'s>(&self, state: &'s State, kind: &Kind) -> Version<'s> {
        let Some(table) = state.store.table(kind.index) else {
            return (state.store.revision, Cow::default());
        };
        let known = state.cache_lag.map(|lag| {
            let now = tokio::time::Instant::now();
            let mut unseen = table.history.iter().rev().take_while(|entry| entry.at + lag > now);
            unseen.next_back_revision()
        });
        match known.flatten() {
            Some(revision) => (revision, Cow::Owned(table.at(revision))),
            None => (state.store.revision, Cow::Borrowed(&table.objects)),
        }
    }
}

type Objects = BTreeMap<Key, Arc<Object>>;

/// A revision, and the objects at it.
type Version<'s> = (u64, Cow<'s, Objects>);

trait Unseen {
    fn next_back_revision(&mut self) -> Option<u64>;
}

impl<'a, I: Iterator<Item = &'a super::store::Entry>> Unseen for I {
    /// The revision before the oldest of these entries.
    fn next_back_revision(&mut self) -> Option<u64> {
        self.last().map(|entry| entry.revision - 1)
    }
}

/// The form of the items of a list.
pub(super) fn item_form(kind: &Kind, form: Form) -> Form {
    if form == Form::Full && !kind.is_custom() { Form::Item } else { form }
}

/// The selectors of a request.
pub(super) fn selector(target: &Target, query: &Query) -> Result<Selector, Fault> {
    Selector::new(&target.kind, &target.namespace, query.get("labelSelector"), query.get("fieldSelector"))
}

/// A list of objects.
pub(super) fn body(
    kind: &Kind,
    form: Form,
    revision: u64,
    items: &[Bytes],
    next: Option<String>,
    left: Option<u64>,
) -> Bytes {
    let (list, api_version) = match form {
        Form::Full | Form::Item => (format!("{}List", kind.kind), kind.api_version()),
        Form::Metadata => ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned()),
    };
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    // The lists of custom resources have it always.
    let next = next.or_else(|| (form == Form::Full).then(String::new));
    if let Some(next) = next {
        metadata["continue"] = next.into();
    }
    if let Some(left) = left {
        metadata["remainingItemCount"] = left.into();
    }
    let head =
        format!("{{\"kind\":{list:?},\"apiVersion\":{api_version:?},\"metadata\":{metadata},\"items\":[");
    let size: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut text = Vec::with_capacity(head.len() + size + 2);
    text.extend_from_slice(head.as_bytes());
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(item);
    }
    text.extend_from_slice(b"]}");
    if items.is_empty() && form == Form::Metadata {
        return format!("{}null}}", head.trim_end_matches('[')).into();
    }
    text.into()
}

/// The continue token of a list.
struct Page {
    revision: u64,
    after: Key,
}

impl Page {
    fn text(&self) -> String {
        let Key { namespace, name } = &self.after;
        hex::encode(format!("{}/{namespace}/{name}", self.revision))
    }

    fn read(token: &str) -> Result<Self, Fault> {
        let invalid = || Fault::bad_request("continue key is not valid: unable to decode");
        let text =
            hex::decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(invalid)?;
        let parts: Vec<&str> = text.splitn(3, '/').collect();
        let [revision, namespace, name] = parts.as_slice() else { return Err(invalid()) };
        let revision = revision.parse().map_err(|_| invalid())?;
        Ok(Self { revision, after: Key { namespace: (*namespace).to_owned(), name: (*name).to_owned() } })
    }
}
