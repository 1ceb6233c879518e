//! A minimal XML parser for responses: elements and text. AWS's query protocol uses nothing else.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// An element with its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Element {
    /// Its name, without attributes.
    pub name: String,
    /// The text directly in it, with white space.
    pub text: String,
    /// The elements directly in it, in order.
    pub children: Vec<Element>,
}

impl Element {
    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text at the end of a path of child names; empty if there is none.
    pub fn text_at(&self, path: &[&str]) -> String {
        let end = path.iter().try_fold(self, |element, name| element.child(name));
        end.map(|element| element.text.trim().to_owned()).unwrap_or_default()
    }

    /// As JSON: an element with `item`s is an array, one with other children an object, any other a string.
    pub fn to_json(&self) -> Value {
        if self.children.is_empty() {
            return self.text.trim().into();
        }
        if self.children.iter().all(|child| child.name == "item") {
            return self.children.iter().map(Self::to_json).collect();
        }
        self.children.iter().map(|child| (child.name.clone(), child.to_json())).collect()
    }

    /// The elements of a list, which AWS names `item`; none if it is absent.
    pub fn items(&self, list: &str) -> impl Iterator<Item = &Element> {
        self.child(list)
            .into_iter()
            .flat_map(|list| list.children.iter().filter(|child| child.name == "item"))
    }
}

/// Parses a document into its root element.
///
/// # Errors
/// If it is not complete, or elements are not closed in their order.
pub fn parse(document: &str) -> Result<Element> {
    // The bottom of the stack stands for the document; the root is its only child.
    let mut open = vec![Element::default()];
    let mut rest = document;
    while let Some((text, after)) = rest.split_once('<') {
        if let Some(element) = open.last_mut() {
            element.text.push_str(&unescape(text));
        }
        let (tag, after) = after.split_once('>').context("the XML ends inside a tag")?;
        rest = after;
        if tag.starts_with('?') || tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let element = open.pop().filter(|element| element.name == name.trim_end());
            let element = element.with_context(|| format!("</{name}> closes no open element"))?;
            open.last_mut().with_context(|| format!("</{name}> is not open"))?.children.push(element);
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().unwrap_or_default().to_owned();
        let element = Element { name, ..Element::default() };
        match open.last_mut() {
            Some(parent) if empty => parent.children.push(element),
            _ => open.push(element),
        }
    }
    match open.pop() {
        Some(document) if open.is_empty() => {
            document.children.into_iter().next().context("the XML has no element")
        }
        _ => bail!("the XML ends inside an element"),
    }
}

fn unescape(text: &str) -> String {
    // The ampersand last: `&amp;lt;` is `&lt;`, not `<`.
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_elements_attributes_and_entities_are_parsed() {
        let root = parse(
            "<?xml version=\"1.0\"?>\n<a xmlns=\"x\">\n <set><item><b>1 &amp;lt; 2</b><c/></item><item/></set></a>",
        )
        .unwrap();
        assert_eq!(root.name, "a");
        assert_eq!(root.items("set").count(), 2);
        assert_eq!(root.items("set").next().unwrap().text_at(&["b"]), "1 &lt; 2");
        assert_eq!(root.text_at(&["set", "nothing"]), "");
    }

    #[test]
    fn an_unclosed_element_is_rejected() {
        assert!(parse("<a><b></a>").is_err());
        assert!(parse("<a><b>").is_err());
        assert!(parse("<a").is_err());
        assert!(parse("").is_err());
    }
}
