//! The processing of one call from its arrival to its response, independent of the transport.

use tokio::time::Duration;

use super::failure::{FailureMode, FailurePoint};

use super::form::Form;
use super::journal::{Call, Outcome, Phase};
use super::refusal::Refusal;
use super::shared::Shared;

/// The result for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Handles one call; `None` closes the connection without a response.
pub(super) async fn answer(form: &Form, shared: &Shared) -> Option<Reply> {
    let (mut call, fault) = shared.lock().arrive(form, false);
    if !shared.proceeds(Phase::Before, &call) {
        shared.lock().note(&mut call, Outcome::NotReached);
        return None;
    }
    if let Some((FailurePoint::Before, how)) = &fault {
        match how {
            FailureMode::Error { status, code, message } => {
                shared.lock().note(&mut call, Outcome::Refused(code.clone()));
                return Some(refused(&Refusal::with_status(*status, code, message), &call));
            }
            FailureMode::Drop => {
                shared.lock().note(&mut call, Outcome::NotReached);
                return None;
            }
            FailureMode::Delay(delay) => tokio::time::sleep(*delay).await,
        }
    }
    let latency = shared.lock().cloud.options.latency;
    if latency > Duration::ZERO {
        tokio::time::sleep(latency).await;
    }
    let result = shared.lock().carry_out(&mut call, form);
    if !shared.proceeds(Phase::AfterEffect, &call) {
        shared.lock().note_lost(call.number);
        return None;
    }
    if let Some((FailurePoint::After, how)) = &fault {
        match how {
            FailureMode::Error { status, code, message } => {
                shared.lock().note_lost(call.number);
                return Some(refused(&Refusal::with_status(*status, code, message), &call));
            }
            FailureMode::Drop => {
                shared.lock().note_lost(call.number);
                return None;
            }
            FailureMode::Delay(delay) => tokio::time::sleep(*delay).await,
        }
    }
    Some(match result {
        Ok(answer) => {
            let body = answer.body.response(call.service, &call.action, &request_id(call.number));
            Reply { status: 200, body }
        }
        Err(refusal) => refused(&refusal, &call),
    })
}

fn refused(refusal: &Refusal, call: &Call) -> Reply {
    Reply { status: refusal.status, body: refusal.xml(call.service, &request_id(call.number)) }
}

/// The request id in AWS's response.
pub(super) fn request_id(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}
