//! The outcome of a reconcile of a ProviderInstall, and the resulting status. Pure.

use std::time::Duration;

use kraken_kind::{
    api::{
        conditions::{self, State},
        reasons::ProviderReason,
    },
    runtime::{clock, patch::ApiError, queue::Requeue},
};
use kraken_tfplugin::Protocol;

use super::{
    choose::{Chosen, Of},
    compared::COMPARED_EVERY,
    program::wanted,
};
use crate::{
    api::{InstalledType, ProviderInstall, ProviderInstallStatus, Recovery, Switch},
    marker,
    provider::Program,
};

/// When what is in use, or a program that does not start, is looked at again.
const RETRY: Duration = Duration::from_secs(15);
/// When a CRD that is being deleted is looked at again.
const SOON: Duration = Duration::from_secs(1);
/// The most resources that a message names.
const NAMED: usize = 3;

/// What a reconcile found or did.
pub(super) enum Outcome {
    /// All kinds are installed.
    Installed(Installed),
    /// The program does not start.
    NotStarted(String),
    /// The spec cannot be followed.
    Invalid(Vec<String>),
    /// What would be removed is in use.
    InUse(Vec<String>),
    /// The program of the spec takes over: its plans permit it, or there is nothing to compare.
    Switching(Option<Switch>),
    /// The plans of the program of the spec do not permit that it takes over.
    SwitchRefused(Switch),
    /// The program in use does not start, so that there are no plans.
    WithoutFormer,
    /// The resources are being listed.
    Listing,
    /// So many kinds are not served yet.
    Waiting(usize),
    /// So many kinds are being removed.
    Removing(usize),
    /// The watch returns it again.
    Again,
    /// It does not exist any more.
    Gone,
    /// A call to the Kubernetes API failed.
    Kubernetes(ApiError),
}

/// What is installed.
pub(super) struct Installed {
    protocol: i64,
    types: Vec<InstalledType>,
}

impl Installed {
    pub(super) fn of(program: &Program, chosen: &[Chosen]) -> Self {
        let protocol = match program.protocol() {
            Protocol::V5 => 5,
            Protocol::V6 => 6,
        };
        let of = |one: &Chosen| {
            let type_name = one.of.type_name().to_owned();
            let recovery = match &one.of {
                Of::Data(_) => None,
                Of::Resource(_) if marker::is_marked(program.schema(), &type_name) => Some(Recovery::Marked),
                Of::Resource(_) => Some(Recovery::ByHand),
            };
            InstalledType { type_name, kind: one.of.kind().info().name.to_owned(), recovery }
        };
        Self { protocol, types: chosen.iter().map(of).collect() }
    }

    fn count(&self, recovery: Recovery) -> i64 {
        let count = self.types.iter().filter(|one| one.recovery == Some(recovery)).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }
}

impl Outcome {
    pub(super) fn requeue(&self) -> Requeue {
        match self {
            Self::Installed(_) | Self::Again | Self::Gone => Requeue::Never,
            Self::NotStarted(_) | Self::Invalid(_) | Self::InUse(_) | Self::WithoutFormer => {
                Requeue::After(RETRY)
            }
            Self::SwitchRefused(_) => Requeue::After(COMPARED_EVERY),
            // The watch returns the status with the program.
            Self::Switching(_) | Self::Listing | Self::Waiting(_) | Self::Removing(_) => Requeue::After(SOON),
            Self::Kubernetes(_) => Requeue::Backoff,
        }
    }

    /// The reason of the Ready condition, and its message.
    fn ready(&self) -> (ProviderReason, String) {
        match self {
            Self::Installed(installed) => (
                ProviderReason::Installed,
                format!(
                    "{} resource types and data sources are kinds of the group {}",
                    installed.types.len(),
                    crate::names::GROUP
                ),
            ),
            Self::NotStarted(why) => (ProviderReason::ProviderNotStarted, why.clone()),
            Self::Invalid(problems) => (ProviderReason::InvalidSpec, problems.join("; ")),
            Self::InUse(all) => (
                ProviderReason::InUse,
                format!(
                    "nothing is changed, because these are in use: {}; delete them, or undo the change of the ProviderInstall",
                    all.join("; ")
                ),
            ),
            Self::Switching(_) => (ProviderReason::Installing, "the program of the spec takes over".to_owned()),
            Self::SwitchRefused(switch) => (
                ProviderReason::SwitchRefused,
                format!(
                    "the former program stays in use, because with {} {}: {}; to switch nevertheless, set spec.switchPolicy: Always; \
                     otherwise undo the change. They are compared again every {} minutes",
                    switch.path,
                    switch.words(),
                    switch.examples.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join("; "),
                    COMPARED_EVERY.as_secs() / 60,
                ),
            ),
            Self::WithoutFormer => (
                ProviderReason::SwitchRefused,
                "nothing is managed, because the program in use (status.program) does not start, so that the other one cannot be compared \
                 with it: put its file back, or set spec.switchPolicy: Always"
                    .to_owned(),
            ),
            Self::Listing => (ProviderReason::Installing, "listing the resources".to_owned()),
            Self::Waiting(number) => {
                (ProviderReason::Installing, format!("waiting until the API server serves {number} kinds"))
            }
            Self::Removing(number) => (ProviderReason::Uninstalling, format!("removing {number} kinds")),
            Self::Again | Self::Gone => (ProviderReason::Uninstalling, String::new()),
            Self::Kubernetes(error) => (ProviderReason::KubernetesError, error.to_string()),
        }
    }

    /// The status. What was installed before stays in it, because its kinds stay.
    pub(super) fn status(&self, install: &ProviderInstall) -> ProviderInstallStatus {
        let mut status = install.status.clone().unwrap_or_default();
        if matches!(self, Self::Again) {
            return status;
        }
        match self {
            Self::Switching(switch) => status.switch.clone_from(switch),
            Self::SwitchRefused(switch) => status.switch = Some(switch.clone()),
            _ => {}
        }
        if matches!(self, Self::Switching(_) | Self::Installed(_) | Self::Waiting(_)) {
            status.program = Some(wanted(&install.spec));
        }
        if let Self::Installed(installed) = self {
            // A change that was undone.
            let spec = &install.spec;
            status.switch.take_if(|switch| (&switch.path, &switch.sha256) != (&spec.path, &spec.sha256));
            status.protocol = Some(installed.protocol);
            status.kinds = i64::try_from(installed.types.len()).ok();
            status.marked = Some(installed.count(Recovery::Marked));
            status.by_hand = Some(installed.count(Recovery::ByHand));
            status.types.clone_from(&installed.types);
        }
        let generation = install.metadata.generation;
        let state = if matches!(self, Self::Installed(_)) { State::True } else { State::False };
        let (reason, message) = self.ready();
        conditions::set(
            &mut status.conditions,
            conditions::READY,
            state,
            reason.as_str(),
            &message,
            generation,
            clock::now(),
        );
        status.observed_generation = generation;
        status
    }
}
