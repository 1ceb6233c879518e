//! Bounds of the parts of policy documents.

use crate::bounds::{Bytes, Pattern};

/// The id of a statement.
pub(super) static SID: Pattern = Pattern::new("^[a-zA-Z0-9]+$", 128, "must have 1 to 128 letters and digits");
/// An action of a statement.
pub(super) static ACTION: Pattern = Pattern::new(
    r"^(\*|[a-zA-Z0-9-]+:[a-zA-Z0-9*?]+)$",
    192,
    "must be SERVICE:ACTION, such as s3:GetObject, or *",
);
/// A resource of a statement.
pub(super) static RESOURCE: Pattern =
    Pattern::new(r"^(\*|arn:.+)$", 2_048, "must be an ARN, in which * and ? are wildcards, or *");
/// A principal of the type `AWS`.
pub(super) static AWS_PRINCIPAL: Pattern = Pattern::new(
    r"^(\*|[0-9]{12}|A[A-Z]{3}[A-Z0-9]{12,28}|arn:[!-~]+)$",
    2_048,
    "must be the ARN or unique id of a role or user, an account by its ARN or 12 digits, or *",
);
/// A principal of the type `Service`.
pub(super) static SERVICE: Pattern = Pattern::new(
    r"^([a-z0-9-]+\.)+[a-z]+$",
    256,
    "must be the name of an AWS service, such as ec2.amazonaws.com",
);
/// A principal of the type `Federated`.
pub(super) static FEDERATED: Pattern = Pattern::new(
    r"^[!-~]+$",
    2_048,
    "must be the ARN of an identity provider, or a name such as cognito-identity.amazonaws.com",
);
/// The operator of a condition.
pub(super) static OPERATOR: Pattern = Pattern::new(
    r"^((ForAllValues|ForAnyValue):)?[a-zA-Z]+$",
    64,
    "must be a condition operator, such as StringEquals or ForAnyValue:StringLike",
);
/// The key of a condition.
pub(super) static CONDITION_KEY: Pattern = Pattern::new(
    r"^[!-9;-~]+:.+$",
    512,
    "must be a condition key such as aws:SourceAccount, or oidc.example.com:sub",
);
/// A value of a condition.
pub(super) const CONDITION_VALUE: Bytes = Bytes(4_096);
/// A whole document.
pub(super) const JSON: Bytes = Bytes(131_072);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_formats_of_iam() {
        let good = [
            (&ACTION, "*"),
            (&ACTION, "s3:Get*"),
            (&RESOURCE, "arn:aws:s3:::web/*"),
            (&AWS_PRINCIPAL, "123456789012"),
            (&AWS_PRINCIPAL, "AROARZPUZDIKBYVR6AUDT"),
            (&SERVICE, "ec2.amazonaws.com"),
            (&OPERATOR, "ForAnyValue:StringLike"),
            (&CONDITION_KEY, "oidc.eks.us-east-1.amazonaws.com/id/1A:sub"),
            (&CONDITION_KEY, "aws:RequestTag/Team name"),
        ];
        for (bound, text) in good {
            assert_eq!(bound.check(text), Ok(()), "{text}");
        }
        let bad = [
            (&ACTION, "GetObject"),
            (&RESOURCE, "web"),
            (&AWS_PRINCIPAL, "web"),
            (&SERVICE, "EC2"),
            (&OPERATOR, "equals!"),
            (&CONDITION_KEY, "sub"),
        ];
        for (bound, text) in bad {
            assert!(bound.check(text).is_err(), "{text}");
        }
    }
}
