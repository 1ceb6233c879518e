//! One check of one ProviderConfig: whether its provider accepts it. Client required.

use std::{sync::Arc, time::Duration};

use kraken_kind::{
    Failure, FailureClass,
    account::Refusal,
    api::{conditions, reasons::ProviderReason},
    runtime::{Manager, clock, queue::Requeue, report::report, watch::ObjectKey},
};
use kube::Api;
use tracing::warn;

use super::Configs;
use crate::{
    api::{ProviderConfig, ProviderConfigStatus},
    provider::{Program, Provider},
};

/// When a ProviderConfig that cannot be used is checked again: a Secret is not watched.
const RETRY: Duration = Duration::from_secs(30);

/// What a check found.
struct Checked {
    reason: ProviderReason,
    message: String,
    location: Option<String>,
}

/// Checks a ProviderConfig, and writes its status. `program` is that of its ProviderInstall, if it is installed.
pub(crate) async fn check(
    manager: &Manager,
    configs: &Configs,
    key: &ObjectKey,
    program: impl FnOnce(&str) -> Option<Arc<Program>>,
) -> Requeue {
    let Some(config) = configs.get(key) else { return Requeue::Never };
    let checked = match program(&config.spec.provider) {
        Some(program) => tried(configs, &program, &config).await,
        None => Checked {
            reason: ProviderReason::ProviderNotInstalled,
            message: format!(
                "there is no ProviderInstall {0} that is ready: ask an administrator (kubectl get providerinstall {0})",
                config.spec.provider
            ),
            location: None,
        },
    };
    let is_ready = checked.reason == ProviderReason::Accepted;
    let api: Api<ProviderConfig> = Api::namespaced(manager.client.clone(), &key.namespace);
    let status = status(&config, checked, is_ready);
    match report(manager, &api, &*config, config.status.as_ref(), &status, "Check").await {
        Ok(()) if is_ready => manager.args.resync().map_or(Requeue::Never, Requeue::Tick),
        Ok(()) => Requeue::After(RETRY),
        Err(error) if error.is_not_found() || error.is_namespace_terminating() => Requeue::Never,
        Err(error) => {
            if !error.is_conflict() {
                warn!(%error, "failed to report on a ProviderConfig; the check is repeated");
            }
            Requeue::Backoff
        }
    }
}

/// Configures a provider with it, in a process that ends again.
async fn tried(configs: &Configs, program: &Arc<Program>, config: &ProviderConfig) -> Checked {
    let not = |reason, message| Checked { reason, message, location: None };
    let values = match configs.values(program, config).await {
        Ok(values) => values,
        Err(Refusal::Unreadable(error)) => return not(ProviderReason::KubernetesError, error.to_string()),
        Err(Refusal::NotFound(why) | Refusal::NotReady(why)) => return not(ProviderReason::Rejected, why),
    };
    let location = values.location.clone().map(|location| location.account);
    match Provider::new(program.clone(), values).check().await {
        Ok(()) => {
            let message = "the provider accepts this configuration".to_owned();
            Checked { reason: ProviderReason::Accepted, message, location }
        }
        Err(failure) => not(reason_of(&failure), failure.to_string()),
    }
}

fn reason_of(failure: &Failure) -> ProviderReason {
    match failure.class {
        FailureClass::Transient | FailureClass::NotConfigured => ProviderReason::NotChecked,
        _ => ProviderReason::Rejected,
    }
}

fn status(config: &ProviderConfig, checked: Checked, is_ready: bool) -> ProviderConfigStatus {
    let generation = config.metadata.generation;
    let Checked { reason, message, location } = checked;
    let mut all = config.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
    let state = if is_ready { conditions::State::True } else { conditions::State::False };
    conditions::set(&mut all, conditions::READY, state, reason.as_str(), &message, generation, clock::now());
    ProviderConfigStatus { observed_generation: generation, location, conditions: all }
}
