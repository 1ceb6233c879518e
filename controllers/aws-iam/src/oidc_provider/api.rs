//! OIDCProvider, the API type.

use kraken_aws::aws_kind;
use kraken_kind::{
    Opt,
    options::{ListOpt, Public},
};

use crate::bounds::{CLIENT_ID, ISSUER, THUMBPRINT};

/// An OpenID Connect provider of IAM: workloads exchange its tokens for sessions of roles.
#[aws_kind(
    kind = "OIDCProvider",
    plural = "oidcproviders",
    shortname = "oidc",
    doc = "An OpenID Connect provider of IAM: workloads exchange its tokens for sessions of roles. Its main id is its Arn.",
    noun = "OIDC provider",
    state = "oidcProvider",
    tag_name = "cluster",
    observed = super::observed::OidcProvider,
    summary("URL" = "Url")
)]
pub(crate) struct OIDCProviderSpec {
    /// The URL of the issuer, which begins with `https://`, up to 255 characters, unique in the account. Immutable. Example:
    /// `{value: "https://token.actions.githubusercontent.com"}`
    #[field(
        "url",
        rule = ISSUER,
        fixed,
        compare = Self::compare_url,
        import = Self::import_url
    )]
    pub(crate) url: Public<Opt<String>>,

    /// The client ids (audiences), up to 100. Added and removed in place. Default: none; existing ones are not managed. Example:
    /// `{value: [sts.amazonaws.com]}`
    #[field(
        "clientIDs",
        rule = CLIENT_ID,
        items(0, 100),
        add = AddClientId,
        remove = RemoveClientId,
        observed = client_id_list,
        published("ClientIDList"),
        none_if_unset
    )]
    pub(crate) client_ids: Option<ListOpt<String>>,

    /// The SHA-1 thumbprints of certificates of the issuer, 1 to 5, of 40 hexadecimal digits in lower case. Changed in place, as a whole.
    /// Default: AWS's default (retrieved by AWS); existing ones are not managed. Example:
    /// `{value: [6938fd4d98bab03faadb97b34396831e3780aea1]}`
    #[field("thumbprints", rule = THUMBPRINT, items(1, 5), change = Thumbprints, observed = thumbprint_list, published("ThumbprintList"), import = none)]
    pub(crate) thumbprints: Option<ListOpt<String>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
        assert_round_trips::<OIDCProviderSpec>(&json!({
            "url": {"value": "https://oidc.example.com/id/1"},
            "clientIDs": {"value": ["sts.amazonaws.com"]},
            "thumbprints": {"value": ["6938fd4d98bab03faadb97b34396831e3780aea1"]},
            "tags": {"Name": "cluster"},
        }));
    }
}
