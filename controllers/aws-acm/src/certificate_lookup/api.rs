//! CertificateLookup, the API type.

use kraken_aws::{aws_lookup, bounds::Pattern};
use kraken_kind::{Opt, options::Public};

use crate::acm::DOMAIN_NAME as DOMAIN;

static DOMAIN_NAME: Pattern =
    Pattern::new(DOMAIN, 253, "must be a domain name in lowercase, such as www.example.com or *.example.com");

/// The issued certificate for a domain that is valid longest.
#[aws_lookup(
    kind = "CertificateLookup",
    plural = "certificatelookups",
    doc = "The issued certificate of AWS Certificate Manager for a domain that is valid longest. It is looked up and not managed. Its main id is \
           its CertificateArn.",
    noun = "certificate",
    state = "certificate",
    observed = super::observed::Certificate,
    summary("Domain" = "DomainName", "Expires" = "NotAfter")
)]
pub(crate) struct CertificateLookupSpec {
    /// The main domain name of the certificate, exactly, 3 to 253 characters in lowercase: a wildcard certificate is found by
    /// `*.example.com` and not by `www.example.com`. Additional names of certificates are not searched. Example: `{value: www.example.com}`
    #[field("domainName", rule = DOMAIN_NAME)]
    pub(crate) domain_name: Public<Opt<String>>,
}
