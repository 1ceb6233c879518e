//! Builds the value of a document, and the position of each part, from the events of the parser. Aliases and merge keys mean what they
//! mean to go-yaml v2; what they add is bounded, so that a small text cannot fill the memory. Pure.

use std::collections::BTreeMap;

use granit_parser::{Event, ScalarStyle, Span};
use serde_json::{Map, Value};

use super::{
    scalar::Scalar,
    spot::{Failed, Inner, Spot},
};

/// How many bytes the aliases of a document may add.
const MAX_ALIASED: usize = 16 << 20;
/// The parser bounds the nesting of the text; aliases could add to it.
const MAX_DEPTH: usize = 512;

#[derive(Clone, Debug)]
enum Content {
    Scalar(Scalar),
    Value(Value),
}

/// A complete value.
#[derive(Clone, Debug)]
struct Node {
    content: Content,
    /// About how many bytes it occupies.
    size: usize,
    depth: usize,
    /// `<<` as the key of a map, whose value is merged into it.
    is_merge: bool,
}

#[derive(Debug)]
enum Key {
    Name(String, usize),
    Merge,
}

#[derive(Debug, Default)]
struct Fields {
    values: Map<String, Value>,
    spots: Vec<(String, Spot)>,
    key: Option<Key>,
    /// The lines of the keys that are not merged.
    lines: BTreeMap<String, usize>,
}

#[derive(Debug)]
enum Collection {
    Map(Fields),
    List(Vec<(Value, Spot)>),
}

/// A map or a list that is not complete yet.
#[derive(Debug)]
struct Open {
    line: usize,
    start: usize,
    anchor: usize,
    size: usize,
    depth: usize,
    collection: Collection,
}

#[derive(Debug, Default)]
pub(super) struct Builder {
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    aliased: usize,
    root: Option<(Value, Spot)>,
}

impl Builder {
    /// The document, when its last event was taken.
    pub(super) fn finish(&mut self) -> Option<(Value, Spot)> {
        std::mem::take(self).root
    }

    pub(super) fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Failed> {
        let line = span.start.line();
        self.event(event, span).map_err(|message| Failed { line, message })
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), String> {
        let line = span.start.line();
        let bytes = span.byte_range().unwrap_or_default();
        let spot = |style| Spot { line, bytes: bytes.clone(), style, inner: Inner::Leaf };
        let open =
            |anchor, collection| Open { line, start: bytes.start, anchor, size: 0, depth: 0, collection };
        match event {
            Event::MappingStart(_, anchor, _) => {
                self.open.push(open(anchor, Collection::Map(Fields::default())));
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open.push(open(anchor, Collection::List(vec![])));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let bytes = open.start..bytes.end.max(open.start);
                let (value, inner) = match open.collection {
                    Collection::Map(fields) => (Value::Object(fields.values), Inner::Map(fields.spots)),
                    Collection::List(items) => {
                        let (values, spots) = items.into_iter().unzip();
                        (Value::Array(values), Inner::List(spots))
                    }
                };
                let content = Content::Value(value);
                let node = Node { content, size: open.size, depth: open.depth + 1, is_merge: false };
                return self.complete(node, Spot { line: open.line, bytes, style: None, inner }, open.anchor);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref();
                let is_merge = text == "<<"
                    && match tag {
                        None => style == ScalarStyle::Plain,
                        Some(tag) => {
                            tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("merge")
                        }
                    };
                let content = Content::Scalar(Scalar::read(&text, style, tag)?);
                let node = Node { content, size: text.len(), depth: 0, is_merge };
                return self.complete(node, spot(Some(style)), anchor);
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).ok_or("the value of an anchor contains itself")?;
                self.aliased += size_of::<Value>() + node.size;
                if self.aliased > MAX_ALIASED {
                    return Err(format!("the aliases add more than {} MiB", MAX_ALIASED >> 20));
                }
                // What it stands for has a position of its own.
                return self.complete(Node { is_merge: false, ..node.clone() }, spot(None), 0);
            }
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, node: Node, spot: Spot, anchor: usize) -> Result<(), String> {
        if node.depth + self.open.len() > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} values inside each other"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some((node.content.value()?, spot));
            return Ok(());
        };
        open.size += size_of::<Value>() + node.size;
        open.depth = open.depth.max(node.depth);
        match &mut open.collection {
            Collection::List(items) => items.push((node.content.value()?, spot)),
            Collection::Map(fields) => fields.take(node, spot)?,
        }
        Ok(())
    }
}

impl Content {
    fn value(self) -> Result<Value, String> {
        match self {
            Self::Scalar(scalar) => scalar.value(),
            Self::Value(value) => Ok(value),
        }
    }
}

impl Fields {
    /// The next key or value.
    fn take(&mut self, node: Node, spot: Spot) -> Result<(), String> {
        match self.key.take() {
            None if node.is_merge => self.key = Some(Key::Merge),
            None => {
                let Content::Scalar(scalar) = node.content else {
                    return Err("a map or a list cannot be a key".to_owned());
                };
                let name = scalar.key()?;
                if let Some(first) = self.lines.insert(name.clone(), spot.line) {
                    return Err(format!("duplicate mapping key {name:?}: it is in line {first} already"));
                }
                self.key = Some(Key::Name(name, spot.line));
            }
            Some(Key::Merge) => self.merge(node.content.value()?)?,
            Some(Key::Name(name, line)) => {
                self.values.insert(name.clone(), node.content.value()?);
                self.spots.push((name, Spot { line, ..spot }));
            }
        }
        Ok(())
    }

    /// go-yaml v2 merges where the key is: it replaces what is before it, and is replaced by what is after it.
    fn merge(&mut self, value: Value) -> Result<(), String> {
        let maps = match value {
            Value::Array(items) => items,
            map => vec![map],
        };
        // Of several, the first one takes precedence.
        for map in maps.into_iter().rev() {
            let Value::Object(fields) = map else {
                return Err("the value of << must be a map or a list of maps".to_owned());
            };
            self.values.extend(fields);
        }
        Ok(())
    }
}
