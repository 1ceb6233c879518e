//! A look-up: a kind that finds objects which Kraken does not manage. Its fields say what is searched for.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, Fields, Ident, ItemStruct, Path, Result, Visibility};

use super::{desired, desired::Place, resource, state};
use crate::{args::Args, field::Field};

/// The keys of the attribute, and the fields of the spec.
struct Lookup {
    args: Args,
    attrs: Vec<Attribute>,
    vis: Visibility,
    ident: Ident,
    fields: Vec<Field>,
}

/// The code of a look-up.
pub(crate) fn lookup(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let lookup = parse(syn::parse2(args)?, syn::parse2(item)?)?;
    let parts = [custom_resource(&lookup), desired_struct(&lookup), spec(&lookup)];
    Ok(quote! { #(#parts)* })
}

/// Parses the spec. The problems of all fields are reported at once.
fn parse(args: Args, item: ItemStruct) -> Result<Lookup> {
    let ItemStruct { attrs, vis, ident, fields, .. } = item;
    let Fields::Named(fields) = fields else {
        return Err(Error::new(ident.span(), "a spec is a struct with named fields"));
    };
    let (mut own, mut problems) = (vec![], None::<Error>);
    for field in fields.named {
        // What an edit of a field does is the same for all of them: the look-up searches again.
        let parsed = Field::of_group(field).and_then(public);
        match (parsed, &mut problems) {
            (Ok(field), _) => own.push(field),
            (Err(problem), Some(problems)) => problems.combine(problem),
            (Err(problem), None) => problems = Some(problem),
        }
    }
    problems.map_or(Ok(Lookup { args, attrs, vis, ident, fields: own }), Err)
}

/// What is searched for is in conditions and plans.
fn public(field: Field) -> Result<Field> {
    if field.shape.is_public {
        return Ok(field);
    }
    let why = format!("`{}` is part of messages, and must be `Public`", field.ident);
    Err(Error::new(field.ident.span(), why))
}

fn custom_resource(lookup: &Lookup) -> TokenStream {
    let Lookup { args, attrs, vis, ident, fields } = lookup;
    let attributes = resource::attributes(args);
    let fields = fields.iter().map(resource::field);
    let tags = " Tags of the object, at most 45: it has each of them with exactly this value. Each value is a literal or a\n \
                reference, but not to a Secret. Default: any tags. Example: `{Name: shared, Env: {valueFrom: {configMap: {name: env, \
                key: name}}}}`";
    let tags = tags.lines();
    let tags = args.untagged.is_none().then(|| {
        quote! {
            #(#[doc = #tags])*
            #[serde(default, skip_serializing_if = "::kraken_aws::tags::is_empty")]
            #[schemars(transform = ::kraken_aws::bounds::tags())]
            pub(crate) tags: ::kraken_aws::TagOptions,
        }
    });
    quote! {
        #attributes
        #(#attrs)*
        #vis struct #ident {
            #(#fields,)*

            #tags

            /// Whether the answer is kept: if `true`, a newer answer is reported by the condition `UpdateAvailable`, and is
            /// published only if its plan is approved or another field of the spec is edited. If `false`, the newest answer is
            /// always published, so that dependents follow it. Default: `true`. Example: `false`
            #[serde(default = "::kraken_aws::lookup_kind::pinned")]
            pub(crate) pin: bool,

            /// How this resource is reconciled.
            #[serde(default, skip_serializing_if = "::kraken_kind::api::lookup::is_default")]
            #[schemars(schema_with = "::kraken_kind::api::lookup::lifecycle")]
            pub(crate) lifecycle: ::kraken_kind::Lifecycle,
        }

        impl ::kraken_kind::HasLifecycle for #ident {
            fn lifecycle(&self) -> &::kraken_kind::Lifecycle {
                &self.lifecycle
            }
        }
    }
}

fn desired_struct(lookup: &Lookup) -> TokenStream {
    let names = lookup.fields.iter().map(|field| &field.ident);
    let types = lookup.fields.iter().map(desired::ty);
    quote! {
        /// What is searched for. Absent fields restrict nothing.
        #[derive(Clone, Debug)]
        pub(crate) struct Desired {
            #(pub(crate) #names: #types,)*
            /// The tags of the object.
            pub(crate) tags: ::kraken_aws::Tags,
            /// Whether an answer is kept.
            pub(crate) pin: bool,
        }
    }
}

/// `impl LookupSpec`.
fn spec(lookup: &Lookup) -> TokenStream {
    let Lookup { args, ident, fields, .. } = lookup;
    let (noun, key, observed) = (&args.noun, &args.state, &args.observed);
    let names: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let paths: Vec<_> = fields.iter().map(|field| &field.keys.name).collect();
    let values = fields.iter().map(value);
    let wanted = fields.iter().map(Field::wanted);
    let headers = args.summary.iter().map(|column| &column.header);
    let columns = args.summary.iter().map(|column| state::below(key, &column.path.value()));
    let rules = args.hooks.rules.iter().map(|rules: &Path| quote! { #rules(self, &mut validator); });
    let (tags, tags_field) = if args.untagged.is_none() {
        (quote! { validator.wanted_tags(&self.tags) }, Some(quote! { "tags" }))
    } else {
        (quote! { Some(::kraken_aws::Tags::new()) }, None)
    };
    quote! {
        impl ::kraken_aws::lookup_kind::LookupSpec for #ident {
            type Desired = Desired;
            type Observed = #observed;
            const NOUN: &'static str = #noun;
            const STATE_KEY: &'static str = #key;
            const SUMMARY: &[(&str, &str)] = &[#((#headers, #columns),)* ("Newer", ::kraken_aws::lookup_kind::NEWER)];
            const FIELDS: &[&str] = &[#(#paths,)* #tags_field];

            fn desired(&self, values: &mut ::kraken_kind::Resolver<'_>) -> Option<Desired> {
                let mut validator = ::kraken_aws::validator::SpecValidator::new(values);
                // All fields are resolved before an error is returned, so that all problems are reported.
                #(let #names = #values;)*
                let tags = #tags;
                #(#rules)*
                let desired = Desired { #(#names: #names?,)* tags: tags?, pin: self.pin };
                validator.is_valid().then_some(desired)
            }

            fn criteria(desired: &Desired) -> Vec<(&'static str, String)> {
                let mut all = Vec::new();
                #(all.extend(#wanted.map(|value| (#paths, ::kraken_aws::fields::shown(value))));)*
                all
            }

            fn tags(desired: &Desired) -> &::kraken_aws::Tags {
                &desired.tags
            }

            fn pins(desired: &Desired) -> bool {
                desired.pin
            }
        }
    }
}

/// The value of a field, or `None` after recording a problem.
fn value(field: &Field) -> TokenStream {
    let (ident, name) = (&field.ident, &field.keys.name);
    let option = if field.shape.is_optional {
        quote! { self.#ident.as_ref() }
    } else {
        quote! { &self.#ident }
    };
    let place = Place { path: quote! { #name }, validator: quote! { &mut validator } };
    desired::resolved(field, field.shape.is_optional, &option, &place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::contains;

    fn expanded(fields: TokenStream) -> Result<String> {
        let args = quote! {
            kind = "DiskLookup", plural = "disklookups", doc = "A disk.", noun = "disk", state = "disk", observed = Disk,
            summary("Size" = "Size")
        };
        lookup(args, quote! { struct DiskLookupSpec { #fields } }).map(|code| code.to_string())
    }

    #[test]
    fn a_lookup_resolves_and_shows_each_of_its_fields_and_tags() {
        let code = expanded(quote! {
            #[field("zone", rule = ZONE)] zone: Option<Public<Opt<String>>>,
            #[field("name", rule = NAME)] name: Public<Opt<String>>,
        })
        .unwrap();
        contains(&code, &quote! { const FIELDS: &[&str] = &["zone", "name", "tags"]; });
        contains(
            &code,
            &quote! { let name = validator.public("name", &self.name, ::kraken_aws::bounds::rule(&NAME)); },
        );
        contains(
            &code,
            &quote! {
                all.extend(desired.zone.as_ref().map(|value| ("zone", ::kraken_aws::fields::shown(value))));
                all.extend(Some(&desired.name).map(|value| ("name", ::kraken_aws::fields::shown(value))));
            },
        );
    }

    #[test]
    fn objects_without_tags_are_not_searched_by_tags() {
        let args = quote! {
            kind = "DiskLookup", plural = "disklookups", doc = "A disk.", noun = "disk", state = "disk", observed = Disk, untagged
        };
        let fields = quote! { #[field("name", rule = NAME)] name: Public<Opt<String>> };
        let code = lookup(args, quote! { struct DiskLookupSpec { #fields } }).unwrap().to_string();
        contains(&code, &quote! { const FIELDS: &[&str] = &["name",]; });
        assert!(!code.contains("TagOptions"), "{code}");
    }

    #[test]
    fn a_field_of_a_lookup_is_public_and_has_no_decision_about_edits() {
        let error = expanded(quote! {
            #[field("size")] size: Opt<i32>,
            #[field("name", rule = NAME, fixed)] name: Public<Opt<String>>,
        });
        let all: Vec<String> = error.unwrap_err().into_iter().map(|one| one.to_string()).collect();
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].contains("must be `Public`") && all[1].contains("`name` is in a group"), "{all:?}");
    }
}
