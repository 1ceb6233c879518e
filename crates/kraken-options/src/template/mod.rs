//! Templates: text with references. No functions and no loops.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::bounds::{Exceeded, MAX_BYTES, measure};
use crate::dependency::Dependency;
use crate::names::kind_key;
use crate::option::{KeyRef, ResourceRef};
use crate::scan::{Scanner, Unexpected};

/// Longest template, in characters.
const MAX_TEMPLATE: usize = 65_536;
/// The number of bytes of a digest.
const DIGEST_BYTES: usize = 16;

/// A parsed template.
///
/// `{{ .ConfigMap.app.port }}`, `{{ .Secret.db.password }}` and `{{ .LoadBalancer.web.dnsName }}` (kind, name, dotted path) are
/// replaced by values, `{{ .VPC.main }}` by the main id of a resource; names with dots are in brackets:
/// `{{ .ConfigMap["my.app"]["key.x"] }}`, and so is a kind with its group: `{{ .["VPC.aws"].main }}`. A resource of another namespace
/// is `{{ .VPC.platform:main }}`. All other text is unchanged,
/// including `}}` and single braces; `{{ "{{" }}` renders two braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Reference(Dependency),
}

/// Why text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The text is too long.
    #[error("is longer than {MAX_TEMPLATE} characters")]
    TooLong,
    /// A reference is malformed.
    #[error("expected {expected} at byte {at}")]
    Syntax {
        /// Byte offset in the template.
        at: usize,
        /// What was expected.
        expected: &'static str,
    },
}

impl From<Unexpected> for TemplateError {
    fn from(Unexpected { at, expected }: Unexpected) -> Self {
        Self::Syntax { at, expected }
    }
}

/// Why a template does not render.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A reference has no value.
    #[error("waiting for {0}")]
    Missing(Dependency),
    /// The text would be too long.
    #[error("the rendered text exceeds 1 MiB")]
    TooLong,
    /// A value is nested too deeply to be written as JSON.
    #[error("{0} is nested too deeply")]
    TooDeep(Dependency),
}

/// The value of a reference.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Text, rendered unchanged.
    Text(&'a str),
    /// JSON: a string is rendered unchanged, any other type as JSON.
    Json(&'a Value),
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// If the text is longer than 65,536 characters, or a reference is malformed; the error says where, and what was expected.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.chars().nth(MAX_TEMPLATE).is_some() {
            return Err(TemplateError::TooLong);
        }
        let mut scanner = Scanner::new(text);
        let mut parts = Vec::new();
        while !scanner.is_at_end() {
            match scanner.take_until("{{") {
                "" => {}
                text => parts.push(Part::Text(text.to_owned())),
            }
            if scanner.consume("{{") {
                parts.push(action(&mut scanner)?);
            }
        }
        Ok(Self { parts })
    }

    /// A template with texts in the place of the references for which `text_of` returns one; `None` if there is none of them.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn filled(
        text: &str,
        text_of: impl Fn(&Dependency) -> Option<String>,
    ) -> Result<Option<String>, TemplateError> {
        let (mut scanner, mut filled, mut is_any) = (Scanner::new(text), String::new(), false);
        while !scanner.is_at_end() {
            filled.push_str(scanner.take_until("{{"));
            let start = scanner.at();
            if !scanner.consume("{{") {
                continue;
            }
            let new = match action(&mut scanner)? {
                Part::Reference(reference) => text_of(&reference),
                Part::Text(_) => None,
            };
            is_any |= new.is_some();
            match new {
                // What looks like a reference in a value is none.
                Some(new) => filled.push_str(&new.replace("{{", "{{ \"{{\" }}")),
                None => filled.push_str(scanner.since(start)),
            }
        }
        Ok(is_any.then_some(filled))
    }

    /// All references of the template, in order and with duplicates. The kind of a resource is normalized by
    /// [`kind_key`]; its path is unchanged, and empty for the main id.
    pub fn references(&self) -> impl Iterator<Item = &Dependency> {
        self.parts.iter().filter_map(|part| match part {
            Part::Reference(reference) => Some(reference),
            Part::Text(_) => None,
        })
    }

    /// True if a part comes from a Secret, which makes the whole secret.
    pub fn has_secret(&self) -> bool {
        self.references().any(|reference| matches!(reference, Dependency::Secret(_)))
    }

    /// A digest of the literal texts and of the text of each reference, in which those of Secrets are keyed digests of their values; `None`
    /// if a reference has none.
    pub fn digest<'v>(&self, text_of: impl Fn(&Dependency) -> Option<Piece<'v>>) -> Option<String> {
        let mut hash = Sha256::new();
        for part in &self.parts {
            hash = match part {
                Part::Text(text) => hashed(hash.chain_update([0]), text),
                Part::Reference(reference) => match text_of(reference)? {
                    Piece::Text(text) => hashed(hash.chain_update([1]), text),
                    Piece::Json(value) => hashed(hash.chain_update([2]), &value.to_string()),
                },
            };
        }
        Some(hex::encode(&hash.finalize()[..DIGEST_BYTES]))
    }

    /// Replaces the references by their values. The text is wiped from memory when it is dropped.
    ///
    /// # Errors
    /// If a reference has no value, or the text would be longer than 1 MiB.
    pub fn render<'v>(
        &self,
        value_of: impl Fn(&Dependency) -> Option<Piece<'v>>,
    ) -> Result<Zeroizing<String>, RenderError> {
        let mut json: BTreeMap<&Dependency, Cow<'v, str>> = BTreeMap::new();
        let mut pieces: Vec<&str> = Vec::new();
        for reference in self.references() {
            if let Some(Piece::Json(value)) = value_of(reference)
                && !json.contains_key(reference)
            {
                json.insert(reference, written(reference, value)?);
            }
        }
        for part in &self.parts {
            pieces.push(match part {
                Part::Text(text) => text,
                Part::Reference(reference) => match value_of(reference) {
                    Some(Piece::Text(text)) => text,
                    Some(Piece::Json(_)) => json.get(reference).map(Cow::as_ref).unwrap_or_default(),
                    None => return Err(RenderError::Missing(reference.clone())),
                },
            });
        }
        let length = pieces.iter().map(|piece| piece.len()).sum();
        if length > MAX_BYTES {
            return Err(RenderError::TooLong);
        }
        // Allocated once: reallocation would leave copies of a secret in memory.
        let mut text = Zeroizing::new(String::with_capacity(length));
        for piece in pieces {
            text.push_str(piece);
        }
        Ok(text)
    }
}

/// Adds a text with its length, so that no two sequences of texts give the same bytes.
fn hashed(hash: Sha256, text: &str) -> Sha256 {
    hash.chain_update((text.len() as u64).to_le_bytes()).chain_update(text)
}

fn written<'v>(reference: &Dependency, value: &'v Value) -> Result<Cow<'v, str>, RenderError> {
    if let Some(text) = value.as_str() {
        return Ok(Cow::Borrowed(text));
    }
    match measure(value, &mut 0) {
        Ok(()) => Ok(Cow::Owned(value.to_string())),
        Err(Exceeded::Bytes) => Err(RenderError::TooLong),
        Err(Exceeded::Depth) => Err(RenderError::TooDeep(reference.clone())),
    }
}

/// The content between the braces.
fn action(scanner: &mut Scanner<'_>) -> Result<Part, Unexpected> {
    scanner.skip_space();
    let part = if scanner.rest().starts_with('"') {
        Part::Text(scanner.quoted('"')?)
    } else {
        Part::Reference(reference(scanner)?)
    };
    scanner.skip_space();
    if scanner.consume("}}") { Ok(part) } else { scanner.fail("\"}}\"") }
}

fn reference(scanner: &mut Scanner<'_>) -> Result<Dependency, Unexpected> {
    // A kind with its group contains dots, and is in brackets like every such name.
    let kind = match (scanner.consume("."), scanner.consume("[")) {
        (_, true) => scanner.bracketed()?,
        (true, false) => scanner.name("a kind such as ConfigMap")?.to_owned(),
        (false, false) => {
            return scanner.fail(
                "a reference such as .ConfigMap.name.key (two literal braces are written {{ \"{{\" }})",
            );
        }
    };
    let kind = kind_key(&kind);
    let name = segment(scanner, "\".\" and the name of the object")?;
    match kind.as_str() {
        "configmap" => Ok(Dependency::ConfigMap(KeyRef { name, key: key(scanner)? })),
        "secret" => Ok(Dependency::Secret(KeyRef { name, key: key(scanner)? })),
        _ => Ok(Dependency::Resource(ResourceRef::of(&kind, &name, &path(scanner)?))),
    }
}

fn segment(scanner: &mut Scanner<'_>, expected: &'static str) -> Result<String, Unexpected> {
    if scanner.consume("[") {
        scanner.bracketed()
    } else if scanner.consume(".") {
        scanner.name("a name").map(str::to_owned)
    } else {
        scanner.fail(expected)
    }
}

fn key(scanner: &mut Scanner<'_>) -> Result<String, Unexpected> {
    let key = segment(scanner, "\".\" and a key")?;
    if scanner.rest().starts_with(['.', '[']) {
        return scanner.fail("\"}}\" (write a name or key with dots in brackets: [\"a.b\"])");
    }
    Ok(key)
}

/// The remaining dotted path, unchanged. None means the main id.
fn path(scanner: &mut Scanner<'_>) -> Result<String, Unexpected> {
    let start = scanner.at();
    if scanner.rest().starts_with(".$") {
        return scanner.fail("a dotted path (templates do not support JSONPath)");
    }
    while scanner.rest().starts_with(['.', '[']) {
        segment(scanner, "\".\" and a path")?;
    }
    let path = scanner.since(start);
    Ok(path.strip_prefix('.').unwrap_or(path).to_owned())
}

#[cfg(test)]
mod tests;
