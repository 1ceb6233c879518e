//! Texts that patterns and CEL rules of the CRDs allow.

use std::{collections::BTreeMap, sync::LazyLock};

use parking_lot::Mutex;
use regex::Regex;
use serde_json::Value;

/// For each form of a text in the CRDs, one or two.
const SAMPLES: &[&str] = &[
    "a",
    "main",
    "web",
    "10.0.0.0/16",
    "10.1.0.0/24",
    "10.0.0.1/24",
    "10.0.0.10",
    "2001:db8::/56",
    "123456789012",
    "/dev/sdf",
    "/health",
    "443",
    "5m",
    "HTTP",
    "ELBSecurityPolicy-TLS13-1-2-2021",
    "VPC/main",
    "ami-0abc1234",
    "eigw-0abc1234",
    "eipalloc-0abc1234",
    "eni-0abc1234",
    "example.com",
    "i-0abc1234",
    "igw-0abc1234",
    "nat-0abc1234",
    "pcx-0abc1234",
    "pl-0abc1234",
    "self",
    "sg-0abc1234",
    "snap-0abc1234",
    "subnet-0abc1234",
    "subnet-0def5678",
    "t3.micro",
    "tcp",
    "tgw-0abc1234",
    "us-east-1",
    "us-east-1a",
    "vpc-0abc1234",
    "arn:aws:acm:us-east-1:123456789012:certificate/a",
    "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/a/1/2",
    "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/a/1",
    "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/a/1",
    "arn:aws:iam::123456789012:role/a",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
];

/// By pattern; a pattern that Rust cannot compile allows nothing.
static PATTERNS: LazyLock<Mutex<BTreeMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);

/// The samples that the pattern and the rules of a schema allow; `None` if it has neither, or allows none of them.
pub(super) fn fitting(schema: &Value) -> Option<Vec<&'static str>> {
    let rules = schema["x-kubernetes-validations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rules = rules.iter().filter_map(|rule| pattern_of(rule["rule"].as_str()?));
    let patterns: Vec<&str> = schema["pattern"].as_str().into_iter().chain(rules).collect();
    if patterns.is_empty() {
        return None;
    }
    let mut known = PATTERNS.lock();
    let mut fitting = SAMPLES.to_vec();
    for pattern in patterns {
        let regex = known.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).ok());
        fitting.retain(|sample| regex.as_ref().is_some_and(|regex| regex.is_match(sample)));
    }
    (!fitting.is_empty()).then_some(fitting)
}

/// The pattern of a rule that consists of one.
fn pattern_of(rule: &str) -> Option<&str> {
    rule.strip_prefix("self.matches(r\"")?.strip_suffix("\")")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn samples_fit_patterns_and_rules() {
        assert_eq!(fitting(&json!({"type": "string"})), None);
        let rule = json!({"rule": "self.matches(r\"^vpc-[a-z0-9]+$\")"});
        assert_eq!(fitting(&json!({"x-kubernetes-validations": [rule]})), Some(vec!["vpc-0abc1234"]));
        assert_eq!(fitting(&json!({"pattern": "^[0-9]{12}$"})), Some(vec!["123456789012"]));
        assert_eq!(fitting(&json!({"pattern": "^nothing$"})), None);
    }
}
