//! The Secret that a resource makes for itself, written before it is asked for as any other reference is. Client required.
//!
//! What is in it is made once: if it goes later, a new one would not be what the cloud has, and the missing reference is
//! told instead. Nobody but the API server gets to see it.

use k8s_openapi::api::core::v1::Secret;
use kraken_api::{Deletion, HasLifecycle};
use kraken_runtime::patch::within;
use kube::{
    Api,
    api::PostParams,
    core::{ObjectMeta, object::HasSpec},
};
use secrecy::ExposeSecret;

use crate::{
    External,
    context::{Context, owner_reference, place},
    intent::Intent,
    outcome::Outcome,
};

/// Makes it, if the spec wants one, nothing was created yet, and there is none of its name: one that exists is used.
pub(crate) async fn make<E: External>(context: &Context<E>, object: &E::Kind) -> Result<(), Outcome> {
    let Some(own) = E::own_secret(object.spec()).filter(|_| Intent::of(object).is_none()) else {
        return Ok(());
    };
    let texts = (own.make)().map_err(Outcome::Internal)?;
    let texts = texts.iter().map(|(key, text)| ((*key).to_owned(), text.expose_secret().to_owned()));
    // What outlives the resource must stay of use: its Secret then does not go with the resource either.
    let goes_with_it = {
        let lifecycle = object.spec().lifecycle();
        lifecycle.deletion(lifecycle.adopt.is_some()) == Deletion::Delete
    };
    let owners = if goes_with_it { Some(vec![owner_reference(object)]) } else { None };
    let (namespace, _) = place(object);
    let secret = Secret {
        metadata: ObjectMeta { name: Some(own.name), owner_references: owners, ..ObjectMeta::default() },
        type_: Some(own.type_.to_owned()),
        immutable: Some(true),
        string_data: Some(texts.collect()),
        ..Secret::default()
    };
    let api: Api<Secret> = Api::namespaced(context.shell.client.clone(), &namespace);
    let params = PostParams { field_manager: Some(context.shell.name.to_owned()), ..PostParams::default() };
    match within("create the resource's own Secret", api.create(&params, &secret)).await {
        Err(error) if !error.is_conflict() => Err(Outcome::Kubernetes(error)),
        _ => Ok(()),
    }
}
