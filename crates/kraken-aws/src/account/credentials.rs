//! The credentials of Accounts, read from their Secrets at the start of a reconcile.

use std::{fmt, sync::Arc};

use kraken_kind::{
    account::{Refusal, Secrets},
    options::{ExposeSecret, SecretString},
};
use kube::Client;
use sha2::{Digest, Sha256};

use super::api::{AccountCredentials, AccountSpec};

/// An access key.
#[derive(Clone)]
pub(crate) struct AccessKey {
    pub(crate) id: SecretString,
    pub(crate) secret: SecretString,
    pub(crate) token: Option<SecretString>,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessKey")
    }
}

/// The access key of an Account, if it has one of its own.
///
/// # Errors
/// If a Secret or a key of it is missing, or cannot be read.
pub(super) async fn access_key(
    secrets: &Secrets,
    client: &Client,
    (namespace, account): (&str, &str),
    credentials: Option<&AccountCredentials>,
) -> Result<Option<AccessKey>, Refusal> {
    let Some(credentials) = credentials else { return Ok(None) };
    let parts = [
        ("accessKeyID", Some(&credentials.access_key_id)),
        ("secretAccessKey", Some(&credentials.secret_access_key)),
        ("sessionToken", credentials.session_token.as_ref()),
    ];
    let wanted: Vec<_> = parts
        .into_iter()
        .filter_map(|(field, part)| {
            Some((format!("spec.credentials.{field}"), part?.value_from.secret.clone()))
        })
        .collect();
    let texts = secrets.texts(client, namespace, &wanted).await;
    let mut texts = texts.map_err(|error| error.refusal(format!("Account {account}")))?.into_iter();
    Ok(texts.next().zip(texts.next()).map(|(id, secret)| AccessKey { id, secret, token: texts.next() }))
}

/// The key of a connection: a digest of everything that determines its calls, which reveals none of it.
pub(super) fn connection_key(keys: Option<&AccessKey>, spec: &AccountSpec, region: Option<&str>) -> Arc<str> {
    let exposed = |secret: &SecretString| secret.expose_secret().to_owned();
    let parts = [
        keys.map(|keys| exposed(&keys.id)),
        keys.map(|keys| exposed(&keys.secret)),
        keys.and_then(|keys| keys.token.as_ref().map(exposed)),
        spec.assume_role_arn.clone(),
        spec.external_id.clone(),
        region.map(str::to_owned),
    ];
    let mut digest = Sha256::new();
    for part in parts {
        // With its length, so that no two lists have the same text.
        let text = part.map_or_else(|| "-".to_owned(), |part| format!("{}:{part}", part.len()));
        digest.update(text);
        digest.update([0]);
    }
    format!("{:x}", digest.finalize()).into()
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tower::service_fn;

    use super::*;

    /// An API server with the Secret `aws`, which counts its requests.
    fn server(data: &'static Value) -> (Client, Arc<AtomicUsize>) {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let service = service_fn(move |request: Request<Body>| {
            counted.fetch_add(1, Ordering::SeqCst);
            let exists = request.uri().path().ends_with("/secrets/aws");
            async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                let (status, body) = if exists {
                    (200, json!({"metadata": {"name": "aws"}, "data": data}))
                } else {
                    (
                        404,
                        json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "x"}),
                    )
                };
                Ok::<_, std::io::Error>(
                    Response::builder()
                        .status(status)
                        .body(Body::from(body.to_string().into_bytes()))
                        .unwrap(),
                )
            }
        });
        (Client::new(service, "default"), requests)
    }

    fn credentials(secret: &str, keys: [&str; 2]) -> AccountCredentials {
        let of = |key: &str| json!({"valueFrom": {"secret": {"name": secret, "key": key}}});
        serde_json::from_value(json!({"accessKeyID": of(keys[0]), "secretAccessKey": of(keys[1])})).unwrap()
    }

    async fn read(secrets: &Secrets, client: &Client, of: &AccountCredentials) -> Result<AccessKey, String> {
        match access_key(secrets, client, ("ns", "shop"), Some(of)).await {
            Ok(key) => Ok(key.unwrap()),
            Err(Refusal::NotReady(why)) => Err(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn data() -> &'static Value {
        // AKIA, "hidden" with a line feed, not text, empty
        Box::leak(Box::new(json!({"id": "QUtJQQ==", "key": "aGlkZGVuCg==", "bin": "/w==", "none": ""})))
    }

    #[tokio::test(start_paused = true)]
    async fn a_sweep_reads_a_secret_once_and_the_next_one_reads_it_again() {
        let ((client, requests), secrets) = (server(data()), Secrets::default());
        let of = credentials("aws", ["id", "key"]);
        let all = futures::future::join_all((0..1000).map(|_| read(&secrets, &client, &of))).await;
        assert!(all.iter().all(|key| key.as_ref().unwrap().secret.expose_secret() == "hidden"));
        assert_eq!(requests.load(Ordering::SeqCst), 1);
        tokio::time::sleep(Duration::from_secs(2)).await;
        read(&secrets, &client, &of).await.unwrap();
        assert_eq!(requests.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_without_credentials_reads_nothing() {
        let ((client, requests), secrets) = (server(data()), Secrets::default());
        assert!(access_key(&secrets, &client, ("ns", "shop"), None).await.unwrap().is_none());
        assert_eq!(requests.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn all_missing_values_are_reported_at_once_and_no_value_is_shown() {
        let ((client, _), secrets) = (server(data()), Secrets::default());
        assert_eq!(
            read(&secrets, &client, &credentials("aws", ["bin", "none"])).await.unwrap_err(),
            "Account shop: spec.credentials.accessKeyID: Secret aws key \"bin\" is not text (UTF-8); \
             spec.credentials.secretAccessKey: Secret aws key \"none\" is empty"
        );
        let why = read(&secrets, &client, &credentials("aws", ["id", "absent"])).await.unwrap_err();
        assert!(why.ends_with("Secret aws has no key \"absent\"") && !why.contains("AKIA"), "{why}");
        let why = read(&secrets, &client, &credentials("gone", ["id", "key"])).await.unwrap_err();
        assert!(why.contains("Secret gone does not exist"), "{why}");
    }

    #[test]
    fn a_connection_belongs_to_credentials_role_and_region() {
        let key = |id: &str, secret: &str| AccessKey { id: id.into(), secret: secret.into(), token: None };
        let spec = |role: Option<&str>| AccountSpec {
            assume_role_arn: role.map(str::to_owned),
            ..AccountSpec::default()
        };
        let one = connection_key(Some(&key("a", "b")), &spec(None), Some("eu-west-1"));
        let named = AccountSpec { default_tags: [("a".into(), "b".into())].into(), ..spec(None) };
        assert_eq!(
            one,
            connection_key(Some(&key("a", "b")), &named, Some("eu-west-1")),
            "the tags are not part of the key"
        );
        for other in [
            connection_key(None, &spec(None), Some("eu-west-1")),
            connection_key(Some(&key("a", "c")), &spec(None), Some("eu-west-1")),
            connection_key(Some(&key("ab", "")), &spec(None), Some("eu-west-1")),
            connection_key(Some(&key("a", "b")), &spec(Some("r")), Some("eu-west-1")),
            connection_key(Some(&key("a", "b")), &spec(None), Some("eu-west-2")),
        ] {
            assert_ne!(one, other);
        }
    }
}
