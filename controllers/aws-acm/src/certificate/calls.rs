//! The calls of certificates. Tags and the records that validate a certificate take one call each for each certificate.

use kraken_aws::{
    Tags,
    fields::listed,
    lookup_kind::{passes, tag},
    missing::{existing, or_nothing},
    prelude::*,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    observed::Certificate,
};
use crate::acm::{
    AT_ONCE, AcmClients as _, list, tags, to_sdk,
    types::{CertificateSummary, ValidationMethod},
};

/// The part that is contained in every ARN of a certificate.
const ARN_PART: &str = ":certificate/";
/// The characters of an idempotency token.
const TOKEN: usize = 32;
/// Of certificates that AWS issues: neither imported nor of a private authority.
const ISSUED_BY_AWS: &str = "AMAZON_ISSUED";

/// The kind Certificate.
pub(crate) struct Certificates;

/// The ARN in a list.
struct Arn(String);

impl From<CertificateSummary> for Arn {
    fn from(sdk: CertificateSummary) -> Self {
        Self(sdk.certificate_arn.unwrap_or_default())
    }
}

impl AwsResource for Certificates {
    type Kind = api::Certificate;
    /// By a token, which AWS remembers for one hour; later, a search by tag finds the certificate.
    const FEATURES: Features = Features { is_idempotent: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn not_importable(certificate: &Certificate) -> Option<String> {
        let kind = certificate.r#type.as_deref().filter(|kind| *kind != ISSUED_BY_AWS)?;
        Some(format!("it has the type {kind}; only certificates that AWS issues are managed"))
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Certificate>, Failure> {
        let arns = match query.ids {
            Some(arns) => arns.into_iter().filter(|arn| arn.contains(ARN_PART)).collect(),
            None => list::<Arn>(aws, None).await?.into_iter().map(|Arn(arn)| arn).collect::<Vec<_>>(),
        };
        let filters = query.filters.unwrap_or_default();
        let each = arns.into_iter().map(|arn| {
            let filters = &filters;
            async move { or_nothing(one(aws, &arn, |tags| passes(filters, |name| tag(tags, name))).await) }
        });
        existing(AT_ONCE, each).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Certificate, Failure> {
        let Desired { domain_name, subject_alternative_names, key_algorithm } = desired;
        let token: String = creation.launch.token.chars().take(TOKEN).collect();
        let call = aws
            .acm_once()
            .request_certificate()
            .domain_name(domain_name.expose())
            .set_subject_alternative_names(exposed(subject_alternative_names.as_ref()))
            .validation_method(ValidationMethod::Dns)
            .set_key_algorithm(exposed(key_algorithm.as_ref()).map(|name| name.as_str().into()))
            .idempotency_token(token)
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("RequestCertificate", "failed to request a certificate", call.send()).await?;
        Ok(Certificate {
            certificate_arn: made.certificate_arn.unwrap_or_default(),
            tags: creation.tags.clone(),
            ..Certificate::default()
        })
    }

    async fn update(_: &Aws, change: &Change, _: &Desired, _: &Certificate) -> Result<(), Failure> {
        match *change {}
    }

    async fn delete(aws: &Aws, certificate: &Certificate) -> Result<(), Failure> {
        let call = aws.acm().delete_certificate().certificate_arn(&certificate.certificate_arn);
        let action = "failed to delete the certificate";
        let answer = aws.call("DeleteCertificate", action, call.send()).await;
        answer.map(drop).map_err(|failure| in_use(failure, certificate))
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let call = aws.acm().add_tags_to_certificate().certificate_arn(id).set_tags(Some(to_sdk(tags)));
        aws.call("AddTagsToCertificate", "failed to set tags", call.send()).await.map(drop)
    }

    /// A tag without a value is removed whatever its value is.
    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let one = |key: &&str| crate::acm::types::Tag::builder().key(*key).build().ok();
        let tags = keys.iter().filter_map(one).collect();
        let call = aws.acm().remove_tags_from_certificate().certificate_arn(id).set_tags(Some(tags));
        aws.call("RemoveTagsFromCertificate", "failed to remove tags", call.send()).await.map(drop)
    }
}

/// The certificate, if its tags pass. Tags are read first: a search reads the others of few certificates only.
async fn one(aws: &Aws, arn: &str, passes: impl Fn(&Tags) -> bool) -> Result<Option<Certificate>, Failure> {
    let tags = tags(aws, arn).await?;
    if !passes(&tags) {
        return Ok(None);
    }
    let call = aws.acm().describe_certificate().certificate_arn(arn);
    let found = aws.call("DescribeCertificate", "failed to describe a certificate", call.send()).await?;
    Ok(found.certificate.map(|found| Certificate { tags, ..found.into() }))
}

/// AWS's error for the deletion of a certificate in use, with its users.
pub(super) fn in_use(failure: Failure, certificate: &Certificate) -> Failure {
    if failure.code != "ResourceInUseException" {
        return failure;
    }
    let users = &certificate.in_use_by;
    let by = if users.is_empty() { String::new() } else { format!(": in use by {}", listed(users)) };
    Failure { class: FailureClass::NotYet, message: format!("{}{by}", failure.message), ..failure }
}
