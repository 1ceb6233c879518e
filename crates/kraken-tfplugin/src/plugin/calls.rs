//! What all calls have in common.

use std::time::Duration;

use prost::Message;
use tonic::Code;

use super::{CallError, Plugin};
use crate::diagnostic::Diagnostic;
use crate::process::Process;
use crate::rpc::messages::{self, ClientCapabilities, Deferred, DynamicValue};
use crate::rpc::{Connection, Method};
use crate::schema::Schema;
use crate::types::Type;
use crate::value::Value;

/// The time from a lost connection until the end of the process is known.
const EXIT: Duration = Duration::from_secs(1);

/// Objects that the provider cannot create yet are errors; values that are only written are used.
pub(super) const CAPABILITIES: ClientCapabilities =
    ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };

impl Plugin {
    pub(super) async fn call<Q, A>(&self, method: Method, request: Q) -> Result<A, CallError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        send(&self.inner.connection, &self.inner.process, method, request).await
    }
}

pub(super) async fn send<Q, A>(
    connection: &Connection,
    process: &Process,
    method: Method,
    request: Q,
) -> Result<A, CallError>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let status = match connection.call(method, request).await {
        Ok(response) => return Ok(response),
        Err(status) => status,
    };
    // A provider answers with diagnostics. All other codes than these are of a connection that ended.
    let is_answer =
        matches!(status.code(), Code::Unimplemented | Code::InvalidArgument | Code::ResourceExhausted);
    if !is_answer && let Some(exit) = process.ended_within(EXIT).await {
        return Err(CallError::Ended(exit.to_string()));
    }
    Err(CallError::Rpc { code: format!("{:?}", status.code()), message: status.message().to_owned() })
}

/// The warnings of a response without errors.
pub(super) fn succeeded(diagnostics: Vec<messages::Diagnostic>) -> Result<Vec<Diagnostic>, CallError> {
    let diagnostics: Vec<Diagnostic> = diagnostics.into_iter().map(Diagnostic::from).collect();
    if diagnostics.iter().any(Diagnostic::is_error) {
        Err(CallError::Provider(diagnostics))
    } else {
        Ok(diagnostics)
    }
}

/// A response that is deferred has no result.
pub(super) fn not_deferred(deferred: Option<Deferred>) -> Result<(), CallError> {
    match deferred {
        None => Ok(()),
        Some(Deferred { reason }) => {
            Err(CallError::Response(format!("it is deferred (reason {reason}), which was not offered")))
        }
    }
}

/// A configuration as a message, if the schema permits it.
pub(super) fn config(schema: &Schema, config: &Value) -> Result<DynamicValue, CallError> {
    let config = schema.block.with_blocks(config.clone());
    let packed = pack("configuration", &config, &schema.value_type)?;
    let errors = schema.block.check(&config);
    if errors.is_empty() { Ok(packed) } else { Err(CallError::Provider(errors)) }
}

pub(super) fn pack(what: &'static str, value: &Value, of: &Type) -> Result<DynamicValue, CallError> {
    let msgpack = value.to_msgpack(of).map_err(|error| CallError::Value { what, error })?;
    Ok(DynamicValue { msgpack, json: vec![] })
}

/// A value from a message; null if there is none.
pub(super) fn unpack(message: Option<DynamicValue>, of: &Type) -> Result<Value, CallError> {
    let message = message.unwrap_or_default();
    let invalid = |error: &dyn std::fmt::Display| CallError::Response(error.to_string());
    if !message.msgpack.is_empty() {
        return Value::from_msgpack(&message.msgpack, of).map_err(|error| invalid(&error));
    }
    if message.json.is_empty() {
        return Ok(Value::Null);
    }
    let json = serde_json::from_slice(&message.json).map_err(|error| invalid(&error))?;
    Value::from_json(&json, of).map_err(|error| invalid(&error))
}
