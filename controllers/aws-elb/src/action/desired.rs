//! An action from its spec. Pure.

use std::collections::BTreeMap;

use kraken_aws::{
    fields::shown,
    group::{Canonical, Texts},
    resolved::exposed,
    validator::SpecValidator,
};

use super::{
    Action, Forwarding,
    api::{ActionSpec, DesiredAction, DesiredForward, DesiredRedirect},
    state::RedirectState,
};

impl Canonical for ActionSpec {
    type Form = Action;

    fn form(desired: &DesiredAction, field: &str, validator: &mut SpecValidator<'_, '_>) -> Action {
        let at = |name: &str| format!("{field}.{name}");
        match desired {
            DesiredAction::Forward(to) => Action::Forward(forward(&at("forward"), to, validator)),
            DesiredAction::Redirect(to) => Action::Redirect(redirect(&at("redirect"), to, validator)),
            DesiredAction::FixedResponse(answer) => Action::FixedResponse(answer.texts()),
        }
    }
}

fn forward(field: &str, to: &DesiredForward, validator: &mut SpecValidator<'_, '_>) -> Forwarding {
    let stickiness = exposed(to.stickiness_seconds.as_ref());
    if let Some(arn) = exposed(to.target_group_arn.as_ref()) {
        return Forwarding::new([(arn, 1)].into(), stickiness, "targetGroupARN");
    }
    let several = to.target_groups.as_deref().unwrap_or_default();
    let mut groups = BTreeMap::new();
    for (index, group) in several.iter().enumerate() {
        let arn = group.target_group_arn.expose();
        if let Some(first) =
            several.iter().take(index).position(|other| other.target_group_arn.expose() == arn)
        {
            let why = format!("is that of targetGroups[{first}], {}", shown(&group.target_group_arn));
            validator.problem(&format!("{field}.targetGroups[{index}].targetGroupARN"), why);
        }
        groups.insert(arn.clone(), exposed(group.weight.as_ref()).unwrap_or(1));
    }
    if !(1..=5).contains(&several.len()) {
        validator.problem(&format!("{field}.targetGroups"), "must have 1 to 5 items");
    }
    Forwarding::new(groups, stickiness, "targetGroups")
}

fn redirect(field: &str, to: &DesiredRedirect, validator: &mut SpecValidator<'_, '_>) -> Texts {
    let texts = to.texts();
    let changed = texts.differing(&Texts::from(&RedirectState::default()));
    if !changed.iter().any(|part| matches!(*part, "protocol" | "port" | "host" | "path")) {
        let why = "must change at least one of protocol, port, host and path, or it would redirect to itself";
        validator.problem(field, why);
    }
    texts
}
