//! The kinds of objects that no account in the simulator has: their descriptions are empty.

use crate::answer::{Answer, Handler};
use crate::markup::Xml;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "DescribeVpcEndpoints" => |_, _| Ok(none("vpcEndpointSet")),
        "DescribeNetworkAcls" => |_, _| Ok(none("networkAclSet")),
        "DescribeVpcPeeringConnections" => |_, _| Ok(none("vpcPeeringConnectionSet")),
        _ => return None,
    };
    Some(handler)
}

fn none(set: &str) -> Answer {
    let mut body = Xml::default();
    body.list(set, [(); 0], |_, ()| {});
    Answer { body, ids: vec![] }
}
