//! The desired state of a VPC, and its comparison with the observed state. Pure.

use kraken_aws::{
    cidr,
    diff::{changed, fixed, of_lists},
    resolved::given,
    rules::unique,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Remedy, Resolved, Resolver};

use super::{
    api::{CIDR_BLOCK, TENANCY, VPCSpec},
    aws::Vpc,
};

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) cidr_block: Resolved<String>,
    pub(super) secondary_cidr_blocks: Option<Resolved<Vec<String>>>,
    pub(super) dns_support: Option<Resolved<bool>>,
    pub(super) dns_hostnames: Option<Resolved<bool>>,
    pub(super) instance_tenancy: Option<Resolved<String>>,
}

/// A change in place.
#[derive(Debug)]
pub(crate) enum Change {
    DnsSupport(bool),
    DnsHostnames(bool),
    Associate(String),
    Disassociate(String),
}

pub(super) fn desired(spec: &VPCSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let block = |block: &str| CIDR_BLOCK.check(block);
    let cidr_block = validator.one("cidrBlock", &spec.cidr_block, block);
    let secondary = validator.each("secondaryCIDRBlocks", spec.secondary_cidr_blocks.as_ref(), block);
    let dns_support = validator.any_if("enableDNSSupport", spec.enable_dns_support.as_ref());
    let dns_hostnames = validator.any_if("enableDNSHostnames", spec.enable_dns_hostnames.as_ref());
    let instance_tenancy =
        validator.optional("instanceTenancy", spec.instance_tenancy.as_ref(), |tenancy: &str| {
            TENANCY.check(tenancy)
        });

    if let Some(blocks) = given(&secondary) {
        if let Err(why) = unique(blocks) {
            validator.problem("secondaryCIDRBlocks", why);
        }
        if let Some(why) = overlapping(cidr_block.as_ref().map(Resolved::expose), blocks) {
            validator.problem("secondaryCIDRBlocks", why);
        }
    }
    if given(&dns_hostnames) == Some(&true) && given(&dns_support) == Some(&false) {
        validator.problem("enableDNSHostnames", "requires enableDNSSupport");
    }

    let desired = Desired {
        cidr_block: cidr_block?,
        secondary_cidr_blocks: secondary?,
        dns_support: dns_support?,
        dns_hostnames: dns_hostnames?,
        instance_tenancy: instance_tenancy?,
    };
    validator.is_valid().then_some(desired)
}

pub(super) fn differences(desired: &Desired, vpc: &Vpc) -> Vec<Difference<Change>> {
    let mut found = vec![];
    found.extend(fixed("cidrBlock", Some(&desired.cidr_block), vpc.cidr_block.as_ref()));
    found.extend(fixed("instanceTenancy", desired.instance_tenancy.as_ref(), vpc.instance_tenancy.as_ref()));
    let mut blocks = of_lists(
        "secondaryCIDRBlocks",
        desired.secondary_cidr_blocks.as_ref(),
        &vpc.secondary_cidr_blocks(),
        Change::Associate,
        Change::Disassociate,
    );
    // AWS rejects a block that overlaps a block to be removed, which is therefore removed first.
    blocks.sort_by_key(|difference| !is_in_the_way(difference, desired));
    found.extend(blocks);
    // In this order, DNS support is enabled whenever DNS hostnames are, because AWS requires it.
    let support =
        attribute("enableDNSSupport", desired.dns_support.as_ref(), vpc.dns_support, Change::DnsSupport);
    let hostnames = attribute(
        "enableDNSHostnames",
        desired.dns_hostnames.as_ref(),
        vpc.dns_hostnames,
        Change::DnsHostnames,
    );
    let is_off = desired.dns_hostnames.as_ref().is_some_and(|wanted| !wanted.expose());
    found.extend(if is_off { [hostnames, support] } else { [support, hostnames] }.into_iter().flatten());
    found
}

/// Whether it removes a block that overlaps a desired one.
fn is_in_the_way(difference: &Difference<Change>, desired: &Desired) -> bool {
    let Remedy::Change(Change::Disassociate(block)) = &difference.remedy else { return false };
    let wanted = desired.secondary_cidr_blocks.as_ref().map(Resolved::expose);
    wanted.into_iter().flatten().any(|wanted| cidr::overlap(wanted, block))
}

/// The indexes of the first overlapping blocks. Invalid blocks are reported separately.
fn overlapping(main: Option<&String>, blocks: &[String]) -> Option<String> {
    let is_block = |block: &String| CIDR_BLOCK.check(block).is_ok();
    for (index, block) in blocks.iter().enumerate().filter(|(_, block)| is_block(block)) {
        if main.is_some_and(|main| cidr::overlap(main, block)) {
            return Some(format!("item {index} overlaps cidrBlock"));
        }
        let other =
            |(_, other): &(usize, &String)| is_block(other) && cidr::overlap(other, block) && *other != block;
        if let Some((first, _)) = blocks[..index].iter().enumerate().find(other) {
            return Some(format!("item {index} overlaps item {first}"));
        }
    }
    None
}

/// Compares an attribute, if it was read.
fn attribute(
    path: &str,
    wanted: Option<&Resolved<bool>>,
    have: Option<bool>,
    change: fn(bool) -> Change,
) -> Option<Difference<Change>> {
    let have = have?;
    changed(path, wanted, Some(&have), change(!have))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vpc::Vpcs;
    use kraken_aws::testing::{self, rendered, with};
    use serde_json::{Value, json};

    fn written(changes: Value) -> Value {
        with(json!({"cidrBlock": {"value": "10.0.0.0/16"}}), changes)
    }

    fn desired(changes: Value) -> Desired {
        testing::desired::<Vpcs>(written(changes))
    }

    fn problems(changes: Value) -> Vec<String> {
        testing::problems::<Vpcs>(written(changes))
    }

    fn vpc() -> Vpc {
        Vpc {
            cidr_block: Some("10.0.0.0/16".into()),
            instance_tenancy: Some("default".into()),
            ..Vpc::default()
        }
        .with_blocks(&["10.0.0.0/16", "10.1.0.0/16"])
    }

    #[test]
    fn unset_fields_are_not_managed() {
        assert!(rendered(differences(&desired(json!({})), &vpc())).is_empty());
    }

    #[test]
    fn secondary_blocks_are_added_and_removed_in_place() {
        let wanted = desired(json!({"secondaryCIDRBlocks": {"value": ["10.2.0.0/16"]}}));
        assert_eq!(
            rendered(differences(&wanted, &vpc())),
            [
                "secondaryCIDRBlocks[\"10.2.0.0/16\"]: (absent) becomes 10.2.0.0/16: Associate(\"10.2.0.0/16\")",
                "secondaryCIDRBlocks[\"10.1.0.0/16\"]: 10.1.0.0/16 becomes (absent): Disassociate(\"10.1.0.0/16\")",
            ]
        );
    }

    #[test]
    fn a_block_that_overlaps_a_new_one_is_removed_before_the_new_one_is_added() {
        let wanted = desired(json!({"secondaryCIDRBlocks": {"value": ["10.1.0.0/17"]}}));
        let found = rendered(differences(&wanted, &vpc()));
        assert!(found[0].ends_with("Disassociate(\"10.1.0.0/16\")"), "{found:?}");
        assert!(found[1].ends_with("Associate(\"10.1.0.0/17\")"), "{found:?}");
    }

    #[test]
    fn the_block_and_the_tenancy_are_immutable() {
        let wanted = desired(
            json!({"cidrBlock": {"value": "10.9.0.0/16"}, "instanceTenancy": {"value": "dedicated"}}),
        );
        assert_eq!(
            rendered(differences(&wanted, &vpc())),
            [
                "cidrBlock: 10.0.0.0/16 becomes 10.9.0.0/16: fixed",
                "instanceTenancy: default becomes dedicated: fixed",
            ]
        );
    }

    #[test]
    fn dns_is_compared_only_if_read_and_support_is_enabled_before_hostnames() {
        let on = desired(json!({"enableDNSSupport": {"value": true}, "enableDNSHostnames": {"value": true}}));
        assert!(differences(&on, &vpc()).is_empty());
        let read = |is: bool| Vpc { dns_support: Some(is), dns_hostnames: Some(is), ..vpc() };
        assert_eq!(
            rendered(differences(&on, &read(false))),
            [
                "enableDNSSupport: false becomes true: DnsSupport(true)",
                "enableDNSHostnames: false becomes true: DnsHostnames(true)",
            ]
        );
        let off =
            desired(json!({"enableDNSSupport": {"value": false}, "enableDNSHostnames": {"value": false}}));
        let found = rendered(differences(&off, &read(true)));
        assert!(
            found[0].starts_with("enableDNSHostnames") && found[1].starts_with("enableDNSSupport"),
            "{found:?}"
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        assert_eq!(
            problems(json!({
                "cidrBlock": {"value": "10.0.0.1/16"},
                "secondaryCIDRBlocks": {"value": ["10.1.0.0/8", "x", "10.2.0.0/16", "10.2.0.0/16"]},
                "enableDNSSupport": {"value": false},
                "enableDNSHostnames": {"value": true},
                "instanceTenancy": {"value": "host"},
            })),
            [
                "spec.cidrBlock: has host bits set for the prefix length /16: write 10.0.0.0/16",
                "spec.secondaryCIDRBlocks: item 0 has host bits set for the prefix length /8: write 10.0.0.0/8",
                "spec.secondaryCIDRBlocks: item 1 must be an IPv4 CIDR block such as 10.0.0.0/16",
                "spec.instanceTenancy: must be one of default, dedicated",
                "spec.secondaryCIDRBlocks: item 3 is the same as item 2",
                "spec.enableDNSHostnames: requires enableDNSSupport",
            ]
        );
        assert_eq!(
            problems(json!({"cidrBlock": {"value": "10.0.0.0/8"}})),
            ["spec.cidrBlock: must be a block of /16 to /28, not /8"]
        );
        assert_eq!(
            problems(json!({"secondaryCIDRBlocks": {"value": ["10.0.0.0/16"]}})),
            ["spec.secondaryCIDRBlocks: item 0 overlaps cidrBlock"]
        );
        assert_eq!(
            problems(json!({"secondaryCIDRBlocks": {"value": ["10.1.0.0/16", "10.1.128.0/20"]}})),
            ["spec.secondaryCIDRBlocks: item 1 overlaps item 0"]
        );
    }

    #[test]
    fn a_secret_is_absent_from_differences() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let found = problems(json!({"cidrBlock": from_secret})).concat();
        assert!(found.contains("IPv4 CIDR block") && !found.contains(testing::HIDDEN), "{found}");
    }
}
