//! The rules between the fields of a VPC, and the order of its changes. Pure.

use kraken_aws::{cidr, prelude::*};

use super::api::{CIDR_BLOCK, Change, Desired, PartialDesired, VPCSpec};

impl VPCSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if let Some(blocks) = given(&partial.secondary_cidr_blocks)
            && let Some(why) = overlapping(partial.cidr_block.as_ref().map(Resolved::expose), blocks)
        {
            validator.problem("secondaryCIDRBlocks", why);
        }
        let PartialDesired { enable_dns_support: support, enable_dns_hostnames: hostnames, .. } = partial;
        if given(hostnames) == Some(&true) && given(support) == Some(&false) {
            validator.problem("enableDNSHostnames", "requires enableDNSSupport");
        }
    }

    /// AWS rejects a block that overlaps a block to be removed, which is therefore removed first. DNS support is enabled
    /// whenever DNS hostnames are, because AWS requires it.
    pub(super) fn order(desired: &Desired, differences: &mut [Difference<Change>]) {
        differences.sort_by_key(|difference| match &difference.remedy {
            Remedy::Change(Change::Disassociate(_)) if is_in_the_way(difference, desired) => 1,
            Remedy::Change(Change::Associate(_) | Change::Disassociate(_)) => 2,
            Remedy::Change(Change::DnsHostnames(false)) => 3,
            Remedy::Change(Change::DnsSupport(_)) => 4,
            Remedy::Change(Change::DnsHostnames(true)) => 5,
            _ => 0,
        });
    }
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
        let other = |(_, other): &(usize, &String)| is_block(other) && cidr::overlap(other, block);
        if let Some((first, _)) = blocks[..index].iter().enumerate().find(other) {
            return Some(format!("item {index} overlaps item {first}"));
        }
    }
    None
}
