//! YAML documents with the position of each value: messages name lines, and edits of a text keep its comments. Pure.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::Value;

/// One document of a text.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    pub(crate) spot: Spot,
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The line of the key of the value, or of the item of a list, from 1.
    pub(crate) line: usize,
    /// The bytes of the value in the text, with its quotes.
    pub(crate) bytes: Range<usize>,
    /// How a scalar is written; `None` for others.
    pub(crate) style: Option<ScalarStyle>,
    inner: Inner,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inner {
    Leaf,
    Map(Vec<(String, Spot)>),
    List(Vec<Spot>),
}

/// A text that is no YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// All documents of a text; empty ones are left out.
///
/// # Errors
/// If the text is no YAML, with the line.
pub(crate) fn documents(text: &str) -> Result<Vec<Document>, Failed> {
    let (mut documents, mut start) = (vec![], 0);
    let mut builder = Builder::default();
    for next in Parser::new_from_str(text) {
        let (event, span) =
            next.map_err(|error| Failed { line: error.marker().line(), message: error.info() })?;
        let is_end = matches!(event, Event::DocumentEnd);
        builder.take(event, span);
        if !is_end {
            continue;
        }
        let end = span.end.byte_offset().unwrap_or(text.len()).max(start);
        let part = text.get(start..end).unwrap_or_default();
        let lines = text.get(..start).unwrap_or_default().matches('\n').count();
        start = end;
        let value: Value = serde_saphyr::from_str(part).map_err(|error| {
            let line = error.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
            let message = error.without_snippet().to_string();
            Failed { line: lines + line, message }
        })?;
        if let Some(spot) = builder.root.take().filter(|_| !value.is_null()) {
            documents.push(Document { value, spot });
        }
    }
    Ok(documents)
}

impl Spot {
    /// The value at a path as conditions and kube-apiserver write it, `spec.tags["Team"]` or `spec.ports[0].value`, or the nearest value
    /// around it.
    pub(crate) fn nearest(&self, path: &str) -> &Spot {
        self.step(path).map_or(self, |(next, rest)| next.nearest(rest))
    }

    /// The value at exactly this path.
    pub(crate) fn at(&self, path: &str) -> Option<&Spot> {
        if path.is_empty() {
            return Some(self);
        }
        let (next, rest) = self.step(path)?;
        next.at(rest)
    }

    /// The fields of a map in their order.
    pub(crate) fn fields(&self) -> &[(String, Spot)] {
        match &self.inner {
            Inner::Map(fields) => fields,
            _ => &[],
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> &[Spot] {
        match &self.inner {
            Inner::List(items) => items,
            _ => &[],
        }
    }

    fn step<'p>(&self, path: &'p str) -> Option<(&Spot, &'p str)> {
        let path = path.strip_prefix('.').unwrap_or(path);
        match &self.inner {
            Inner::Leaf => None,
            Inner::List(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(index.parse::<usize>().ok()?)?, rest))
            }
            Inner::Map(fields) => {
                let rest_of = |name: &str| {
                    let quoted = format!("[{name:?}]");
                    path.strip_prefix(quoted.as_str()).or_else(|| {
                        path.strip_prefix(name)
                            .filter(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
                    })
                };
                // A key may contain dots: the longest one that fits.
                let fitting = fields.iter().filter_map(|(name, spot)| Some((name, spot, rest_of(name)?)));
                let (_, spot, rest) = fitting.max_by_key(|(name, ..)| name.len())?;
                Some((spot, rest))
            }
        }
    }
}

/// A map or a list that is not complete yet.
#[derive(Debug)]
enum Open {
    Map { line: usize, start: usize, fields: Vec<(String, Spot)>, key: Option<(String, usize)> },
    List { line: usize, start: usize, items: Vec<Spot> },
}

#[derive(Debug, Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Spot>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) {
        let line = span.start.line();
        let bytes = span.byte_range().unwrap_or_default();
        match event {
            Event::MappingStart(..) => {
                self.open.push(Open::Map { line, start: bytes.start, fields: vec![], key: None });
            }
            Event::SequenceStart(..) => {
                self.open.push(Open::List { line, start: bytes.start, items: vec![] });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let (line, start, inner) = match self.open.pop() {
                    Some(Open::Map { line, start, fields, .. }) => (line, start, Inner::Map(fields)),
                    Some(Open::List { line, start, items }) => (line, start, Inner::List(items)),
                    None => return,
                };
                let bytes = start..bytes.end.max(start);
                self.complete(Spot { line, bytes, style: None, inner }, None);
            }
            Event::Scalar(text, style, ..) => {
                let spot = Spot { line, bytes, style: Some(style), inner: Inner::Leaf };
                self.complete(spot, Some(&text));
            }
            // What it stands for has a place of its own.
            Event::Alias(_) => {
                self.complete(Spot { line, bytes, style: None, inner: Inner::Leaf }, None);
            }
            _ => {}
        }
    }

    fn complete(&mut self, spot: Spot, text: Option<&str>) {
        match self.open.last_mut() {
            None => self.root = Some(spot),
            Some(Open::List { items, .. }) => items.push(spot),
            Some(Open::Map { fields, key, .. }) => match key.take() {
                None => *key = Some((text.unwrap_or_default().to_owned(), spot.line)),
                Some((name, line)) => fields.push((name, Spot { line, ..spot })),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# first
kind: A
spec:
  cidr: {value: 10.0.0.0/16} # why
  tags:
    a.b: {value: \"x\"}
    Team: {value: y}
  list:
  - one
  - {two: 2}
---
---
# second
kind: B
";

    #[test]
    fn each_document_has_its_value_and_lines() {
        let all = documents(TEXT).unwrap();
        let kinds: Vec<_> =
            all.iter().map(|one| (one.value["kind"].as_str().unwrap(), one.spot.line)).collect();
        assert_eq!(kinds, [("A", 2), ("B", 14)]);
    }

    #[test]
    fn a_path_leads_to_the_line_of_its_field_or_of_what_is_around_it() {
        let spot = documents(TEXT).unwrap()[0].spot.clone();
        for (path, line) in [
            ("kind", 2),
            ("spec.cidr.value", 4),
            ("spec.cidr.valueFrom.ref", 4),
            ("spec.tags.a.b.value", 6),
            ("spec.tags[\"a.b\"]", 6),
            ("spec.tags[\"Team\"].value", 7),
            ("spec.list[1].two", 10),
            ("spec.list[7]", 8),
            ("spec.missing", 3),
            ("metadata.name", 2),
        ] {
            assert_eq!(spot.nearest(path).line, line, "{path}");
        }
        assert!(spot.at("spec.cidr.valueFrom").is_none());
    }

    #[test]
    fn the_bytes_of_a_value_are_those_in_the_text() {
        let spot = documents(TEXT).unwrap()[0].spot.clone();
        let text = |path: &str| &TEXT[spot.at(path).unwrap().bytes.clone()];
        assert_eq!(text("spec.cidr.value"), "10.0.0.0/16");
        assert_eq!(text("spec.tags[\"a.b\"].value"), "\"x\"");
        assert_eq!(text("spec.list[0]"), "one");
        assert_eq!(text("spec.list[1]"), "{two: 2}");
    }

    #[test]
    fn a_text_that_is_no_yaml_is_an_error_with_its_line() {
        assert_eq!(documents("a: 1\nb: [\n").unwrap_err().line, 2);
        assert_eq!(documents("a: 1\n---\nb: 1\nb: 2\n").unwrap_err().line, 4);
        assert_eq!(documents("").unwrap().len(), 0);
    }
}
