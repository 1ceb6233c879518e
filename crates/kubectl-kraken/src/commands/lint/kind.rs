//! Which objects are of Kraken, and which only look like others because of a typing error: those are not applied, or not as Kraken's. Pure.

use kraken_api::DOMAIN;

use super::crds::Crd;
use crate::discovery::distance;

/// How many letters of a group may be wrong. Groups of Kraken have more than 30.
const TYPING_ERRORS: usize = 4;
/// What no group of others contains.
const OWN_WORD: &str = "kraken-iac";

/// Whether the kinds of a group are made in a cluster, of what a provider of OpenTofu knows, so that this program does not have them.
pub(super) fn is_made_at_run_time(group: &str) -> bool {
    group.strip_suffix(DOMAIN) == Some("tofu.")
}

/// What is wrong with the apiVersion of an object that is not of a group of Kraken; `None` if it is of others.
pub(super) fn wrong_api_version(api_version: &str, kind: &str, crds: &[Crd]) -> Option<String> {
    let group = api_version.split_once('/').map(|(group, _)| group);
    let of_kind = || crds.iter().filter(|crd| crd.kind == kind).map(|crd| crd.group.as_str());
    let expected = |groups: Vec<&str>| {
        let all: Vec<_> = groups.iter().map(|group| format!("{group}/{}", kraken_api::VERSION)).collect();
        format!("expected {}", all.join(" or "))
    };
    let Some(group) = group else {
        // The group "" has the version v1.
        let groups: Vec<_> = of_kind().filter(|_| api_version != "v1").collect();
        let wrong = if api_version.is_empty() { "is missing" } else { "has no group" };
        return (!groups.is_empty()).then(|| format!("{wrong}: {}", expected(groups)));
    };
    let nearest = |groups: &mut dyn Iterator<Item = &'_ str>| {
        groups.map(|known| (distance(known, group), known.to_owned())).min()
    };
    let near = nearest(&mut crds.iter().map(|crd| crd.group.as_str()))?;
    if near.0 > TYPING_ERRORS && !group.contains(OWN_WORD) {
        return None;
    }
    let (_, right) = nearest(&mut of_kind()).unwrap_or(near);
    Some(format!("no group of Kraken is named {group}: {}", expected(vec![&right])))
}

#[cfg(test)]
mod tests {
    use super::{super::crds, *};

    #[test]
    fn only_what_is_nearly_of_kraken_is_wrong() {
        let crds = crds::all().unwrap();
        let wrong = |api_version: &str, kind: &str| wrong_api_version(api_version, kind, &crds);
        let vpc = "expected aws.kraken-iac.eoinfennessy.com/v1alpha1";
        assert_eq!(wrong("", "VPC"), Some(format!("is missing: {vpc}")));
        assert_eq!(wrong("v1alpha1", "VPC"), Some(format!("has no group: {vpc}")));
        for group in
            ["aws.kraken-iac.eoinfenessy.com", "aws.krakeniac.eoinfennessy.com", "kraken-iac.example.com"]
        {
            let message = format!("no group of Kraken is named {group}: {vpc}");
            assert_eq!(wrong(&format!("{group}/v1alpha1"), "VPC"), Some(message));
        }
        assert!(
            wrong("core.kraken-iac.eoinfenessy.com/v1alpha1", "Nothing").unwrap().contains("expected core.")
        );
        for (api_version, kind) in [
            ("v1", "VPC"),
            ("", "Deployment"),
            ("apps/v1", "Deployment"),
            ("ec2.aws.upbound.io/v1beta1", "VPC"),
        ] {
            assert_eq!(wrong(api_version, kind), None, "{api_version} {kind}");
        }
    }
}
