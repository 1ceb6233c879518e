//! Writes the XML of responses. The parser is in [`crate::xml`].

use std::fmt::{self, Display, Write as _};

use super::service::Service;
use super::tags::Tags;

/// What a document begins with.
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// An incomplete document.
#[derive(Debug, Default)]
pub(super) struct Xml(String);

impl Xml {
    /// An element with elements in it.
    pub(super) fn tag(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        self.markup(["<", name, ">"]);
        inner(self);
        self.markup(["</", name, ">"]);
    }

    /// An element of a namespace.
    pub(super) fn within(&mut self, name: &str, namespace: &str, inner: impl FnOnce(&mut Self)) {
        self.markup(["<", name, " xmlns=\"", namespace, "\">"]);
        inner(self);
        self.markup(["</", name, ">"]);
    }

    /// An element with text.
    pub(super) fn text(&mut self, name: &str, value: impl Display) {
        self.markup(["<", name, ">"]);
        let _ = write!(Escaping(&mut self.0), "{value}"); // writing to a String cannot fail
        self.markup(["</", name, ">"]);
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
        let _ = Escaping(&mut self.0).write_str(text); // as above
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
        let (before, after) = match service {
            Service::Ec2 => (format!("<requestId>{request_id}</requestId>"), String::new()),
            Service::Elb | Service::Sts => (
                format!("<{action}Result>"),
                format!(
                    "</{action}Result><ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
                ),
            ),
        };
        let begin = ["<", action, "Response xmlns=\"", namespace, "\">"].concat();
        [DECLARATION, &begin, &before, &body, &after, "</", action, "Response>"].concat()
    }

    pub(super) fn document(self) -> String {
        [DECLARATION, &self.0].concat()
    }

    fn markup<const N: usize>(&mut self, parts: [&str; N]) {
        for part in parts {
            self.0.push_str(part);
        }
    }
}

/// Writes text with references instead of the characters of markup.
struct Escaping<'a>(&'a mut String);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'&' | b'<' | b'>')) {
            let (plain, special) = rest.split_at(at);
            self.0.push_str(plain);
            self.0.push_str(match special.as_bytes().first() {
                Some(b'&') => "&amp;",
                Some(b'<') => "&lt;",
                _ => "&gt;",
            });
            rest = special.get(1..).unwrap_or_default();
        }
        self.0.push_str(rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_document_can_be_parsed() {
        let mut xml = Xml::default();
        xml.tag("a", |xml| {
            xml.list("set", ["1 < 2", "&amp;", "a>>b&", ""], |xml, text| xml.text("b", text));
            xml.optional("none", None);
        });
        let root = crate::xml::parse(&xml.document()).unwrap();
        let texts: Vec<String> = root.items("set").map(|item| item.text_at(&["b"])).collect();
        assert_eq!(texts, ["1 < 2", "&amp;", "a>>b&", ""]);
        assert_eq!(root.child("none"), None);
    }
}
