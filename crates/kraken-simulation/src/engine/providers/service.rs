//! The simulated provider: the calls of protocol 6, each with at most one call of its service.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kraken_tfplugin::{CallError, Service, Type, Value, schema::Schema, wire, wire::Message};

use super::part_of;
use super::world::{Remote, World};
use crate::engine::gate::{Gate, Lost};
use crate::provider_types::{ADDRESS, DESCRIPTION, ID, NAME, NOTE, ZONE, encoded, schema};

/// The provider in one process of its host.
#[derive(Debug)]
pub(in crate::engine) struct Provider {
    pub(in crate::engine) gate: Arc<Gate>,
    pub(in crate::engine) world: Arc<World>,
    /// The most that a request may be on its way to the service after it left the process.
    pub(in crate::engine) lag: Duration,
}

impl Service for Provider {
    fn call<'a>(&'a self, path: &'a str, body: Vec<u8>) -> BoxFuture<'a, Result<Vec<u8>, CallError>> {
        Box::pin(async move {
            match path.rsplit('/').next().unwrap_or_default() {
                "GetProviderSchema" => Ok(encoded().encode_to_vec()),
                "UpgradeResourceState" => upgraded(&body),
                "ReadResource" => self.read(&body).await,
                "PlanResourceChange" => planned(&body),
                "ApplyResourceChange" => self.applied(&body).await,
                "ImportResourceState" => imported(&body),
                "ReadDataSource" => self.found(&body).await,
                // Every configuration is valid: the message without a field is that of all of them.
                _ => Ok(vec![]),
            }
        })
    }
}

impl Provider {
    /// One call of the service. Its effect does not depend on the process any more once the request has left it.
    async fn request<T: Send + 'static>(
        &self,
        name: &str,
        object: &str,
        effect: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, Lost> {
        let writes = !matches!(name, "read" | "find");
        let late = if writes { part_of(self.lag) } else { Duration::ZERO };
        let world = self.world.clone();
        let request = async move {
            let effect = async move {
                tokio::time::sleep(late).await;
                effect(&world)
            };
            tokio::spawn(effect).await
        };
        let done = self.gate.pass(format!("service {name}"), writes, object, request).await?;
        done.map_err(|_| Lost::Before)
    }

    async fn read(&self, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let request: wire::Read = decoded(body)?;
        let of = resource(&request.type_name)?;
        let id = text(&unpacked(request.current_state, &of.value_type)?, ID);
        let read = self.request("read", &id.clone(), move |world| world.get(&id)).await;
        let (new_state, diagnostics) = match read {
            Err(_) => (None, vec![unavailable()]),
            Ok(None) => (Some(packed(&Value::Null, &of.value_type)?), vec![]),
            Ok(Some(remote)) => (Some(packed(&remote.attributes, &of.value_type)?), vec![]),
        };
        Ok(wire::ReadState { new_state, diagnostics, ..Default::default() }.encode_to_vec())
    }

    async fn applied(&self, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let request: wire::Apply = decoded(body)?;
        let of = resource(&request.type_name)?;
        let prior = unpacked(request.prior_state, &of.value_type)?;
        let planned = unpacked(request.planned_state, &of.value_type)?;
        let (id, name) = (text(&prior, ID), text(&planned, NAME));
        let type_name = request.type_name;
        let done = if prior.is_null() {
            let (of_type, attributes) = (type_name.clone(), planned.unknown_as_null());
            let created =
                self.request("create", &name, move |world| Some(world.create(&of_type, &attributes))).await;
            // Nothing finds its object: a provider that lost the response is one that ended.
            if matches!(created, Err(Lost::After)) && type_name == NOTE {
                return Err(CallError::Ended("simulated".to_owned()));
            }
            created
        } else if planned.is_null() {
            self.request("delete", &id.clone(), move |world| world.delete(&id)).await.map(|_| None)
        } else {
            let attributes = planned.unknown_as_null();
            self.request("update", &id.clone(), move |world| world.update(&id, &attributes)).await
        };
        let (state, diagnostics) = match done {
            Ok(remote) => (remote.map_or(Value::Null, |remote| remote.attributes), vec![]),
            Err(_) => (prior, vec![unavailable()]),
        };
        let new_state = Some(packed(&state, &of.value_type)?);
        Ok(wire::Applied { new_state, diagnostics, ..Default::default() }.encode_to_vec())
    }

    async fn found(&self, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let request: wire::ReadDataSource = decoded(body)?;
        let source = schema().data_sources.get(&request.type_name).cloned();
        let of = source.ok_or_else(|| CallError::UnknownType(request.type_name.clone()))?;
        let description = text(&unpacked(request.config, &of.value_type)?, DESCRIPTION);
        let type_name = request.type_name;
        let found = self
            .request("find", &description.clone(), move |world| world.described(&type_name, &description))
            .await;
        let (state, diagnostics) = match found {
            Err(_) => (None, vec![unavailable()]),
            Ok(None) => (None, vec![error("Your query returned no results")]),
            Ok(Some(Remote { attributes, .. })) => {
                let of_source =
                    Value::object([ID, DESCRIPTION].map(|name| (name, attributes.attribute(name).clone())));
                (Some(packed(&of_source, &of.value_type)?), vec![])
            }
        };
        Ok(wire::DataSourceState { state, diagnostics, ..Default::default() }.encode_to_vec())
    }
}

fn planned(body: &[u8]) -> Result<Vec<u8>, CallError> {
    let request: wire::Plan = decoded(body)?;
    let of = resource(&request.type_name)?;
    let prior = unpacked(request.prior_state, &of.value_type)?;
    let mut planned = unpacked(request.proposed_new_state, &of.value_type)?;
    if let (true, Value::Object(attributes)) = (prior.is_null(), &mut planned) {
        for name in [ID, ADDRESS] {
            attributes.insert(name.to_owned(), Value::Unknown);
        }
    }
    let step = wire::PathStep { selector: Some(wire::Selector::Attribute(ZONE.to_owned())) };
    let planned = wire::Planned {
        planned_state: Some(packed(&planned, &of.value_type)?),
        requires_replace: vec![wire::AttributePath { steps: vec![step] }],
        ..Default::default()
    };
    Ok(planned.encode_to_vec())
}

fn upgraded(body: &[u8]) -> Result<Vec<u8>, CallError> {
    let request: wire::Upgrade = decoded(body)?;
    let json = request.raw_state.map(|state| state.json).unwrap_or_default();
    let upgraded_state = Some(wire::DynamicValue { msgpack: vec![], json });
    Ok(wire::Upgraded { upgraded_state, ..Default::default() }.encode_to_vec())
}

/// Only the id: the object is read next.
fn imported(body: &[u8]) -> Result<Vec<u8>, CallError> {
    let wire::Import { type_name, id, .. } = decoded(body)?;
    let of = resource(&type_name)?;
    let mut state = of.block.empty_value();
    if let Value::Object(attributes) = &mut state {
        attributes.insert(ID.to_owned(), Value::String(id));
    }
    let state = Some(packed(&state, &of.value_type)?);
    let one = wire::ImportedResource { type_name, state, private: vec![] };
    Ok(wire::Imported { imported_resources: vec![one], ..Default::default() }.encode_to_vec())
}

fn resource(type_name: &str) -> Result<Arc<Schema>, CallError> {
    let found = schema().resources.get(type_name).cloned();
    found.ok_or_else(|| CallError::UnknownType(type_name.to_owned()))
}

fn text(value: &Value, attribute: &str) -> String {
    value.attribute(attribute).as_str().unwrap_or_default().to_owned()
}

fn decoded<M: Message + Default>(body: &[u8]) -> Result<M, CallError> {
    M::decode(body).map_err(|error| CallError::Response(error.to_string()))
}

fn unpacked(message: Option<wire::DynamicValue>, of: &Type) -> Result<Value, CallError> {
    let message = message.unwrap_or_default();
    Value::from_msgpack(&message.msgpack, of).map_err(|error| CallError::Response(error.to_string()))
}

fn packed(value: &Value, of: &Type) -> Result<wire::DynamicValue, CallError> {
    let msgpack = value.to_msgpack(of).map_err(|error| CallError::Response(error.to_string()))?;
    Ok(wire::DynamicValue { msgpack, json: vec![] })
}

fn unavailable() -> wire::Diagnostic {
    error("the service is not available (simulated)")
}

fn error(summary: &str) -> wire::Diagnostic {
    wire::Diagnostic { severity: 1, summary: summary.to_owned(), ..Default::default() }
}
