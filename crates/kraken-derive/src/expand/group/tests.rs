use quote::quote;

use super::*;
use crate::expand::tests::contains;

fn code(keys: TokenStream, fields: TokenStream) -> String {
    group(keys, quote! { pub(crate) struct CheckSpec { #fields } }).unwrap().to_string()
}

fn error(keys: TokenStream, fields: TokenStream) -> String {
    let error = group(keys, quote! { struct CheckSpec { #fields } }).unwrap_err();
    error.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_field_has_its_path_below_the_group() {
    let code = code(
        quote! { rules = Self::rules },
        quote! {
            #[field("a", rule = A)] a: Option<Opt<i32>>,
            #[field("bList", check = |b: &str| b_of(a.as_ref(), b), items(0, 9), rule = B)] b: Option<ListOpt<String>>,
            #[field("c", group)] c: Option<Inner>,
            #[field("d", group)] d: Option<Vec<Inner>>,
            #[field("e", group)] e: Inner,
        },
    );
    contains(
        &code,
        &quote! {
            #[serde(rename = "bList", skip_serializing_if = "Option::is_none")]
            #[schemars(transform = ::kraken_aws::bounds::literal(&B).items(0, 9))]
            b: Option<ListOpt<String>>
        },
    );
    contains(
        &code,
        &quote! {
            let a = validator.optional(&at("a"), self.a.as_ref(), ::kraken_aws::bounds::rule(&A));
            let b = validator.list(&at("bList"), self.b.as_ref(), |b: &str| b_of(a.as_ref(), b));
            let c = self.c.as_ref().map_or(Some(None), |given|
                ::kraken_aws::group::one(&at("c"), given, validator).map(Some));
            let d = self.d.as_ref().map_or(Some(None), |given|
                ::kraken_aws::group::each(&at("d"), given, validator).map(Some));
            let e = ::kraken_aws::group::one(&at("e"), &self.e, validator);
            let partial = PartialCheck { a, b, c, d, e };
            Self::rules(self, field, &partial, validator);
        },
    );
    contains(&code, &quote! { pub(crate) d: Option<Vec<<Inner as ::kraken_aws::AwsGroup>::Desired>>, });
}

#[test]
fn a_group_is_secret_if_any_value_is() {
    let code = code(
        quote! {},
        quote! {
            #[field("a", rule = A)] a: Opt<i32>,
            #[field("d", group)] d: Option<Vec<Inner>>,
        },
    );
    contains(
        &code,
        &quote! {
            (<::kraken_kind::Resolved<i32> >::is_secret)(&desired.a)
                || desired.d.as_ref().is_some_and(|all: &Vec<<Inner as ::kraken_aws::AwsGroup>::Desired>|
                    all.iter().any(<Inner as ::kraken_aws::AwsGroup>::is_secret))
        },
    );
}

#[test]
fn exactly_one_of_some_fields_is_in_the_schema_and_in_the_validation() {
    let fields = quote! {
        #[field("aID")] a: Option<Opt<String>>,
        #[field("bID")] b: Option<Opt<String>>,
        #[field("c")] c: Option<Opt<String>>,
    };
    let code = code(quote! { one_of(a, b) }, fields.clone());
    contains(&code, &quote! { #[schemars(transform = ::kraken_aws::group::one_of(&["aID", "bID"]))] });
    contains(
        &code,
        &quote! {
            if [self.a.is_some(), self.b.is_some()].into_iter().filter(|is_given| *is_given).count() != 1 {
                validator.problem(field, ::kraken_aws::group::exactly_one(&["aID", "bID"]));
                return None;
            }
        },
    );
    assert_eq!(error(quote! { one_of(a, z) }, fields), "`z` is no optional field of the group");
}

#[test]
fn the_desired_form_of_a_choice_is_the_field_that_is_given() {
    let fields = quote! {
        #[field("gatewayID", rule = GATEWAY)] gateway_id: Option<Opt<String>>,
        #[field("instanceID", rule = INSTANCE)] instance_id: Option<Opt<String>>,
    };
    let code = code(quote! { choice }, fields.clone());
    contains(
        &code,
        &quote! {
            pub(crate) enum DesiredCheck {
                GatewayId(::kraken_kind::Resolved<String>),
                InstanceId(::kraken_kind::Resolved<String>),
            }
        },
    );
    contains(
        &code,
        &quote! {
            if let Some(option) = &self.instance_id {
                given.push((
                    "instanceID",
                    validator.one(&at("instanceID"), option, ::kraken_aws::bounds::rule(&INSTANCE))
                        .map(DesiredCheck::InstanceId)
                ));
            }
            if given.len() == 1 { return given.pop()?.1; }
            validator.problem(field, ::kraken_aws::group::exactly_one(&["gatewayID", "instanceID"]));
        },
    );
    contains(&code, &quote! { Self::GatewayId(value) | Self::InstanceId(value) => value, });
    contains(&code, &quote! { ::kraken_aws::group::one_of(&["gatewayID", "instanceID"]) });
    let own = self::code(quote! { choice, problem = Self::problem }, fields);
    contains(&own, &quote! { Self::problem(&given, &["gatewayID", "instanceID"]) });
    assert!(!own.contains("one_of"), "{own}");
    let required = error(quote! { choice }, quote! { #[field("a")] a: Opt<i32>, });
    assert!(required.contains("each of its fields is an Option"), "{required}");
}

#[test]
fn the_fields_of_a_group_are_compared_and_ignored_one_by_one() {
    let fields = quote! {
        #[field("path", observed = check_path)] path: Option<Opt<String>>,
        #[field("codes", observed = codes(), published("Matcher"))] codes: Option<Opt<String>>,
    };
    let code = code(quote! { observed = Object, state = "object", published("Enabled") }, fields.clone());
    contains(
        &code,
        &quote! { const PUBLISHED: &[&str] = &["object.Enabled", "object.CheckPath", "object.Matcher"]; },
    );
    contains(
        &code,
        &quote! {
            ::kraken_aws::diff::changed(&at("path"), self.path.as_ref(), observed.check_path.as_ref(), change()),
            ::kraken_aws::diff::changed(&at("codes"), self.codes.as_ref(), observed.codes(), change()),
        },
    );
    contains(&code, &quote! { self.path.take_if(|_| covers("path")).is_some() });
    assert!(error(quote! { observed = Object }, fields).contains("say with `state = \"key\"`"));
}

#[test]
fn absent_texts_are_the_defaults() {
    let fields = quote! {
        #[field("port", rule = PORT, default = "#{port}")] port: Option<Opt<Text>>,
        #[field("status", rule = STATUS)] status: Opt<i32>,
    };
    let code = code(quote! { observed = State, texts }, fields);
    contains(
        &code,
        &quote! {
            ::kraken_aws::group::Texts::new([
                ("port", self.port.as_ref().map(|value| value.expose().to_string()), "#{port}"),
                ("status", Some(self.status.expose().to_string()), "")
            ])
        },
    );
    contains(&code, &quote! { impl From<&State> for ::kraken_aws::group::Texts });
    contains(&code, &quote! { ("port", observed.port.clone(), "#{port}") });
}

#[test]
fn an_object_is_the_value_of_one_option() {
    let code = code(
        quote! { object, cel("has(self.a)" else "is required" at "a") },
        quote! { #[field("aLimit", rule = LIMIT)] limit: Option<i32>, },
    );
    contains(
        &code,
        &quote! {
            #[schemars(extend("x-kubernetes-validations" = [
                { "rule": "has(self.a)", "message": "is required", "fieldPath": ".a" }
            ]))]
            pub(crate) struct CheckSpec {
                #[serde(rename = "aLimit", skip_serializing_if = "Option::is_none")]
                #[schemars(transform = ::kraken_aws::bounds::literal(&LIMIT))]
                limit: Option<i32>,
            }
            ::kraken_kind::option_object!(CheckSpec);
        },
    );
    assert!(!code.contains("AwsGroup"), "{code}");
}

#[test]
fn the_field_with_the_group_decides_about_an_edit() {
    let found = error(quote! {}, quote! { #[field("a", fixed)] a: Opt<i32>, });
    assert!(found.contains("`a` is in a group"), "{found}");
    let found = error(quote! {}, quote! { #[field("a")] a: Option<Inner>, });
    assert!(found.contains("say `group`"), "{found}");
}
