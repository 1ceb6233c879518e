//! The parts of an action: each is compared separately, so that each can be ignored separately. A call always sends the
//! whole action. Pure.

use kraken_aws::{diff::difference, fields::NOT_SHOWN, resolved::Joined};
use kraken_spoke::Difference;

use super::Action;

/// A part of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The whole action: the desired type differs from the observed one.
    Whole,
    TargetGroupArn,
    TargetGroups,
    Stickiness,
    Protocol,
    Port,
    Host,
    Path,
    Query,
    RedirectStatus,
    ResponseStatus,
    ContentType,
    MessageBody,
}

impl Part {
    /// The path of the field, relative to the action.
    fn path(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::TargetGroupArn => ".forward.targetGroupARN",
            Self::TargetGroups => ".forward.targetGroups",
            Self::Stickiness => ".forward.stickinessSeconds",
            Self::Protocol => ".redirect.protocol",
            Self::Port => ".redirect.port",
            Self::Host => ".redirect.host",
            Self::Path => ".redirect.path",
            Self::Query => ".redirect.query",
            Self::RedirectStatus => ".redirect.statusCode",
            Self::ResponseStatus => ".fixedResponse.statusCode",
            Self::ContentType => ".fixedResponse.contentType",
            Self::MessageBody => ".fixedResponse.messageBody",
        }
    }
}

impl Action {
    /// The parts of this desired action that differ from the observed one.
    fn differing(&self, observed: &Self) -> Vec<Part> {
        match (self, observed) {
            (Self::Forward(desired), Self::Forward(observed)) => {
                let groups = (desired.groups != observed.groups).then_some(desired.field);
                let sticky = desired.stickiness.is_some() && desired.stickiness != observed.stickiness;
                groups.into_iter().chain(sticky.then_some(Part::Stickiness)).collect()
            }
            (Self::Redirect(desired), Self::Redirect(observed))
            | (Self::FixedResponse(desired), Self::FixedResponse(observed)) => desired
                .iter()
                .filter(|(part, text)| observed.get(part) != Some(text))
                .map(|(part, _)| *part)
                .collect(),
            _ => vec![Part::Whole],
        }
    }

    fn text(&self, part: Part) -> String {
        match (self, part) {
            (_, Part::Whole) => self.to_string(),
            (Self::Forward(to), Part::Stickiness) => to.stickiness.unwrap_or_default().to_string(),
            (Self::Forward(to), _) => to.listed(),
            (Self::Redirect(texts) | Self::FixedResponse(texts), part) => {
                texts.get(&part).cloned().unwrap_or_default()
            }
        }
    }

    /// This desired action, with one part of the observed action.
    fn keep(&mut self, part: Part, observed: &Self) {
        match (self, observed) {
            (Self::Forward(desired), Self::Forward(observed)) if part == Part::Stickiness => {
                desired.stickiness = observed.stickiness;
            }
            (Self::Forward(desired), Self::Forward(observed)) => desired.groups.clone_from(&observed.groups),
            (Self::Redirect(desired), Self::Redirect(observed))
            | (Self::FixedResponse(desired), Self::FixedResponse(observed)) => {
                if let Some(text) = observed.get(&part) {
                    desired.insert(part, text.clone());
                }
            }
            _ => {}
        }
    }

    /// The action in a call: fields that the spec does not set have the observed values.
    pub(crate) fn sent(&self, observed: Option<&Self>) -> Self {
        match (self.clone(), observed) {
            (Self::Forward(desired), Some(Self::Forward(observed))) => Self::Forward(super::Forwarding {
                stickiness: desired.stickiness.or(observed.stickiness),
                ..desired
            }),
            (desired, _) => desired,
        }
    }
}

/// The differences of two actions, one for each part; `field` is the path of the action in the spec.
pub(crate) fn differences<C>(
    field: &str,
    desired: &Joined<Action>,
    observed: Option<&Action>,
    change: impl Fn() -> C,
) -> Vec<Difference<C>> {
    let one = |part: Part, have: String| {
        let (want, have) = if desired.is_secret() {
            (desired.shown(), NOT_SHOWN.to_owned())
        } else {
            (desired.expose().text(part), have)
        };
        difference(&format!("{field}{}", part.path()), want, have, change())
    };
    let Some(observed) = observed else { return vec![one(Part::Whole, "unsupported actions".to_owned())] };
    desired.expose().differing(observed).into_iter().map(|part| one(part, observed.text(part))).collect()
}

/// The desired action with the observed values of differing ignored parts; `None` if there are none.
pub(crate) fn without_ignored(
    field: &str,
    desired: &Joined<Action>,
    observed: Option<&Action>,
    is_ignored: impl Fn(&str) -> bool,
) -> Option<Joined<Action>> {
    let observed = observed?;
    let ignored = desired.expose().differing(observed).into_iter();
    let ignored: Vec<Part> = ignored.filter(|part| is_ignored(&format!("{field}{}", part.path()))).collect();
    let mut kept = desired.expose().clone();
    for part in &ignored {
        kept.keep(*part, observed);
    }
    (!ignored.is_empty()).then(|| Joined::new(kept, desired.is_secret()))
}
