//! The parts of an action: each is compared separately, so that each can be ignored separately. A call always sends the
//! whole action. Pure.

use kraken_aws::group::Parts;

use super::Action;

/// The name of a field; `None` is the whole action, if the desired type differs from the observed one.
pub(crate) type Part = Option<&'static str>;

const STICKINESS: &str = "stickinessSeconds";

impl Parts for Action {
    type Part = Part;
    const UNSUPPORTED: &'static str = "unsupported actions";

    fn path(&self, field: &str, part: Part) -> String {
        let of_type = match self {
            Self::Forward(_) => "forward",
            Self::Redirect(_) => "redirect",
            Self::FixedResponse(_) => "fixedResponse",
        };
        part.map_or_else(|| field.to_owned(), |name| format!("{field}.{of_type}.{name}"))
    }

    fn differing(&self, observed: &Self) -> Vec<Part> {
        match (self, observed) {
            (Self::Forward(desired), Self::Forward(observed)) => {
                let groups = (desired.groups != observed.groups).then_some(desired.field);
                let is_sticky = desired.stickiness.is_some() && desired.stickiness != observed.stickiness;
                groups.into_iter().chain(is_sticky.then_some(STICKINESS)).map(Some).collect()
            }
            (Self::Redirect(desired), Self::Redirect(observed))
            | (Self::FixedResponse(desired), Self::FixedResponse(observed)) => {
                desired.differing(observed).into_iter().map(Some).collect()
            }
            _ => vec![None],
        }
    }

    fn text(&self, part: Part) -> String {
        match (self, part) {
            (_, None) => self.to_string(),
            (Self::Forward(to), Some(STICKINESS)) => to.stickiness.unwrap_or_default().to_string(),
            (Self::Forward(to), _) => to.listed(),
            (Self::Redirect(texts) | Self::FixedResponse(texts), Some(name)) => texts.get(name).to_owned(),
        }
    }

    fn keep(&mut self, part: Part, observed: &Self) {
        match (self, observed, part) {
            (Self::Forward(desired), Self::Forward(observed), Some(STICKINESS)) => {
                desired.stickiness = observed.stickiness;
            }
            (Self::Forward(desired), Self::Forward(observed), _) => {
                desired.groups.clone_from(&observed.groups);
            }
            (Self::Redirect(desired), Self::Redirect(observed), Some(name))
            | (Self::FixedResponse(desired), Self::FixedResponse(observed), Some(name)) => {
                desired.set(name, observed.get(name));
            }
            _ => {}
        }
    }
}

impl Action {
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
