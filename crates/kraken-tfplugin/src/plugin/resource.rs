//! The calls of resources and data sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message as _;
use serde_json::Value as Json;

use super::calls::{CAPABILITIES, config, decoded, not_deferred, pack, succeeded, unpack};
use super::{Answer, Applied, CallError, Plan, Plugin, ResourceState};
use crate::diagnostic::Diagnostic;
use crate::diff::{differences, is_same};
use crate::host::Ticket;
use crate::path::Path;
use crate::proposed::proposed_new_state;
use crate::rpc::Method;
use crate::rpc::messages as wire;
use crate::schema::Schema;
use crate::value::{Value, without_unknown};

impl Plugin {
    fn resource(&self, type_name: &str) -> Result<Arc<Schema>, CallError> {
        found(&self.schema.resources, type_name)
    }

    /// Validates the configuration of a resource, by its schema and then by the provider. Unknown values in it are accepted.
    ///
    /// # Errors
    /// When the [schema](crate::schema::Block::check) or the provider rejects it, or the call fails.
    pub async fn validate(&self, type_name: &str, value: &Value) -> Result<Vec<Diagnostic>, CallError> {
        let packed = config(&*self.resource(type_name)?, value)?;
        self.validated(Method::ValidateResource, type_name, packed, Some(CAPABILITIES)).await
    }

    /// The same of a data source.
    ///
    /// # Errors
    /// As [`Plugin::validate`].
    pub async fn validate_data_source(
        &self,
        type_name: &str,
        value: &Value,
    ) -> Result<Vec<Diagnostic>, CallError> {
        let packed = config(&*found(&self.schema.data_sources, type_name)?, value)?;
        self.validated(Method::ValidateDataSource, type_name, packed, None).await
    }

    async fn validated(
        &self,
        method: Method,
        type_name: &str,
        packed: wire::DynamicValue,
        client_capabilities: Option<wire::ClientCapabilities>,
    ) -> Result<Vec<Diagnostic>, CallError> {
        let request =
            wire::TypeConfig { type_name: type_name.to_owned(), config: Some(packed), client_capabilities };
        let response: wire::checked::First = self.call(method, request).await?;
        succeeded(response.diagnostics)
    }

    /// Brings a stored state to the version of the schema; `version` is the one that it was stored with. OpenTofu does this with
    /// each stored state, also with one of the same version, and so should callers.
    ///
    /// # Errors
    /// When the state is of a newer version, the provider cannot read it, or the call fails.
    pub async fn upgrade(
        &self,
        type_name: &str,
        version: i64,
        state: &Json,
    ) -> Result<Answer<Value>, CallError> {
        let schema = self.resource(type_name)?;
        if version > schema.version {
            // Not every provider refuses it itself.
            return Err(CallError::NewerState { stored: version, known: schema.version });
        }
        // A provider that drops an attribute without a new version relies on this, and rejects what it does not know.
        let state = if version == schema.version {
            without_unknown(state, &schema.value_type)
        } else {
            state.clone()
        };
        let raw_state = wire::RawState { json: state.to_string().into_bytes(), flatmap: BTreeMap::new() };
        let request = wire::Upgrade { type_name: type_name.to_owned(), version, raw_state: Some(raw_state) };
        let response: wire::Upgraded = self.call(Method::Upgrade, request).await?;
        let warnings = succeeded(response.diagnostics)?;
        Ok(Answer { value: unpack(response.upgraded_state, &schema.value_type)?, warnings })
    }

    /// Reads an object. The state does not [exist](ResourceState::exists) if the object does not.
    ///
    /// # Errors
    /// When the provider fails to read it, or the call fails.
    pub async fn read(
        &self,
        type_name: &str,
        state: &ResourceState,
    ) -> Result<Answer<ResourceState>, CallError> {
        let schema = self.resource(type_name)?;
        let request = wire::Read {
            type_name: type_name.to_owned(),
            current_state: Some(pack("state", &state.value, &schema.value_type)?),
            private: state.private.clone(),
            client_capabilities: Some(CAPABILITIES),
        };
        let response: wire::ReadState = self.call(Method::Read, request).await?;
        let warnings = succeeded(response.diagnostics)?;
        not_deferred(response.deferred)?;
        let value = unpack(response.new_state, &schema.value_type)?;
        if !value.is_known() {
            return Err(CallError::Response("the object that was read has unknown values".to_owned()));
        }
        Ok(Answer { value: ResourceState { value, private: response.private }, warnings })
    }

    /// Plans the change from a state, which was just read, to a configuration. A prior state that does not exist is a creation, a
    /// configuration that is null a deletion.
    ///
    /// # Errors
    /// When the provider rejects the change, or the call fails.
    pub async fn plan(
        &self,
        type_name: &str,
        prior: &ResourceState,
        desired: &Value,
    ) -> Result<Plan, CallError> {
        let schema = self.resource(type_name)?;
        let desired = schema.block.with_blocks(desired.clone());
        let mut plan = Plan {
            type_name: type_name.to_owned(),
            prior: prior.clone(),
            planned: Value::Null,
            private: prior.private.clone(),
            differences: vec![],
            requires_replace: vec![],
            warnings: vec![],
            config: desired,
        };
        if plan.config.is_null() && (!self.schema.capabilities.plan_destroy || !prior.exists()) {
            return Ok(plan);
        }
        let of = &schema.value_type;
        let proposed = proposed_new_state(&schema.block, &prior.value, &plan.config);
        let request = wire::Plan {
            type_name: type_name.to_owned(),
            prior_state: Some(pack("prior state", &prior.value, of)?),
            proposed_new_state: Some(pack("proposed state", &proposed, of)?),
            config: Some(pack("configuration", &plan.config, of)?),
            prior_private: prior.private.clone(),
            client_capabilities: Some(CAPABILITIES),
        };
        let response: wire::Planned = self.call(Method::Plan, request).await?;
        plan.warnings = succeeded(response.diagnostics)?;
        not_deferred(response.deferred)?;
        plan.planned = unpack(response.planned_state, of)?;
        plan.private = response.planned_private;
        if plan.planned.is_null() != plan.config.is_null() {
            return Err(CallError::Response(
                "the plan creates or deletes what the configuration does not".to_owned(),
            ));
        }
        if !plan.config.is_null() {
            plan.differences = differences(&schema.block, &prior.value, &plan.planned);
        }
        if prior.exists() {
            let paths = response.requires_replace.into_iter().map(Path::from);
            plan.requires_replace = changed(paths, &schema, &prior.value, &plan.planned);
        }
        Ok(plan)
    }

    /// Executes a plan, once for each ticket. Dropping the future loses the answer, and **does not cancel** the operation: the host has it
    /// until it is acknowledged.
    ///
    /// # Errors
    /// When nothing was sent: the provider has no such type, the plan does not fit its schema, or the host cannot begin it; or when there
    /// is no answer, after which the object [may have changed](CallError::may_have_changed). The result is an [`Applied`] with
    /// diagnostics if the provider failed.
    pub async fn apply(&self, ticket: Ticket, label: String, plan: Plan) -> Result<Applied, CallError> {
        let schema = self.resource(&plan.type_name)?;
        let of = &schema.value_type;
        let request = wire::Apply {
            type_name: plan.type_name,
            prior_state: Some(pack("prior state", &plan.prior.value, of)?),
            planned_state: Some(pack("planned state", &plan.planned, of)?),
            config: Some(pack("configuration", &plan.config, of)?),
            planned_private: plan.private,
        };
        let path = Method::Apply.path(self.protocol);
        let answer = self.host.operate(ticket, label, self.id, path, request.encode_to_vec()).await?;
        Applied::decode(&answer, &schema, plan.prior, plan.planned.is_null())
    }

    /// Finds an object by the id that the type's import has. The state is incomplete; [`Plugin::read`] completes it.
    ///
    /// # Errors
    /// When the provider cannot import the type or finds no object, or the call fails.
    pub async fn import(&self, type_name: &str, id: &str) -> Result<Answer<ResourceState>, CallError> {
        let schema = self.resource(type_name)?;
        let request = wire::Import {
            type_name: type_name.to_owned(),
            id: id.to_owned(),
            client_capabilities: Some(CAPABILITIES),
        };
        let response: wire::Imported = self.call(Method::Import, request).await?;
        let warnings = succeeded(response.diagnostics)?;
        not_deferred(response.deferred)?;
        // Some types import objects of other types, too.
        let imported =
            response.imported_resources.into_iter().find(|imported| imported.type_name == type_name);
        let Some(imported) = imported else {
            return Err(CallError::Response("nothing was imported".to_owned()));
        };
        let value = unpack(imported.state, &schema.value_type)?.unknown_as_null();
        Ok(Answer { value: ResourceState { value, private: imported.private }, warnings })
    }

    /// Validates the configuration of a data source, and reads it.
    ///
    /// # Errors
    /// When the provider rejects the configuration or finds nothing, or the call fails.
    pub async fn read_data_source(&self, type_name: &str, value: &Value) -> Result<Answer<Value>, CallError> {
        let schema = found(&self.schema.data_sources, type_name)?;
        let packed = config(&schema, value)?;
        let mut warnings =
            self.validated(Method::ValidateDataSource, type_name, packed.clone(), None).await?;
        let request = wire::ReadDataSource {
            type_name: type_name.to_owned(),
            config: Some(packed),
            client_capabilities: Some(CAPABILITIES),
        };
        let response: wire::DataSourceState = self.call(Method::ReadDataSource, request).await?;
        warnings.extend(succeeded(response.diagnostics)?);
        not_deferred(response.deferred)?;
        Ok(Answer { value: unpack(response.state, &schema.value_type)?, warnings })
    }
}

fn found(schemas: &BTreeMap<String, Arc<Schema>>, type_name: &str) -> Result<Arc<Schema>, CallError> {
    schemas.get(type_name).cloned().ok_or_else(|| CallError::UnknownType(type_name.to_owned()))
}

/// The paths at which two states differ. A value that is only written is in no state, so that its path is one.
fn changed(paths: impl Iterator<Item = Path>, schema: &Schema, before: &Value, after: &Value) -> Vec<Path> {
    let is_changed = |path: &Path| {
        let (before, after) = (before.get(path), after.get(path));
        let is_written = path.steps().len() == 1
            && schema
                .block
                .attributes
                .get(&path.to_string())
                .is_some_and(|attribute| attribute.is_write_only);
        is_written || !is_same(before.unwrap_or(&Value::Null), after.unwrap_or(&Value::Null))
    };
    paths.filter(is_changed).collect()
}

impl Applied {
    /// The result in a provider's answer.
    ///
    /// # Errors
    /// When the answer does not have the type of the schema.
    pub fn decode(
        answer: &[u8],
        schema: &Schema,
        prior: ResourceState,
        is_deletion: bool,
    ) -> Result<Self, CallError> {
        let response: wire::Applied = decoded(answer)?;
        let mut diagnostics: Vec<Diagnostic> =
            response.diagnostics.into_iter().map(Diagnostic::from).collect();
        let mut value = unpack(response.new_state, &schema.value_type)?;
        if !value.is_known() {
            let detail = "This is a defect of the provider. They are stored as null.".to_owned();
            diagnostics.push(Diagnostic::error("The object has unknown values after the change", detail));
            value = value.unknown_as_null();
        }
        let is_failed = diagnostics.iter().any(Diagnostic::is_error);
        if !is_failed && value.is_null() != is_deletion {
            let detail = "This is a defect of the provider.".to_owned();
            diagnostics.push(Diagnostic::error(
                "The provider returned no state, or one of a deleted object",
                detail,
            ));
        }
        let is_failed = diagnostics.iter().any(Diagnostic::is_error);
        let state = if is_failed && value.is_null() {
            prior
        } else {
            ResourceState { value, private: response.private }
        };
        Ok(Applied { state, diagnostics })
    }
}
