//! Creations as a dry run, some at a time.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::Value;
use tokio::{sync::Semaphore, time::sleep};

/// Requests in flight of all tests together: an API server that gets a few hundred at a time from kinds that do not know of each
/// other cannot respond to the last of them within its own timeout.
const IN_FLIGHT: usize = 12;
static PERMITS: Semaphore = Semaphore::const_new(IN_FLIGHT);

/// How often a request is repeated to which the API server gave no verdict.
const ATTEMPTS: usize = 5;

/// The response of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Admitted,
    Refused(String),
}

/// The API server's response to the dry run of a creation.
async fn answer(client: Client, (uri, object): (String, Value)) -> Result<Answer> {
    let _permit = PERMITS.acquire().await?;
    let uri = format!("{uri}?dryRun=All&fieldValidation=Strict");
    let body = serde_json::to_vec(&object)?;
    for _ in 0..ATTEMPTS {
        let request =
            http::Request::post(&uri).header("Content-Type", "application/json").body(body.clone())?;
        match client.request_text(request).await {
            Ok(_) => return Ok(Answer::Admitted),
            // Too many requests, or a timeout: nothing was said about the object, and a dry run may be repeated.
            Err(kube::Error::Api(status)) if [429, 504].contains(&status.code) => {
                sleep(Duration::from_secs(1)).await;
            }
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
                return Ok(Answer::Refused(status.message.clone()));
            }
            Err(error) => return Err(error).context(uri),
        }
    }
    bail!("{uri}: the API server did not respond in {ATTEMPTS} attempts")
}

/// The responses for all objects, in their order.
pub(super) async fn answers(client: &Client, objects: Vec<(String, Value)>) -> Result<Vec<Answer>> {
    stream::iter(objects).map(|object| answer(client.clone(), object)).buffered(IN_FLIGHT).try_collect().await
}
