//! An action from its spec. Pure.

use std::collections::BTreeMap;

use kraken_aws::{bounds::rule, resolved::Joined, validator::SpecValidator};
use kraken_spoke::{Resolved, options::Text};

use super::{
    Action, Forwarding, Part, Texts,
    api::{ActionSpec, FixedResponse, Forward, Redirect},
    state::{FixedResponseState, RedirectState},
};
use crate::rules;

/// Exposes values and records whether any was a secret.
struct Exposed(bool);

impl Exposed {
    fn text(&mut self, value: &Resolved<String>) -> String {
        self.0 |= value.is_secret();
        value.expose().clone()
    }

    fn number(&mut self, value: &Resolved<i32>) -> i32 {
        self.0 |= value.is_secret();
        *value.expose()
    }
}

/// Resolves an action: exactly one of the three, which the schema enforces too.
pub(crate) fn desired(
    field: &str,
    spec: &ActionSpec,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Joined<Action>> {
    let mut exposed = Exposed(false);
    let action = match (&spec.forward, &spec.redirect, &spec.fixed_response) {
        (Some(to), None, None) => {
            forward(&format!("{field}.forward"), to, validator, &mut exposed).map(Action::Forward)
        }
        (None, Some(to), None) => {
            redirect(&format!("{field}.redirect"), to, validator, &mut exposed).map(Action::Redirect)
        }
        (None, None, Some(answer)) => {
            response(&format!("{field}.fixedResponse"), answer, validator, &mut exposed)
                .map(Action::FixedResponse)
        }
        _ => {
            validator.problem(field, "must have exactly one of forward, redirect, fixedResponse");
            None
        }
    };
    action.map(|action| Joined::new(action, exposed.0))
}

fn forward(
    field: &str,
    to: &Forward,
    validator: &mut SpecValidator<'_, '_>,
    exposed: &mut Exposed,
) -> Option<Forwarding> {
    let at = |name: &str| format!("{field}.{name}");
    let stickiness = validator.optional(
        &at("stickinessSeconds"),
        to.stickiness_seconds.as_ref(),
        rule(&rules::STICKINESS_SECONDS),
    );
    let (groups, named) = match (&to.target_group_arn, &to.target_groups) {
        (Some(arn), None) => {
            let arn = validator.one(&at("targetGroupARN"), arn, rule(&rules::TARGET_GROUP_ARN))?;
            (BTreeMap::from([(exposed.text(&arn), 1)]), Part::TargetGroupArn)
        }
        (None, Some(several)) => {
            let taken: Vec<_> = several
                .iter()
                .enumerate()
                .map(|(index, group)| {
                    let at = |name: &str| format!("{field}.targetGroups[{index}].{name}");
                    let arn = validator.one(
                        &at("targetGroupARN"),
                        &group.target_group_arn,
                        rule(&rules::TARGET_GROUP_ARN),
                    );
                    let weight =
                        validator.optional(&at("weight"), group.weight.as_ref(), rule(&rules::WEIGHT));
                    Some((exposed.text(&arn?), weight?.map_or(1, |weight| exposed.number(&weight))))
                })
                .collect();
            let mut groups = BTreeMap::new();
            for (index, group) in taken.iter().enumerate() {
                if let Some((arn, weight)) = group
                    && groups.insert(arn.clone(), *weight).is_some()
                {
                    validator.problem(&format!("{field}.targetGroups[{index}]"), "is a duplicate");
                }
            }
            if !(1..=5).contains(&several.len()) {
                validator.problem(&at("targetGroups"), "must have 1 to 5 items");
            }
            (taken.iter().all(Option::is_some).then_some(groups)?, Part::TargetGroups)
        }
        _ => {
            validator.problem(field, "must have exactly one of targetGroupARN, targetGroups");
            return None;
        }
    };
    Some(Forwarding::new(groups, stickiness?.map(|seconds| exposed.number(&seconds)), named))
}

fn redirect(
    field: &str,
    to: &Redirect,
    validator: &mut SpecValidator<'_, '_>,
    exposed: &mut Exposed,
) -> Option<Texts> {
    let at = |name: &str| format!("{field}.{name}");
    let protocol = validator.optional(&at("protocol"), to.protocol.as_ref(), rule(&rules::REDIRECT_PROTOCOL));
    let port =
        validator.optional(&at("port"), to.port.as_ref(), |port: &Text| rules::REDIRECT_PORT.check(&port.0));
    let host = validator.optional(&at("host"), to.host.as_ref(), rule(&rules::REDIRECT_PART));
    let path = validator.optional(&at("path"), to.path.as_ref(), rule(&rules::REDIRECT_PATH));
    let query = validator.optional(&at("query"), to.query.as_ref(), rule(&rules::REDIRECT_QUERY));
    let status = validator.any_if(&at("statusCode"), to.status_code.as_ref());
    let state = RedirectState {
        protocol: protocol?.map(|text| exposed.text(&text)),
        port: port?.map(|port| exposed.text(&port.map(|port| port.0.clone()))),
        host: host?.map(|text| exposed.text(&text)),
        path: path?.map(|text| exposed.text(&text)),
        query: query?.map(|text| exposed.text(&text)),
        status_code: status?.map(|status| exposed.text(&status.map(ToString::to_string))),
    };
    let texts = Texts::from(&state);
    let unchanged = Texts::from(&RedirectState::default());
    if [Part::Protocol, Part::Port, Part::Host, Part::Path]
        .iter()
        .all(|part| texts.get(part) == unchanged.get(part))
    {
        validator.problem(
            field,
            "must change at least one of protocol, port, host and path, or it would redirect to itself",
        );
    }
    Some(texts)
}

fn response(
    field: &str,
    answer: &FixedResponse,
    validator: &mut SpecValidator<'_, '_>,
    exposed: &mut Exposed,
) -> Option<Texts> {
    let at = |name: &str| format!("{field}.{name}");
    let status = validator.one(&at("statusCode"), &answer.status_code, rules::response_status);
    let content = validator.any_if(&at("contentType"), answer.content_type.as_ref());
    let body =
        validator.optional(&at("messageBody"), answer.message_body.as_ref(), rule(&rules::RESPONSE_BODY));
    let state = FixedResponseState {
        status_code: Some(exposed.text(&status?.map(ToString::to_string))),
        content_type: content?.map(|kind| exposed.text(&kind.map(ToString::to_string))),
        message_body: body?.map(|text| exposed.text(&text)),
    };
    Some(Texts::from(&state))
}
