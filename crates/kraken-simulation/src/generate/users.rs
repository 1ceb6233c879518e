//! The users of a seed: their manifests, and the objects that a step can be about.

use serde_json::Value;

use super::edits;
use super::stack::{Stack, id_path};
use crate::random::Random;
use crate::schedule::{ObjectName, Propagation, Remote};

/// The users of one seed, with their manifests.
#[derive(Debug)]
pub(crate) struct Users {
    pub(crate) stack: Stack,
    /// The remote objects that were created out of band, with their kinds.
    remotes: Vec<(String, String)>,
    pub(super) backed_up: bool,
    /// The object whose manifest was saved last.
    pub(super) saved: Option<ObjectName>,
    /// Whether an opening is about the deletion of orphans.
    pub(super) removes_orphans: bool,
}

impl Users {
    pub(crate) fn of(stack: Stack) -> Self {
        Self { stack, remotes: Vec::new(), backed_up: false, saved: None, removes_orphans: false }
    }

    /// The manifests in the order in which they are applied first.
    pub(crate) fn first(&mut self, rng: &mut Random) -> Vec<Value> {
        let mut all = self.stack.sources.manifests(&self.stack.namespace);
        all.extend(self.stack.objects.iter().cloned());
        match rng.below(3) {
            0 => {}
            1 => all.reverse(),
            _ => {
                for index in (1..all.len()).rev() {
                    all.swap(index, rng.below(index + 1));
                }
            }
        }
        // Sometimes one is initially omitted.
        if rng.chance(20) {
            let forgotten = rng.below(all.len());
            all.remove(forgotten);
        }
        all
    }

    /// Some object of the stack.
    pub(super) fn object(&self, rng: &mut Random) -> ObjectName {
        rng.pick(&self.stack.objects)
            .map_or_else(|| ObjectName::new(&self.stack.namespace, "VPC", "a"), ObjectName::of)
    }

    /// Some object of a spoke.
    pub(crate) fn spoke_object(&self, rng: &mut Random) -> ObjectName {
        let is_of_a_spoke =
            |object: &&Value| object["kind"].as_str().is_some_and(|kind| id_path(kind).is_some());
        let objects: Vec<&Value> = self.stack.objects.iter().filter(is_of_a_spoke).collect();
        let picked = rng.pick(&objects).copied();
        picked.map_or_else(|| ObjectName::new(&self.stack.namespace, "VPC", "a"), ObjectName::of)
    }

    /// Some object whose manifest requires approvals, if there is one.
    pub(super) fn planned(&self, rng: &mut Random) -> Option<ObjectName> {
        let is_manual = |object: &&Value| object["spec"]["lifecycle"]["approval"] == "Manual";
        let names: Vec<ObjectName> =
            self.stack.objects.iter().filter(is_manual).map(ObjectName::of).collect();
        rng.pick(&names).cloned()
    }

    /// Some remote object; of this kind if there is one.
    pub(crate) fn remote(&self, rng: &mut Random, kind: Option<&str>) -> Remote {
        let named: Vec<&(String, String)> =
            self.remotes.iter().filter(|(_, of)| kind.is_none_or(|kind| kind == of)).collect();
        if let Some((name, _)) = rng.pick(&named).copied()
            && rng.chance(if kind.is_some() { 75 } else { 20 })
        {
            return Remote::Named(name.clone());
        }
        let mut object = self.spoke_object(rng);
        for _ in 0..5 {
            if kind.is_none_or(|kind| kind == object.kind) {
                break;
            }
            object = self.spoke_object(rng);
        }
        let number = rng.one([0, 0, 0, 1]);
        Remote::Of(object, number)
    }

    /// A manifest, with an optional edit or two.
    pub(super) fn manifest(&mut self, rng: &mut Random, edited: bool) -> Value {
        let index = rng.below(self.stack.objects.len());
        let Some(object) = self.stack.objects.get_mut(index) else { return Value::Null };
        let kind = ObjectName::of(object).kind;
        for _ in 0..if edited { rng.one([0, 0, 1, 1, 2]) } else { 0 } {
            let change = if rng.chance(25) && kind != "ConfigExport" && kind != "Account" {
                Some(edits::policy(rng, &kind))
            } else {
                edits::plausible_edit(rng, &kind)
            };
            if let Some((path, value)) = change {
                crate::apply::set(object, &path, value);
            }
        }
        object.clone()
    }

    /// A name for a remote object that is created out of band.
    pub(crate) fn remote_name(&mut self, kind: &str) -> String {
        let name = format!("outside-{}", self.remotes.len());
        self.remotes.push((name.clone(), kind.to_owned()));
        name
    }
}

/// How objects are deleted.
pub(super) fn propagation(rng: &mut Random) -> Propagation {
    rng.one([
        Propagation::Background,
        Propagation::Background,
        Propagation::Background,
        Propagation::Foreground,
        Propagation::Orphan,
    ])
}
