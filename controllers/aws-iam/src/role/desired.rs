//! The documents of a role: resolved, validated and compared. Pure.

use kraken_aws::{
    fields::{ABSENT, NOT_SHOWN, item_path},
    prelude::*,
    resolved::Joined,
};

use super::{
    api::{Change, Desired, Inline, RoleSpec},
    observed::Role,
};
use crate::{
    bounds::NAME,
    document::{self, Document},
};

impl RoleSpec {
    pub(super) fn trust_policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Document>> {
        document::resolved_trust("trustPolicy", &self.trust_policy, validator)
    }

    /// All are resolved before an error is returned, so that all problems are reported.
    pub(super) fn inline_policies(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Inline>> {
        let Some(policies) = &self.inline_policies else { return Some(None) };
        let (mut all, mut is_whole) = (Inline::new(), true);
        for (index, policy) in policies.iter().enumerate() {
            let field = format!("inlinePolicies[{index}]");
            let path = format!("{field}.name");
            let name = validator.public(&path, &policy.name, kraken_aws::bounds::rule(&NAME));
            let document = format!("{field}.document");
            let document = document::resolved(&document, &policy.document, validator);
            let (Some(name), Some(document)) = (name, document) else {
                is_whole = false;
                continue;
            };
            if all.insert(name.expose().clone(), document).is_some() {
                validator.problem(&path, "is the name of another inline policy of the role");
            }
        }
        Some(is_whole.then_some(all)).filter(Option::is_some)
    }

    pub(super) fn compare_trust_policy(desired: &Desired, role: &Role) -> Option<Difference<Change>> {
        let wanted = &desired.trust_policy;
        document::compared("trustPolicy", wanted, &role.trust_policy, Change::TrustPolicy)
    }

    /// Missing policies are created before others are deleted, so that no permission that both contain is ever missing.
    pub(super) fn compare_inline(desired: &Desired, role: &Role) -> Vec<Difference<Change>> {
        let Some(wanted) = &desired.inline_policies else { return vec![] };
        let mut found = vec![];
        for (name, document) in wanted {
            let (path, change) = (item_path("inlinePolicies", name), Change::PutInline(name.clone()));
            match role.inline_policies.get(name) {
                Some(have) => found.extend(document::compared(&path, document, have, change)),
                None => found.push(difference(&path, shown(document), ABSENT, change)),
            }
        }
        for name in role.inline_policies.keys().filter(|name| !wanted.contains_key(*name)) {
            let path = item_path("inlinePolicies", name);
            // Its document may be a former value of a Secret.
            found.push(difference(&path, ABSENT, NOT_SHOWN, Change::DeleteInline(name.clone())));
        }
        found
    }

    /// An empty text is no boundary.
    pub(super) fn compare_boundary(desired: &Desired, role: &Role) -> Option<Difference<Change>> {
        let wanted = desired.permissions_boundary.as_ref()?;
        let have = role.permissions_boundary.as_deref();
        if wanted.expose() == have.unwrap_or_default() {
            return None;
        }
        let want =
            if wanted.expose().is_empty() { ABSENT.to_owned() } else { kraken_aws::fields::shown(wanted) };
        let have = if wanted.is_secret() { NOT_SHOWN } else { have.unwrap_or(ABSENT) };
        Some(difference("permissionsBoundary", want, have, Change::Boundary))
    }
}

fn shown(document: &Joined<Document>) -> String {
    if document.is_secret() { kraken_aws::fields::SECRET.to_owned() } else { document.expose().text() }
}
