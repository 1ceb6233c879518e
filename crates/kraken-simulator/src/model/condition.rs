//! The conditions of a rule.

use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;

/// The maximum number of values in all conditions of a rule.
const MOST_VALUES: usize = 5;

/// Each type of condition with the structure that holds its values.
const TYPES: [(&str, &str); 6] = [
    ("host-header", "HostHeaderConfig"),
    ("path-pattern", "PathPatternConfig"),
    ("http-header", "HttpHeaderConfig"),
    ("http-request-method", "HttpRequestMethodConfig"),
    ("query-string", "QueryStringConfig"),
    ("source-ip", "SourceIpConfig"),
];

/// A condition: one matching value is sufficient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    field: &'static str,
    config: &'static str,
    header: Option<String>,
    /// With the key of a parameter of the query.
    values: Vec<(Option<String>, String)>,
}

impl Condition {
    /// The conditions of a call.
    pub(crate) fn of(form: &Form) -> Result<Vec<Self>, Refusal> {
        let all: Vec<Self> =
            form.structures("Conditions.member").iter().map(Self::one).collect::<Result<_, _>>()?;
        let values: usize = all.iter().map(|condition| condition.values.len()).sum();
        if values > MOST_VALUES {
            return Err(Refusal::invalid(format!(
                "You can specify at most {MOST_VALUES} condition values per rule"
            )));
        }
        for (field, _) in TYPES.iter().filter(|(field, _)| !["http-header", "query-string"].contains(field)) {
            if all.iter().filter(|condition| condition.field == *field).count() > 1 {
                return Err(Refusal::invalid(format!("A rule can have only one '{field}' condition")));
            }
        }
        Ok(all)
    }

    fn one(form: &Form) -> Result<Self, Refusal> {
        let field = form.required("Field")?;
        let Some((field, config)) = TYPES.iter().find(|(known, _)| *known == field) else {
            return Err(Refusal::invalid(format!("Condition field '{field}' must be one of '{}'", fields())));
        };
        let list = format!("{config}.Values.member");
        let mut values: Vec<(Option<String>, String)> = match *field {
            "query-string" => {
                let pairs = form.structures(&list).into_iter();
                let pair = |pair: Form| Ok((pair.text("Key"), pair.required("Value")?.to_owned()));
                pairs.map(pair).collect::<Result<_, Refusal>>()?
            }
            _ => form.list(&list).into_iter().map(|value| (None, value.to_owned())).collect(),
        };
        if values.is_empty() {
            values = form.list("Values.member").into_iter().map(|value| (None, value.to_owned())).collect();
        }
        if values.is_empty() {
            return Err(Refusal::invalid("A condition value must be specified"));
        }
        let header = form.text("HttpHeaderConfig.HttpHeaderName");
        if *field == "http-header" && header.is_none() {
            return Err(Refusal::invalid("An HTTP header name must be specified"));
        }
        Ok(Self { field, config, header, values })
    }

    pub(crate) fn write_xml(&self, xml: &mut Xml) {
        xml.text("Field", self.field);
        if ["host-header", "path-pattern"].contains(&self.field) {
            xml.members("Values", &self.values, |xml, (_, value)| xml.plain(value));
        }
        xml.tag(self.config, |xml| {
            xml.optional("HttpHeaderName", self.header.as_ref());
            xml.members("Values", &self.values, |xml, (key, value)| {
                if self.field == "query-string" {
                    xml.optional("Key", key.as_ref());
                    xml.text("Value", value);
                } else {
                    xml.plain(value);
                }
            });
        });
    }
}

fn fields() -> String {
    TYPES.map(|(field, _)| field).join(", ")
}
