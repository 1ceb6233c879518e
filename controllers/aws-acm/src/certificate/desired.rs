//! The names of a certificate: compared and imported. Pure.

use std::collections::BTreeSet;

use kraken_aws::{fields::listed, import::literal, prelude::*};
use serde_json::Value;

use super::{
    api::{CertificateSpec, Change, Desired},
    observed::Certificate,
};

impl CertificateSpec {
    /// AWS adds the main domain to the others, which are a set.
    pub(super) fn compare_names(desired: &Desired, certificate: &Certificate) -> Option<Difference<Change>> {
        let main = certificate.domain_name.as_deref().unwrap_or_default();
        let others = |names: &[String]| -> String {
            let names: BTreeSet<&str> =
                names.iter().map(String::as_str).filter(|name| *name != main).collect();
            if names.is_empty() { "none".to_owned() } else { listed(&names.into_iter().collect::<Vec<_>>()) }
        };
        let wanted = desired.subject_alternative_names.as_ref()?.map(|names| others(names));
        fixed("subjectAlternativeNames", Some(&wanted), Some(&others(&certificate.subject_alternative_names)))
    }

    pub(super) fn import_names(certificate: &Certificate) -> Option<Value> {
        let is_other = |name: &&String| Some(*name) != certificate.domain_name.as_ref();
        let others: Vec<&String> = certificate.subject_alternative_names.iter().filter(is_other).collect();
        (!others.is_empty()).then(|| literal(others))
    }
}
