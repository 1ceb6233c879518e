//! The listeners and rules that use a target group and block its deletion.

use kraken_aws::{Aws, fields::listed, lookup::Tagged, tags};
use kraken_kind::Failure;

use super::observed::Group;
use crate::{
    action::{Action, ActionState},
    listener::ObservedListener,
    listener_rule::Rule,
    tagged::{in_parent, with_tags},
};

/// AWS's error for the deletion of a target group in use, with its users. The error is unchanged if the users cannot be
/// determined.
pub(super) async fn named(aws: &Aws, group: &Group, refusal: Failure) -> Failure {
    match users(aws, group).await {
        Ok(users) if !users.is_empty() => {
            Failure { message: format!("{}: used by {}", refusal.message, listed(&users)), ..refusal }
        }
        _ => refusal,
    }
}

async fn users(aws: &Aws, group: &Group) -> Result<Vec<String>, Failure> {
    let forwards = |actions: &[ActionState]| {
        let to_group = |action: &ActionState| {
            let action = Action::of(std::slice::from_ref(action));
            action.is_some_and(|action| action.groups().any(|arn| arn == group.target_group_arn))
        };
        actions.iter().any(to_group)
    };
    let mut users = vec![];
    for balancer in &group.load_balancer_arns {
        for listener in in_parent::<ObservedListener>(aws, balancer).await? {
            let mut rules = in_parent::<Rule>(aws, &listener.listener_arn).await?;
            rules.retain(|rule| forwards(&rule.actions));
            users.extend(with_tags(aws, rules).await?.iter().map(shown));
            if forwards(&listener.default_actions) {
                users.extend(with_tags(aws, vec![listener]).await?.iter().map(shown));
            }
        }
    }
    Ok(users)
}

fn shown(user: &impl Tagged) -> String {
    let owner = tags::owner(user.tags()).map(|owner| owner.owner);
    format!("{} ({})", user.id(), owner.as_deref().unwrap_or("not managed by Kraken"))
}
