//! The actions of listeners and rules.

use std::collections::BTreeMap;

use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;

type Texts = BTreeMap<&'static str, String>;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Forward { groups: Vec<(String, usize)>, sticky: bool, sticky_for: Option<String> },
    Redirect(Texts),
    Fixed(Texts),
}

impl Action {
    /// The actions of a call, `DefaultActions` of a listener and `Actions` of a rule.
    pub(crate) fn of(form: &Form, name: &str) -> Result<Vec<Self>, Refusal> {
        let mut forms = form.structures(&format!("{name}.member"));
        forms.sort_by_key(|form| form.number("Order").ok().flatten());
        forms.iter().map(Self::one).collect()
    }

    fn one(form: &Form) -> Result<Self, Refusal> {
        let texts = |config: &str, defaults: &[(&'static str, &str)]| -> Texts {
            let text = |(name, default): &(&'static str, &str)| {
                let given = form.text(&format!("{config}.{name}"));
                Some((*name, given.or_else(|| (!default.is_empty()).then(|| (*default).to_owned()))?))
            };
            defaults.iter().filter_map(text).collect()
        };
        let with_status = |texts: Texts, config: &str| {
            let missing = || Refusal::invalid(format!("{config} must have a status code"));
            if texts.contains_key("StatusCode") { Ok(texts) } else { Err(missing()) }
        };
        match form.required("Type")? {
            "forward" => {
                let mut groups = vec![];
                for group in form.structures("ForwardConfig.TargetGroups.member") {
                    let weight = group.number("Weight")?.unwrap_or(1);
                    groups.push((group.required("TargetGroupArn")?.to_owned(), weight));
                }
                if groups.is_empty() {
                    groups.push((form.required("TargetGroupArn")?.to_owned(), 1));
                }
                let stickiness = "ForwardConfig.TargetGroupStickinessConfig";
                Ok(Self::Forward {
                    groups,
                    sticky: form.flag(&format!("{stickiness}.Enabled"))?.unwrap_or(false),
                    sticky_for: form.text(&format!("{stickiness}.DurationSeconds")),
                })
            }
            "redirect" => {
                let defaults = [
                    ("Protocol", "#{protocol}"),
                    ("Port", "#{port}"),
                    ("Host", "#{host}"),
                    ("Path", "/#{path}"),
                    ("Query", "#{query}"),
                    ("StatusCode", ""),
                ];
                with_status(texts("RedirectConfig", &defaults), "A redirect").map(Self::Redirect)
            }
            "fixed-response" => {
                let fields = [("MessageBody", ""), ("StatusCode", ""), ("ContentType", "text/plain")];
                with_status(texts("FixedResponseConfig", &fields), "A fixed response").map(Self::Fixed)
            }
            other => Err(Refusal::invalid(format!(
                "1 validation error detected: Value '{other}' at 'defaultActions.1.member.type' failed to satisfy \
                 constraint: Member must satisfy enum value set: [forward, redirect, fixed-response]"
            ))),
        }
    }

    /// The target groups that receive requests.
    pub(crate) fn groups(&self) -> &[(String, usize)] {
        if let Self::Forward { groups, .. } = self { groups } else { &[] }
    }

    pub(crate) fn write_xml(&self, xml: &mut Xml, order: usize) {
        let texts = |xml: &mut Xml, name: &str, texts: &Texts| {
            xml.tag(name, |xml| texts.iter().for_each(|(name, text)| xml.text(name, text)));
        };
        let kind = match self {
            Self::Forward { .. } => "forward",
            Self::Redirect(_) => "redirect",
            Self::Fixed(_) => "fixed-response",
        };
        xml.text("Type", kind);
        xml.text("Order", order);
        match self {
            Self::Redirect(config) => texts(xml, "RedirectConfig", config),
            Self::Fixed(config) => texts(xml, "FixedResponseConfig", config),
            Self::Forward { groups, sticky, sticky_for } => {
                if let [(only, _)] = groups.as_slice() {
                    xml.text("TargetGroupArn", only);
                }
                xml.tag("ForwardConfig", |xml| {
                    xml.members("TargetGroups", groups, |xml, (arn, weight)| {
                        xml.text("TargetGroupArn", arn);
                        xml.text("Weight", weight);
                    });
                    xml.tag("TargetGroupStickinessConfig", |xml| {
                        xml.text("Enabled", sticky);
                        xml.optional("DurationSeconds", sticky_for.as_ref());
                    });
                });
            }
        }
    }
}
