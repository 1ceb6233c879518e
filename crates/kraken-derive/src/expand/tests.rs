use quote::quote;

use super::*;

/// The generated code of a spec with these keys and fields.
fn expanded(keys: TokenStream, fields: TokenStream) -> Result<String> {
    let args = quote! {
        kind = "Disk", plural = "disks", doc = "A disk.", noun = "disk", state = "disk", observed = Observed, #keys
    };
    let item = quote! { struct DiskSpec { #fields tags: TagOptions, lifecycle: Lifecycle } };
    kind(args, item).map(|code| code.to_string())
}

fn code(fields: TokenStream) -> String {
    expanded(quote! {}, fields).unwrap()
}

fn error(fields: TokenStream) -> String {
    expanded(quote! {}, fields)
        .unwrap_err()
        .into_iter()
        .map(|one| one.to_string())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Asserts that generated code contains this code. The spaces between tokens depend on where they come from.
pub(super) fn contains(code: &str, part: &TokenStream) {
    let without_spaces = |text: &str| text.replace(' ', "");
    assert!(without_spaces(code).contains(&without_spaces(&part.to_string())), "{part}\nis not in\n{code}");
}

#[test]
fn a_field_without_a_decision_does_not_compile() {
    let found = error(quote! { #[field("size")] size: Opt<i32>, });
    assert!(found.starts_with("say what an edit of `size` does: `fixed`, `change = Variant`"), "{found}");
    assert!(error(quote! { size: Opt<i32>, }).contains("`size` needs one attribute"));
}

#[test]
fn the_problems_of_all_fields_are_reported_at_once() {
    let found = error(quote! {
        #[field("size", fixed, change = Resize)] size: Opt<i32>,
        #[field("name", fixed)] name: Public<Opt<String>>,
        #[field("parts", fixed)] parts: Vec<Part>,
        #[field("zone", fixed, colour = 1)] zone: Opt<String>,
        #[field("rate", fixed, fixed)] rate: Opt<i32>,
        #[field("ids", add = Add)] ids: ListOpt<String>,
        #[field("mode", change = Mode, deep)] mode: Opt<String>,
    });
    for expected in [
        "`size` has several of `fixed`",
        "`name` is public, and needs a `rule`",
        "`parts` is no Opt<T> or ListOpt<T>: say `group`, or how it is resolved",
        "unknown key `colour`",
        "`fixed` is set twice",
        "`ids` needs both `add` and `remove`",
        "`mode` is required, and cannot be `deep`",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn a_value_that_nothing_keeps_unpublished_does_not_compile() {
    let of = |keys: TokenStream| error(quote! { #[field("size", fixed, #keys)] size: Opt<i32>, });
    assert!(of(quote! { compare = Self::size }).contains("`size` needs `published(...)`"));
    assert!(of(quote! { observed = size() }).contains("`size` needs `published(...)`"));
}

#[test]
fn every_kind_has_tags_and_a_lifecycle() {
    let of = |keys: TokenStream, fields: TokenStream| {
        let args = quote! {
            kind = "Disk", plural = "disks", doc = "A disk.", noun = "disk", state = "disk", observed = Observed, #keys
        };
        kind(args, quote! { struct DiskSpec { #fields } }).unwrap().to_string()
    };
    let generated = of(quote! { tag_name = "data" }, quote! {});
    contains(&generated, &quote! { pub(crate) tags: ::kraken_aws::TagOptions });
    contains(&generated, &quote! { pub(crate) lifecycle: ::kraken_kind::Lifecycle });
    assert!(generated.contains("`{Name: data, Team: shop, Env: {valueFrom: "), "{generated}");
    let own = of(quote! {}, quote! { #[doc = "Own."] tags: TagOptions, });
    contains(&own, &quote! { #[doc = "Own."] tags: TagOptions });
}

#[test]
fn the_name_the_bound_and_the_absence_of_a_field_are_in_its_attributes() {
    let code = code(quote! { #[field("sizeGiB", rule = SIZE, fixed)] size: Option<Opt<i32>>, });
    contains(
        &code,
        &quote! {
            #[serde(rename = "sizeGiB", skip_serializing_if = "Option::is_none")]
            #[schemars(transform = ::kraken_aws::bounds::literal(&SIZE))]
            size: Option<Opt<i32>>
        },
    );
}

#[test]
fn each_type_of_field_is_resolved_with_its_rule() {
    let code = code(quote! {
        #[field("a", fixed)] a: Opt<i32>,
        #[field("b", rule = B, fixed)] b: Option<Opt<String>>,
        #[field("c", check = c, fixed)] c: Option<Public<Opt<String>>>,
        #[field("d", rule = D, items(1, 2), change = SetD)] d: ListOpt<String>,
        #[field("e", resolve = Self::e => Parts, compare = Self::parts, published())] e: Vec<Part>,
        #[field("f", kraken_only)] f: Vec<Part>,
    });
    contains(
        &code,
        &quote! {
            PartialDesired {
                a: validator.any("a", &self.a),
                b: validator.optional("b", self.b.as_ref(), ::kraken_aws::bounds::rule(&B)),
                c: validator.public_if("c", self.c.as_ref(), c),
                d: validator.each("d", Some(&self.d), ::kraken_aws::bounds::rule(&D)).flatten(),
                e: Self::e(self, &mut validator),
            }
        },
    );
    contains(&code, &quote! { pub(crate) d: ::kraken_kind::Resolved<Vec<String>> });
    contains(&code, &quote! { pub(crate) e: Parts });
}

#[test]
fn fixed_fields_are_compared_before_changes() {
    let code = code(quote! {
        #[field("b", change = SetB(bool))] b: Option<Opt<bool>>,
        #[field("c", add = Add, remove = Remove)] c: Option<ListOpt<String>>,
        #[field("a", fixed, observed = kind)] a: Opt<String>,
        #[field("d", fixed, observed = &id)] d: Opt<String>,
    });
    contains(
        &code,
        &quote! {
            found.extend(::kraken_aws::diff::fixed("a", Some(&desired.a), observed.kind.as_ref()));
            found.extend(::kraken_aws::diff::fixed("d", Some(&desired.d), Some(&observed.id)));
            found.extend(desired.b.as_ref().and_then(|wanted| {
                let change = Change::SetB(wanted.expose().clone());
                ::kraken_aws::diff::changed("b", Some(wanted), observed.b.as_ref(), change)
            }));
            found.extend(
                ::kraken_aws::diff::of_lists("c", desired.c.as_ref(), &observed.c, Change::Add, Change::Remove)
            );
        },
    );
}

#[test]
fn an_ignored_field_is_not_sent_by_the_call_of_another_one() {
    let together = |more: TokenStream| {
        expanded(
            quote! {},
            quote! {
                #[field("size", change = Modify)] size: Option<Opt<i32>>,
                #[field("rate", change = Modify, #more)] rate: Opt<i32>,
                #[field("name", change = Rename)] name: Option<Opt<String>>,
            },
        )
    };
    let code = together(quote! { always_sent }).unwrap();
    contains(&code, &quote! { kept.size.take_if(|_| ignored.covers("size")); is_any.then_some(kept) });
    let error = together(quote! {}).unwrap_err().to_string();
    assert!(error.contains("`rate` is required and sent together with other fields"), "{error}");
}

#[test]
fn a_field_that_is_applied_at_launch_only_is_reported() {
    let code = code(quote! { #[field("key", launch_only)] key: Option<Opt<String>>, });
    contains(
        &code,
        &quote! { vec![("key", desired.key.as_ref().map(::kraken_aws::fields::shown).unwrap_or_default())] },
    );
    assert!(!code.contains("found . extend"), "{code}");
}

#[test]
fn the_keys_of_a_field_say_what_an_edit_does() {
    let code = code(quote! {
        #[field("image", fixed)] image: Opt<String>,
        #[field("zone", fixed)] zone: Option<Opt<String>>,
        #[field("type", change = Type, stopped)] type_: Opt<String>,
        #[field("size", change = Size)] size: Opt<i32>,
        #[field("rate", change = Rate, default = 3)] rate: Option<Opt<i32>>,
        #[field("key", launch_only)] key: Opt<String>,
    });
    contains(
        &code,
        &quote! {
            match field {
                "image" => ::kraken_kind::Edit::Replaces,
                "zone" if after.zone.is_none() => ::kraken_kind::Edit::Keeps,
                "zone" => ::kraken_kind::Edit::Replaces,
                "type" => ::kraken_kind::Edit::Stops,
                "key" => ::kraken_kind::Edit::Replaces,
                _ => ::kraken_kind::Edit::InPlace,
            }
        },
    );
}

#[test]
fn the_paths_of_secrets_are_those_of_the_observed_fields() {
    let code = expanded(
        quote! { summary("Size" = "Size"), drift("state"), whole("e.f") },
        quote! {
            #[field("sizeGiB", fixed)] volume_size: Opt<i32>,
            #[field("name", rule = NAME, fixed)] name: Public<Opt<String>>,
            #[field("zone", fixed, observed = az, published("Zone", "ZoneId"))] zone: Opt<String>,
            #[field("ids", change = Ids)] ids: Option<ListOpt<String>>,
        },
    )
    .unwrap();
    contains(
        &code,
        &quote! {
            const DRIFT_PATHS: &[&str] = &["state"];
            const WHOLE_PATHS: &[&str] = &["ids", "e.f"];
            const FOLLOWS: &[&str] = &[];
            const SUMMARY: &[(&str, &str)] = &[("Size", "disk.Size")];
            const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
                ("sizeGiB", &["disk.VolumeSize"]),
                ("zone", &["disk.Zone", "disk.ZoneId"]),
                ("ids", &["disk.Ids"])
            ];
        },
    );
}

#[test]
fn attributes_that_are_observed_deeply_are_compared_only_if_they_were_read() {
    let code = code(quote! { #[field("dns", change = Dns, deep)] dns: Option<Opt<bool>>, });
    contains(
        &code,
        &quote! {
            observed.dns.as_ref().and_then(|have|
                ::kraken_aws::diff::changed("dns", desired.dns.as_ref(), Some(have), Change::Dns)
            )
        },
    );
    contains(
        &code,
        &quote! { fn needs_deep_observation(desired: &Desired) -> bool { desired.dns.is_some() } },
    );
}

#[test]
fn changes_are_the_variants_of_the_fields() {
    let code = code(quote! {
        #[field("size", change = Modify)] size: Option<Opt<i32>>,
        #[field("rate", change = Modify)] rate: Option<Opt<i32>>,
    });
    contains(&code, &quote! { pub(crate) enum Change { #[doc = "Sets `size`, `rate`."] Modify, } });
    let fixed = self::code(quote! { #[field("size", fixed)] size: Opt<i32>, });
    contains(&fixed, &quote! { pub(crate) enum Change {} });
}

#[test]
fn objects_of_a_kind_with_a_count_are_compared_as_those_of_others() {
    let code = code(quote! {
        #[field("image", rule = IMAGE, fixed)] image: Opt<String>,
        #[field("max", rule = COUNT, count)] max_count: Public<Opt<i32>>,
        #[field("data", change = Data, compare = Self::data, stopped, unpublished, published())] data: Opt<String>,
        #[field("size", change = Size, stopped)] size: Option<Opt<String>>,
    });
    contains(
        &code,
        &quote! {
            found.extend(
                ::kraken_aws::diff::fixed_at_launch("image", Some(&desired.image), observed.image.as_ref(), "disk")
            );
            found.extend((Self::data(desired, observed)).into_iter().map(::kraken_aws::diff::stopped));
            found.extend((observed.size.as_ref().and_then(|have|
                ::kraken_aws::diff::changed("size", desired.size.as_ref(), Some(have), Change::Size)
            )).into_iter().map(::kraken_aws::diff::stopped));
        },
    );
    contains(
        &code,
        &quote! {
            const COUNT_PATH: &'static str = "max";
            const FIELD_ORDER: &[&str] = &["image", "max", "data", "size"];
            fn count(desired: &Desired) -> Option<&::kraken_kind::Resolved<i32>> { Some(&desired.max_count) }
        },
    );
    contains(
        &code,
        &quote! {
            let values = [
                ("image", ::kraken_aws::fields::public(Some(&desired.image))),
                ("max", ::kraken_aws::fields::public(Some(&desired.max_count))),
                ("size", ::kraken_aws::fields::public(desired.size.as_ref()))
            ];
        },
    );
    contains(&code, &quote! { tags: validator.tags(&self.tags), });
}

#[test]
fn only_a_field_that_is_changed_in_place_can_require_a_stop() {
    let found = error(quote! { #[field("size", fixed, stopped)] size: Opt<i32>, });
    assert!(found.contains("`size` is not changed in place, and cannot be `stopped`"), "{found}");
}

#[test]
fn a_group_is_compared_by_its_fields_and_sent_without_ignored_ones() {
    let code = code(quote! { #[field("check", group, change = Check)] check: Option<CheckSpec>, });
    contains(
        &code,
        &quote! {
            check: self.check.as_ref().map_or(Some(None), |given|
                ::kraken_aws::group::one("check", given, &mut validator).map(Some)),
        },
    );
    contains(
        &code,
        &quote! {
            desired.check.as_ref().into_iter().flat_map(|group|
                group.differences("check", observed, || Change::Check))
        },
    );
    contains(
        &code,
        &quote! { kept.check.as_mut().is_some_and(|group| group.leave_ignored("check", ignored)) },
    );
    contains(&code, &quote! { ("check", <CheckSpec>::PUBLISHED) });
}

#[test]
fn rules_between_fields_are_in_the_schema() {
    let fields = quote! { #[field("size", fixed)] size: Opt<i32>, };
    let keys = quote! { cel("has(self.size)" else "is required" at "size", "false" else "never") };
    let code = expanded(keys, fields.clone()).unwrap();
    contains(
        &code,
        &quote! {
            #[schemars(extend("x-kubernetes-validations" = [
                { "rule": "has(self.size)", "message": "is required", "fieldPath": ".size" },
                { "rule": "false", "message": "never" }
            ]))]
        },
    );
    let error = expanded(quote! { cel("false" else "never" on "size") }, fields).unwrap_err().to_string();
    assert_eq!(error, "expected `at \"field\"`");
}

#[test]
fn the_parts_of_a_value_are_compared_and_ignored_one_by_one() {
    let code = code(quote! {
        #[field(
            "action", group, parts, change = Act, observed = action(), published("Actions")
        )]
        action: ActionSpec,
    });
    contains(
        &code,
        &quote! { action: ::kraken_aws::group::canonical("action", &self.action, &mut validator), },
    );
    contains(
        &code,
        &quote! {
            pub(crate) action: ::kraken_aws::resolved::Joined<<ActionSpec as ::kraken_aws::group::Canonical>::Form>,
        },
    );
    contains(
        &code,
        &quote! {
            ::kraken_aws::group::differences(
                "action", &desired.action, observed.action().as_ref(), || Change::Act
            )
        },
    );
    contains(
        &code,
        &quote! {
            is_any |= ::kraken_aws::group::leave_ignored(
                "action", &mut kept.action, observed.action().as_ref(), ignored
            );
        },
    );
    let found = error(quote! { #[field("a", fixed, parts, published())] a: Opt<String>, });
    assert!(found.contains("`a` has parts, and is a required group"), "{found}");
}
