//! Entries as they are written in a spec. Pure.

use kraken_aws::import::{Fields, literal};
use serde_json::{Value, json};

use super::{api::NetworkACLSpec, entry::Entry, observed::NetworkAcl};
use crate::security_group::{import::write_protocol, rule::Direction};

impl NetworkACLSpec {
    pub(super) fn import_ingress(acl: &NetworkAcl) -> Option<Value> {
        entries(acl, Direction::Ingress)
    }

    pub(super) fn import_egress(acl: &NetworkAcl) -> Option<Value> {
        entries(acl, Direction::Egress)
    }
}

fn entries(acl: &NetworkAcl, direction: Direction) -> Option<Value> {
    let entries: Vec<Value> = acl.own_entries(direction).filter_map(written).collect();
    (!entries.is_empty()).then(|| json!(entries))
}

fn written(entry: &Entry) -> Option<Value> {
    let permission = entry.permission();
    let mut fields = Fields::default();
    fields.own("ruleNumber", Some(literal(entry.rule_number)));
    fields.own("action", Some(literal(&entry.rule_action)));
    write_protocol(&mut fields, &permission.protocol, permission.ports);
    fields.one("cidrBlock", entry.cidr_block.as_ref());
    fields.one("ipv6CIDRBlock", entry.ipv6_cidr_block.as_ref());
    fields.group()
}

/// The default network ACL exists with its VPC.
pub(super) fn not_importable(acl: &NetworkAcl) -> Option<String> {
    acl.is_default.then(|| "the default network ACL of its VPC".to_owned())
}
