//! Until when the API server trusts the webhooks: the authorities in the configurations. Pure.
//!
//! The serving certificates are in Secrets, which this program does not read; a controller renews them with their authorities.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use x509_parser::pem::Pem;

use super::{Finding, Level};

/// A controller renews its certificate long before; what is left then was not renewed.
const SOON: SignedDuration = SignedDuration::from_hours(24 * 3);

/// One finding for each configuration with a CA bundle.
pub(super) fn authorities(configurations: &[ValidatingWebhookConfiguration], now: Timestamp) -> Vec<Finding> {
    configurations.iter().filter_map(|configuration| authority(configuration, now)).collect()
}

fn authority(configuration: &ValidatingWebhookConfiguration, now: Timestamp) -> Option<Finding> {
    let bundles = configuration
        .webhooks
        .iter()
        .flatten()
        .filter_map(|webhook| webhook.client_config.ca_bundle.as_ref());
    let bundles: Vec<&[u8]> =
        bundles.map(|bundle| bundle.0.as_slice()).filter(|bundle| !bundle.is_empty()).collect();
    if bundles.is_empty() {
        return None;
    }
    let part = format!("Certificates {}", configuration.metadata.name.clone().unwrap_or_default());
    // During a rotation a bundle has the old and the new authority: the last one counts. Of several webhooks, the first to expire.
    let ends: Option<Vec<Timestamp>> = bundles.iter().map(|bundle| last_end(bundle)).collect();
    let Some(end) = ends.and_then(|ends| ends.into_iter().min()) else {
        let text = "a caBundle is no certificate: every write is admitted without a review; delete the Secret of the webhook, so that \
                    the controller issues another";
        return Some(Finding::new(Level::Fails, part, text));
    };
    let left = end.duration_since(now);
    let day = end.strftime("%F");
    Some(if left.is_negative() {
        let text = format!(
            "expired on {day}: every write is admitted without a review; see the logs of the controller"
        );
        Finding::new(Level::Fails, part, text)
    } else if left < SOON {
        let text = format!("valid until {end}, and not renewed: see the logs of the controller");
        Finding::new(Level::Note, part, text)
    } else {
        Finding::new(Level::Ok, part, format!("the authority is valid until {day}"))
    })
}

/// When the last certificate of a bundle expires; `None` if one of it cannot be read.
fn last_end(bundle: &[u8]) -> Option<Timestamp> {
    let mut last = None;
    for pem in Pem::iter_from_buffer(bundle) {
        let pem = pem.ok()?;
        let end = pem.parse_x509().ok()?.validity().not_after.timestamp();
        last = last.max(Some(Timestamp::from_second(end).ok()?));
    }
    last
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use serde_json::json;

    use super::*;

    fn configuration(bundle: &str) -> ValidatingWebhookConfiguration {
        let bundle = k8s_openapi::ByteString(bundle.as_bytes().to_vec());
        serde_json::from_value(json!({"metadata": {"name": "kraken-hub"}, "webhooks": [{
            "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"caBundle": bundle}}]}))
        .unwrap()
    }

    fn certificate(year: i32) -> String {
        let mut params = CertificateParams::new(vec!["a.example.com".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 1, 2);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn an_expired_authority_and_one_that_is_none_are_found() {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        let level = |bundle: &str| authorities(&[configuration(bundle)], now)[0].level;
        assert_eq!(level(&certificate(2031)), Level::Ok);
        assert_eq!(level(&certificate(2030)), Level::Note);
        assert_eq!(level(&certificate(2029)), Level::Fails);
        assert_eq!(level(&format!("{}{}", certificate(2029), certificate(2031))), Level::Ok, "a rotation");
        assert_eq!(level("no certificate"), Level::Fails);
        assert!(authorities(&[configuration("")], now).is_empty(), "that is said by another finding");
    }
}
