//! The health check of a target group.

use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;

/// A health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health {
    enabled: bool,
    protocol: String,
    pub(crate) port: String,
    /// For HTTP and HTTPS only.
    path: Option<String>,
    /// For HTTP and HTTPS only.
    codes: Option<String>,
    interval: usize,
    timeout: usize,
    healthy: usize,
    unhealthy: usize,
}

impl Health {
    /// AWS's defaults for a target group of this protocol, with the parameters of a call.
    pub(crate) fn of(form: &Form, http: bool) -> Result<Self, Refusal> {
        let protocol = if http { "HTTP" } else { "TCP" };
        let mut health = Self {
            enabled: true,
            protocol: form.text("HealthCheckProtocol").unwrap_or_else(|| protocol.to_owned()),
            port: "traffic-port".to_owned(),
            path: None,
            codes: None,
            interval: 30,
            timeout: if http { 5 } else { 10 },
            healthy: 5,
            unhealthy: 2,
        };
        if health.is_http() {
            health.timeout = if http { 5 } else { 6 };
            (health.path, health.codes) = (Some("/".to_owned()), Some("200".to_owned()));
        }
        health.change(form)?;
        Ok(health)
    }

    fn is_http(&self) -> bool {
        self.protocol.starts_with("HTTP")
    }

    /// Absent fields are unchanged.
    pub(crate) fn change(&mut self, form: &Form) -> Result<(), Refusal> {
        for (name, field) in
            [("HealthCheckProtocol", &mut self.protocol), ("HealthCheckPort", &mut self.port)]
        {
            if let Some(value) = form.text(name) {
                *field = value;
            }
        }
        if !["HTTP", "HTTPS", "TCP"].contains(&self.protocol.as_str()) {
            return Err(Refusal::invalid(format!(
                "Health check protocol '{}' must be one of '[HTTP, HTTPS, TCP]'",
                self.protocol
            )));
        }
        if let Some(enabled) = form.flag("HealthCheckEnabled")? {
            self.enabled = enabled;
        }
        let counts = [
            ("HealthCheckIntervalSeconds", &mut self.interval, 5..=300),
            ("HealthCheckTimeoutSeconds", &mut self.timeout, 2..=120),
            ("HealthyThresholdCount", &mut self.healthy, 2..=10),
            ("UnhealthyThresholdCount", &mut self.unhealthy, 2..=10),
        ];
        for (name, field, allowed) in counts {
            if let Some(value) = form.number(name)? {
                if !allowed.contains(&value) {
                    let (least, most) = allowed.into_inner();
                    return Err(Refusal::invalid(format!(
                        "{name} '{value}' must be between {least} and {most}"
                    )));
                }
                *field = value;
            }
        }
        let (path, codes) = (form.text("HealthCheckPath"), form.text("Matcher.HttpCode"));
        if self.is_http() {
            self.path = path.or(self.path.take()).or_else(|| Some("/".to_owned()));
            self.codes = codes.or(self.codes.take()).or_else(|| Some("200".to_owned()));
        } else if path.is_some() {
            return Err(Refusal::invalid(
                "Health check paths are not supported for health checks with protocol 'TCP'",
            ));
        } else {
            (self.path, self.codes) = (None, None);
        }
        if self.timeout >= self.interval {
            return Err(Refusal::invalid(format!(
                "Health check timeout '{}' must be smaller than the interval '{}'",
                self.timeout, self.interval
            )));
        }
        Ok(())
    }

    pub(crate) fn write_xml(&self, xml: &mut Xml) {
        xml.text("HealthCheckEnabled", self.enabled);
        xml.text("HealthCheckProtocol", &self.protocol);
        xml.text("HealthCheckPort", &self.port);
        xml.optional("HealthCheckPath", self.path.as_ref());
        xml.text("HealthCheckIntervalSeconds", self.interval);
        xml.text("HealthCheckTimeoutSeconds", self.timeout);
        xml.text("HealthyThresholdCount", self.healthy);
        xml.text("UnhealthyThresholdCount", self.unhealthy);
        if let Some(codes) = &self.codes {
            xml.tag("Matcher", |xml| xml.text("HttpCode", codes));
        }
    }
}
