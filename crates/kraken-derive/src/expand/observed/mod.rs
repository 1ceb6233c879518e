//! The code of an observed object, or of a part of one: its serialized form, its conversion from the SDK, and the traits of
//! objects with an id.

mod conversion;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{
    Error, Field, Fields, ItemStruct, Path, Result,
    parse::{Parse, ParseStream, Parser as _},
};

use crate::keys::{self, set, value};

const KNOWN: &str = "from, id, phase, pending, launch_index, non_empty";

/// The keys of an observed object, as described at [`crate::aws_observed`].
#[derive(Default)]
struct Args {
    from: Option<Path>,
    id: Option<Ident>,
    phase: Option<Path>,
    pending: Option<Path>,
    launch_index: Option<Ident>,
    non_empty: Option<()>,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut args = Self::default();
        keys::each(input, |key, input| match key.to_string().as_str() {
            "from" => set(&mut args.from, key, value(input)?),
            "id" => set(&mut args.id, key, value(input)?),
            "phase" => set(&mut args.phase, key, value(input)?),
            "pending" => set(&mut args.pending, key, value(input)?),
            "launch_index" => set(&mut args.launch_index, key, value(input)?),
            "non_empty" => set(&mut args.non_empty, key, ()),
            _ => Err(keys::unknown(key, KNOWN)),
        })?;
        Ok(args)
    }
}

pub(crate) fn observed(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let (args, mut item): (Args, ItemStruct) = (syn::parse2(args)?, syn::parse2(item)?);
    let ident = item.ident.clone();
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new(ident.span(), "an observed type is a struct with named fields"));
    };
    if args.id.is_some() && !fields.named.iter().any(is_tags) {
        fields.named.push(tags()?);
    }
    let values = conversion::values(&mut fields.named, args.non_empty.is_some())?;
    let from = args.from.iter().map(|sdk| {
        quote! {
            impl From<#sdk> for #ident {
                fn from(sdk: #sdk) -> Self {
                    Self { #(#values,)* }
                }
            }
        }
    });
    let has_other_tags = fields.named.iter().any(|field| is_tags(field) && conversion::is_skipped(field));
    let traits = traits(&args, &ident, has_other_tags)?;
    // The parts of an object are items of lists, which are sorted.
    let order = args.id.is_none().then(|| quote! { Eq, PartialOrd, Ord, });
    Ok(quote! {
        #[derive(Clone, Debug, Default, PartialEq, #order ::serde::Serialize)]
        #[serde(rename_all = "PascalCase")]
        #item
        #(#from)*
        #traits
    })
}

fn is_tags(field: &Field) -> bool {
    field.ident.as_ref().is_some_and(|ident| ident == "tags")
}

/// `tags`, which every object has.
fn tags() -> Result<Field> {
    Field::parse_named.parse2(quote! {
        #[serde(serialize_with = "::kraken_aws::tags::written")]
        pub(crate) tags: ::kraken_aws::Tags
    })
}

/// The traits of an object with an id, whose tags may be read by another call.
fn traits(args: &Args, ident: &Ident, has_other_tags: bool) -> Result<TokenStream> {
    let Args { id, phase, pending, launch_index, .. } = args;
    let Some(id) = id else {
        let key = phase.as_ref().map(|_| "phase").or(launch_index.as_ref().map(|_| "launch_index"));
        return match key {
            None => Ok(quote! {}),
            Some(key) => Err(Error::new(ident.span(), format!("`{ident}` has a `{key}`, and no `id`"))),
        };
    };
    let phase = phase.iter().map(|phase| {
        quote! {
            fn phase(&self) -> ::kraken_aws::resource::Phase {
                #phase(self)
            }
        }
    });
    let pending = pending.iter().map(|state| {
        quote! {
            fn pending_state(&self) -> Option<::serde_json::Value> {
                #state(self)
            }
        }
    });
    let launch_index = launch_index.iter().map(|index| {
        quote! {
            fn launch_index(&self) -> i32 {
                self.#index
            }
        }
    });
    let with_tags = has_other_tags.then(|| {
        quote! {
            impl ::kraken_aws::observed::WithTags for #ident {
                fn with_tags(self, tags: ::kraken_aws::Tags) -> Self {
                    Self { tags, ..self }
                }
            }
        }
    });
    Ok(quote! {
        impl ::kraken_aws::lookup::Tagged for #ident {
            fn id(&self) -> &str {
                &self.#id
            }

            fn tags(&self) -> &::kraken_aws::Tags {
                &self.tags
            }
        }

        impl ::kraken_aws::resource::RemoteObject for #ident {
            #(#phase)*
            #(#pending)*
            #(#launch_index)*
        }

        #with_tags
    })
}

#[cfg(test)]
mod tests;
