//! The URL of an OIDC provider: compared and imported. Pure.

use kraken_aws::{import::literal, prelude::*};
use serde_json::Value;

use super::{
    api::{Change, Desired, OIDCProviderSpec},
    observed::OidcProvider,
};

const SCHEME: &str = "https://";

/// The URL as IAM returns it.
pub(super) fn bare(url: &str) -> &str {
    url.strip_prefix(SCHEME).unwrap_or(url)
}

impl OIDCProviderSpec {
    pub(super) fn compare_url(desired: &Desired, provider: &OidcProvider) -> Option<Difference<Change>> {
        let wanted = desired.url.map(|url| bare(url).to_owned());
        fixed("url", Some(&wanted), Some(&provider.url))
    }

    pub(super) fn import_url(provider: &OidcProvider) -> Option<Value> {
        (!provider.url.is_empty()).then(|| literal(format!("{SCHEME}{}", provider.url)))
    }
}
