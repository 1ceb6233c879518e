//! One resource as it was listed: the parts of its spec and status that the commands read. Pure.

use kraken_api::{
    APPROVED_PLAN_ANNOTATION, Deletion, Plan, ResourceStatus,
    conditions::{self, DEPENDENCIES_RESOLVED, DRIFTED, READY},
    reasons::{ExportReason, Reason},
};
use kube::{ResourceExt as _, api::DynamicObject};
use serde_json::Value;

use crate::graph::Node;

/// Whether a resource is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Yes,
    No,
    /// No controller has reported on this generation.
    Unknown,
}

/// Who acts next on a resource that is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Next {
    /// A person, by an edit or an approval.
    Person,
    /// A controller or the provider.
    Controller,
}

/// A resource of a kind that users write.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) node: Node,
    pub(crate) spec: Value,
    pub(crate) ready: Ready,
    /// The reason of the Ready condition.
    pub(crate) reason: String,
    /// The message of the Ready condition.
    pub(crate) message: String,
    pub(crate) status: ResourceStatus,
    /// `status.target` of a ConfigExport.
    pub(crate) target: Option<String>,
    pub(crate) is_deleting: bool,
    pub(crate) is_drifted: bool,
    approved_plan: Option<String>,
}

impl Resource {
    /// `None` for an object without a kind or a name, which no API server returns.
    pub(crate) fn of(object: DynamicObject) -> Option<Self> {
        let types = object.types.as_ref()?;
        let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let node = Node::new(namespace, group, &types.kind, object.metadata.name.as_deref()?);
        let status = status(&object.data["status"]);
        let ready = conditions::get(&status.conditions, READY);
        let generation = object.metadata.generation;
        let is_current = ready.is_some_and(|ready| {
            ready.observed_generation.is_none() || ready.observed_generation == generation
        });
        let (state, reason, message) = match ready {
            Some(ready) if is_current => {
                let state = match ready.status.as_str() {
                    "True" => Ready::Yes,
                    "False" => Ready::No,
                    _ => Ready::Unknown,
                };
                (state, ready.reason.clone(), ready.message.clone())
            }
            _ => {
                let message = "the controller has not reported on the latest edit yet".to_owned();
                (Ready::Unknown, Reason::Pending.as_str().to_owned(), message)
            }
        };
        Some(Self {
            node,
            ready: state,
            reason,
            message,
            is_drifted: conditions::get(&status.conditions, DRIFTED)
                .is_some_and(|drifted| drifted.status == "True"),
            status,
            target: object.data["status"]["target"].as_str().map(str::to_owned),
            is_deleting: object.metadata.deletion_timestamp.is_some(),
            approved_plan: object.annotations().get(APPROVED_PLAN_ANNOTATION).cloned(),
            spec: object.data["spec"].clone(),
        })
    }

    /// The plan that awaits approval.
    pub(crate) fn pending_plan(&self) -> Option<&Plan> {
        let plan = self.status.plan.as_ref()?;
        (self.approved_plan.as_ref() != Some(&plan.hash)).then_some(plan)
    }

    /// The ids of its remote objects, or of what a look-up found.
    pub(crate) fn ids(&self) -> &[String] {
        match &self.status.answer {
            Some(answer) => &answer.ids,
            None => &self.status.external_ids,
        }
    }

    /// Whether it reports that the hub does not run, which does not affect Ready.
    pub(crate) fn lacks_hub(&self) -> bool {
        let resolved = conditions::get(&self.status.conditions, DEPENDENCIES_RESOLVED);
        resolved.is_some_and(|one| one.reason == Reason::HubNotRunning.as_str())
    }

    /// `spec.lifecycle.protect`.
    pub(crate) fn is_protected(&self) -> bool {
        self.spec["lifecycle"]["protect"] == true
    }

    /// What happens to a remote object when the resource is deleted, if the lifecycle can be read.
    pub(crate) fn deletion(&self, id: &str) -> Option<Deletion> {
        let lifecycle = match &self.spec["lifecycle"] {
            Value::Null => kraken_api::Lifecycle::default(),
            written => serde_json::from_value(written.clone()).ok()?,
        };
        Some(lifecycle.deletion(self.status.adopted.iter().any(|adopted| adopted == id)))
    }

    /// Who acts next, according to the reason.
    pub(crate) fn next(&self) -> Next {
        let reason = Reason::of(&self.reason);
        let is_progress = matches!(
            reason,
            Some(
                Reason::Pending
                    | Reason::Creating
                    | Reason::Updating
                    | Reason::Replacing
                    | Reason::Deleting
                    | Reason::Throttled
                    | Reason::CloudUnavailable
                    | Reason::KubernetesError
            )
        );
        if is_progress { Next::Controller } else { Next::Person }
    }

    /// What to do about its reason.
    pub(crate) fn remedy(&self) -> Option<String> {
        let Node { namespace, .. } = &self.node;
        let argument = self.node.argument();
        match Reason::of(&self.reason) {
            Some(Reason::AwaitingApproval) => {
                Some(format!("kubectl kraken approve {argument} -n {namespace}"))
            }
            Some(Reason::Paused) => Some(format!("kubectl kraken resume {argument} -n {namespace}")),
            Some(reason) => Some(plain(reason.explanation()?.remedy)),
            None => ExportReason::of(&self.reason).map(|_| "Follow the message.".to_owned()),
        }
    }
}

/// The status as far as it can be read: a field that this version does not know must not hide the conditions.
fn status(written: &Value) -> ResourceStatus {
    serde_json::from_value(written.clone()).unwrap_or_else(|_| {
        let list = |key: &str| written[key].clone();
        ResourceStatus {
            conditions: serde_json::from_value(list("conditions")).unwrap_or_default(),
            external_ids: serde_json::from_value(list("externalIds")).unwrap_or_default(),
            adopted: serde_json::from_value(list("adopted")).unwrap_or_default(),
            drift: serde_json::from_value(list("drift")).unwrap_or_default(),
            plan: serde_json::from_value(list("plan")).unwrap_or_default(),
            ..ResourceStatus::default()
        }
    })
}

/// Markdown without its marks.
fn plain(markdown: &str) -> String {
    markdown.replace('`', "")
}
