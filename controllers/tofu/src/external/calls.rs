//! The single calls of a resource type to its provider, and their failures.

use std::sync::Arc;

use kraken_kind::{Failure, Identity, dynamic::Observed};
use kraken_tfplugin::{CallError, Plan, ResourceState, Value};

use super::{TofuExternal, find};
use crate::{
    journal::Stored,
    marker,
    observed::{Desired, Object, main_object},
    provider::collect_secrets,
};

impl TofuExternal {
    /// The configuration as it is sent, with the marker of the launch if it has one.
    pub(super) fn sent(is_marked: bool, identity: &Identity, epoch: i64, config: &Value) -> Value {
        if is_marked { marker::with(config, &marker::of(identity, epoch)) } else { config.clone() }
    }

    pub(super) fn action(&self, verb: &str) -> String {
        format!("failed to {verb} {}", self.type_name)
    }

    /// The failure of a call about an object with these values.
    pub(super) fn failed(&self, verb: &str, error: &CallError, values: &[&Value]) -> Failure {
        let secrets: Vec<String> = values.iter().flat_map(|value| self.secrets_of(value)).collect();
        self.provider.failed(&self.action(verb), error, &secrets)
    }

    /// The provider's plan from this state to this configuration.
    pub(super) async fn plan(
        &self,
        verb: &str,
        prior: &ResourceState,
        config: &Value,
    ) -> Result<Plan, Failure> {
        let plan = self.provider.plugin().await?.plan(&self.type_name, prior, config).await;
        plan.map_err(|error| self.failed(verb, &error, &[&prior.value, config]))
    }

    /// The same objects, with the provider's plan of what would make the main one as desired.
    pub(super) async fn planned(
        &self,
        identity: &Identity,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        let Some(object) = main_object(observed) else { return Ok(observed.clone()) };
        let config = Self::sent(object.is_marked, identity, object.epoch, &desired.config);
        let plan = self.plan("plan a change of", &object.state, &config).await?;
        Ok(observed.with_main(Object { plan: Some(Arc::new(plan)), ..object.clone() }))
    }

    pub(super) fn secrets_of(&self, value: &Value) -> Vec<String> {
        let mut secrets = vec![];
        collect_secrets(&self.schema.block, value, &mut secrets);
        secrets
    }

    /// The stored state in the form of the provider's version. A provider is asked once per process: what it returned since has it.
    pub(super) async fn current(
        &self,
        identity: &Identity,
        epoch: i64,
        stored: &Stored,
    ) -> Result<ResourceState, Failure> {
        if stored.version == self.schema.version
            && self.upgraded.lock().contains(&(identity.uid.clone(), epoch))
            && let Ok(value) = Value::from_json(&stored.value, &self.schema.value_type)
        {
            return Ok(ResourceState { value, private: stored.private.clone() });
        }
        let state = self.in_form(stored).await?;
        self.upgraded.lock().insert((identity.uid.clone(), epoch));
        Ok(state)
    }

    /// The stored state, which the provider brings into the form of its version.
    pub(super) async fn in_form(&self, stored: &Stored) -> Result<ResourceState, Failure> {
        let plugin = self.provider.plugin().await?;
        let upgraded = plugin.upgrade(&self.type_name, stored.version, &stored.value).await;
        let upgraded = upgraded.map_err(|error| self.failed("upgrade the state of", &error, &[]))?;
        Ok(ResourceState { value: upgraded.value, private: stored.private.clone() })
    }

    /// The object with this state, if it still exists.
    pub(super) async fn read(&self, state: &ResourceState) -> Result<Option<ResourceState>, Failure> {
        let plugin = self.provider.plugin().await?;
        let read = plugin.read(&self.type_name, state).await;
        let read = read.map_err(|error| self.failed("read", &error, &[&state.value]))?.value;
        Ok(read.exists().then_some(read))
    }

    /// The object with this id, completely read; `None` if it does not exist.
    pub(super) async fn imported(&self, id: &str) -> Result<Option<ResourceState>, Failure> {
        let plugin = self.provider.plugin().await?;
        let imported = plugin.import(&self.type_name, id).await;
        match imported {
            Ok(imported) => self.read(&imported.value).await,
            // Some providers read the object already when they import it.
            Err(CallError::Provider(diagnostics)) if find::say_nothing(&diagnostics) => Ok(None),
            Err(error) => Err(self.failed("import", &error, &[])),
        }
    }
}
