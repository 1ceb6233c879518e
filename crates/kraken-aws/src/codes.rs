//! AWS's error codes and how each is retried. EC2 models almost no error types: the code is all there is.

use kraken_spoke::FailureClass;

/// The class of an error that AWS answered with.
///
/// What is not known is [`FailureClass::Terminal`] if AWS calls it the request's fault (4xx), because an edit mends
/// most of those and a resync tries the rest again; else [`FailureClass::Transient`].
///
/// The message decides where AWS has one code for several things.
pub fn class_of(code: &str, status: u16, message: &str) -> FailureClass {
    // Older answers prefix some codes with the side at fault.
    let code = code.strip_prefix("Server.").or_else(|| code.strip_prefix("Client.")).unwrap_or(code);
    match code {
        "IdempotentParameterMismatch" => FailureClass::TokenUsed,
        // A name or port that AWS gives out once: whoever has it is found by another look.
        "DuplicateLoadBalancerName" | "DuplicateTargetGroupName" | "DuplicateListener" | "PriorityInUse" => {
            FailureClass::TokenUsed
        }
        "IdempotentInstanceTerminated" => FailureClass::TokenSpent,

        "RequestLimitExceeded"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "ResourceCreationLimitExceeded"
        | "SlowDown"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "TooManyRequests"
        | "TooManyRequestsException"
        | "EC2ThrottledException"
        | "BandwidthLimitExceeded"
        | "PriorRequestNotComplete" => FailureClass::Throttled,

        // Credentials that are fine may not use what belongs to another account, or to another service of AWS: an image, the
        // address of a NAT gateway.
        "AuthFailure" if !is_about_credentials(message) => FailureClass::Terminal,
        "AuthFailure"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "IncompleteSignature"
        | "InvalidAccessKeyId"
        | "InvalidClientTokenId"
        | "InvalidSecurity"
        | "MissingAuthenticationToken"
        | "RequestExpired"
        | "SignatureDoesNotMatch"
        | "UnrecognizedClientException" => FailureClass::Credentials,

        // Ids come from AWS's own answers: one that it does not know yet, or no longer, is settled by another look.
        "IncorrectInstanceState"
        | "IncorrectState"
        | "IncorrectModificationState"
        | "IncorrectSpotRequestState"
        | "DependencyViolation"
        | "ResourceInUse"
        // An instance that is pending: its id is fine.
        | "InvalidInstanceID"
        | "VolumeInUse"
        | "InvalidIPAddress.InUse"
        | "InvalidInstanceID.NotFound"
        | "InvalidInstanceID.NotLinkable" => FailureClass::NotYet,

        // Elastic Load Balancing's word for a VPC whose internet gateway is not attached yet; and for a subnet without free
        // addresses, which an edit mends, or somebody who frees some.
        "InvalidSubnet" if message.to_lowercase().contains("internet gateway") => FailureClass::NotYet,

        // The public address of a network without an internet gateway; one that is not attached where it is detached is a lag.
        "Gateway.NotAttached" if message.contains("any internet gateway") => FailureClass::NotYet,

        "InternalError"
        | "InternalFailure"
        | "InternalServerError"
        | "RequestTimeout"
        | "RequestTimeoutException"
        | "ServiceUnavailable"
        | "HealthUnavailable"
        | "Unavailable"
        | "PendingVerification"
        // A read that lags: it is there already, or gone already.
        | "InvalidPermission.Duplicate"
        | "InvalidPermission.NotFound"
        | "RouteAlreadyExists"
        | "InvalidRoute.NotFound"
        | "Gateway.NotAttached"
        | "InvalidAssociationID.NotFound"
        | "InvalidAttachment.NotFound"
        | "InvalidNextToken"
        | "InvalidPaginationToken" => FailureClass::Transient,

        // Capacity comes and goes without anybody's edit: instances, hosts, addresses of a subnet.
        _ if code.starts_with("Insufficient") => FailureClass::Transient,
        _ if status == 429 => FailureClass::Throttled,
        _ if status == 408 || status >= 500 => FailureClass::Transient,
        // A missing permission too: it is granted outside, and its message names it.
        _ => FailureClass::Terminal,
    }
}

fn is_about_credentials(message: &str) -> bool {
    message.trim().is_empty() || message.to_lowercase().contains("credential")
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureClass::{Credentials, NotYet, Terminal, Throttled, TokenSpent, TokenUsed, Transient};

    #[test]
    fn every_code_has_its_class() {
        for (code, status, class) in [
            ("RequestLimitExceeded", 503, Throttled),
            ("Throttling", 400, Throttled),
            ("ThrottlingException", 400, Throttled),
            ("", 429, Throttled),
            ("InsufficientInstanceCapacity", 500, Transient),
            ("Server.InsufficientInstanceCapacity", 400, Transient),
            ("InsufficientFreeAddressesInSubnet", 400, Transient),
            ("InternalError", 500, Transient),
            ("Unavailable", 503, Transient),
            ("ServiceUnavailable", 503, Transient),
            ("SomethingNew", 502, Transient),
            ("", 500, Transient),
            ("", 408, Transient),
            ("AuthFailure", 401, Credentials),
            ("InvalidClientTokenId", 403, Credentials),
            ("ExpiredToken", 400, Credentials),
            ("RequestExpired", 400, Credentials),
            ("SignatureDoesNotMatch", 403, Credentials),
            ("UnauthorizedOperation", 403, Terminal),
            ("Client.UnauthorizedOperation", 403, Terminal),
            ("IdempotentParameterMismatch", 400, TokenUsed),
            ("DuplicateLoadBalancerName", 400, TokenUsed),
            ("DuplicateTargetGroupName", 400, TokenUsed),
            ("DuplicateListener", 400, TokenUsed),
            ("PriorityInUse", 400, TokenUsed),
            ("IdempotentInstanceTerminated", 400, TokenSpent),
            ("IncorrectInstanceState", 400, NotYet),
            ("DependencyViolation", 400, NotYet),
            ("ResourceInUse", 400, NotYet),
            ("HealthUnavailable", 500, Transient),
            ("PriorRequestNotComplete", 429, Throttled),
            ("TargetGroupAssociationLimit", 400, Terminal),
            ("InvalidConfigurationRequest", 400, Terminal),
            ("CertificateNotFound", 400, Terminal),
            ("TooManyListeners", 400, Terminal),
            ("InvalidInstanceID.NotFound", 400, NotYet),
            ("VolumeInUse", 400, NotYet),
            ("InvalidPermission.Duplicate", 400, Transient),
            ("RouteAlreadyExists", 400, Transient),
            ("InvalidInstanceID", 400, NotYet),
            ("InvalidAMIID.NotFound", 400, Terminal),
            ("InvalidSubnetID.NotFound", 400, Terminal),
            ("InvalidKeyPair.NotFound", 400, Terminal),
            ("InvalidParameterValue", 400, Terminal),
            ("VcpuLimitExceeded", 400, Terminal),
            ("InstanceLimitExceeded", 400, Terminal),
            ("OperationNotPermitted", 400, Terminal),
            ("SomethingNew", 400, Terminal),
        ] {
            assert_eq!(class_of(code, status, ""), class, "{code} {status}");
        }
    }

    #[test]
    fn one_code_for_several_things_is_told_apart_by_its_message() {
        for (code, message, class) in [
            ("InvalidSubnet", "VPC vpc-1 has no internet gateway", NotYet),
            ("Gateway.NotAttached", "Network vpc-1 is not attached to any internet gateway", NotYet),
            ("Gateway.NotAttached", "resource igw-1 is not attached to network vpc-1", Transient),
            ("InvalidSubnet", "Not enough IP space available in subnet-1. ELB requires at least 8", Terminal),
            ("AuthFailure", "AWS was not able to validate the provided access credentials", Credentials),
            ("AuthFailure", "You do not have permission to access the specified resource.", Terminal),
            ("AuthFailure", "Not authorized for images: [ami-1]", Terminal),
        ] {
            assert_eq!(class_of(code, 400, message), class, "{code}: {message}");
        }
    }
}
