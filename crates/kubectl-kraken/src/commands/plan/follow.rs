//! What follows from a change: each resource that refers to a replaced object or to an edited ConfigMap is asked what the new value
//! will do to it. Nothing is written: the questions are dry runs. Client required.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use kraken_api::{effect::shortened, status::ABSENT};
use kraken_options::{Dependency, ResourceRef, ValueFrom};
use kube::{
    Resource as _,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    ask,
    entry::{Action, Entry},
    patch::three_way,
    values::{means, resource_of, unknown_like, with_literals},
};
use crate::{
    cluster::Cluster,
    failure::{explain, is_forbidden},
    graph::{Graph, Node, Via, walk},
};

/// What is shown for a value that only the apply will bring.
const UNKNOWN: &str = "(known after apply)";

/// A change of what others refer to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// The remote object is replaced: its id is another one afterwards.
    Replaced { id: String },
    /// Keys of a ConfigMap have other values: those before and after.
    Keys(BTreeMap<String, (String, String)>),
}

/// The plan, and what changes in it for others.
pub(super) struct Followed<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) graph: &'a Graph,
    /// The specs as they will be; of other resources, those of the graph count.
    pub(super) specs: BTreeMap<Node, Value>,
    pub(super) changed: BTreeMap<Node, Source>,
}

impl Followed<'_> {
    /// Adds to the entries what follows from them.
    pub(super) async fn follow(mut self, entries: &mut Vec<Entry>) -> Result<()> {
        let mut left: Vec<Node> = self.changed.keys().cloned().collect();
        while let Some(source) = left.pop() {
            let users: BTreeSet<Node> = self
                .graph
                .users(&source)
                .iter()
                .filter(|one| matches!(one.via, Via::Field { .. }))
                .map(|one| one.of.clone())
                .collect();
            for user in users {
                let Some(entry) = self.asked(&user).await? else { continue };
                let id = self.graph.get(&user).and_then(|user| user.status.external_ids.first().cloned());
                if let (Action::Replace, Some(id), false) =
                    (entry.action, id, self.changed.contains_key(&user))
                {
                    self.changed.insert(user.clone(), Source::Replaced { id });
                    left.push(user.clone());
                }
                match entries.iter_mut().find(|known| known.node == user) {
                    // What is rejected, created or deleted stays so.
                    Some(known)
                        if matches!(
                            known.action,
                            Action::Rejected | Action::Create | Action::Adopt | Action::Delete
                        ) => {}
                    // What exists in the cloud was asked only about the spec.
                    Some(known) => known.follow(entry),
                    None => entries.push(entry),
                }
            }
        }
        Ok(())
    }

    /// What the new values do to a resource that exists; `None` if it uses none of them, or has nothing in the cloud.
    async fn asked(&self, user: &Node) -> Result<Option<Entry>> {
        let Some(resource) = self.graph.get(user).filter(|user| !user.status.external_ids.is_empty()) else {
            return Ok(None);
        };
        let spec = self.specs.get(user).unwrap_or(&resource.spec);
        let because = self.because(user);
        let unknown = self.unknown(user, spec);
        let entry = |action: Action, lines: Vec<String>| {
            let lines = lines.into_iter().map(|line| self.without_placeholders(line)).chain(unknown.clone());
            Some(Entry { because: because.clone(), ..Entry::new(user.clone(), action, lines.collect()) })
        };
        let kind = self.cluster.kind(&format!("{}.{}", user.kind, user.group))?;
        let path = DynamicObject::url_path(&kind.resource, Some(&user.namespace));
        // The text of a ConfigMap is a number or a list if the field is one.
        for is_parsed in [false, true] {
            let Some(literal) = with_literals(spec, &|from| self.literal(user, from, is_parsed)) else {
                return Ok(if unknown.is_empty() { None } else { entry(Action::Change, vec![]) });
            };
            let patch = Patch::Merge(json!({"spec": three_way(&resource.spec, &literal, &resource.spec)}));
            let params = PatchParams { dry_run: true, ..PatchParams::default() };
            let answer = ask::patch(&self.cluster.client, &path, &user.name, &params, &patch).await;
            return Ok(match answer {
                Ok(answer) => {
                    let effects = effects(user, answer.warnings);
                    match Action::of(&effects) {
                        Some(action) => entry(action, effects),
                        None if unknown.is_empty() => None,
                        None => entry(Action::Change, vec![]),
                    }
                }
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => {
                    if !is_parsed {
                        continue;
                    }
                    entry(Action::Blocked, vec![status.message.clone()])
                }
                Err(error) if is_forbidden(&error) => entry(
                    Action::Change,
                    vec!["changes; you may not patch it, so that the effect is not known".to_owned()],
                ),
                Err(error) => return Err(explain(error, &format!("plan {user}"), &self.cluster.server)),
            });
        }
        Ok(None)
    }

    /// What is said about references whose new value no literal can stand for: paths, and keys that are removed.
    fn unknown(&self, user: &Node, spec: &Value) -> Vec<String> {
        let mut lines = vec![];
        for reference in walk::references(spec) {
            let (field, shown) = (&reference.field, &reference.dependency);
            let from = match &reference.dependency {
                Dependency::ConfigMap(key) => {
                    let map = Node::new(&user.namespace, "", "ConfigMap", &key.name);
                    let Some(Source::Keys(keys)) = self.changed.get(&map) else { continue };
                    match keys.get(&key.key) {
                        None => continue,
                        Some((_, after)) if after == ABSENT => {
                            lines.push(format!("{field}: {shown} is removed, so that it is not ready"));
                            continue;
                        }
                        Some(_) => ValueFrom::ConfigMap(key.clone()),
                    }
                }
                Dependency::Resource(of) => {
                    if self.replaced(user, of).is_none() {
                        continue;
                    }
                    ValueFrom::KrakenResource(of.clone())
                }
                Dependency::Secret(_) => continue,
            };
            if self.literal(user, &from, false).is_none() {
                lines.push(format!("{field}: {shown} changes; what that does is not known before"));
            }
        }
        lines
    }

    /// The new value of a source, if it changes.
    fn literal(&self, user: &Node, from: &ValueFrom, is_parsed: bool) -> Option<Value> {
        if let ValueFrom::ConfigMap(key) = from {
            let map = Node::new(&user.namespace, "", "ConfigMap", &key.name);
            let Some(Source::Keys(keys)) = self.changed.get(&map) else { return None };
            let (_, text) = keys.get(&key.key).filter(|(_, after)| after != ABSENT)?;
            let parsed = is_parsed.then(|| serde_json::from_str(text).ok()).flatten();
            return Some(parsed.unwrap_or_else(|| json!(text)));
        }
        let of = resource_of(from).filter(ResourceRef::is_id)?;
        self.replaced(user, &of).map(|placeholder| json!(placeholder))
    }

    /// What stands for the new id of a resource that is replaced, if a reference of `user` means one.
    fn replaced(&self, user: &Node, of: &ResourceRef) -> Option<String> {
        self.changed.iter().enumerate().find_map(|(number, (node, source))| match source {
            Source::Replaced { id } if means(user, of, node) => Some(unknown_like(id, number)),
            _ => None,
        })
    }

    fn without_placeholders(&self, mut line: String) -> String {
        for (number, (node, source)) in self.changed.iter().enumerate() {
            match source {
                Source::Replaced { id } => {
                    let placeholder = unknown_like(id, number);
                    // Admission may have cut it.
                    for shown in [shortened(&placeholder), placeholder] {
                        line = line.replace(&shown, UNKNOWN);
                    }
                }
                Source::Keys(keys) => {
                    for (key, (before, _)) in keys {
                        line = line.replace(
                            &format!("ConfigMap {} key {key} -> ", node.name),
                            &format!("{} -> ", shortened(before)),
                        );
                    }
                }
            }
        }
        line
    }

    /// The changed objects that a resource uses, in words.
    fn because(&self, user: &Node) -> Vec<String> {
        let uses = self.graph.uses(user);
        let is_used = |(node, source): &(&Node, &Source)| {
            uses.iter().any(|one| {
                one.of == **node
                    && match (source, &one.via) {
                        (Source::Keys(keys), Via::Field { entry, .. }) => {
                            entry.strip_prefix("key ").is_some_and(|key| keys.contains_key(key))
                        }
                        (Source::Replaced { .. }, _) => true,
                        (Source::Keys(_), _) => false,
                    }
            })
        };
        let words = |(node, source): (&Node, &Source)| match source {
            Source::Replaced { .. } => format!("because {node} is replaced"),
            Source::Keys(_) => format!("because {node} changes"),
        };
        self.changed.iter().filter(is_used).map(words).collect()
    }
}

/// What admission announces for this object, without its name.
pub(super) fn effects(node: &Node, warnings: Vec<String>) -> Vec<String> {
    let prefix = format!("{node}: ");
    warnings.into_iter().filter_map(|warning| warning.strip_prefix(&prefix).map(str::to_owned)).collect()
}
