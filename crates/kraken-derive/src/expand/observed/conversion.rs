//! The values of the fields of an observed object, from the object of the SDK, which is `sdk`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Expr, Field, Result, Type};

use crate::shape::{Content, Shape};

/// Each field with its value. Removes the attributes that are not those of serde.
pub(super) fn values<'a>(
    fields: impl IntoIterator<Item = &'a mut Field>,
    non_empty: bool,
) -> Result<Vec<TokenStream>> {
    let (mut own, mut by_name) = (vec![], vec![]);
    for field in fields {
        let value = own_value(field)?;
        let name = &field.ident;
        if let Some(value) = value {
            own.push(quote! { #name: #value });
        } else {
            let value = converted(field, non_empty);
            by_name.push(quote! { #name: #value });
        }
    }
    // Own values first: they may borrow the whole object, before others take its fields.
    own.append(&mut by_name);
    Ok(own)
}

/// The value of a field with `#[from(...)]`, which is removed, or of one that is not in the response.
fn own_value(field: &mut Field) -> Result<Option<TokenStream>> {
    if let Some(index) = field.attrs.iter().position(|attribute| attribute.path().is_ident("from")) {
        let value: Expr = field.attrs.remove(index).parse_args()?;
        return Ok(Some(quote! { #value }));
    }
    Ok(is_skipped(field).then(|| quote! { ::core::default::Default::default() }))
}

/// Whether the field has the attribute `#[serde(skip)]`.
pub(super) fn is_skipped(field: &Field) -> bool {
    let is_skip = |attribute: &Attribute| {
        attribute.path().is_ident("serde")
            && attribute.parse_args::<Ident>().is_ok_and(|argument| argument == "skip")
    };
    field.attrs.iter().any(is_skip)
}

/// The value of the SDK's field of the same name, which is always an option there.
fn converted(field: &Field, non_empty: bool) -> TokenStream {
    let Field { ident, ty, .. } = field;
    let Shape { is_optional, content, .. } = Shape::of(ty);
    let Content::Other(ty) = content else {
        return quote! { ::kraken_aws::items::sorted(sdk.#ident) };
    };
    match (name(&ty).as_deref(), is_optional) {
        (Some("Tags"), _) => quote! { ::kraken_aws::tags::from_sdk(&sdk.#ident.unwrap_or_default()) },
        (Some("String"), false) => quote! { ::kraken_aws::observed::text(sdk.#ident).unwrap_or_default() },
        (Some("String"), true) if non_empty => quote! { ::kraken_aws::observed::non_empty(sdk.#ident) },
        (Some("String"), true) => quote! { ::kraken_aws::observed::text(sdk.#ident) },
        (_, true) => quote! { sdk.#ident.map(::core::convert::From::from) },
        (_, false) => quote! { sdk.#ident.map(::core::convert::From::from).unwrap_or_default() },
    }
}

/// The name of a type, without its path.
fn name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|last| last.ident.to_string())
}
