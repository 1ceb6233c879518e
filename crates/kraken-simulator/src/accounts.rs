//! Several accounts and regions behind one endpoint, as at AWS: the access key of a call determines the account whose objects it
//! can access, and the region in its signature the region. Signatures are not checked.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};

use super::calling::{self, Reply, request_id};
use super::form::Form;
use super::options::SimulatorOptions;
use super::refusal::Refusal;
use super::serve::{ServerThread, serve};
use super::served;
use super::service::Service;
use super::simulator::Simulator;

/// One call, with the credentials and the region of its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedCall {
    /// The id of the access key.
    pub key: String,
    /// The account that it belongs to; `None` if it is not valid.
    pub account: Option<String>,
    /// The region of the signature.
    pub region: String,
    /// `GetCallerIdentity`, `DescribeVpcs`, ...
    pub action: String,
}

#[derive(Debug, Default)]
struct State {
    /// The account of each access key.
    keys: BTreeMap<String, String>,
    /// The external id that each role requires, if any.
    roles: BTreeMap<String, Option<String>>,
    clouds: BTreeMap<(String, String), Arc<Simulator>>,
    calls: Vec<RoutedCall>,
}

/// A running endpoint; stopped on drop.
#[derive(Debug)]
pub struct SimulatedAccounts {
    server: ServerThread,
    state: Arc<Mutex<State>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimulatedAccounts {
    /// Starts an endpoint without any account.
    ///
    /// # Errors
    /// When no port or thread is available.
    pub fn start() -> Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let served = Arc::clone(&state);
        let run = move |listener, stopped| {
            serve(listener, "simulated accounts", stopped, move |request| {
                let state = Arc::clone(&served);
                let call = tokio::spawn(async move { answer(request, &state).await });
                async { call.await.map_err(io::Error::other)? }
            })
        };
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(Self { server: ServerThread::start("simulated accounts", listen, run)?, state })
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &str {
        self.server.endpoint()
    }

    /// From now on this access key is valid, and belongs to this account.
    pub fn add_key(&self, key: &str, account: &str) {
        lock(&self.state).keys.insert(key.to_owned(), account.to_owned());
    }

    /// From now on this access key is not valid.
    pub fn remove_key(&self, key: &str) {
        lock(&self.state).keys.remove(key);
    }

    /// Every valid access key may assume this role, with this external id.
    pub fn add_role(&self, arn: &str, external_id: Option<&str>) {
        lock(&self.state).roles.insert(arn.to_owned(), external_id.map(str::to_owned));
    }

    /// The objects of an account in a region.
    pub fn cloud(&self, account: &str, region: &str) -> Arc<Simulator> {
        cloud(&mut lock(&self.state), account, region)
    }

    /// Every call so far, in the order of their arrival.
    pub fn calls(&self) -> Vec<RoutedCall> {
        lock(&self.state).calls.clone()
    }

    /// Forgets all calls; the objects remain.
    pub fn clear_calls(&self) {
        lock(&self.state).calls.clear();
    }
}

fn cloud(state: &mut State, account: &str, region: &str) -> Arc<Simulator> {
    let of = (account.to_owned(), region.to_owned());
    let new = || {
        let options = SimulatorOptions {
            account: account.to_owned(),
            region: region.to_owned(),
            ..SimulatorOptions::default()
        };
        let simulator = Simulator::in_process(options);
        served::register(&simulator.shared);
        Arc::new(simulator)
    };
    state.clouds.entry(of).or_insert_with(new).clone()
}

/// The access key and the region in `Credential=KEY/DATE/REGION/SERVICE/aws4_request`.
pub(super) fn credential(header: &str) -> Option<(&str, &str)> {
    let (_, rest) = header.split_once("Credential=")?;
    let mut parts = rest.split(['/', ',']);
    let (key, _, region) = (parts.next()?, parts.next()?, parts.next()?);
    Some((key, region))
}

async fn answer(request: Request<Incoming>, state: &Mutex<State>) -> io::Result<Response<Full<Bytes>>> {
    let header = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let (key, region) = header.and_then(credential).unwrap_or_default();
    let (key, region) = (key.to_owned(), region.to_owned());
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let form = Form::parse(&String::from_utf8_lossy(&body));
    let action = form.get("Action").unwrap_or_default().to_owned();
    let (service, account) = {
        let mut state = lock(state);
        let account = state.keys.get(&key).cloned();
        let (account, region) = (account, region.clone());
        state.calls.push(RoutedCall { key, account: account.clone(), region, action: action.clone() });
        (Service::of(form.get("Version")), account)
    };
    let refused =
        |refusal: Refusal| Reply { status: refusal.status, body: refusal.xml(service, &request_id(0)) };
    let reply = match account {
        None => refused(invalid(service)),
        Some(_) if action == "AssumeRole" => assume(&form, state).unwrap_or_else(refused),
        Some(account) => {
            let simulator = cloud(&mut lock(state), &account, &region);
            let reply = calling::answer(&form, &simulator.shared).await;
            reply.ok_or_else(|| io::Error::other("closed by the script"))?
        }
    };
    let mut response = Response::new(Full::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/xml;charset=UTF-8"));
    Ok(response)
}

/// AWS's response to an unknown access key.
fn invalid(service: Service) -> Refusal {
    match service {
        Service::Ec2 => Refusal::with_status(
            401,
            "AuthFailure",
            "AWS was not able to validate the provided access credentials",
        ),
        _ => Refusal::with_status(
            403,
            "InvalidClientTokenId",
            "The security token included in the request is invalid.",
        ),
    }
}

/// Temporary credentials of the role's account.
fn assume(form: &Form, state: &Mutex<State>) -> Result<Reply, Refusal> {
    let role = form.get("RoleArn").unwrap_or_default();
    let mut state = lock(state);
    let is_allowed = state
        .roles
        .get(role)
        .is_some_and(|wanted| wanted.as_deref().is_none_or(|wanted| form.get("ExternalId") == Some(wanted)));
    let Some(account) = role.split(':').nth(4).filter(|_| is_allowed) else {
        let message = format!("User is not authorized to perform: sts:AssumeRole on resource: {role}");
        return Err(Refusal::with_status(403, "AccessDenied", &message));
    };
    let (account, key) = (account.to_owned(), format!("ASIA{:012}", state.keys.len()));
    state.keys.insert(key.clone(), account);
    Ok(Reply { status: 200, body: assumed(role, &key) })
}

/// The response to AssumeRole: temporary credentials with this access key.
pub(super) fn assumed(role: &str, key: &str) -> String {
    format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
         <AccessKeyId>{key}</AccessKeyId><SecretAccessKey>simulated</SecretAccessKey><SessionToken>simulated</SessionToken>\
         <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials><AssumedRoleUser><AssumedRoleId>AROA:kraken</AssumedRoleId>\
         <Arn>{role}</Arn></AssumedRoleUser></AssumeRoleResult><ResponseMetadata><RequestId>{}</RequestId></ResponseMetadata>\
         </AssumeRoleResponse>",
        request_id(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http;

    async fn call(
        accounts: &SimulatedAccounts,
        key: &str,
        region: &str,
        fields: &[(&str, &str)],
    ) -> (u16, String) {
        let credential =
            format!("AWS4-HMAC-SHA256 Credential={key}/20260101/{region}/sts/aws4_request, Signature=0");
        let headers = [("authorization", credential.as_str())];
        let answer = http::post_form(accounts.endpoint(), &headers, fields).await.unwrap();
        (answer.status, answer.body)
    }

    const IDENTITY: &[(&str, &str)] = &[("Action", "GetCallerIdentity"), ("Version", "2011-06-15")];
    const ROLE: &str = "arn:aws:iam::222222222222:role/kraken";

    #[tokio::test]
    async fn an_access_key_determines_the_account_that_responds() {
        let accounts = SimulatedAccounts::start().unwrap();
        accounts.add_key("AKIA1", "111111111111");
        accounts.add_key("AKIA2", "222222222222");
        for (key, account) in [("AKIA1", "111111111111"), ("AKIA2", "222222222222")] {
            let (status, body) = call(&accounts, key, "eu-west-1", IDENTITY).await;
            assert!(status == 200 && body.contains(&format!("<Account>{account}</Account>")), "{body}");
        }
        assert_eq!(call(&accounts, "AKIA3", "eu-west-1", IDENTITY).await.0, 403);
        accounts.remove_key("AKIA1");
        assert_eq!(call(&accounts, "AKIA1", "eu-west-1", IDENTITY).await.0, 403);
        let seen: Vec<_> = accounts.calls().into_iter().map(|call| call.account.is_some()).collect();
        assert_eq!(seen, [true, true, false, false]);
    }

    #[tokio::test]
    async fn a_role_is_assumed_with_its_external_id_only() {
        let accounts = SimulatedAccounts::start().unwrap();
        accounts.add_key("AKIA1", "111111111111");
        accounts.add_role(ROLE, Some("shop"));
        let role = |id: &'static str| [("Action", "AssumeRole"), ("RoleArn", ROLE), ("ExternalId", id)];
        assert_eq!(call(&accounts, "AKIA1", "eu-west-1", &role("other")).await.0, 403);
        let (status, body) = call(&accounts, "AKIA1", "eu-west-1", &role("shop")).await;
        assert_eq!(status, 200);
        let key = body.split("<AccessKeyId>").nth(1).and_then(|rest| rest.split('<').next()).unwrap();
        assert!(call(&accounts, key, "eu-west-1", IDENTITY).await.1.contains("222222222222"));
    }
}
