//! AWS's error codes and their retry classes. EC2 models almost no error types, so the code is the only information.

use kraken_kind::FailureClass;

/// The retry class of an error response of AWS.
///
/// An unknown code is [`FailureClass::Terminal`] for a client error (4xx), because most of them require an edit, and a
/// resync retries the others; otherwise [`FailureClass::Transient`].
///
/// If AWS uses one code for several errors, the message determines the class.
pub fn class_of(code: &str, status: u16, message: &str) -> FailureClass {
    // Older responses prefix some codes with `Client` or `Server`.
    let code = code.strip_prefix("Server.").or_else(|| code.strip_prefix("Client.")).unwrap_or(code);
    match code {
        "IdempotentParameterMismatch" => FailureClass::TokenUsed,
        // A name or port that must be unique: the next observation determines the object that has it.
        "DuplicateLoadBalancerName"
        | "DuplicateTargetGroupName"
        | "DuplicateListener"
        | "PriorityInUse"
        | "EntityAlreadyExists"
        // A group of EC2 Auto Scaling.
        | "AlreadyExists"
        // A database or one of its groups.
        | "DBInstanceAlreadyExists"
        | "DBParameterGroupAlreadyExists"
        | "DBSubnetGroupAlreadyExists"
        // A log group, a repository, an alias of a key, a secret.
        | "ResourceAlreadyExistsException"
        | "RepositoryAlreadyExistsException"
        | "AlreadyExistsException"
        | "ResourceExistsException"
        // The reference of the caller is the token.
        | "HostedZoneAlreadyExists" => FailureClass::TokenUsed,
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

        // Valid credentials may lack access to an object of another account or another AWS service: an image, the address of
        // a NAT gateway.
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

        // Ids come from AWS's own responses: another observation resolves an id that is not visible yet, or was
        // deleted.
        "IncorrectInstanceState"
        | "IncorrectState"
        | "IncorrectModificationState"
        | "IncorrectSpotRequestState"
        | "DependencyViolation"
        | "ResourceInUse"
        | "HostedZoneNotEmpty"
        // The instance is pending: its id is valid.
        | "InvalidInstanceID"
        | "VolumeInUse"
        | "InvalidIPAddress.InUse"
        | "InvalidInstanceID.NotFound"
        | "InvalidInstanceID.NotLinkable" => FailureClass::NotYet,

        // Elastic Load Balancing uses this code for a VPC whose internet gateway is not attached yet, and for a subnet
        // without free addresses, which requires an edit or freed addresses.
        "InvalidSubnet" if message.to_lowercase().contains("internet gateway") => FailureClass::NotYet,

        // A public address in a VPC without an internet gateway. For a gateway that is to be detached, the code results
        // from a stale read.
        "Gateway.NotAttached" if message.contains("any internet gateway") => FailureClass::NotYet,

        // IAM is eventually consistent: a new role or policy is not visible to all of its servers, nor to other services, for some
        // seconds. Names come from its own responses, or from a spec, whose object may be created outside Kraken.
        "NoSuchEntity" | "DeleteConflict" => FailureClass::NotYet,
        // A bucket that was deleted, or whose creation is not visible yet.
        "NoSuchBucket" => FailureClass::NotYet,
        // A queue; its deletion takes up to 60 seconds.
        "QueueDoesNotExist" | "AWS.SimpleQueueService.NonExistentQueue" => FailureClass::NotYet,
        // A database that was deleted, or is being changed; a group of a database that exists.
        "DBInstanceNotFound"
        | "InvalidDBInstanceState"
        | "InvalidDBInstanceStateFault"
        | "InvalidDBParameterGroupState"
        | "InvalidDBSubnetGroupStateFault" => FailureClass::NotYet,
        // A topic or subscription, a repository, or a key that was deleted.
        "NotFound" | "ResourceNotFound" | "RepositoryNotFoundException" | "NotFoundException" => FailureClass::NotYet,
        _ if is_busy(code, message) => FailureClass::NotYet,
        // Instances of a group are being launched or replaced.
        "ScalingActivityInProgress" | "InstanceRefreshInProgress" => FailureClass::NotYet,
        "ValidationError" if message.contains("Invalid IAM Instance Profile") => FailureClass::NotYet,
        "MalformedPolicyDocument" | "MalformedPolicy" if message.contains("Invalid principal") => FailureClass::NotYet,
        // KMS and Secrets Manager, about a new role.
        "MalformedPolicyDocumentException" if message.contains("invalid principal") => FailureClass::NotYet,
        "InvalidParameterValue" if message.contains("Invalid IAM Instance Profile") => FailureClass::NotYet,

        // A stale read, or a rule that AWS does not recognize: nothing was changed.
        "InvalidPermission.Duplicate" | "InvalidPermission.NotFound" => FailureClass::NotYet,

        "InternalError"
        | "InternalFailure"
        | "InternalServerError"
        | "RequestTimeout"
        | "RequestTimeoutException"
        | "ServiceUnavailable"
        | "HealthUnavailable"
        | "Unavailable"
        | "PendingVerification"
        // Another change of the same IAM object is in progress.
        | "ConcurrentModification"
        | "EntityTemporarilyUnmodifiable"
        // Another change of the same Auto Scaling group, or of the same bucket, is in progress.
        | "ResourceContention"
        | "OperationAborted"
        // Another change of the same log group or topic is in progress.
        | "OperationAbortedException"
        | "ConcurrentAccess"
        // A stale read: the object exists already, or is deleted already.
        | "RouteAlreadyExists"
        | "InvalidRoute.NotFound"
        | "Gateway.NotAttached"
        | "InvalidAssociationID.NotFound"
        | "InvalidAttachment.NotFound"
        | "InvalidNextToken"
        | "InvalidPaginationToken" => FailureClass::Transient,

        // Capacity changes without an edit: instances, hosts, addresses of a subnet.
        _ if code.starts_with("Insufficient") => FailureClass::Transient,
        _ if status == 429 => FailureClass::Throttled,
        _ if status == 408 || status >= 500 => FailureClass::Transient,
        // Also for a missing permission: it is granted outside Kraken, and the message contains it.
        _ => FailureClass::Terminal,
    }
}

/// Whether an object is in use, or being created or changed.
fn is_busy(code: &str, message: &str) -> bool {
    match code {
        // A key that is being created.
        "KMSInvalidStateException" => true,
        // A table that is being changed or backed up, or was deleted; a certificate that is in use.
        "ResourceInUseException"
        | "TableInUseException"
        | "TableNotFoundException"
        | "BackupInUseException"
        | "ContinuousBackupsUnavailableException" => true,
        // The number of tables and indexes that AWS changes at the same time.
        "LimitExceededException" => message.contains("simultaneous"),
        "ValidationException" => message.contains("modified multiple times within a fixed interval"),
        _ => false,
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
            ("EntityAlreadyExists", 409, TokenUsed),
            ("NoSuchEntity", 404, NotYet),
            ("DeleteConflict", 409, NotYet),
            ("AlreadyExists", 400, TokenUsed),
            ("DBInstanceAlreadyExists", 400, TokenUsed),
            ("InvalidDBInstanceState", 400, NotYet),
            ("InsufficientDBInstanceCapacity", 400, Transient),
            ("DBSubnetGroupNotFoundFault", 404, Terminal),
            ("ScalingActivityInProgress", 400, NotYet),
            ("InstanceRefreshInProgress", 400, NotYet),
            ("ResourceContention", 500, Transient),
            ("OperationAborted", 409, Transient),
            ("NoSuchBucket", 404, NotYet),
            ("AWS.SimpleQueueService.NonExistentQueue", 400, NotYet),
            ("ResourceAlreadyExistsException", 400, TokenUsed),
            ("RepositoryAlreadyExistsException", 400, TokenUsed),
            ("AlreadyExistsException", 400, TokenUsed),
            ("ResourceExistsException", 400, TokenUsed),
            ("NotFound", 404, NotYet),
            ("RepositoryNotFoundException", 400, NotYet),
            ("OperationAbortedException", 400, Transient),
            ("NotFoundException", 400, NotYet),
            ("KMSInvalidStateException", 400, NotYet),
            ("ResourceInUseException", 400, NotYet),
            ("LimitExceededException", 400, Terminal),
            ("ValidationException", 400, Terminal),
            ("MalformedPolicy", 400, Terminal),
            ("ValidationError", 400, Terminal),
            ("ConcurrentModification", 409, Transient),
            ("LimitExceeded", 409, Terminal),
            ("MalformedPolicyDocument", 400, Terminal),
            ("HealthUnavailable", 500, Transient),
            ("PriorRequestNotComplete", 429, Throttled),
            ("TargetGroupAssociationLimit", 400, Terminal),
            ("InvalidConfigurationRequest", 400, Terminal),
            ("CertificateNotFound", 400, Terminal),
            ("TooManyListeners", 400, Terminal),
            ("InvalidInstanceID.NotFound", 400, NotYet),
            ("VolumeInUse", 400, NotYet),
            ("InvalidPermission.Duplicate", 400, NotYet),
            ("InvalidPermission.NotFound", 400, NotYet),
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
    fn an_ambiguous_code_is_classified_by_its_message() {
        for (code, message, class) in [
            ("InvalidSubnet", "VPC vpc-1 has no internet gateway", NotYet),
            ("Gateway.NotAttached", "Network vpc-1 is not attached to any internet gateway", NotYet),
            ("Gateway.NotAttached", "resource igw-1 is not attached to network vpc-1", Transient),
            ("InvalidSubnet", "Not enough IP space available in subnet-1. ELB requires at least 8", Terminal),
            (
                "MalformedPolicyDocument",
                "Invalid principal in policy: \"AWS\":\"arn:aws:iam::1:role/a\"",
                NotYet,
            ),
            ("MalformedPolicy", "Invalid principal in policy", NotYet),
            (
                "MalformedPolicyDocumentException",
                "Policy contains a statement with one or more invalid principals.",
                NotYet,
            ),
            (
                "MalformedPolicyDocumentException",
                "The new key policy will not allow you to update it",
                Terminal,
            ),
            (
                "LimitExceededException",
                "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
                NotYet,
            ),
            (
                "ValidationException",
                "Time to live has been modified multiple times within a fixed interval",
                NotYet,
            ),
            (
                "InvalidParameterValue",
                "Value (web) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
                NotYet,
            ),
            ("AuthFailure", "AWS was not able to validate the provided access credentials", Credentials),
            ("AuthFailure", "You do not have permission to access the specified resource.", Terminal),
            ("AuthFailure", "Not authorized for images: [ami-1]", Terminal),
        ] {
            assert_eq!(class_of(code, 400, message), class, "{code}: {message}");
        }
    }
}
