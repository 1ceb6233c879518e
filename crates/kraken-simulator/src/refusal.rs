//! AWS's errors, with its messages: controllers use the codes, and sometimes the ids in the messages.

use super::markup::Xml;
use super::service::Service;

pub(super) const DEPENDENCY_VIOLATION: &str = "DependencyViolation";

/// An error response of AWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
}

impl Refusal {
    /// A client error.
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self::with_status(400, code, message)
    }

    pub(super) fn with_status(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into() }
    }

    pub(super) fn throttled(service: Service) -> Self {
        match service {
            Service::Ec2 => Self::with_status(503, "RequestLimitExceeded", "Request limit exceeded."),
            Service::Elb | Service::Sts => Self::new("Throttling", "Rate exceeded"),
        }
    }

    /// A dependent object must be deleted first.
    pub(super) fn dependency(message: impl Into<String>) -> Self {
        Self::new(DEPENDENCY_VIOLATION, message)
    }

    pub(super) fn no_capacity(instance_type: &str) -> Self {
        let message = format!(
            "We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested."
        );
        Self::with_status(500, "InsufficientInstanceCapacity", message)
    }

    pub(super) fn malformed(code: &str, id: &str, prefix: &str) -> Self {
        let expecting =
            if id.starts_with(prefix) { String::new() } else { format!(" (expecting \"{prefix}...\")") };
        Self::new(code, format!("Invalid id: \"{id}\"{expecting}"))
    }

    pub(super) fn state(id: &str, message: &str) -> Self {
        Self::new("IncorrectInstanceState", format!("The instance '{id}' is not in {message}."))
    }

    pub(super) fn value(value: &str, name: &str) -> Self {
        Self::new("InvalidParameterValue", format!("Invalid value '{value}' for {name}."))
    }

    /// A parameter that the load balancing API rejects.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("ValidationError", message)
    }

    /// Settings that a load balancer cannot have.
    pub(super) fn misconfigured(message: impl Into<String>) -> Self {
        Self::new("InvalidConfigurationRequest", message)
    }

    pub(super) fn xml(&self, service: Service, request_id: &str) -> String {
        let mut xml = Xml::default();
        match service {
            Service::Ec2 => xml.tag("Response", |xml| {
                xml.tag("Errors", |xml| xml.tag("Error", |xml| self.write(xml)));
                xml.text("RequestID", request_id);
            }),
            Service::Elb | Service::Sts => xml.within("ErrorResponse", service.namespace(), |xml| {
                xml.tag("Error", |xml| {
                    xml.text("Type", if self.status < 500 { "Sender" } else { "Receiver" });
                    self.write(xml);
                });
                xml.text("RequestId", request_id);
            }),
        }
        xml.document()
    }

    fn write(&self, xml: &mut Xml) {
        xml.text("Code", &self.code);
        xml.text("Message", &self.message);
    }
}

/// Whether an id is the prefix and 8 or 17 hexadecimal digits.
pub(super) fn is_well_formed(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|digits| {
        matches!(digits.len(), 8 | 17)
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_prefix_and_lower_case_digits() {
        assert_eq!(Refusal::malformed("c", "x", "i-").message, "Invalid id: \"x\" (expecting \"i-...\")");
        assert!(is_well_formed("ami-12c6146b", "ami-") && !is_well_formed("ami-12C6146B", "ami-"));
    }
}
