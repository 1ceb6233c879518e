//! What is done with what comes in, in one form for what is wanted and what is there. Pure.

use std::fmt;

use kraken_aws::{take::Take, taken::Joined};
use kraken_spoke::{Resolved, options::Text};

use super::{
    api::DefaultAction,
    gate::{ActionState, FixedResponseState, RedirectState},
};
use crate::{
    rules,
    words::{ContentType, RedirectStatus},
};

const FIELD: &str = "defaultAction";

/// An action, with AWS's defaults for what is left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Forward(String),
    Redirect(Redirection),
    FixedResponse(Response),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Redirection {
    pub(crate) protocol: String,
    pub(crate) port: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) status_code: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) status_code: String,
    pub(crate) content_type: String,
    pub(crate) message_body: String,
}

impl Action {
    /// Whether only HTTP has it.
    pub(crate) fn is_of_http(&self) -> bool {
        !matches!(self, Self::Forward(_))
    }

    /// What a listener does, if it is one of these and nothing more.
    pub(crate) fn of(actions: &[ActionState]) -> Option<Self> {
        let [action] = actions else { return None };
        match (action.action_type.as_str(), &action.redirect_config, &action.fixed_response_config) {
            ("forward", ..) => action.target_group_arn.clone().map(Self::Forward),
            ("redirect", Some(redirect), _) => Some(Self::Redirect(redirect.into())),
            ("fixed-response", _, Some(response)) => Some(Self::FixedResponse(response.into())),
            _ => None,
        }
    }
}

impl From<&RedirectState> for Redirection {
    fn from(state: &RedirectState) -> Self {
        let or = |text: &Option<String>, default: &str| text.clone().unwrap_or_else(|| default.to_owned());
        Self {
            protocol: or(&state.protocol, "#{protocol}"),
            port: or(&state.port, "#{port}"),
            host: or(&state.host, "#{host}"),
            path: or(&state.path, "/#{path}"),
            query: or(&state.query, "#{query}"),
            status_code: or(&state.status_code, RedirectStatus::Permanent.as_str()),
        }
    }
}

impl From<&FixedResponseState> for Response {
    fn from(state: &FixedResponseState) -> Self {
        Self {
            status_code: state.status_code.clone().unwrap_or_default(),
            content_type: state.content_type.clone().unwrap_or_else(|| ContentType::Plain.to_string()),
            message_body: state.message_body.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(arn) => write!(f, "forward to {arn}"),
            Self::Redirect(to) => {
                let Redirection { protocol, port, host, path, query, status_code } = to;
                write!(f, "redirect to {protocol}://{host}:{port}{path}?{query} with {status_code}")
            }
            Self::FixedResponse(Response { status_code, content_type, message_body }) => {
                write!(f, "answer {status_code} {content_type} {message_body:?}")
            }
        }
    }
}

/// Takes an action: exactly one of the three, which the schema says too.
pub(crate) fn wanted(spec: &DefaultAction, take: &mut Take<'_, '_>) -> Option<Joined<Action>> {
    let mut is_secret = false;
    let mut text = |value: Resolved<String>| {
        is_secret |= value.is_secret();
        value.expose().clone()
    };
    let action = match (&spec.forward, &spec.redirect, &spec.fixed_response) {
        (Some(forward), None, None) => {
            let field = format!("{FIELD}.forward.targetGroupARN");
            let arn = take.one(&field, &forward.target_group_arn, rules::target_group_arn);
            Action::Forward(text(arn?))
        }
        (None, Some(to), None) => {
            let field = |name: &str| format!("{FIELD}.redirect.{name}");
            let protocol = take.optional(&field("protocol"), to.protocol.as_ref(), rules::redirect_protocol);
            let port =
                take.optional(&field("port"), to.port.as_ref(), |port: &Text| rules::redirect_port(&port.0));
            let host = take.optional(&field("host"), to.host.as_ref(), rules::redirect_part);
            let path = take.optional(&field("path"), to.path.as_ref(), rules::redirect_path);
            let query = take.optional(&field("query"), to.query.as_ref(), rules::redirect_query);
            let status = take.any_if(&field("statusCode"), to.status_code.as_ref());
            let state = RedirectState {
                protocol: protocol?.map(&mut text),
                port: port?.map(|port| text(port.map(|port| port.0.clone()))),
                host: host?.map(&mut text),
                path: path?.map(&mut text),
                query: query?.map(&mut text),
                status_code: status?.map(|status| text(status.map(ToString::to_string))),
            };
            Action::Redirect(Redirection::from(&state))
        }
        (None, None, Some(answer)) => {
            let field = |name: &str| format!("{FIELD}.fixedResponse.{name}");
            let status = take.one(&field("statusCode"), &answer.status_code, rules::response_status);
            let content = take.any_if(&field("contentType"), answer.content_type.as_ref());
            let body =
                take.optional(&field("messageBody"), answer.message_body.as_ref(), rules::response_body);
            let state = FixedResponseState {
                status_code: Some(text(status?.map(ToString::to_string))),
                content_type: content?.map(|kind| text(kind.map(ToString::to_string))),
                message_body: body?.map(&mut text),
            };
            Action::FixedResponse(Response::from(&state))
        }
        _ => {
            take.problem(FIELD, "must have exactly one of forward, redirect, fixedResponse");
            return None;
        }
    };
    Some(Joined::new(action, is_secret))
}
