//! The parts of an action: each is compared separately, so that each can be ignored separately. A call always sends the
//! whole action. Pure.

use kraken_aws::{diff::difference, fields::NOT_SHOWN, resolved::Joined};
use kraken_spoke::Difference;

use super::Action;

/// The name of a field; `None` is the whole action, if the desired type differs from the observed one.
type Part = Option<&'static str>;

const STICKINESS: &str = "stickinessSeconds";

impl Action {
    /// The path of a part in the spec; `field` is that of the action.
    fn path(&self, field: &str, part: Part) -> String {
        let of_type = match self {
            Self::Forward(_) => "forward",
            Self::Redirect(_) => "redirect",
            Self::FixedResponse(_) => "fixedResponse",
        };
        part.map_or_else(|| field.to_owned(), |name| format!("{field}.{of_type}.{name}"))
    }

    /// The parts of this desired action that differ from the observed one.
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

    /// Replaces a part with that of the observed action.
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
    let wanted = desired.expose();
    let one = |part: Part, have: String| {
        let (want, have) = if desired.is_secret() {
            (desired.shown(), NOT_SHOWN.to_owned())
        } else {
            (wanted.text(part), have)
        };
        difference(&wanted.path(field, part), want, have, change())
    };
    let Some(observed) = observed else { return vec![one(None, "unsupported actions".to_owned())] };
    wanted.differing(observed).into_iter().map(|part| one(part, observed.text(part))).collect()
}

/// The desired action with the observed values of differing ignored parts; `None` if there are none.
pub(crate) fn without_ignored(
    field: &str,
    desired: &Joined<Action>,
    observed: Option<&Action>,
    is_ignored: impl Fn(&str) -> bool,
) -> Option<Joined<Action>> {
    let (observed, wanted) = (observed?, desired.expose());
    let mut ignored = wanted.differing(observed);
    ignored.retain(|part| is_ignored(&wanted.path(field, *part)));
    let mut kept = wanted.clone();
    for part in &ignored {
        kept.keep(*part, observed);
    }
    (!ignored.is_empty()).then(|| Joined::new(kept, desired.is_secret()))
}
