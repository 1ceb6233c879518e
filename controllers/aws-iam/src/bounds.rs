//! Bounds of names, paths and ARNs.

use kraken_aws::bounds::Pattern;

/// The name of a role, unique in the account.
pub(crate) static ROLE_NAME: Pattern =
    Pattern::new(r"^[a-zA-Z0-9+=,.@_-]+$", 64, "must have 1 to 64 letters, digits and +=,.@_-");
/// The name of a policy or an instance profile.
pub(crate) static NAME: Pattern =
    Pattern::new(r"^[a-zA-Z0-9+=,.@_-]+$", 128, "must have 1 to 128 letters, digits and +=,.@_-");
/// The path before a name.
pub(crate) static PATH: Pattern = Pattern::new(
    r"^/([!-.0-~]+/)*$",
    512,
    "must begin and end with /, such as /teams/web/, with up to 512 characters and no spaces",
);
/// A description; empty for none.
pub(crate) static DESCRIPTION: Pattern =
    Pattern::new(r"^[\t\n\r -~]*$", 1_000, "must have up to 1000 printable ASCII characters");
/// The ARN of a managed policy.
pub(crate) static POLICY_ARN: Pattern = Pattern::new(
    r"^arn:[a-z-]+:iam::(aws|[0-9]{12}):policy/[!-~]+$",
    2_048,
    "must be the ARN of a policy, such as arn:aws:iam::aws:policy/ReadOnlyAccess",
);
/// The same; empty for none.
pub(crate) static BOUNDARY: Pattern = Pattern::new(
    r"^($|arn:[a-z-]+:iam::(aws|[0-9]{12}):policy/[!-~]+$)",
    2_048,
    "must be the ARN of a policy, or empty for none",
);
/// A role by name or ARN.
pub(crate) static ROLE: Pattern = Pattern::new(
    r"^([a-zA-Z0-9+=,.@_-]{1,64}|arn:[a-z-]+:iam::[0-9]{12}:role/[!-~]+)$",
    2_048,
    "must be the name or ARN of a role",
);

/// The issuer of an OIDC provider.
pub(crate) static ISSUER: Pattern = Pattern::new(
    r"^https://[a-zA-Z0-9][a-zA-Z0-9._~:/@!$&()*+,;=%-]*$",
    255,
    "must be a URL that begins with https://, without a query, of up to 255 characters",
);
/// A client id of an OIDC provider.
pub(crate) static CLIENT_ID: Pattern =
    Pattern::new("^[!-~]([ -~]*[!-~])?$", 255, "must have 1 to 255 printable ASCII characters");
/// The thumbprint of a certificate.
pub(crate) static THUMBPRINT: Pattern =
    Pattern::new("^[0-9a-f]{40}$", 40, "must have 40 hexadecimal digits in lower case");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_arns_have_the_formats_of_iam() {
        let good = [
            (&ISSUER, "https://oidc.eks.us-east-1.amazonaws.com/id/1A"),
            (&ROLE_NAME, "web+a=b,c.d@e_f-g"),
            (&PATH, "/"),
            (&PATH, "/teams/web/"),
            (&POLICY_ARN, "arn:aws:iam::aws:policy/service-role/X"),
            (&POLICY_ARN, "arn:aws-us-gov:iam::123456789012:policy/x"),
            (&BOUNDARY, ""),
            (&ROLE, "web"),
            (&ROLE, "arn:aws:iam::123456789012:role/a/web"),
        ];
        for (bound, text) in good {
            assert_eq!(bound.check(text), Ok(()), "{text}");
        }
        let bad = [
            (&ISSUER, "http://oidc.example.com"),
            (&ISSUER, "https://oidc.example.com/?a=b"),
            (&ROLE_NAME, "a b"),
            (&ROLE_NAME, ""),
            (&PATH, "teams"),
            (&PATH, "/teams"),
            (&PATH, "//"),
            (&POLICY_ARN, "ReadOnlyAccess"),
            (&POLICY_ARN, "arn:aws:iam::123456789012:role/web"),
            (&ROLE, "a/b"),
            (&ROLE, "arn:aws:iam::123456789012:instance-profile/web"),
        ];
        for (bound, text) in bad {
            assert!(bound.check(text).is_err(), "{text}");
        }
    }
}
