//! Actions: the API type, desired and observed form, and the SDK's form.

mod api;
mod desired;
mod import;
mod parts;
mod sdk;
mod state;

pub(crate) use api::ActionSpec;
pub(crate) use import::imported;
pub(crate) use state::ActionState;
#[cfg(test)]
pub(crate) use state::{FixedResponseState, ForwardState, RedirectState, WeightedState};

use std::{collections::BTreeMap, fmt};

use kraken_aws::group::Texts;

/// An action, with AWS's defaults for absent fields.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Forward(Forwarding),
    Redirect(Texts),
    FixedResponse(Texts),
}

/// Target groups with their weights.
#[derive(Clone, Debug)]
pub(crate) struct Forwarding {
    groups: BTreeMap<String, i32>,
    /// The duration of stickiness in seconds, 0 if disabled; `None` if the spec does not set it.
    stickiness: Option<i32>,
    /// The field of the spec that contains the groups.
    field: &'static str,
}

impl Action {
    /// Whether only `HTTP` and `HTTPS` support it.
    pub(crate) fn is_of_http(&self) -> bool {
        !matches!(self, Self::Forward(_))
    }

    /// The target groups that receive requests.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        let groups = if let Self::Forward(Forwarding { groups, .. }) = self { Some(groups) } else { None };
        groups.into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }
}

impl Forwarding {
    /// A single group receives all requests regardless of its weight, or none if its weight is 0.
    fn new(mut groups: BTreeMap<String, i32>, stickiness: Option<i32>, field: &'static str) -> Self {
        if groups.len() == 1 {
            for weight in groups.values_mut() {
                *weight = (*weight).min(1);
            }
        }
        Self { groups, stickiness, field }
    }

    fn listed(&self) -> String {
        let one = |(arn, weight): (&String, &i32)| match (self.groups.len(), weight) {
            (1, 1) => arn.clone(),
            _ => format!("{arn} (weight {weight})"),
        };
        self.groups.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(to) => {
                write!(f, "forward to {}", to.listed())?;
                match to.stickiness {
                    Some(seconds) if seconds > 0 => write!(f, ", sticky for {seconds} s"),
                    _ => Ok(()),
                }
            }
            Self::Redirect(to) => {
                let (protocol, host, port) = (to.get("protocol"), to.get("host"), to.get("port"));
                let (path, query, status) = (to.get("path"), to.get("query"), to.get("statusCode"));
                write!(f, "redirect to {protocol}://{host}:{port}{path}?{query} with {status}")
            }
            Self::FixedResponse(answer) => {
                let (status, content) = (answer.get("statusCode"), answer.get("contentType"));
                write!(f, "respond with {status} {content} {:?}", answer.get("messageBody"))
            }
        }
    }
}
