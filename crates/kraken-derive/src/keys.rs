//! Comma-separated keys in an attribute: `key`, `key = value`, `key(values)`.

use proc_macro2::Ident;
use syn::{
    Error, Result, Token,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

/// Parses all keys, each with a function that parses what follows the key.
pub(crate) fn each(
    input: ParseStream<'_>,
    mut one: impl FnMut(&Ident, ParseStream<'_>) -> Result<()>,
) -> Result<()> {
    while !input.is_empty() {
        let key = input.call(Ident::parse_any)?;
        one(&key, input)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// `= value`.
pub(crate) fn value<T: Parse>(input: ParseStream<'_>) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// `(value, value)`.
pub(crate) fn values<T: Parse>(input: ParseStream<'_>) -> Result<Vec<T>> {
    let inner;
    parenthesized!(inner in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&inner)?.into_iter().collect())
}

/// Stores the value of a key, once.
pub(crate) fn set<T>(slot: &mut Option<T>, key: &Ident, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(key.span(), format!("`{key}` is set twice"))),
    }
}

/// The error for a key that does not exist.
pub(crate) fn unknown(key: &Ident, known: &str) -> Error {
    Error::new(key.span(), format!("unknown key `{key}`; expected one of {known}"))
}
