//! The fields of a repository: validated, compared and imported. Pure.

use kraken_aws::{
    fields::{NOT_SHOWN, SECRET},
    import::literal,
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::{Value, json};

use super::{
    api::{Change, Desired, PartialDesired, RepositorySpec},
    observed::{AES, NONE, Repository},
};

impl RepositorySpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        // None while the value of a reference is unknown.
        let algorithm = match &self.encryption_type {
            Some(_) => given(&partial.encryption_type).map(String::as_str),
            None => Some(AES),
        };
        if self.kms_key_id.is_some() && algorithm == Some(AES) {
            validator.problem("kmsKeyID", "requires the encryptionType KMS or KMS_DSSE");
        }
        if given(&partial.name).is_some_and(|name| name.len() < 2) {
            validator.problem("name", "must have at least 2 characters");
        }
    }

    /// An empty object is a document without statements.
    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(option) = &self.policy else { return Some(None) };
        let written = validator.any("policy", option)?;
        let text = if written.expose().is_empty() {
            json!({"Statement": []}).to_string()
        } else {
            json!(written.expose()).to_string()
        };
        let document = Document::parse(&text).map_err(|why| validator.problem("policy", why)).ok()?;
        Some(Some(Joined::new(document, written.is_secret())))
    }

    pub(super) fn compare_policy(desired: &Desired, repository: &Repository) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, &repository.policies.as_ref()?.policy);
        if have.is_empty() && wanted.expose().is_empty() {
            return None;
        }
        policy::compared("policy", wanted, have, Change::Policy)
    }

    pub(super) fn import_policy(repository: &Repository) -> Option<Value> {
        let policy: Value = serde_json::from_str(&repository.policies.as_ref()?.policy).ok()?;
        Some(literal(policy))
    }

    /// By the JSON: the order of keys and the form of the text have no meaning.
    pub(super) fn compare_lifecycle(
        desired: &Desired,
        repository: &Repository,
    ) -> Option<Difference<Change>> {
        let (wanted, have) =
            (desired.lifecycle_policy.as_ref()?, &repository.policies.as_ref()?.lifecycle_policy);
        let text = json!(wanted.expose()).to_string();
        let (want, shown) =
            if wanted.is_secret() { (SECRET, NOT_SHOWN) } else { (text.as_str(), have.as_str()) };
        (text != *have).then(|| difference("lifecyclePolicy", want, shown, Change::Lifecycle))
    }

    pub(super) fn import_lifecycle(repository: &Repository) -> Option<Value> {
        let policy = &repository.policies.as_ref()?.lifecycle_policy;
        let policy: Value = serde_json::from_str(policy).ok().filter(|_| policy != NONE)?;
        Some(literal(policy))
    }

    /// AWS returns the ARN of the key, which ends with the key id. Only KMS can resolve an alias.
    pub(super) fn compare_key(desired: &Desired, repository: &Repository) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.kms_key_id.as_ref(), repository.kms_key.as_ref());
        let text = wanted?.expose();
        let is_same =
            have.is_some_and(|have| have == text || have.rsplit_once('/').is_some_and(|(_, id)| id == text));
        if is_same || is_alias(text) { None } else { fixed("kmsKeyID", wanted, have) }
    }

    pub(super) fn import_key(repository: &Repository) -> Option<Value> {
        repository.kms_key.as_ref().map(literal)
    }

    /// AWS does not return the alias of the key.
    pub(super) fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        let alias = desired.kms_key_id.as_ref().filter(|key| is_alias(key.expose()));
        vec![("kmsKeyID", alias.map(shown).unwrap_or_default())]
    }
}

/// Whether it is an alias, which may be reassigned to another key.
fn is_alias(key: &str) -> bool {
    key.starts_with("alias/") || key.contains(":alias/")
}
