//! What all calls have in common.

use prost::Message;

use super::{CallError, Plugin};
use crate::diagnostic::Diagnostic;
use crate::rpc::Method;
use crate::rpc::messages::{self, ClientCapabilities, Deferred, DynamicValue};
use crate::schema::Schema;
use crate::types::Type;
use crate::value::Value;

/// Objects that the provider cannot create yet are errors; values that are only written are used.
pub(super) const CAPABILITIES: ClientCapabilities =
    ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };

impl Plugin {
    pub(super) async fn call<A: Message + Default>(
        &self,
        method: Method,
        request: impl Message,
    ) -> Result<A, CallError> {
        let path = method.path(self.protocol);
        decoded(&self.host.call(self.id, path, request.encode_to_vec()).await?)
    }
}

pub(super) fn decoded<A: Message + Default>(body: &[u8]) -> Result<A, CallError> {
    A::decode(body).map_err(|error| CallError::Response(error.to_string()))
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
