use super::*;
use crate::expand::tests::contains;

fn code(keys: TokenStream, fields: TokenStream) -> String {
    observed(keys, quote! { pub(crate) struct Disk { #fields } }).unwrap().to_string()
}

fn error(keys: TokenStream) -> String {
    observed(keys, quote! { struct Disk { disk_id: String } }).unwrap_err().to_string()
}

#[test]
fn fields_are_converted_by_their_names_and_types_after_those_with_a_value_of_their_own() {
    let fields = quote! {
        disk_id: String,
        name: Option<String>,
        size: Option<i32>,
        encryption: Option<Encryption>,
        place: Place,
        attachments: Vec<Attachment>,
        #[serde(rename = "DNSName")]
        #[from(in_order(sdk.parts))]
        parts: Vec<Part>,
        #[serde(skip)]
        #[from(sdk.index.unwrap_or_default())]
        index: i32,
        #[serde(skip)]
        details: Option<String>,
    };
    let code = code(quote! { from = types::Disk, id = disk_id }, fields);
    contains(
        &code,
        &quote! {
            impl From<types::Disk> for Disk {
                fn from(sdk: types::Disk) -> Self {
                    Self {
                        parts: in_order(sdk.parts),
                        index: sdk.index.unwrap_or_default(),
                        details: ::core::default::Default::default(),
                        disk_id: ::kraken_aws::observed::text(sdk.disk_id).unwrap_or_default(),
                        name: ::kraken_aws::observed::text(sdk.name),
                        size: sdk.size.map(::core::convert::From::from),
                        encryption: sdk.encryption.map(::core::convert::From::from),
                        place: sdk.place.map(::core::convert::From::from).unwrap_or_default(),
                        attachments: ::kraken_aws::items::sorted(sdk.attachments),
                        tags: ::kraken_aws::tags::from_sdk(&sdk.tags.unwrap_or_default()),
                    }
                }
            }
        },
    );
    contains(&code, &quote! { #[serde(rename = "DNSName")] parts: Vec<Part>, });
    contains(&code, &quote! { #[serde(skip)] index: i32, });
}

#[test]
fn an_empty_text_can_count_as_missing() {
    let code = code(
        quote! { from = types::Disk, non_empty },
        quote! { disk_id: String, name: Option<String>, size: Option<i32> },
    );
    contains(&code, &quote! { name: ::kraken_aws::observed::non_empty(sdk.name), });
    contains(&code, &quote! { disk_id: ::kraken_aws::observed::text(sdk.disk_id).unwrap_or_default(), });
    contains(&code, &quote! { size: sdk.size.map(::core::convert::From::from), });
}

#[test]
fn an_object_with_an_id_has_tags_and_a_part_has_an_order() {
    let keys = quote! { id = disk_id, phase = Self::phase, launch_index = index };
    let object = code(keys, quote! { disk_id: String, index: i32 });
    contains(
        &object,
        &quote! {
            #[serde(serialize_with = "::kraken_aws::tags::written")]
            pub(crate) tags: ::kraken_aws::Tags
        },
    );
    contains(&object, &quote! { fn id(&self) -> &str { &self.disk_id } });
    contains(
        &object,
        &quote! {
            impl ::kraken_aws::resource::RemoteObject for Disk {
                fn phase(&self) -> ::kraken_aws::resource::Phase { Self::phase(self) }
                fn launch_index(&self) -> i32 { self.index }
            }
        },
    );
    assert!(!object.contains("Ord") && !object.contains("From") && !object.contains("WithTags"), "{object}");
    let part = code(quote! {}, quote! { state: String });
    contains(&part, &quote! { PartialEq, Eq, PartialOrd, Ord, });
    assert!(!part.contains("tags") && !part.contains("impl"), "{part}");
}

#[test]
fn tags_that_are_not_in_the_response_are_set_later() {
    let fields = quote! { disk_id: String, #[serde(skip)] tags: Tags };
    let code = code(quote! { from = types::Disk, id = disk_id }, fields);
    contains(&code, &quote! { impl ::kraken_aws::observed::WithTags for Disk });
    contains(&code, &quote! { tags: ::core::default::Default::default(), });
    assert!(!code.contains("written"), "{code}");
}

#[test]
fn only_an_object_has_a_phase_and_a_launch_index() {
    assert_eq!(error(quote! { phase = Self::phase }), "`Disk` has a `phase`, and no `id`");
    assert_eq!(error(quote! { launch_index = index }), "`Disk` has a `launch_index`, and no `id`");
}
