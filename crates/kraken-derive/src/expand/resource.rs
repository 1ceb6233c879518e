//! The custom resource: the struct as it is written, with the attributes of serde, schemars and kube.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::Kind;
use crate::{args::Args, cel, field::Field};

/// The attributes of a spec that make it a kind of AWS.
pub(super) fn attributes(args: &Args) -> TokenStream {
    let (name, plural, doc) = (&args.kind, &args.plural, &args.doc);
    let shortname = args.shortname.iter();
    let cel = cel::attribute(&args.cel);
    quote! {
        #[derive(
            ::kube::CustomResource, Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize,
            ::schemars::JsonSchema,
        )]
        #[kube(
            group = "aws.kraken-iac.eoinfennessy.com", version = "v1alpha1", kind = #name, plural = #plural,
            #(shortname = #shortname,)* category = "kraken", namespaced, status = "::kraken_kind::ResourceStatus",
            doc = #doc
        )]
        #cel
    }
}

pub(super) fn expand(kind: &Kind) -> TokenStream {
    let Kind { args, attrs, vis, ident, fields, tags, lifecycle } = kind;
    let attributes = attributes(args);
    let fields = fields.iter().map(field);
    let tags = args.untagged.is_none().then(|| {
        quote! {
            #[serde(default, skip_serializing_if = "::kraken_aws::tags::is_empty")]
            #[schemars(transform = ::kraken_aws::bounds::tags())]
            #tags,
        }
    });
    quote! {
        #attributes
        #(#attrs)*
        #vis struct #ident {
            #(#fields,)*

            #tags

            #[serde(default)]
            #lifecycle,
        }

        impl ::kraken_kind::HasLifecycle for #ident {
            fn lifecycle(&self) -> &::kraken_kind::Lifecycle {
                &self.lifecycle
            }
        }
    }
}

/// A field as it is written, with the attributes of serde and schemars.
pub(super) fn field(field: &Field) -> TokenStream {
    let Field { ident, vis, ty, attrs, keys, .. } = field;
    let name = &keys.name;
    let skip = field.shape.is_optional.then(|| quote! { , skip_serializing_if = "Option::is_none" });
    let bound = keys.rule.as_ref().map(|rule| {
        let items = keys.items.iter().map(|items| quote! { .items(#(#items),*) });
        quote! { #[schemars(transform = ::kraken_aws::bounds::literal(&#rule) #(#items)*)] }
    });
    let vis = vis.to_token_stream();
    quote! {
        #(#attrs)*
        #[serde(rename = #name #skip)]
        #bound
        #vis #ident: #ty
    }
}
