//! Key pairs, by name.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, Handler};
use crate::base64;
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{page, write};
use crate::markup::Xml;
use crate::model::KeyPair;
use crate::refusal::Refusal;
use crate::registry::Visibility;
use crate::store::CloudObject as _;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "ImportKeyPair" => import,
        "CreateKeyPair" => create,
        "DescribeKeyPairs" => |cloud, form| described(cloud, form),
        "DeleteKeyPair" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Described for KeyPair {
    const IDS: &'static str = "KeyPairId";
    const SET: &'static str = "keySet";
    const FILTERS: &'static [&'static str] = &["key-pair-id", "key-name", "fingerprint"];
    const PAGE: Option<(usize, usize)> = None;

    fn values(&self, filter: &str, _: &Cloud) -> Vec<String> {
        vec![match filter {
            "key-pair-id" => self.id.clone(),
            "key-name" => self.name.clone(),
            _ => self.fingerprint.clone(),
        }]
    }

    fn write(&self, xml: &mut Xml, _: &Cloud) {
        xml.text("keyPairId", &self.id);
        xml.text("keyName", &self.name);
        xml.text("keyFingerprint", &self.fingerprint);
        xml.text("keyType", self.of);
        xml.text("createTime", &self.created);
    }
}

/// Rejects a launch with a missing key, in a strict network.
pub(crate) fn key_exists(cloud: &Cloud, name: &str) -> Result<(), Refusal> {
    if cloud.options.strict_network && named(cloud, name).is_none() {
        return Err(Kind::KeyPair.missing(&[name]));
    }
    Ok(())
}

fn named(cloud: &Cloud, name: &str) -> Option<u64> {
    let pairs = cloud.store.key_pairs.iter();
    pairs.into_iter().find(|(_, pair)| pair.name == name).map(|(number, _)| *number)
}

fn import(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let name = new_name(cloud, form)?;
    let wrong = || Refusal::new("InvalidKey.Format", "Key is not in valid OpenSSH public key format");
    let text = base64::decoded(form.required("PublicKeyMaterial")?).ok_or_else(wrong)?;
    let text = String::from_utf8(text).map_err(|_| wrong())?;
    let mut parts = text.split_whitespace();
    let (kind, key) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let key = base64::decoded(key).filter(|key| !key.is_empty()).ok_or_else(wrong)?;
    let (of, fingerprint) = match kind {
        "ssh-rsa" => ("rsa", colons(&key, 16)),
        "ssh-ed25519" => ("ed25519", base64::encoded(&Sha256::digest(&key))),
        _ => return Err(wrong()),
    };
    make(cloud, form, name, of, fingerprint, Some(text.trim().to_owned()), None)
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let name = new_name(cloud, form)?;
    let seed = cloud.registry.next_number(Kind::KeyPair).to_be_bytes();
    let (of, fingerprint) = match form.get("KeyType") {
        None | Some("rsa") => ("rsa", colons(&seed, 20)),
        Some("ed25519") => ("ed25519", base64::encoded(&Sha256::digest(seed))),
        Some(other) => return Err(Refusal::value(other, "keyType")),
    };
    let secret = base64::encoded(&Sha256::digest(&fingerprint));
    let material = format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----");
    make(cloud, form, name, of, fingerprint, None, Some(&material))
}

fn new_name(cloud: &Cloud, form: &Form) -> Result<String, Refusal> {
    let name = form.required("KeyName")?;
    if named(cloud, name).is_some() {
        let message = format!("The keypair '{name}' already exists.");
        return Err(Refusal::new("InvalidKeyPair.Duplicate", message));
    }
    Ok(name.to_owned())
}

fn make(
    cloud: &mut Cloud,
    form: &Form,
    name: String,
    of: &'static str,
    fingerprint: String,
    public: Option<String>,
    material: Option<&String>,
) -> Result<Answer, Refusal> {
    let tags = given(form, Kind::KeyPair)?;
    let mut body = Xml::default();
    body.text("keyName", &name);
    body.text("keyFingerprint", &fingerprint);
    body.optional("keyMaterial", material);
    body.tags(&tags);
    let created = cloud.timestamp();
    let new = |id| KeyPair { id, name, fingerprint, of, public, created };
    let number = cloud.make(tags, new);
    let id = cloud.store.key_pairs.get(&number).map(|pair| pair.id.clone()).unwrap_or_default();
    body.text("keyPairId", &id);
    Ok(Answer { body, ids: vec![id] })
}

/// A fingerprint in AWS's format for RSA keys, with another digest than AWS's.
fn colons(key: &[u8], length: usize) -> String {
    let digest = Sha256::digest(key);
    digest.iter().take(length).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn described(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let names = form.list("KeyName");
    let mut found = BTreeSet::new();
    for name in &names {
        let seen =
            |number: &u64| cloud.registry.is_seen(KeyPair::object(*number), Visibility::Described, cloud.now);
        let missing = || Kind::KeyPair.missing(&[name]);
        found.insert(named(cloud, name).filter(seen).ok_or_else(missing)?);
    }
    let page = page::<KeyPair>(cloud, form, (!names.is_empty()).then_some(&found))?;
    let with_keys = form.flag("IncludePublicKey")?.unwrap_or(false);
    let mut body = Xml::default();
    body.list(KeyPair::SET, &page.members, |xml, (number, pair)| {
        write(xml, cloud, *number, *pair);
        xml.optional("publicKey", pair.public.as_ref().filter(|_| with_keys));
    });
    Ok(page.answer(cloud, body))
}

/// By name, a missing key counts as deleted.
fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let number = match form.get("KeyPairId") {
        Some(id) => Some(cloud.number::<KeyPair>(id)?),
        None => named(cloud, form.required("KeyName")?),
    };
    let gone = number.and_then(|number| cloud.remove_object::<KeyPair>(number)).map(|pair| pair.id);
    let mut body = Xml::default();
    body.text("return", true);
    body.optional("keyPairId", gone.as_ref());
    Ok(Answer { body, ids: gone.into_iter().collect() })
}
