//! The status of an object that is not a resource of the loop, such as an account. Client required.

use std::fmt::Debug;

use kraken_api::conditions;
use kube::{Api, Resource, ResourceExt};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tracing::info;

use crate::{
    events::EventType,
    manager::Manager,
    patch::{ApiError, Version, replace_status},
};

/// Writes a status if it differs from the one `before`, with an event and a line of the log if the Ready condition does. `action` is
/// what the event says was done, such as `Check`.
///
/// # Errors
/// If the status cannot be written; [`ApiError::is_conflict`] if the object was changed in the meantime.
pub async fn report<K, S>(
    manager: &Manager,
    api: &Api<K>,
    object: &K,
    before: Option<&S>,
    after: &S,
    action: &'static str,
) -> Result<(), ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    S: Serialize + PartialEq,
{
    if before == Some(after) {
        return Ok(());
    }
    let json = |status: &S| serde_json::to_value(status).unwrap_or_default();
    let (name, status) = (object.name_any(), json(after));
    let version = Version::of(object);
    let _: K = replace_status(api, manager.name, &name, &version, status.clone()).await?;
    let (before, after) = (ready(&before.map(json).unwrap_or_default()), ready(&status));
    if let Some(Ready { is_true, reason, message }) = after.filter(|after| before.as_ref() != Some(after)) {
        let (namespace, kind) = (object.namespace().unwrap_or_default(), K::kind(&()));
        info!(%kind, namespace, name, reason, message, "checked");
        let level = if is_true { EventType::Normal } else { EventType::Warning };
        manager.events.publish(&object.object_ref(&()), level, &reason, action, &message).await;
    }
    Ok(())
}

/// The Ready condition.
#[derive(PartialEq)]
struct Ready {
    is_true: bool,
    reason: String,
    message: String,
}

fn ready(status: &Value) -> Option<Ready> {
    let all = status["conditions"].as_array()?;
    let ready = all.iter().find(|condition| condition["type"] == conditions::READY)?;
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    Some(Ready {
        is_true: ready["status"] == conditions::State::True.as_str(),
        reason: text("reason"),
        message: text("message"),
    })
}
