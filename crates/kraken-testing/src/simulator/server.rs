//! The simulator's HTTP side.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::sync::oneshot;

use crate::proxy::{How, When};
use crate::serve::serve;

use super::form::Form;
use super::journal::{Call, Outcome, Phase};
use super::refusal::Refusal;
use super::shared::Shared;

type Answered = io::Result<Response<Full<Bytes>>>;

/// Serves until `stopped`, then drops all connections.
pub(super) async fn run(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    serve(listener, "simulator", stopped, move |request| {
        let shared = Arc::clone(&shared);
        // Each call is a task of its own: like AWS, it is carried out even if the caller has gone.
        let call = tokio::spawn(async move { answer(request, &shared).await });
        async { call.await.map_err(io::Error::other)? }
    })
    .await;
}

/// Answers one call. An `Err` makes hyper close the connection without an answer.
async fn answer(request: Request<Incoming>, shared: &Shared) -> Answered {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let form = Form::parse(&format!("{query}&{}", String::from_utf8_lossy(&body)));
    let (mut call, fault) = shared.lock().arrive(&form, false);
    if !shared.goes_on(Phase::Before, &call) {
        shared.lock().note(&mut call, Outcome::NotReached);
        return closed();
    }
    if let Some((When::Before, how)) = &fault {
        match how {
            How::Error { status, code, message } => {
                shared.lock().note(&mut call, Outcome::Refused(code.clone()));
                return Ok(refused(&Refusal::with_status(*status, code, message), &call));
            }
            How::Drop => {
                shared.lock().note(&mut call, Outcome::NotReached);
                return closed();
            }
            How::Delay(delay) => tokio::time::sleep(*delay).await,
        }
    }
    let latency = shared.lock().cloud.options.latency;
    if latency > Duration::ZERO {
        tokio::time::sleep(latency).await;
    }
    let result = shared.lock().carry_out(&mut call, &form);
    if !shared.goes_on(Phase::AfterEffect, &call) {
        shared.lock().note_lost(call.number);
        return closed();
    }
    if let Some((When::After, how)) = &fault {
        match how {
            How::Error { status, code, message } => {
                shared.lock().note_lost(call.number);
                return Ok(refused(&Refusal::with_status(*status, code, message), &call));
            }
            How::Drop => {
                shared.lock().note_lost(call.number);
                return closed();
            }
            How::Delay(delay) => tokio::time::sleep(*delay).await,
        }
    }
    match result {
        Ok(answer) => Ok(response(200, answer.body.response(call.service, &call.action, &request_id(&call)))),
        Err(refusal) => Ok(refused(&refusal, &call)),
    }
}

fn closed() -> Answered {
    Err(io::Error::other("closed by the hook or the script"))
}

fn refused(refusal: &Refusal, call: &Call) -> Response<Full<Bytes>> {
    response(refusal.status, refusal.xml(call.service, &request_id(call)))
}

fn request_id(call: &Call) -> String {
    format!("00000000-0000-4000-8000-{:012x}", call.number)
}

fn response(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/xml;charset=UTF-8"));
    response
}
