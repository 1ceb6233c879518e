//! The parsed method, path and query of a request.

use std::{collections::BTreeMap, sync::Arc};

use http::{HeaderMap, Method, header};

use super::{
    cause::Cause,
    fault::Fault,
    kinds::{Kind, Kinds},
};

/// The requested operation.
#[derive(Debug)]
pub(super) enum Endpoint {
    /// One object or a list of a kind.
    Resource(Target),
    /// A document about the API itself: its path.
    Document(Vec<String>),
}

/// The content type of an apply.
pub(super) const APPLY: &str = "application/apply-patch+yaml";

/// Which objects.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub kind: Arc<Kind>,
    /// Empty for all namespaces and for cluster-scoped objects.
    pub namespace: String,
    /// Empty for a list.
    pub name: String,
    /// Empty, `status`, `scale` or `finalize`.
    pub subresource: String,
}

/// How an object is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Whole.
    Full,
    /// Whole but for `apiVersion` and `kind`: an item of a list of a kind of Kubernetes itself.
    Item,
    /// `PartialObjectMetadata`.
    Metadata,
}

impl Endpoint {
    /// Reads the path.
    pub(super) fn of(kinds: &Kinds, path: &str) -> Result<Self, Fault> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return Ok(Self::Document(parts.into_iter().map(str::to_owned).collect())),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..]
                if !rest.is_empty() && (!group.is_empty() || !matches!(rest, ["status" | "finalize"])) =>
            {
                (*namespace, rest)
            }
            rest => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", ""),
            [plural, name] => (*plural, *name, ""),
            [plural, name, subresource] => (*plural, *name, *subresource),
            _ => return Err(Fault::no_path()),
        };
        let kind = kinds.find(group, plural).filter(|kind| kind.version == version);
        let kind = kind.ok_or_else(Fault::no_path)?;
        let is_named = kind.namespaced != namespace.is_empty() && !name.is_empty();
        let is_served = match subresource {
            "" => true,
            "status" => kind.status,
            "scale" => kind.scale.is_some(),
            "finalize" => plural == "namespaces",
            _ => false,
        };
        let needs_namespace = kind.namespaced && !name.is_empty() && namespace.is_empty();
        if !is_served && is_named && kind.is_custom() {
            return Err(Fault::not_found(kind, &decoded(name)));
        }
        if !is_served || needs_namespace || (!kind.namespaced && !namespace.is_empty()) {
            return Err(Fault::no_path());
        }
        Ok(Self::Resource(Target {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            name: decoded(name),
            subresource: subresource.to_owned(),
        }))
    }
}

/// The fields of a query; the first of the same name counts.
#[derive(Debug, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads them.
    pub(super) fn of(query: Option<&str>) -> Self {
        let fields = query.unwrap_or_default().split('&').filter(|field| !field.is_empty());
        let pair = |field: &str| {
            let (key, value) = field.split_once('=').unwrap_or((field, ""));
            (decoded(&key.replace('+', " ")), decoded(&value.replace('+', " ")))
        };
        let mut all = BTreeMap::new();
        for (key, value) in fields.map(pair) {
            all.entry(key).or_insert(value);
        }
        Self(all)
    }

    /// A field that is there and not empty.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether a field is true.
    pub(super) fn is_true(&self, key: &str) -> bool {
        matches!(self.get(key), Some("true" | "1" | "True" | "TRUE" | "t" | "T"))
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, Fault> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let invalid = |_| Fault::bad_request(format!("Invalid value: {text:?}: {key} is not a number"));
        text.parse().map(Some).map_err(invalid)
    }

    /// Whether nothing is to be stored.
    pub(super) fn dry_run(&self) -> bool {
        self.get("dryRun").is_some()
    }
}

/// Options that are invalid for a write.
pub(super) fn check_options(method: &Method, query: &Query, headers: &HeaderMap) -> Result<(), Fault> {
    let kind = match *method {
        Method::POST => "CreateOptions",
        Method::PUT => "UpdateOptions",
        Method::PATCH => "PatchOptions",
        _ => return Ok(()), // those of a deletion are in its body, too
    };
    let mut causes: Vec<Cause> = query.get("dryRun").and_then(dry_run_cause).into_iter().collect();
    if *method == Method::PATCH && content_type(headers) == APPLY && query.get("fieldManager").is_none() {
        causes.push(Cause::required("fieldManager", "is required for apply patch"));
    }
    if causes.is_empty() { Ok(()) } else { Err(Fault::invalid_as(kind, "meta.k8s.io", "", &causes)) }
}

/// Options that are invalid for a list or a watch.
pub(super) fn check_list(query: &Query) -> Result<(), Fault> {
    let mut causes = Vec::new();
    let mut forbidden = |field: &str, why: &str| causes.push(Cause::forbidden(field, why));
    let (field, is_watch) = ("resourceVersionMatch", query.is_true("watch"));
    let (matched, version) = (query.get(field), query.get("resourceVersion"));
    let initial = query.get("sendInitialEvents").is_some();
    if is_watch && initial && matched != Some("NotOlderThan") {
        forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if is_watch && !initial && matched.is_some() {
        forbidden(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if !is_watch && matched.is_some() && version.is_none() {
        forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if matched.is_some() && query.get("continue").is_some() {
        forbidden(field, "resourceVersionMatch is forbidden when continue is provided");
    }
    if !is_watch && matched == Some("Exact") && version == Some("0") {
        forbidden(field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if !is_watch && initial {
        forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    let known: &[&str] = if is_watch { &["NotOlderThan"] } else { &["Exact", "NotOlderThan", ""] };
    if let Some(matched) = matched.filter(|matched| !known.contains(matched)) {
        let known: Vec<String> = known.iter().map(|known| format!("{known:?}")).collect();
        let message = format!("Unsupported value: {matched:?}: supported values: {}", known.join(", "));
        causes.push(Cause { reason: "FieldValueNotSupported", message, field: field.to_owned() });
    }
    if causes.is_empty() { Ok(()) } else { Err(Fault::invalid_as("ListOptions", "meta.k8s.io", "", &causes)) }
}

/// The validation error of `dryRun`.
pub(super) fn dry_run_cause(dry_run: &str) -> Option<Cause> {
    let message = format!("Unsupported value: [{dry_run:?}]: supported values: \"All\"");
    let cause = Cause { reason: "FieldValueNotSupported", message, field: "dryRun".to_owned() };
    (dry_run != "All").then_some(cause)
}

/// The field manager: the given one, or the program in the user agent.
pub(super) fn manager(query: &Query, headers: &HeaderMap) -> String {
    if let Some(manager) = query.get("fieldManager") {
        return manager.to_owned();
    }
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let name = agent.split('/').next().unwrap_or_default();
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}

/// The requested representation.
pub(super) fn form(headers: &HeaderMap) -> Form {
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    // The first known one applies, as in a list of preferences.
    let first = accepted.split(',').next().unwrap_or_default();
    if first.contains("as=PartialObjectMetadata") { Form::Metadata } else { Form::Full }
}

/// The content type of the body, without parameters.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    let type_ = headers.get(header::CONTENT_TYPE).and_then(|type_| type_.to_str().ok());
    type_.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// Whether a method reads.
pub(super) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Without percent encoding.
fn decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded() {
        let query = Query::of(Some("labelSelector=a%3Db%2Cc&x=1+2&empty="));
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.get("x"), Some("1 2"));
        assert_eq!(query.get("empty"), None);
        assert_eq!(Query::of(Some("a=1&a=2")).get("a"), Some("1"));
    }

    #[test]
    fn a_namespace_is_an_object_and_a_scope() {
        let kinds = Kinds::new(&[]).unwrap();
        let target = |path: &str| match Endpoint::of(&kinds, path) {
            Ok(Endpoint::Resource(target)) => {
                (target.kind.plural.clone(), target.namespace, target.name, target.subresource)
            }
            other => panic!("{other:?}"),
        };
        let of = |parts: [&str; 4]| {
            let [a, b, c, d] = parts.map(str::to_owned);
            (a, b, c, d)
        };
        assert_eq!(target("/api/v1/namespaces/a"), of(["namespaces", "", "a", ""]));
        assert_eq!(target("/api/v1/namespaces/a/finalize"), of(["namespaces", "", "a", "finalize"]));
        assert_eq!(target("/api/v1/namespaces/a/secrets"), of(["secrets", "a", "", ""]));
        assert_eq!(target("/api/v1/namespaces/a/secrets/b"), of(["secrets", "a", "b", ""]));
        assert!(Endpoint::of(&kinds, "/api/v1/widgets").is_err());
    }
}
