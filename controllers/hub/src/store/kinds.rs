//! The kinds that the API server serves, and the existence of resources without a published state. Client required:
//! discovery, and the metadata of missing dependencies.

use std::{sync::Arc, time::Duration};

use kraken_runtime::hash::HashMap;

use kraken_api::{
    ConfigExport, DOMAIN, DependencyRequest,
    names::{owned_name, owner_kind},
};
use kraken_options::kind_key;
use kraken_runtime::{
    patch::{ApiError, within},
    watch::KubeClient,
};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::store::index::{ObjectRef, StateName};

/// The minimum age of the list of kinds before it is read again for an unknown kind.
const KINDS: Duration = Duration::from_secs(5);
/// The time for which the existence of a resource is cached.
const FRESH: Duration = Duration::from_secs(1);
/// The maximum number of kinds in a message.
const LISTED: usize = 12;

/// The existence of a resource without a published state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It exists.
    Exists,
    /// It does not exist, or its existence is unknown.
    Absent,
    /// No controller serves its kind; the message suggests the most similar one.
    UnknownKind(Arc<str>),
}

/// A served kind, with kubectl's short names for it.
#[derive(Clone, Debug)]
struct ServedKind {
    api: ApiResource,
    short_names: Vec<String>,
}

impl std::ops::Deref for ServedKind {
    type Target = ApiResource;

    fn deref(&self) -> &ApiResource {
        &self.api
    }
}

/// The served kinds, cached.
#[derive(Debug)]
pub(crate) struct Kinds {
    client: KubeClient,
    served: tokio::sync::Mutex<Option<(Instant, Arc<Vec<ServedKind>>)>>,
    seen: Mutex<HashMap<ObjectRef, (Instant, bool)>>,
}

impl Kinds {
    /// Uses this client.
    pub(crate) fn new(client: Client) -> Self {
        Self { client: KubeClient(client), served: tokio::sync::Mutex::default(), seen: Mutex::default() }
    }

    /// Whether the resource of a referenced state exists.
    pub(crate) async fn presence(&self, named: &ObjectRef) -> Presence {
        let Some(state) = named.state_name() else { return Presence::Absent };
        let Some(served) = self.served(&state).await else { return Presence::Absent };
        let kinds: Vec<_> = served.iter().filter(|kind| is_kind(kind, &state)).collect();
        if kinds.is_empty() {
            return Presence::UnknownKind(unknown(&served, &state).into());
        }
        if let Some((_, exists)) = self.seen.lock().get(named).filter(|(at, _)| at.elapsed() < FRESH) {
            return if *exists { Presence::Exists } else { Presence::Absent };
        }
        let mut exists = false;
        for kind in kinds {
            exists |= self.exists(named, kind, &state).await.unwrap_or_default();
        }
        let mut seen = self.seen.lock();
        seen.retain(|_, (at, _)| at.elapsed() < FRESH);
        seen.insert(named.clone(), (Instant::now(), exists));
        if exists { Presence::Exists } else { Presence::Absent }
    }

    async fn exists(
        &self,
        named: &ObjectRef,
        kind: &ApiResource,
        state: &StateName<'_>,
    ) -> Result<bool, ApiError> {
        // The original of a truncated name is unknown.
        if owned_name("", state.name) != format!(".{}", state.name) {
            return Ok(false);
        }
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.0.clone(), &named.key.namespace, kind);
        let found = within("read a resource's metadata", api.get_metadata_opt(state.name)).await?;
        Ok(found.is_some_and(|object| object.metadata.deletion_timestamp.is_none()))
    }

    /// The served kinds, read again if this one is not among them and the list is not fresh; `None` if they cannot be
    /// read.
    async fn served(&self, requested: &StateName<'_>) -> Option<Arc<Vec<ServedKind>>> {
        let mut served = self.served.lock().await;
        if let Some((at, kinds)) = &*served
            && (at.elapsed() < KINDS || kinds.iter().any(|kind| is_kind(kind, requested)))
        {
            return Some(kinds.clone());
        }
        match self.discover().await {
            Ok(kinds) => {
                let kinds = Arc::new(kinds);
                *served = Some((Instant::now(), kinds.clone()));
                Some(kinds)
            }
            Err(error) => {
                tracing::debug!(%error, "failed to list the served kinds");
                served.as_ref().map(|(_, kinds)| kinds.clone())
            }
        }
    }

    async fn discover(&self) -> Result<Vec<ServedKind>, ApiError> {
        let client = &self.client.0;
        let groups = within("list the API groups", client.list_api_groups()).await?;
        let mut kinds = Vec::new();
        let own = [DependencyRequest::group(&()), ConfigExport::group(&())];
        for group in groups.groups {
            if !group.name.ends_with(&format!(".{DOMAIN}")) || own.iter().any(|own| *own == group.name) {
                continue;
            }
            let versions = group.preferred_version.or_else(|| group.versions.into_iter().next());
            let Some(version) = versions else { continue };
            let resources = within(
                "list the kinds of an API group",
                client.list_api_group_resources(&version.group_version),
            );
            for resource in resources.await?.resources {
                if resource.namespaced && !resource.name.contains('/') {
                    let gvk = GroupVersionKind::gvk(&group.name, &version.version, &resource.kind);
                    let api = ApiResource::from_gvk_with_plural(&gvk, &resource.name);
                    kinds.push(ServedKind { api, short_names: resource.short_names.unwrap_or_default() });
                }
            }
        }
        kinds.sort_by(|a, b| (&a.kind, &a.group).cmp(&(&b.kind, &b.group)));
        Ok(kinds)
    }
}

fn is_kind(served: &ApiResource, requested: &StateName<'_>) -> bool {
    let kind = owner_kind(&served.kind, &served.group);
    let (key, group) = kind.split_once('.').unwrap_or((&kind, ""));
    key == requested.kind && (requested.group.is_empty() || requested.group == group)
}

/// The message for a kind that no controller serves. kubectl's names, such as `sg` and `securitygroups`, are not kinds.
fn unknown(served: &[ServedKind], requested: &StateName<'_>) -> String {
    let StateName { kind, group, .. } = *requested;
    let shown = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    if let Some(other) = served.iter().find(|served| !group.is_empty() && kind_key(&served.kind) == kind) {
        let group = other.group.split('.').next().unwrap_or_default();
        return format!("no controller serves the kind {shown}; did you mean {}.{group}?", other.kind);
    }
    let is_kubectl_name =
        |served: &&ServedKind| served.plural == kind || served.short_names.iter().any(|short| short == kind);
    if let Some(known) = served.iter().find(is_kubectl_name) {
        return format!("no controller serves the kind {shown}; write the kind: {}", known.kind);
    }
    let distance = |served: &&ServedKind| edits(&kind_key(&served.kind), kind);
    // Up to a third of the letters may differ.
    let near = served.iter().min_by_key(distance).filter(|near| distance(near) <= (kind.len() / 3).max(1));
    if let Some(near) = near {
        return format!("no controller serves the kind {shown}; did you mean {}?", near.kind);
    }
    let mut kinds: Vec<_> = served.iter().map(|served| served.kind.as_str()).collect();
    kinds.dedup();
    let more = if kinds.len() > LISTED { ", ..." } else { "" };
    kinds.truncate(LISTED);
    match kinds.as_slice() {
        [] => format!("no controller serves the kind {shown}; no kinds are installed"),
        kinds => format!("no controller serves the kind {shown}; served kinds: {}{more}", kinds.join(", ")),
    }
}

/// The edit distance of two words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, of_a) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        let mut left = i + 1;
        for (of_b, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let best = (diagonal + usize::from(of_a != *of_b)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served() -> Vec<ServedKind> {
        let kind = |group: &str, kind: &str, short: &[&str]| {
            let group = format!("{group}.{DOMAIN}");
            ServedKind {
                api: ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1alpha1", kind)),
                short_names: short.iter().map(|short| (*short).to_owned()).collect(),
            }
        };
        vec![
            kind("aws", "EC2Instance", &["ec2"]),
            kind("aws", "Subnet", &[]),
            kind("acme", "VPC", &[]),
            kind("aws", "VPC", &[]),
        ]
    }

    fn message_for(kind: &str) -> String {
        let named = ObjectRef::state("ns", kind, "a");
        let state = named.state_name().unwrap();
        assert!(!served().iter().any(|served| is_kind(served, &state)), "{kind}");
        unknown(&served(), &state)
    }

    #[test]
    fn an_unknown_kind_is_reported_with_the_most_similar_one() {
        assert_eq!(message_for("subnett"), "no controller serves the kind subnett; did you mean Subnet?");
        assert_eq!(
            message_for("EC2-Instanz"),
            "no controller serves the kind ec2instanz; did you mean EC2Instance?"
        );
        assert_eq!(
            message_for("Subnet.acme"),
            "no controller serves the kind subnet.acme; did you mean Subnet.aws?"
        );
        assert_eq!(
            message_for("bucket"),
            "no controller serves the kind bucket; served kinds: EC2Instance, Subnet, VPC"
        );
    }

    #[test]
    fn names_of_kubectl_are_reported_with_their_kind() {
        for name in ["ec2", "ec2instances"] {
            let advice = format!("no controller serves the kind {name}; write the kind: EC2Instance");
            assert_eq!(message_for(name), advice);
        }
    }

    #[test]
    fn a_kind_is_known_with_its_group_and_without() {
        for kind in ["VPC", "vpc.aws", "VPC.acme", "VPC.aws.kraken-iac.eoinfennessy.com"] {
            let named = ObjectRef::state("ns", kind, "a");
            assert!(served().iter().any(|served| is_kind(served, &named.state_name().unwrap())), "{kind}");
        }
    }

    #[test]
    fn edit_distance_counts_letters() {
        for (a, b, distance) in
            [("", "", 0), ("a", "", 1), ("subnet", "subnett", 1), ("vpc", "vcp", 2), ("abc", "xyz", 3)]
        {
            assert_eq!((edits(a, b), edits(b, a)), (distance, distance), "{a} {b}");
        }
    }
}
