//! The observed OIDC provider, which is the published state.

use kraken_aws::{Tags, aws_observed, lookup::Tagged, resource::RemoteObject, tags};

/// AWS returns no ARN with it: the ARN is that of the request.
#[aws_observed]
pub(crate) struct OidcProvider {
    pub(crate) arn: String,
    /// Without `https://`.
    pub(crate) url: String,
    #[serde(rename = "ClientIDList")]
    pub(crate) client_id_list: Vec<String>,
    pub(crate) thumbprint_list: Vec<String>,
    #[serde(serialize_with = "tags::written")]
    pub(crate) tags: Tags,
}

impl Tagged for OidcProvider {
    fn id(&self) -> &str {
        &self.arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// The ARN is made of the URL, which may be used again by another owner.
    fn has_own_id(&self) -> bool {
        false
    }
}

impl RemoteObject for OidcProvider {}
