//! Requests generated from a seed and earlier responses: most are like those of the product, many conflict with an
//! earlier one, some are invalid.

mod contents;
mod edits;
mod kinds;
mod owners;
mod patches;
mod reads;
mod samples;
mod values;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::steps::{Body, Request, Step, StepAction};
use crate::random::Random;
pub use kinds::{Kind, kinds};
use values::Values;

/// The namespaces that every sequence begins with.
const NAMESPACES: [&str; 2] = ["<<a>>", "<<b>>"];
/// Few names, so that requests meet.
const NAMES: [&str; 5] = ["a", "b", "c", "main", "web.1"];
/// How many creations begin a sequence: without objects, most requests are answered with 404.
const FIRST: usize = 8;
/// The field managers.
const MANAGERS: [&str; 4] = ["kraken-hub", "kraken-aws-ec2", "kubectl", "person"];

/// The topic of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Everything that has one answer at once.
    Plain,
    /// Owner references and the garbage collector.
    Owners,
    /// Namespaces that are deleted while something is in them.
    Namespaces,
}

/// An object: the index of its kind, its namespace, its name.
type Key = (usize, String, String);

/// Generates the steps of one sequence.
#[derive(Debug)]
pub struct Generator<'a> {
    random: Random,
    kinds: &'a [Kind],
    profile: Profile,
    next: usize,
    /// The responses with an object, oldest first.
    history: BTreeMap<Key, Vec<usize>>,
    /// The last observed objects.
    objects: BTreeMap<Key, Value>,
    /// Lists that were cut: the step, its request.
    cut: Vec<(usize, Request)>,
    /// Steps whose answer was a list.
    lists: Vec<usize>,
    watches: Vec<usize>,
    /// The object that the last step was about.
    pending: Option<Key>,
    /// Steps that must follow.
    queue: Vec<StepAction>,
    /// How many creations come first.
    creates: usize,
    /// The objects whose metadata was sent with a status.
    sent: BTreeSet<Key>,
}

impl<'a> Generator<'a> {
    /// The sequence of this seed.
    pub fn new(seed: u64, kinds: &'a [Kind], profile: Profile) -> Self {
        let queue: Vec<StepAction> = NAMESPACES
            .iter()
            .rev()
            .map(|name| {
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                StepAction::Call(Request {
                    method: "POST".into(),
                    path: "/api/v1/namespaces".into(),
                    body: Body::Json(body),
                    ..Request::default()
                })
            })
            .collect();
        Self {
            random: Random::new(seed),
            kinds,
            profile,
            next: 0,
            history: BTreeMap::new(),
            objects: BTreeMap::new(),
            cut: Vec::new(),
            lists: Vec::new(),
            watches: Vec::new(),
            pending: None,
            queue,
            sent: BTreeSet::new(),
            creates: if profile == Profile::Plain { FIRST } else { 0 },
        }
    }

    /// The next step.
    pub fn step(&mut self) -> Step {
        self.pending = None;
        let id = self.next;
        self.next += 1;
        let what = match self.queue.pop() {
            Some(what) => what,
            None => match self.profile {
                Profile::Plain => self.plain(),
                Profile::Owners => self.owners(),
                Profile::Namespaces => self.namespaces(),
            },
        };
        if matches!(what, StepAction::Watch(_)) {
            self.watches.push(id);
        }
        Step { id, what }
    }

    /// Whether the last step needs another one: controllers are waited for.
    pub fn must_continue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Records the response to the last step.
    pub fn learn(&mut self, step: &Step, answer: &Value) {
        let StepAction::Call(request) = &step.what else { return };
        let body = &answer["body"];
        if body["items"].is_array() {
            if request.method == "GET" {
                self.lists.push(step.id);
            }
            if body["metadata"]["continue"].as_str().is_some_and(|token| !token.is_empty()) {
                self.cut.push((step.id, request.clone()));
            }
            return;
        }
        let Some(key) = self.pending.take() else { return };
        let is_success = answer["status"].as_u64().is_some_and(|status| status < 300);
        let is_dry = request.query.iter().any(|(key, _)| key == "dryRun");
        let kind = self.kinds.get(key.0).map_or("Namespace", |kind| kind.name.as_str());
        if is_success && body["kind"] == kind && !is_dry {
            self.history.entry(key.clone()).or_default().push(step.id);
            let metadata = &body["metadata"];
            let is_gone = request.method == "DELETE" && metadata["deletionTimestamp"].is_null()
                || !metadata["deletionTimestamp"].is_null() && metadata["finalizers"].is_null();
            if is_gone {
                self.objects.remove(&key);
            } else {
                self.objects.insert(key, body.clone());
            }
        } else if (is_success && request.method == "DELETE" && !is_dry) || answer["status"] == 404 {
            self.objects.remove(&key);
        }
    }

    fn plain(&mut self) -> StepAction {
        if self.creates > 0 {
            self.creates -= 1;
            return self.create();
        }
        match self.random.index(&[20, 5, 9, 11, 5, 10, 11, 15, 9, 3, 8, 3, 9, 4]) {
            0 => self.create(),
            1 => self.get(),
            2 => self.list(),
            3 => self.put(false),
            4 => self.put(true),
            5 => self.json_patch(false),
            6 => self.merge_patch(false),
            7 => self.apply(false),
            8 => match self.random.below(3) {
                0 => self.json_patch(true),
                1 => self.merge_patch(true),
                _ => self.apply(true),
            },
            9 => self.scale(),
            10 => self.delete(),
            11 => self.watch(),
            12 => self.read(),
            _ => self.malformed(),
        }
    }

    /// What an object is written as: its contents by its schema, with faults in some.
    fn contents(&mut self, kind: usize) -> Map<String, Value> {
        let wrong = if self.random.chance(25) { 4 } else { 0 };
        let mut values = Values { random: &mut self.random, wrong };
        contents::contents(&self.kinds[kind], &mut values)
    }

    fn any_kind(&mut self) -> usize {
        let weights: Vec<usize> = self.kinds.iter().map(|kind| kind.weight).collect();
        self.random.index(&weights)
    }

    fn any_namespace(&mut self) -> String {
        let index = usize::from(self.random.chance(25));
        NAMESPACES[index].to_owned()
    }

    fn any_name(&mut self) -> String {
        self.random.one(NAMES).to_owned()
    }

    /// An object that most likely exists; of a kind that this is true of.
    fn any_object(&mut self, of: impl Fn(&Kind) -> bool) -> Key {
        let known: Vec<&Key> =
            self.objects.keys().filter(|key| self.kinds.get(key.0).is_some_and(&of)).collect();
        if !known.is_empty() && !self.random.chance(6) {
            return known[self.random.below(known.len())].clone();
        }
        for _ in 0..30 {
            let kind = self.any_kind();
            if of(&self.kinds[kind]) {
                return (kind, self.any_namespace(), self.any_name());
            }
        }
        (self.any_kind(), self.any_namespace(), self.any_name())
    }

    /// A step that answered with this object: the last one, sometimes an older one.
    fn version(&mut self, key: &Key) -> usize {
        let Some(steps) = self.history.get(key) else { return usize::MAX };
        let back = if self.random.chance(12) { self.random.below(steps.len()) } else { 0 };
        steps[steps.len() - 1 - back]
    }

    fn path_of(&self, key: &Key) -> String {
        let (kind, namespace, name) = key;
        format!("{}/{name}", self.kinds[*kind].path(namespace))
    }

    fn manager(&mut self) -> String {
        self.random.one(MANAGERS).to_owned()
    }

    /// Whether a write may send metadata: with a status, which does not store it, only once for each object. A second
    /// time changes nothing but the time of its owner, which is in seconds, so that the second decides whether it is a write.
    fn sends_metadata(&mut self, key: &Key, status: bool) -> bool {
        !status || (self.random.chance(30) && self.sent.insert(key.clone()))
    }

    /// The query of a write.
    fn write_query(&mut self) -> Vec<(String, String)> {
        let mut query = Vec::new();
        if self.random.chance(70) {
            query.push(("fieldManager".to_owned(), self.manager()));
        }
        if self.random.chance(6) {
            query.push(("dryRun".to_owned(), self.random.one(["All", "All", "All", "Some"]).to_owned()));
        }
        if self.random.chance(6) {
            let how = self.random.one(["Strict", "Ignore", "Warn", "Strict"]);
            query.push(("fieldValidation".to_owned(), how.to_owned()));
        }
        query
    }
}
