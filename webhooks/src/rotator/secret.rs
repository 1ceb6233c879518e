//! The keys of the Secret that the replicas share. Pure.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use secrecy::ExposeSecret;

use crate::{
    certificate::Pair,
    rotation::{Note, Stored},
    served::Served,
};

pub(super) const CERTIFICATE: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";
const AUTHORITY: &str = "authority.crt";
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";
const NEXT_AUTHORITY: &str = "next-authority.crt";
const PREVIOUS_AUTHORITY: &str = "previous-authority.crt";
/// The CA bundle, for users and other tools.
const BUNDLE: &str = "ca.crt";
const NOTE: &str = "rotation.json";

/// Incomplete content counts as absent: a certificate without its key cannot be served.
pub(super) fn read(secret: &Secret) -> Stored {
    let text = |key: &str| {
        let bytes = secret.data.as_ref()?.get(key)?;
        String::from_utf8(bytes.0.clone()).ok().filter(|text| !text.trim().is_empty())
    };
    let pair = |certificate, key, authority| {
        Some(Pair { certificate: text(certificate)?, key: text(key)?.into(), authority: text(authority)? })
    };
    let usable = |pair: &Pair| Served::default().set(&pair.certificate, pair.key.expose_secret()).is_ok();
    Stored {
        current: pair(CERTIFICATE, KEY, AUTHORITY).filter(usable),
        next: pair(NEXT_CERTIFICATE, NEXT_KEY, NEXT_AUTHORITY).filter(usable),
        previous: text(PREVIOUS_AUTHORITY),
        note: text(NOTE).and_then(|note| serde_json::from_str::<Note>(&note).ok()).unwrap_or_default(),
    }
}

/// The Secret with this content and the version that was read.
pub(super) fn write(secret: &Secret, stored: &Stored) -> Secret {
    let mut data = BTreeMap::new();
    let mut put = |key: &str, text: &str| data.insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
    if let Some(pair) = &stored.current {
        put(CERTIFICATE, &pair.certificate);
        put(KEY, pair.key.expose_secret());
        put(AUTHORITY, &pair.authority);
    }
    if let Some(pair) = &stored.next {
        put(NEXT_CERTIFICATE, &pair.certificate);
        put(NEXT_KEY, pair.key.expose_secret());
        put(NEXT_AUTHORITY, &pair.authority);
    }
    if let Some(previous) = &stored.previous {
        put(PREVIOUS_AUTHORITY, previous);
    }
    put(BUNDLE, &stored.bundle());
    put(NOTE, &serde_json::to_string(&stored.note).unwrap_or_default());
    Secret { data: Some(data), ..secret.clone() }
}
