//! Both servers, step by step.

use std::time::{Duration, Instant};

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    accepted,
    difference::{Difference, between},
    side::Side,
    steps::{Step, StepAction},
};

/// How long nothing more may come from a watch before it counts as read.
const QUIET: Duration = Duration::from_millis(4);
/// As [`QUIET`], at the end of a sequence, for what came too much.
const QUIET_AT_END: Duration = Duration::from_millis(60);
/// How often objects are compared until controllers have come to an end.
const LOOK: Duration = Duration::from_millis(60);
/// How often in a row they must then be equal.
const EQUAL_LOOKS: usize = 3;
/// How long controllers may take: the namespace controller looks again after up to ten seconds.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);

/// The in-memory API server and kube-apiserver.
#[derive(Debug)]
pub struct Pair {
    memory: Side,
    real: Side,
    done: Vec<Step>,
    /// Those of the in-memory API server.
    controllers: JoinHandle<()>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

impl Pair {
    /// Two servers, on which namespaces that begin with `prefix` are this run's own.
    pub fn new(memory: Client, controllers: JoinHandle<()>, real: Client, prefixes: [&str; 2]) -> Self {
        Self {
            memory: Side::new(memory, prefixes[0]),
            real: Side::new(real, prefixes[1]),
            done: Vec::new(),
            controllers,
        }
    }

    /// Does one step on both; the answer, or where the answers differ.
    ///
    /// # Errors
    /// When a server does not answer at all.
    pub async fn step(&mut self, step: &Step) -> Result<Result<Value, Difference>> {
        self.done.push(step.clone());
        let (memory, real) = match &step.what {
            StepAction::Call(request) => {
                (self.memory.call(step.id, request).await?, self.real.call(step.id, request).await?)
            }
            StepAction::Watch(request) => {
                (self.memory.watch(step.id, request).await?, self.real.watch(step.id, request).await?)
            }
            StepAction::Read(watch) => self.read(*watch, QUIET).await?,
            StepAction::Settle => self.settle().await?,
        };
        Ok(self.compared(step, memory, real))
    }

    /// Reads every watch and compares all objects, once more.
    ///
    /// # Errors
    /// When a server does not answer at all.
    pub async fn end(&mut self) -> Result<Option<Difference>> {
        let mut quiet = QUIET_AT_END;
        for watch in self.memory.open_watches() {
            let step = Step { id: usize::MAX, what: StepAction::Read(watch) };
            let (memory, real) = self.read(watch, quiet).await?;
            quiet = QUIET;
            self.done.push(step.clone());
            if let Err(difference) = self.compared(&step, memory, real) {
                return Ok(Some(difference));
            }
            self.done.pop();
        }
        let (memory, real) = self.settle().await?;
        let step = Step { id: usize::MAX, what: StepAction::Settle };
        self.done.push(step.clone());
        Ok(self.compared(&step, memory, real).err())
    }

    fn compared(&self, step: &Step, memory: Value, real: Value) -> Result<Value, Difference> {
        let paths = between(&accepted::without(step, memory), &accepted::without(step, real.clone()));
        if paths.is_empty() {
            Ok(real)
        } else {
            Err(Difference { steps: self.done.clone(), paths, answer: real })
        }
    }

    async fn read(&mut self, watch: usize, quiet: Duration) -> Result<(Value, Value)> {
        let (memory, count) = self.memory.read(watch, 0, quiet).await?;
        let (real, _) = self.real.read(watch, count, quiet).await?;
        Ok((memory, real))
    }

    /// Compares all objects of both until they are equal and stable, or until the timeout.
    async fn settle(&mut self) -> Result<(Value, Value)> {
        let began = Instant::now();
        let mut equal = 0;
        let mut before = Value::Null;
        self.memory.disturb_watches();
        self.real.disturb_watches();
        loop {
            let (memory, real) = (self.memory.objects().await?, self.real.objects().await?);
            let (known_memory, known_real) = (self.memory.normal.clone(), self.real.normal.clone());
            self.memory.normal.unordered = true;
            self.real.normal.unordered = true;
            let memory = self.memory.normal.of(&json!(memory));
            let real = self.real.normal.of(&json!(real));
            self.memory.normal.unordered = false;
            self.real.normal.unordered = false;
            let step = Step { id: usize::MAX, what: StepAction::Settle };
            let is_equal = accepted::without(&step, memory.clone()) == accepted::without(&step, real.clone());
            let is_pending = is_terminating_silently(&memory) || ends_soon(&memory);
            let is_settled = is_equal && memory == before && !is_pending;
            equal = if is_settled { equal + 1 } else { 0 };
            if equal >= EQUAL_LOOKS - 1 || began.elapsed() > SETTLED_WITHIN {
                return Ok((memory, real));
            }
            before = memory;
            (self.memory.normal, self.real.normal) = (known_memory, known_real);
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Whether a namespace is being deleted in which no finalizer holds anything: its controller only looks again later.
fn ends_soon(objects: &Value) -> bool {
    let held = |namespace: &Value| {
        let all = objects.as_object().into_iter().flatten().filter_map(|(_, list)| list.as_array()).flatten();
        let mut finalizers = all
            .filter(|object| object["metadata"]["namespace"] == namespace["metadata"]["name"])
            .filter_map(|object| object["metadata"]["finalizers"].as_array());
        finalizers.any(|finalizers| !finalizers.is_empty())
    };
    let namespaces = objects["/api/v1/namespaces"].as_array();
    let mut namespaces = namespaces.into_iter().flatten();
    namespaces.any(|namespace| namespace["status"]["phase"] == "Terminating" && !held(namespace))
}

/// Whether a namespace is being deleted and its controller has not said anything about it yet.
fn is_terminating_silently(objects: &Value) -> bool {
    let namespaces = objects["/api/v1/namespaces"].as_array();
    namespaces.into_iter().flatten().any(|namespace| {
        namespace["status"]["phase"] == "Terminating" && namespace["status"]["conditions"].is_null()
    })
}
