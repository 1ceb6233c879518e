//! The errors that AWS documents for the calls of the controllers, as data for generating faults.
//!
//! Sources: the "Client error codes" and "Server error codes" of the EC2 API reference, and "Errors" of each action of the Elastic
//! Load Balancing (2015-12-01) and STS API references.

mod ec2;
mod elb;

/// An error that AWS documents for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentedError {
    /// The error code.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The message.
    pub message: &'static str,
    /// Whether the call may have had its effect nonetheless.
    pub applied: bool,
    /// Whether it depends on the state of the account: an object does not exist, or is in use. The simulator sends these errors
    /// when they apply; at random they would be wrong.
    pub depends_on_state: bool,
}

const fn any(code: &'static str, status: u16, message: &'static str) -> DocumentedError {
    DocumentedError { code, status, message, applied: false, depends_on_state: false }
}

const fn possibly_applied(code: &'static str, status: u16, message: &'static str) -> DocumentedError {
    DocumentedError { code, status, message, applied: true, depends_on_state: false }
}

const fn depends_on_state(code: &'static str) -> DocumentedError {
    DocumentedError { code, status: 400, message: "", applied: false, depends_on_state: true }
}

/// The errors of every action of STS.
const STS: &[DocumentedError] = &[
    any("Throttling", 400, "Rate exceeded"),
    any("ExpiredToken", 403, "The security token included in the request is expired"),
    any("InternalFailure", 500, "The request processing has failed because of an unknown error."),
    any("InvalidClientTokenId", 403, "The security token included in the request is invalid."),
    any("ServiceUnavailable", 503, "The request has failed due to a temporary failure of the server."),
];

/// Parts of the names of actions that only Elastic Load Balancing has.
const OF_ELB: [&str; 6] = ["LoadBalancer", "TargetGroup", "Target", "Listener", "Rule", "SetSubnets"];

/// The errors that AWS documents for an action, those of the single action first.
pub fn documented_errors(action: &str) -> Vec<&'static DocumentedError> {
    let of_all = if action == "GetCallerIdentity" {
        STS
    } else if is_of_elb(action) {
        elb::COMMON
    } else {
        ec2::COMMON
    };
    let own =
        ec2::OWN.iter().chain(elb::OWN).find(|(name, _)| *name == action).map_or(&[][..], |(_, own)| own);
    own.iter().chain(of_all).collect()
}

/// The error with this code that AWS documents for an action.
pub fn documented_error(action: &str, code: &str) -> Option<&'static DocumentedError> {
    documented_errors(action).into_iter().find(|error| error.code == code)
}

fn is_of_elb(action: &str) -> bool {
    let named = ["AddTags", "RemoveTags", "SetSecurityGroups", "SetIpAddressType"].contains(&action);
    let is_of_ec2 = action.contains("SecurityGroupRule");
    named || (!is_of_ec2 && OF_ELB.iter().any(|part| action.contains(part)))
}

#[cfg(test)]
mod tests;
