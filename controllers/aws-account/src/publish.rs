//! The state of an Account, which other resources can refer to: `{kind: Account, name: shop}` is the id of the account. Client
//! required.

use kraken_aws::account::{Account, Caller};
use kraken_kind::{
    api::{
        StateDeclaration, StateDeclarationSpec,
        names::{owned_name, owner_kind},
    },
    runtime::{
        Manager,
        patch::{ApiError, apply, within},
    },
    state::{document, expected_generation, is_published},
};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

/// The published content.
fn state(caller: &Caller) -> StateDeclarationSpec {
    let account = json!({
        "AccountId": caller.location.account, "Arn": caller.arn, "Region": caller.location.region,
    });
    let id = Some(caller.location.account.clone()).filter(|id| !id.is_empty());
    StateDeclarationSpec { data: json!({"account": account}), id, withheld: vec![] }
}

/// Applies the StateDeclaration, unless it has this content already.
pub(crate) async fn publish(manager: &Manager, account: &Account, caller: &Caller) -> Result<(), ApiError> {
    let spec = state(caller);
    let hash = spec.content_hash();
    let kind = owner_kind(&Account::kind(&()), &Account::group(&()));
    let (name, namespace) = (owned_name(&kind, &account.name_any()), account.namespace().unwrap_or_default());
    let Some(owner) = account.controller_owner_ref(&()) else { return Ok(()) };
    let api: Api<StateDeclaration> = Api::namespaced(manager.client.clone(), &namespace);
    let shown = within("read the state", api.get_metadata_opt(&name)).await?.map(|state| state.metadata);
    if shown.as_ref().is_some_and(|shown| is_published(shown, &hash, &owner.uid)) {
        return Ok(());
    }
    let mut generation = expected_generation(shown.as_ref(), None, &hash);
    // Applied again for another generation: the digest that proves the origin of the content covers it.
    for _ in 0..2 {
        let applied =
            apply(&api, manager.name, &name, &document(&name, &kind, &owner, (&spec, &hash), generation))
                .await?;
        let now = applied.metadata.generation.unwrap_or(generation);
        if now == generation {
            break;
        }
        generation = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kraken_kind::Location;

    use super::*;

    #[test]
    fn the_main_id_of_an_account_is_the_id_at_aws() {
        let location = Location { account: "111111111111".into(), region: "eu-west-1".into() };
        let state = state(&Caller { location, arn: "arn:aws:iam::111111111111:user/shop".into() });
        assert_eq!(state.id.as_deref(), Some("111111111111"));
        assert_eq!(state.data["account"]["Region"], "eu-west-1");
    }
}
