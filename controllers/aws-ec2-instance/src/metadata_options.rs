//! The settings of the instance metadata service, in a spec. Pure.

use kraken_aws::{aws_group, bounds::HOP_LIMIT, rules::ValidationResult, words};

/// The settings of the instance metadata service.
#[aws_group(object)]
pub(crate) struct MetadataOptions {
    /// Whether a session token is required (IMDSv2): `required` or `optional`. Default: `required` for instances that
    /// Kraken launches; the setting of an existing instance, such as an adopted one, is not managed.
    #[field("httpTokens")]
    pub(crate) tokens: Option<HttpTokens>,

    /// The maximum number of network hops of the token, 1 to 64; use 2 for containers on the instance. Default: AWS's
    /// default.
    #[field("httpPutResponseHopLimit", rule = HOP_LIMIT)]
    pub(crate) hop_limit: Option<i32>,

    /// Whether the metadata service is available: `enabled` or `disabled`. If disabled, the other two fields have no
    /// effect. Default: AWS's default (`enabled`).
    #[field("httpEndpoint")]
    pub(crate) endpoint: Option<HttpEndpoint>,
}

words!(
    /// Whether the metadata service requires a session token.
    HttpTokens { Required = "required", Optional = "optional" }
);

words!(
    /// Whether the metadata service is available.
    HttpEndpoint { Enabled = "enabled", Disabled = "disabled" }
);

/// The rule of the field.
pub(crate) fn check(options: &MetadataOptions) -> ValidationResult {
    let limit = options.hop_limit.map_or(Ok(()), |limit| HOP_LIMIT.check(limit));
    limit.map_err(|why| format!("httpPutResponseHopLimit {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_limit_is_bounded() {
        let options = |limit| MetadataOptions { hop_limit: Some(limit), ..Default::default() };
        assert_eq!(check(&options(64)), Ok(()));
        assert_eq!(check(&options(65)), Err("httpPutResponseHopLimit must be 1 to 64".to_owned()));
    }
}
