//! The calls of certificate look-ups. AWS Certificate Manager cannot filter by domain or tag: all look-ups of an account share one list of
//! its issued certificates, 1,000 in a call. Tags are read only if they are searched for, one call for each certificate of the domain.

use aws_sdk_acm::types::CertificateStatus;
use kraken_aws::{
    Aws, AwsLookup,
    lookup::Tagged as _,
    lookup_kind::{Search, passes, tag, tags_apart},
    missing::{existing, or_nothing},
    observed::WithTags as _,
    resource::DescribeQuery,
};
use kraken_kind::Failure;

use super::{
    api::{self, Desired},
    observed::Certificate,
};
use crate::acm::{AT_ONCE, list, tags};

const DOMAIN_NAME: &str = "domain-name";

/// The kind CertificateLookup.
pub(crate) struct CertificateLookups;

impl AwsLookup for CertificateLookups {
    type Kind = api::CertificateLookup;
    const SHARED: &[&str] = &[DOMAIN_NAME];

    fn search(desired: &Desired) -> Search {
        let Desired { domain_name, tags: _, pin: _ } = desired;
        Search::default().with(DOMAIN_NAME, Some(domain_name.expose()))
    }

    fn value<'o>(certificate: &'o Certificate, filter: &str) -> Option<&'o str> {
        (filter == DOMAIN_NAME).then_some(certificate.domain_name.as_deref()).flatten()
    }

    async fn read(aws: &Aws, _: Vec<String>, query: DescribeQuery) -> Result<Vec<Certificate>, Failure> {
        // One that is published and has expired still exists.
        let Some(filters) = query.filters else {
            let mut all: Vec<Certificate> = list(aws, None).await?;
            all.retain(|one| query.ids.as_ref().is_some_and(|arns| arns.contains(&one.certificate_arn)));
            return Ok(all);
        };
        let mut found: Vec<Certificate> = list(aws, Some(CertificateStatus::Issued)).await?;
        let (of_tags, others) = tags_apart(filters);
        found.retain(|one| passes(&others, |name| Self::value(one, name)));
        if !of_tags.is_empty() {
            found = with_tags(aws, found).await?;
            found.retain(|one| passes(&of_tags, |name| tag(one.tags(), name)));
        }
        Ok(found)
    }

    fn choose<'o>(_: &Desired, found: Vec<&'o Certificate>) -> Result<Vec<&'o Certificate>, String> {
        let longest = found.into_iter().max_by_key(|one| (&one.not_after, &one.certificate_arn));
        Ok(longest.into_iter().collect())
    }

    fn words(certificate: &Certificate) -> Option<String> {
        let until = certificate.not_after.as_deref().map(|until| format!("valid until {until}"));
        let parts: Vec<String> = certificate.domain_name.iter().cloned().chain(until).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The certificates with their tags, without those that were deleted in between.
async fn with_tags(aws: &Aws, certificates: Vec<Certificate>) -> Result<Vec<Certificate>, Failure> {
    let each = certificates.into_iter().map(|certificate| async move {
        let tags = tags(aws, &certificate.certificate_arn).await;
        or_nothing(tags.map(|tags| Some(certificate.with_tags(tags))))
    });
    existing(AT_ONCE, each).await
}
