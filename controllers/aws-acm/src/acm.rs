//! The API of AWS Certificate Manager, and the calls that both kinds make. It cannot filter by domain or tag, and returns tags one
//! certificate at a time.

use aws_sdk_acm::{
    Client,
    primitives::{DateTime, DateTimeFormat},
    types::{CertificateStatus, CertificateSummary, Filters, KeyAlgorithm},
};
use kraken_aws::{Aws, Tags, aws_service};
use kraken_kind::Failure;

pub(crate) use aws_sdk_acm::types;

aws_service!(pub(crate) AcmApi, aws_sdk_acm, "acm");

/// The maximum page size.
const PAGE: i32 = 1000;
/// The number of certificates that are read concurrently: the rate of these calls is 10 per second.
pub(crate) const AT_ONCE: usize = 8;
/// The format of a domain name, also of a wildcard.
pub(crate) const DOMAIN_NAME: &str =
    r"^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait AcmClients {
    /// The client, to build a call.
    fn acm(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn acm_once(&self) -> Client;
}

impl AcmClients for Aws {
    fn acm(&self) -> Client {
        self.client::<AcmApi>()
    }

    fn acm_once(&self) -> Client {
        self.client_once::<AcmApi>()
    }
}

/// All certificates with this status. Without a list of algorithms, AWS returns only those with short RSA keys.
pub(crate) async fn list<T: From<CertificateSummary>>(
    aws: &Aws,
    status: Option<CertificateStatus>,
) -> Result<Vec<T>, Failure> {
    let algorithms = KeyAlgorithm::values().iter().map(|name| KeyAlgorithm::from(*name)).collect();
    let call = aws
        .acm()
        .list_certificates()
        .set_certificate_statuses(status.map(|status| vec![status]))
        .includes(Filters::builder().set_key_types(Some(algorithms)).build())
        .max_items(PAGE);
    let pages = call.into_paginator().send();
    let action = "failed to list certificates";
    aws.items("ListCertificates", action, pages, |page| page.certificate_summary_list).await
}

/// The tags of a certificate.
pub(crate) async fn tags(aws: &Aws, arn: &str) -> Result<Tags, Failure> {
    let call = aws.acm().list_tags_for_certificate().certificate_arn(arn);
    let action = "failed to list the tags of a certificate";
    let found = aws.call("ListTagsForCertificate", action, call.send()).await?;
    let pair = |tag: types::Tag| (tag.key, tag.value.unwrap_or_default());
    Ok(found.tags.unwrap_or_default().into_iter().map(pair).collect())
}

/// Converts tags to the SDK's type, without those that it cannot express.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    let one = |(key, value): (&String, &String)| types::Tag::builder().key(key).value(value).build().ok();
    tags.iter().filter_map(one).collect()
}

/// A time in RFC 3339, so that the order of texts is that of times.
pub(crate) fn time(time: &DateTime) -> Option<String> {
    time.fmt(DateTimeFormat::DateTime).ok()
}
