//! The names of load balancers and target groups.

use crate::refusal::Refusal;

/// AWS's rules for the name of a load balancer or target group.
pub(super) fn check_name(name: &str, noun: &str) -> Result<(), Refusal> {
    let wrong = if name.len() > 32 {
        "cannot be longer than '32' characters"
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        "can only contain characters that are alphanumeric characters and hyphens(-)"
    } else if name.starts_with('-') || name.ends_with('-') {
        "cannot begin or end with a hyphen(-)"
    } else {
        return Ok(());
    };
    Err(Refusal::invalid(format!("The {noun} name '{name}' {wrong}")))
}
