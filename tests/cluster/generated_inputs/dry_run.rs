//! Creations as a dry run, many at a time.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Result, bail};
use kube::Client;
use serde_json::Value;
use tokio::task::JoinSet;

/// Requests in flight.
const IN_FLIGHT: usize = 12;

/// The response of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Admitted,
    Refused(String),
}

/// The API server's response to the dry run of a creation.
async fn answer(client: &Client, uri: &str, object: &Value) -> Result<Answer> {
    let uri = format!("{uri}?dryRun=All&fieldValidation=Strict");
    let body = serde_json::to_vec(object)?;
    let request = http::Request::post(uri).header("Content-Type", "application/json").body(body)?;
    match client.request_text(request).await {
        Ok(_) => Ok(Answer::Admitted),
        Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
            Ok(Answer::Refused(status.message.clone()))
        }
        Err(error) => bail!("{error}"),
    }
}

/// The responses for all objects, in their order.
pub(super) async fn answers(client: &Client, objects: Vec<(String, Value)>) -> Result<Vec<Answer>> {
    let objects = Arc::new(objects);
    let mut workers = JoinSet::new();
    for worker in 0..IN_FLIGHT {
        let (client, objects) = (client.clone(), objects.clone());
        workers.spawn(async move {
            let mut found = vec![];
            for index in (worker..objects.len()).step_by(IN_FLIGHT) {
                let (uri, object) = &objects[index];
                found.push((index, answer(&client, uri, object).await?));
            }
            anyhow::Ok(found)
        });
    }
    let mut all = BTreeMap::new();
    while let Some(found) = workers.join_next().await {
        all.extend(found??);
    }
    Ok(all.into_values().collect())
}
