//! Validation rules for values that AWS would reject. Pure. No message contains a value, because it may come from a
//! Secret.

// A rule has a reference to the value of an option, even if the value is a number.
#![allow(clippy::trivially_copy_pass_by_ref)]

use std::net::IpAddr;

use kraken_aws::rules::{Verdict, an_id, between, each, ensure};

use crate::words::TargetType;

/// The maximum length of the name of a load balancer or target group.
const MAX_NAME: usize = 32;
/// The maximum number of targets of one group.
const MAX_TARGETS: usize = 1000;

pub(crate) fn name(name: &str) -> Verdict {
    let fits = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    ensure(fits, || {
        format!("must have 1 to {MAX_NAME} letters, digits and hyphens, with no hyphen at its ends")
    })
}

pub(crate) fn balancer_name(text: &str) -> Verdict {
    name(text)?;
    ensure(!text.starts_with("internal-"), || {
        "must not start with internal-, which is reserved for AWS".to_owned()
    })
}

pub(crate) fn subnet_ids(ids: &[String]) -> Verdict {
    some_ids(ids, "subnet-")
}

pub(crate) fn security_group_ids(ids: &[String]) -> Verdict {
    some_ids(ids, "sg-")
}

fn some_ids(ids: &[String], prefix: &str) -> Verdict {
    ensure(!ids.is_empty(), || "must have at least 1 item".to_owned())?;
    each(ids, |id| an_id(id, prefix))
}

pub(crate) fn idle_timeout(seconds: &i32) -> Verdict {
    between(*seconds, 1, 4000)
}

pub(crate) fn load_balancer_arn(text: &str) -> Verdict {
    arn(text, &[":loadbalancer/"], "a load balancer")
}

pub(crate) fn listener_arn(text: &str) -> Verdict {
    arn(text, &[":listener/"], "a listener")
}

pub(crate) fn target_group_arn(text: &str) -> Verdict {
    arn(text, &[":targetgroup/"], "a target group")
}

pub(crate) fn certificate_arn(text: &str) -> Verdict {
    arn(text, &[":certificate/", ":server-certificate/"], "a certificate of ACM or IAM")
}

pub(crate) fn ssl_policy(text: &str) -> Verdict {
    let fits = (1..=256).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    ensure(fits, || "must be the name of a policy, such as ELBSecurityPolicy-TLS13-1-2-2021-06".to_owned())
}

pub(crate) fn redirect_port(port: &str) -> Verdict {
    let fits = port == "#{port}" || port.parse().is_ok_and(|number: i32| self::port(&number).is_ok());
    ensure(fits, || "must be 1 to 65535, or #{port}".to_owned())
}

pub(crate) fn redirect_protocol(protocol: &str) -> Verdict {
    ensure(["HTTP", "HTTPS", "#{protocol}"].contains(&protocol), || {
        "must be HTTP, HTTPS or #{protocol}".to_owned()
    })
}

pub(crate) fn redirect_part(part: &str) -> Verdict {
    ensure((1..=128).contains(&part.len()), || "must have 1 to 128 characters".to_owned())
}

pub(crate) fn redirect_path(path: &str) -> Verdict {
    ensure(path.starts_with('/') && path.len() <= 128, || {
        "must start with / and have at most 128 characters".to_owned()
    })
}

pub(crate) fn redirect_query(query: &str) -> Verdict {
    ensure(query.len() <= 128 && !query.starts_with('?'), || {
        "must have at most 128 characters and no ? at its start".to_owned()
    })
}

pub(crate) fn response_status(code: &i32) -> Verdict {
    let fits = (200..=299).contains(code) || (400..=599).contains(code);
    ensure(fits, || "must be 200 to 299 or 400 to 599".to_owned())
}

pub(crate) fn response_body(body: &str) -> Verdict {
    ensure(body.len() <= 1024, || "must have at most 1024 bytes".to_owned())
}

pub(crate) fn port(port: &i32) -> Verdict {
    between(*port, 1, 65_535)
}

pub(crate) fn vpc_id(id: &str) -> Verdict {
    an_id(id, "vpc-")
}

pub(crate) fn targets(kind: TargetType, targets: &[String]) -> Verdict {
    let max = if matches!(kind, TargetType::Lambda | TargetType::Alb) { 1 } else { MAX_TARGETS };
    ensure(targets.len() <= max, || format!("must have at most {max} items for targets of type {kind}"))?;
    each(targets, |target| match kind {
        TargetType::Instance => an_id(target, "i-"),
        TargetType::Ip => {
            ensure(target.parse::<IpAddr>().is_ok(), || "must be an IP address such as 10.0.0.10".to_owned())
        }
        TargetType::Lambda => arn(target, &[":lambda:"], "a Lambda function"),
        TargetType::Alb => arn(target, &[":loadbalancer/app/"], "an application load balancer"),
    })
}

pub(crate) fn health_check_port(port: &str) -> Verdict {
    let fits = port == "traffic-port" || port.parse().is_ok_and(|number: i32| self::port(&number).is_ok());
    ensure(fits, || "must be 1 to 65535, or traffic-port".to_owned())
}

pub(crate) fn health_check_path(path: &str) -> Verdict {
    ensure(path.starts_with('/') && path.len() <= 1024, || {
        "must start with / and have at most 1024 characters".to_owned()
    })
}

pub(crate) fn interval_seconds(seconds: &i32) -> Verdict {
    between(*seconds, 5, 300)
}

pub(crate) fn timeout_seconds(seconds: &i32) -> Verdict {
    between(*seconds, 2, 120)
}

pub(crate) fn threshold(count: &i32) -> Verdict {
    between(*count, 2, 10)
}

pub(crate) fn matcher(codes: &str) -> Verdict {
    let code = |code: &str| code.parse().is_ok_and(|code: u16| (200..=599).contains(&code));
    let part = |part: &str| match part.split_once('-') {
        Some((first, last)) => code(first) && code(last) && first <= last,
        None => code(part),
    };
    ensure(codes.split(',').all(part), || {
        "must be HTTP codes and ranges of them, such as 200 or 200-299,301".to_owned()
    })
}

/// An ARN with one of these parts in it.
fn arn(text: &str, parts: &[&str], of: &str) -> Verdict {
    let fits = text.starts_with("arn:") && text.len() <= 2048 && parts.iter().any(|part| text.contains(part));
    ensure(fits, || format!("must be the ARN of {of}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts<T: ?Sized>(rule: fn(&T) -> Verdict, value: &T) {
        assert_eq!(rule(value), Ok(()));
    }

    fn rejects(verdict: Verdict, words: &str) {
        let why = verdict.unwrap_err();
        assert!(why.contains(words), "{why}");
    }

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn names_are_validated_like_in_aws() {
        accepts(name, "web-1");
        accepts(name, "x".repeat(32).as_str());
        for wrong in ["", "-web", "web-", "web_1", "web.1", "x".repeat(33).as_str()] {
            rejects(name(wrong), "1 to 32 letters");
        }
    }

    #[test]
    fn reserved_names_of_load_balancers_are_rejected() {
        accepts(balancer_name, "internal");
        rejects(balancer_name("internal-web"), "internal-");
    }

    #[test]
    fn arns_must_have_the_expected_type() {
        accepts(certificate_arn, "arn:aws:acm:us-east-1:123456789012:certificate/1-2");
        accepts(certificate_arn, "arn:aws:iam::123456789012:server-certificate/web");
        rejects(certificate_arn("web.example"), "ARN of a certificate");
        rejects(
            load_balancer_arn("arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/1"),
            "a load balancer",
        );
        rejects(target_group_arn("web"), "a target group");
    }

    #[test]
    fn actions_are_checked_part_by_part() {
        accepts(redirect_port, "443");
        accepts(redirect_port, "#{port}");
        rejects(redirect_port("65536"), "1 to 65535");
        rejects(redirect_protocol("TCP"), "HTTP, HTTPS");
        rejects(redirect_path("x"), "start with /");
        rejects(redirect_query("?a"), "no ?");
        rejects(redirect_part(""), "1 to 128");
        accepts(response_status, &503);
        rejects(response_status(&301), "200 to 299");
        rejects(response_body(&"x".repeat(1025)), "1024 bytes");
        rejects(ssl_policy("a b"), "name of a policy");
    }

    #[test]
    fn numbers_are_bounded() {
        for right in [1, 80, 65_535] {
            accepts(port, &right);
        }
        for wrong in [-1, 0, 65_536] {
            rejects(port(&wrong), "1 to 65535");
        }
        rejects(interval_seconds(&4), "5 to 300");
        rejects(timeout_seconds(&121), "2 to 120");
        rejects(threshold(&1), "2 to 10");
        accepts(health_check_port, "8080");
        accepts(health_check_port, "traffic-port");
        rejects(health_check_port("0"), "1 to 65535");
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
        rejects(targets(Instance, &list(&["i-1", "10.0.0.1"])), "item 1 must look like i-");
        rejects(targets(Ip, &list(&["10.0.0"])), "IP address");
        rejects(targets(Ip, &list(&["10.0.0.1", "10.0.0.1"])), "same as item 0");
        rejects(targets(Lambda, &list(&[function, balancer])), "at most 1");
        rejects(targets(Alb, &list(&[function])), "application load balancer");
    }

    #[test]
    fn a_matcher_is_codes_and_ranges() {
        for right in ["200", "200-299", "200,301-302"] {
            accepts(matcher, right);
        }
        for wrong in ["", "ok", "200-", "299-200", "99", "200, 301"] {
            rejects(matcher(wrong), "HTTP codes");
        }
    }

    #[test]
    fn paths_must_start_with_a_slash() {
        accepts(health_check_path, "/healthz?full=1");
        rejects(health_check_path("healthz"), "start with /");
    }
}
