//! The keys of `#[aws_kind(...)]`.

use proc_macro2::Span;
use syn::{
    Error, LitStr, Path, Result, Token,
    parse::{Parse, ParseStream},
};

use crate::{
    cel::CelRule,
    keys::{self, set, value, values},
};

const KNOWN: &str = "kind, plural, shortname, doc, noun, state, observed, summary, drift, whole, tag_name, untagged, cel, change, rules, \
                     order, without_ignored, at_creation";

/// The keys of a kind, as described at [`crate::aws_kind`].
pub(crate) struct Args {
    pub(crate) kind: LitStr,
    pub(crate) plural: LitStr,
    pub(crate) shortname: Option<LitStr>,
    pub(crate) doc: LitStr,
    pub(crate) noun: LitStr,
    pub(crate) state: LitStr,
    pub(crate) observed: Path,
    pub(crate) summary: Vec<Column>,
    pub(crate) drift: Vec<LitStr>,
    pub(crate) whole: Vec<LitStr>,
    pub(crate) tag_name: Option<LitStr>,
    pub(crate) untagged: Option<()>,
    pub(crate) cel: Vec<CelRule>,
    pub(crate) hooks: Hooks,
}

/// Functions and types of the kind that replace or complete generated code.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) change: Option<Path>,
    pub(crate) rules: Option<Path>,
    pub(crate) order: Option<Path>,
    pub(crate) without_ignored: Option<Path>,
    pub(crate) at_creation: Option<Path>,
}

/// A column of `kubectl get`: `"Header" = "Path"`.
pub(crate) struct Column {
    pub(crate) header: LitStr,
    pub(crate) path: LitStr,
}

impl Parse for Column {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let header = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Self { header, path: input.parse()? })
    }
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut kind, mut plural, mut shortname, mut doc) = (None, None, None, None);
        let (mut noun, mut state, mut observed) = (None, None, None);
        let (mut summary, mut drift, mut whole) = (None, None, None);
        let (mut tag_name, mut untagged, mut cel) = (None, None, None);
        let mut hooks = Hooks::default();
        keys::each(input, |key, input| match key.to_string().as_str() {
            "kind" => set(&mut kind, key, value(input)?),
            "plural" => set(&mut plural, key, value(input)?),
            "shortname" => set(&mut shortname, key, value(input)?),
            "doc" => set(&mut doc, key, value(input)?),
            "noun" => set(&mut noun, key, value(input)?),
            "state" => set(&mut state, key, value(input)?),
            "observed" => set(&mut observed, key, value(input)?),
            "summary" => set(&mut summary, key, values(input)?),
            "drift" => set(&mut drift, key, values(input)?),
            "whole" => set(&mut whole, key, values(input)?),
            "tag_name" => set(&mut tag_name, key, value(input)?),
            "untagged" => set(&mut untagged, key, ()),
            "cel" => set(&mut cel, key, values(input)?),
            "change" => set(&mut hooks.change, key, value(input)?),
            "rules" => set(&mut hooks.rules, key, value(input)?),
            "order" => set(&mut hooks.order, key, value(input)?),
            "without_ignored" => set(&mut hooks.without_ignored, key, value(input)?),
            "at_creation" => set(&mut hooks.at_creation, key, value(input)?),
            _ => Err(keys::unknown(key, KNOWN)),
        })?;
        Ok(Self {
            kind: required(kind, "kind")?,
            plural: required(plural, "plural")?,
            shortname,
            doc: required(doc, "doc")?,
            noun: required(noun, "noun")?,
            state: required(state, "state")?,
            observed: required(observed, "observed")?,
            summary: summary.unwrap_or_default(),
            drift: drift.unwrap_or_default(),
            whole: whole.unwrap_or_default(),
            tag_name,
            untagged,
            cel: cel.unwrap_or_default(),
            hooks,
        })
    }
}

fn required<T>(value: Option<T>, key: &str) -> Result<T> {
    value.ok_or_else(|| Error::new(Span::call_site(), format!("`{key}` is missing")))
}
