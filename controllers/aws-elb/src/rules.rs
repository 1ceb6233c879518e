//! Validation rules for values that AWS would reject. Pure. No message contains a value, because it may come from a
//! Secret.

// A rule has a reference to the value of an option, even if the value is a number.
#![allow(clippy::trivially_copy_pass_by_ref)]

use std::net::IpAddr;

use kraken_aws::{
    bounds::{Bytes, INSTANCE_ID, Id, Pattern, Range, SECURITY_GROUP_ID, SUBNET_ID, Words},
    rules::{ValidationError, ValidationResult, each, ensure},
};

use crate::words::TargetType;

/// The name of a load balancer or target group.
pub(crate) static NAME: Pattern = Pattern::new(
    "^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$",
    32,
    "must have 1 to 32 letters, digits and hyphens, with no hyphen at its ends",
);
pub(crate) const IDLE_TIMEOUT: Range = Range(1, 4_000);
pub(crate) const PORT: Range = Range(1, 65_535);
pub(crate) const INTERVAL_SECONDS: Range = Range(5, 300);
pub(crate) const TIMEOUT_SECONDS: Range = Range(2, 120);
pub(crate) const THRESHOLD: Range = Range(2, 10);
/// The status code of a fixed response. That it is no redirect is validated separately.
pub(crate) const RESPONSE_STATUS: Range = Range(200, 599);
pub(crate) const PRIORITY: Range = Range(1, 50_000);
/// The duration of stickiness, at most a week.
pub(crate) const STICKINESS_SECONDS: Range = Range(0, 604_800);
pub(crate) const WEIGHT: Range = Range(0, 999);
pub(crate) static LOAD_BALANCER_ARN: Pattern =
    Pattern::new("(?s)^arn:.*:loadbalancer/", 2_048, "must be the ARN of a load balancer");
pub(crate) static LISTENER_ARN: Pattern =
    Pattern::new("(?s)^arn:.*:listener/", 2_048, "must be the ARN of a listener");
pub(crate) static TARGET_GROUP_ARN: Pattern =
    Pattern::new("(?s)^arn:.*:targetgroup/", 2_048, "must be the ARN of a target group");
pub(crate) static CERTIFICATE_ARN: Pattern = Pattern::new(
    "(?s)^arn:.*:(certificate|server-certificate)/",
    2_048,
    "must be the ARN of a certificate of ACM or IAM",
);
pub(crate) static SSL_POLICY: Pattern = Pattern::new(
    "^[a-zA-Z0-9_.-]+$",
    256,
    "must be the name of a policy, such as ELBSecurityPolicy-TLS13-1-2-2021-06",
);
pub(crate) static REDIRECT_PORT: Pattern = Pattern::or_number(
    r"^(#\{port\}|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$",
    7,
    "must be 1 to 65535, or #{port}",
);
pub(crate) static REDIRECT_PROTOCOL: Words = Words(&["HTTP", "HTTPS", "#{protocol}"]);
pub(crate) static REDIRECT_PART: Pattern =
    Pattern::new("^[!-~]+$", 128, "must have 1 to 128 printable ASCII characters, without spaces");
pub(crate) static REDIRECT_PATH: Pattern =
    Pattern::new("^/", 128, "must start with / and have at most 128 characters");
pub(crate) static REDIRECT_QUERY: Pattern = Pattern::new(
    "^([ ->@-~][ -~]*)?$",
    128,
    "must have at most 128 printable ASCII characters and no ? at its start",
);
pub(crate) const RESPONSE_BODY: Bytes = Bytes(1_024);
pub(crate) static HEALTH_CHECK_PORT: Pattern = Pattern::or_number(
    "^(traffic-port|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$",
    12,
    "must be 1 to 65535, or traffic-port",
);
pub(crate) static HEALTH_CHECK_PATH: Pattern =
    Pattern::new("^/", 1_024, "must start with / and have at most 1024 characters");
/// HTTP codes and ranges. That a range is not reversed is validated separately.
pub(crate) static MATCHER: Pattern = Pattern::new(
    "^[2-5][0-9]{2}(-[2-5][0-9]{2})?(,[2-5][0-9]{2}(-[2-5][0-9]{2})?)*$",
    1_024,
    "must be HTTP codes and ranges of them, such as 200 or 200-299,301",
);
/// A target of any type. Which one is validated by the type of the target group.
pub(crate) static TARGET: Pattern = Pattern::new(
    "(?s)^(i-[a-z0-9]+|[0-9.]+|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*|arn:.*(:lambda:|:loadbalancer/app/).*)$",
    2_048,
    "must be the id of an instance, an IP address or an ARN",
);
/// The maximum number of targets of one group.
const MAX_TARGETS: usize = 1000;

pub(crate) fn balancer_name(text: &str) -> ValidationResult {
    NAME.check(text)?;
    ensure(!text.starts_with("internal-"), || {
        "must not start with internal-, which is reserved for AWS".to_owned()
    })
}

pub(crate) fn subnet_ids(ids: &[String]) -> ValidationResult<ValidationError> {
    some_ids(ids, SUBNET_ID)
}

pub(crate) fn security_group_ids(ids: &[String]) -> ValidationResult<ValidationError> {
    some_ids(ids, SECURITY_GROUP_ID)
}

fn some_ids(ids: &[String], id: Id) -> ValidationResult<ValidationError> {
    ensure(!ids.is_empty(), || "must have at least 1 item".to_owned())?;
    each(ids, |text| id.check(text))
}

pub(crate) fn response_status(code: &i32) -> ValidationResult {
    let fits = (200..=299).contains(code) || (400..=599).contains(code);
    ensure(fits, || "must be 200 to 299 or 400 to 599".to_owned())
}

pub(crate) fn targets(kind: TargetType, targets: &[String]) -> ValidationResult<ValidationError> {
    let max = if matches!(kind, TargetType::Lambda | TargetType::Alb) { 1 } else { MAX_TARGETS };
    ensure(targets.len() <= max, || format!("must have at most {max} items for targets of type {kind}"))?;
    each(targets, |target| match kind {
        TargetType::Instance => INSTANCE_ID.check(target),
        TargetType::Ip => {
            ensure(target.parse::<IpAddr>().is_ok(), || "must be an IP address such as 10.0.0.10".to_owned())
        }
        TargetType::Lambda => arn(target, &[":lambda:"], "a Lambda function"),
        TargetType::Alb => arn(target, &[":loadbalancer/app/"], "an application load balancer"),
    })
}

pub(crate) fn matcher(codes: &str) -> ValidationResult {
    MATCHER.check(codes)?;
    // Codes have three digits, so that their order is that of their texts.
    let is_ordered = |part: &str| part.split_once('-').is_none_or(|(first, last)| first <= last);
    ensure(codes.split(',').all(is_ordered), || "must have no range that ends before it starts".to_owned())
}

/// An ARN with one of these parts in it.
fn arn(text: &str, parts: &[&str], of: &str) -> ValidationResult {
    let fits = text.starts_with("arn:") && text.len() <= 2048 && parts.iter().any(|part| text.contains(part));
    ensure(fits, || format!("must be the ARN of {of}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::bounds::Bound;

    fn accepts<B: Bound>(bound: &B, value: &B::Of) {
        assert_eq!(bound.validate(value), Ok(()));
    }

    fn rejects<W: Into<ValidationError>>(result: ValidationResult<W>, words: &str) {
        let why = result.map_err(|why| why.into().text).unwrap_err();
        assert!(why.contains(words), "{why}");
    }

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn names_are_validated_like_in_aws() {
        accepts(&NAME, "web-1");
        accepts(&NAME, "x".repeat(32).as_str());
        for wrong in ["", "-web", "web-", "web_1", "web.1", "x".repeat(33).as_str()] {
            rejects(NAME.check(wrong), "1 to 32 letters");
        }
    }

    #[test]
    fn reserved_names_of_load_balancers_are_rejected() {
        assert_eq!(balancer_name("internal"), Ok(()));
        rejects(balancer_name("internal-web"), "internal-");
    }

    #[test]
    fn arns_must_have_the_expected_type() {
        accepts(&CERTIFICATE_ARN, "arn:aws:acm:us-east-1:123456789012:certificate/1-2");
        accepts(&CERTIFICATE_ARN, "arn:aws:iam::123456789012:server-certificate/web");
        rejects(CERTIFICATE_ARN.check("web.example"), "ARN of a certificate");
        rejects(
            LOAD_BALANCER_ARN.check("arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1"),
            "a load balancer",
        );
        rejects(TARGET_GROUP_ARN.check("web"), "a target group");
    }

    #[test]
    fn actions_are_checked_part_by_part() {
        accepts(&REDIRECT_PORT, "443");
        accepts(&REDIRECT_PORT, "#{port}");
        rejects(REDIRECT_PORT.check("65536"), "1 to 65535");
        rejects(REDIRECT_PROTOCOL.check("TCP"), "one of HTTP, HTTPS");
        rejects(REDIRECT_PATH.check("x"), "start with /");
        rejects(REDIRECT_QUERY.check("?a"), "no ?");
        rejects(REDIRECT_PART.check(""), "1 to 128");
        assert_eq!(response_status(&503), Ok(()));
        rejects(response_status(&301), "200 to 299");
        rejects(RESPONSE_BODY.check(&"x".repeat(1025)), "at most 1024");
        rejects(SSL_POLICY.check("a b"), "name of a policy");
    }

    #[test]
    fn numbers_are_bounded() {
        for right in [1, 80, 65_535] {
            accepts(&PORT, &right);
        }
        for wrong in [-1, 0, 65_536] {
            rejects(PORT.check(wrong), "1 to 65535");
        }
        rejects(INTERVAL_SECONDS.check(4), "5 to 300");
        rejects(TIMEOUT_SECONDS.check(121), "2 to 120");
        rejects(THRESHOLD.check(1), "2 to 10");
        accepts(&HEALTH_CHECK_PORT, "8080");
        accepts(&HEALTH_CHECK_PORT, "traffic-port");
        rejects(HEALTH_CHECK_PORT.check("0"), "1 to 65535");
    }

    #[test]
    fn targets_must_have_the_type_of_their_group() {
        use TargetType::{Alb, Instance, Ip, Lambda};
        let function = "arn:aws:lambda:us-east-1:123456789012:function:web";
        let balancer = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/1";
        for (kind, right) in [(Instance, "i-0abc"), (Ip, "10.0.0.1"), (Ip, "fd00::1"), (Lambda, function)] {
            assert_eq!(targets(kind, &list(&[right])), Ok(()));
            assert_eq!(targets(kind, &[]), Ok(()));
        }
        assert_eq!(targets(Alb, &list(&[balancer])), Ok(()));
        rejects(targets(Instance, &list(&["i-1", "10.0.0.1"])), "must look like i-");
        rejects(targets(Ip, &list(&["10.0.0"])), "IP address");
        rejects(targets(Lambda, &list(&[function, balancer])), "at most 1");
        rejects(targets(Alb, &list(&[function])), "application load balancer");
    }

    #[test]
    fn a_matcher_is_codes_and_ranges() {
        for right in ["200", "200-299", "200,301-302"] {
            assert_eq!(matcher(right), Ok(()));
        }
        for wrong in ["", "ok", "200-", "99", "600", "200, 301"] {
            rejects(matcher(wrong), "HTTP codes");
        }
        rejects(matcher("299-200"), "ends before it starts");
    }

    #[test]
    fn paths_must_start_with_a_slash() {
        accepts(&HEALTH_CHECK_PATH, "/healthz?full=1");
        rejects(HEALTH_CHECK_PATH.check("healthz"), "start with /");
    }
}
