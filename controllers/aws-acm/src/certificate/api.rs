//! Certificate, the API type.

use kraken_aws::{aws_kind, bounds::Pattern, words};
use kraken_kind::{
    Opt,
    options::{ListOpt, Public},
};

use crate::acm::DOMAIN_NAME;

static MAIN_DOMAIN: Pattern = Pattern::new(
    DOMAIN_NAME,
    64,
    "must be a domain name in lowercase of up to 64 characters, such as www.example.com or *.example.com",
);
static OTHER_DOMAIN: Pattern = Pattern::new(
    DOMAIN_NAME,
    253,
    "must be a domain name in lowercase of up to 253 characters, such as www.example.com or *.example.com",
);

words!(
    /// The algorithm and length of the key.
    KeyAlgorithm {
        Rsa2048 = "RSA_2048",
        EcPrime256v1 = "EC_prime256v1",
        EcSecp384r1 = "EC_secp384r1",
    }
);

/// A public certificate of AWS Certificate Manager that is validated by DNS.
#[aws_kind(
    kind = "Certificate",
    plural = "certificates",
    shortname = "acm",
    doc = "A public certificate of AWS Certificate Manager that is validated by DNS. Its main id is its CertificateArn, which is published \
           when the certificate is issued; the records that validate it are published before.",
    noun = "certificate",
    state = "certificate",
    tag_name = "web",
    observed = super::observed::Certificate,
    summary("Domain" = "DomainName", "Expires" = "NotAfter")
)]
pub(crate) struct CertificateSpec {
    /// The main domain name, in lowercase, 3 to 64 characters; `*.` before it for all names of one level below. Immutable. Example:
    /// `{value: www.example.com}`
    #[field("domainName", rule = MAIN_DOMAIN, fixed)]
    pub(crate) domain_name: Public<Opt<String>>,

    /// Further domain names, in lowercase, 3 to 253 characters each, up to 99 in any order; AWS's quota is 10 names unless it was
    /// increased. Immutable. Default: none. Example: `{value: [example.com]}`
    #[field(
        "subjectAlternativeNames",
        rule = OTHER_DOMAIN,
        items(0, 99),
        fixed,
        compare = Self::compare_names,
        import = Self::import_names,
        published("SubjectAlternativeNames", "DomainValidationOptions"),
        none_if_unset
    )]
    pub(crate) subject_alternative_names: Option<ListOpt<String>>,

    /// The algorithm and length of the key: `RSA_2048`, `EC_prime256v1` or `EC_secp384r1`. Immutable. Default: AWS's default
    /// (`RSA_2048`). Example: `{value: EC_prime256v1}`
    #[field("keyAlgorithm", fixed, unless = "RSA_2048")]
    pub(crate) key_algorithm: Option<Opt<KeyAlgorithm>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
        assert_round_trips::<CertificateSpec>(&json!({
            "domainName": {"value": "www.example.com"},
            "subjectAlternativeNames": {"value": ["example.com"]},
            "keyAlgorithm": {"value": "EC_prime256v1"},
            "tags": {"Name": "web"},
        }));
    }
}
