use kraken_aws::{
    AwsSpec as _,
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{OidcProviders, api::OIDCProviderSpec, observed::OidcProvider};

const THUMBPRINT: &str = "6938fd4d98bab03faadb97b34396831e3780aea1";

fn written(changes: Value) -> Value {
    with(json!({"url": {"value": "https://oidc.example.com/id/1"}}), changes)
}

fn provider() -> OidcProvider {
    OidcProvider {
        url: "oidc.example.com/id/1".into(),
        client_id_list: vec!["a".into()],
        thumbprint_list: vec![THUMBPRINT.into()],
        ..OidcProvider::default()
    }
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<OidcProviders>(written(changes), &provider())
}

#[test]
fn unset_fields_are_not_managed_and_the_scheme_is_no_difference() {
    assert_eq!(compared(json!({})), [""; 0]);
    let same = json!({"clientIDs": {"value": ["a"]}, "thumbprints": {"value": [THUMBPRINT]}});
    assert_eq!(compared(same), [""; 0]);
}

#[test]
fn only_the_url_is_immutable() {
    let other = "0".repeat(40);
    assert_eq!(
        compared(json!({
            "url": {"value": "https://oidc.example.com/id/2"}, "clientIDs": {"value": ["b"]},
            "thumbprints": {"value": [other]},
        })),
        [
            "url: oidc.example.com/id/1 becomes oidc.example.com/id/2: fixed".to_owned(),
            "clientIDs[\"b\"]: (absent) becomes b: AddClientId(\"b\")".to_owned(),
            "clientIDs[\"a\"]: a becomes (absent): RemoveClientId(\"a\")".to_owned(),
            format!("thumbprints: {THUMBPRINT} becomes {other}: Thumbprints"),
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        testing::problems::<OidcProviders>(
            json!({"url": {"value": "oidc.example.com"}, "thumbprints": {"value": ["AB"]}})
        ),
        [
            "spec.url: must be a URL that begins with https://, without a query, of up to 255 characters",
            "spec.thumbprints.value[0]: must have 40 hexadecimal digits in lower case",
        ]
    );
}

#[test]
fn an_import_is_the_inverse() {
    let found = OIDCProviderSpec::imported(&provider());
    assert_eq!(found.group(), Some(written(json!({"clientIDs": {"value": ["a"]}}))));
}
