//! Writes the XML of responses. The parser is in [`crate::xml`].

use std::fmt::{Display, Write as _};

use super::service::Service;
use super::tags::Tags;

/// An incomplete document.
#[derive(Debug, Default)]
pub(super) struct Xml(String);

impl Xml {
    /// An element with elements in it.
    pub(super) fn tag(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        self.add(format_args!("<{name}>"));
        inner(self);
        self.add(format_args!("</{name}>"));
    }

    /// An element of a namespace.
    pub(super) fn within(&mut self, name: &str, namespace: &str, inner: impl FnOnce(&mut Self)) {
        self.add(format_args!("<{name} xmlns=\"{namespace}\">"));
        inner(self);
        self.add(format_args!("</{name}>"));
    }

    /// An element with text.
    pub(super) fn text(&mut self, name: &str, value: impl Display) {
        let value = value.to_string();
        self.add(format_args!("<{name}>{}</{name}>", escaped(&value)));
    }

    /// An element with text, if there is any.
    pub(super) fn optional(&mut self, name: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A list, whose elements AWS names `item`.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        item: impl Fn(&mut Self, T),
    ) {
        self.elements(name, "item", items, item);
    }

    /// A list as the load balancing API writes it: its elements are named `member`.
    pub(super) fn members<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        item: impl Fn(&mut Self, T),
    ) {
        self.elements(name, "member", items, item);
    }

    fn elements<T>(
        &mut self,
        name: &str,
        element: &str,
        items: impl IntoIterator<Item = T>,
        item: impl Fn(&mut Self, T),
    ) {
        self.tag(name, |xml| {
            for each in items {
                xml.tag(element, |xml| item(xml, each));
            }
        });
    }

    /// Text without an element.
    pub(super) fn plain(&mut self, text: &str) {
        self.add(format_args!("{}", escaped(text)));
    }

    /// Tags as EC2 writes them.
    pub(super) fn tags(&mut self, tags: &Tags) {
        self.list("tagSet", tags, |xml, (key, value)| {
            xml.text("key", key);
            xml.text("value", value);
        });
    }

    /// The response of an action with the content written so far.
    pub(super) fn response(self, service: Service, action: &str, request_id: &str) -> String {
        let (namespace, body) = (service.namespace(), self.0);
        let inner = match service {
            Service::Ec2 => format!("<requestId>{request_id}</requestId>{body}"),
            Service::Elb | Service::Sts => format!(
                "<{action}Result>{body}</{action}Result>\
                 <ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
            ),
        };
        Self(format!("<{action}Response xmlns=\"{namespace}\">{inner}</{action}Response>")).document()
    }

    pub(super) fn document(self) -> String {
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", self.0)
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(text); // writing to a String cannot fail
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_document_can_be_parsed() {
        let mut xml = Xml::default();
        xml.tag("a", |xml| {
            xml.list("set", ["1 < 2", "&amp;"], |xml, text| xml.text("b", text));
            xml.optional("none", None);
        });
        let root = crate::xml::parse(&xml.document()).unwrap();
        let texts: Vec<String> = root.items("set").map(|item| item.text_at(&["b"])).collect();
        assert_eq!(texts, ["1 < 2", "&amp;"]);
        assert_eq!(root.child("none"), None);
    }
}
