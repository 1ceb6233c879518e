//! An OpenStack cloud that somebody else runs, as the variables of its clients name it.

use std::collections::BTreeMap;
use std::env;

use anyhow::{Context as _, Result, bail, ensure};
use kraken_simulator::http;
use serde_json::{Value, json};

/// The cloud's own API, as another user calls it who knows nothing of Kraken.
#[derive(Debug)]
pub struct OpenStack {
    identity: String,
    token: String,
    services: BTreeMap<String, String>,
}

/// A variable of OpenStack's clients.
///
/// # Errors
/// If it is not set.
pub fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| {
        format!("{name} is not set: read the file of your cloud's credentials first, such as `. openrc`")
    })
}

impl OpenStack {
    /// Logs in with `OS_AUTH_URL`, `OS_USERNAME`, `OS_PASSWORD` and `OS_PROJECT_NAME` (and the ids of both domains, `default` if they are
    /// not set).
    ///
    /// # Errors
    /// When a variable is missing, the URL is not plain HTTP, or the cloud rejects the login.
    pub async fn login() -> Result<Self> {
        let identity = variable("OS_AUTH_URL")?.trim_end_matches('/').trim_end_matches("/v3").to_owned();
        ensure!(
            identity.starts_with("http://"),
            "OS_AUTH_URL is not plain HTTP: only clouds on this machine can be used"
        );
        let domain = |name: &str| json!({"id": env::var(name).unwrap_or_else(|_| "default".to_owned())});
        let user = json!({
            "name": variable("OS_USERNAME")?, "password": variable("OS_PASSWORD")?, "domain": domain("OS_USER_DOMAIN_ID"),
        });
        let project = json!({"name": variable("OS_PROJECT_NAME")?, "domain": domain("OS_PROJECT_DOMAIN_ID")});
        let login = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}}, "scope": {"project": project},
        }});
        let response = http::post_json(&format!("{identity}/v3/auth/tokens"), &[], &login).await?;
        ensure!(response.status == 201, "the login failed with {}: {}", response.status, response.body);
        let token =
            response.headers.get("x-subject-token").context("the login has no token")?.to_str()?.to_owned();
        let catalog: Value = serde_json::from_str(&response.body)?;
        let services = catalog["token"]["catalog"].as_array().into_iter().flatten().filter_map(|service| {
            let public = service["endpoints"].as_array()?.iter().find(|one| one["interface"] == "public")?;
            let url = public["url"].as_str()?.trim_end_matches('/').to_owned();
            Some((service["type"].as_str()?.to_owned(), url))
        });
        let services = services.collect();
        Ok(Self { identity, token, services })
    }

    /// Whether the cloud has this service, such as `compute`.
    pub fn has(&self, service: &str) -> bool {
        self.services.contains_key(service)
    }

    /// A call with this method, of a path of a service below its endpoint. `null` as the response if there is no body.
    ///
    /// # Errors
    /// When the service does not exist, or rejects the call.
    pub async fn call(&self, method: &str, service: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let root = match service {
            "identity" => &self.identity,
            other => self.services.get(other).with_context(|| format!("the cloud has no service {other}"))?,
        };
        let url = format!("{root}{path}");
        let body = body.map(Value::to_string);
        let headers = [("x-auth-token", self.token.as_str()), ("content-type", "application/json")];
        let response = http::exchange(method, &url, &headers, body.as_deref().unwrap_or_default()).await?;
        if response.status >= 300 {
            bail!("{method} {path} failed with {}: {}", response.status, response.body);
        }
        Ok(serde_json::from_str(&response.body).unwrap_or_default())
    }
}
