//! What is known about the published state: its key, its columns, and the paths that contain values of Secrets.

use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use super::Kind;
use crate::field::{Decision, Field};

/// The constants of `AwsSpec`.
pub(super) fn constants(kind: &Kind) -> TokenStream {
    let args = &kind.args;
    let (noun, state, drift) = (&args.noun, &args.state, &args.drift);
    let whole =
        kind.desired().filter(|field| is_whole(field)).map(|field| &field.keys.name).chain(&args.whole);
    let (summary, secrets) = (summary(kind), secret_field_paths(kind));
    let follows = kind.desired().filter(|field| field.keys.follows.is_some()).map(|field| &field.keys.name);
    quote! {
        const NOUN: &'static str = #noun;
        const STATE_KEY: &'static str = #state;
        const DRIFT_PATHS: &[&str] = &[#(#drift),*];
        const WHOLE_PATHS: &[&str] = &[#(#whole),*];
        const FOLLOWS: &[&str] = &[#(#follows),*];
        const SUMMARY: &[(&str, &str)] = #summary;
        const SECRET_FIELD_PATHS: &[(&str, &[&str])] = #secrets;
    }
}

/// The columns of `kubectl get`, with the paths of their values.
pub(super) fn summary(kind: &Kind) -> TokenStream {
    let state = &kind.args.state;
    let headers = kind.args.summary.iter().map(|column| &column.header);
    let paths = kind.args.summary.iter().map(|column| below(state, &column.path.value()));
    quote! { &[#((#headers, #paths)),*] }
}

/// The fields that accept a Secret, and the paths of the state that contain their values.
pub(super) fn secret_field_paths(kind: &Kind) -> TokenStream {
    let state = &kind.args.state;
    let secrets = kind.desired().filter(|field| !field.shape.is_public).map(|field| {
        let name = &field.keys.name;
        if let (None, Some(()), Some(group)) = (&field.keys.published, field.keys.group, field.shape.group())
        {
            return quote! { (#name, <#group>::PUBLISHED) };
        }
        let paths = published(field);
        let paths = paths.iter().map(|path| below(state, path));
        quote! { (#name, &[#(#paths),*]) }
    });
    quote! { &[#(#secrets),*] }
}

/// A list that is set as a whole.
fn is_whole(field: &Field) -> bool {
    field.shape.is_list() && field.keys.compare.is_none() && field.change().is_some()
}

/// The paths of the observed object that contain the value of a field.
pub(super) fn published(field: &Field) -> Vec<String> {
    if let Some(paths) = &field.keys.published {
        return paths.iter().map(LitStr::value).collect();
    }
    if matches!(field.decision, Decision::LaunchOnly) {
        return vec![];
    }
    let ident = field.keys.observed.as_ref().map_or(&field.ident, |observed| &observed.ident);
    vec![pascal_case(&ident.to_string())]
}

pub(super) fn below(state: &LitStr, path: &str) -> LitStr {
    LitStr::new(&format!("{}.{path}", state.value()), state.span())
}

/// As serde renames fields to PascalCase.
pub(super) fn pascal_case(ident: &str) -> String {
    let capitalized = |word: &str| {
        let mut rest = word.chars();
        rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect::<String>()
    };
    ident.split('_').map(capitalized).collect()
}

/// `AwsSpec::needs_deep_observation`.
pub(super) fn deep(kind: &Kind) -> TokenStream {
    let deep: Vec<_> =
        kind.desired().filter(|field| field.keys.deep.is_some()).map(|field| &field.ident).collect();
    if deep.is_empty() {
        return quote! {};
    }
    quote! {
        fn needs_deep_observation(desired: &Desired) -> bool {
            #(desired.#deep.is_some())||*
        }
    }
}
