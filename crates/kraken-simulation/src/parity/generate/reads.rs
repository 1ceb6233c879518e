//! Gets, lists and watches.

use super::{Generator, NAMESPACES};
use crate::parity::steps::{Request, StepAction};

const LABELS: [&str; 6] = ["app=web", "app", "!app", "app in (web,db)", "app!=web", "tier notin (x),app"];

/// The first write of a cluster: no server remembers what came after it.
const OLDEST: &str = "1";

impl Generator<'_> {
    pub(super) fn get(&mut self) -> StepAction {
        let key = self.any_object(|_| true);
        let mut request = Request { method: "GET".into(), path: self.path_of(&key), ..Request::default() };
        match self.random.below(12) {
            0 => request.query.push(("resourceVersion".into(), "0".into())),
            1 if self.kinds[key.0].status => request.path.push_str("/status"),
            2 if self.kinds[key.0].scale => request.path.push_str("/scale"),
            3 => {
                let step = self.version(&key);
                if step != usize::MAX {
                    request
                        .query
                        .push(("resourceVersion".into(), format!("<<{step}/metadata/resourceVersion>>")));
                }
            }
            4..=6 => request.metadata_only = true,
            _ => self.pending = Some(key),
        }
        StepAction::Call(request)
    }

    pub(super) fn list(&mut self) -> StepAction {
        if !self.cut.is_empty() && self.random.chance(60) {
            let index = self.random.below(self.cut.len());
            let (step, mut request) = self.cut[index].clone();
            request.query.retain(|(key, _)| key != "continue" && !key.starts_with("resourceVersion"));
            request.query.push(("continue".into(), format!("<<{step}/metadata/continue>>")));
            if self.random.chance(10) {
                request.query.push(("resourceVersion".into(), "0".into()));
            }
            return StepAction::Call(request);
        }
        let mut request = self.collection();
        request.metadata_only = self.random.chance(25);
        let is_everywhere = !request.path.contains("/namespaces/");
        if !is_everywhere && self.random.chance(50) {
            request.query.push(("limit".into(), (1 + self.random.below(2)).to_string()));
        }
        match self.random.below(10) {
            0 | 1 => {
                request.query.push(("resourceVersion".into(), "0".into()));
                if self.random.chance(50) {
                    request.query.push(("resourceVersionMatch".into(), "NotOlderThan".into()));
                }
            }
            2 | 3 => {
                if let Some(version) = self.any_version() {
                    request.query.push(("resourceVersion".into(), version));
                    match self.random.below(3) {
                        0 => request.query.push(("resourceVersionMatch".into(), "Exact".into())),
                        1 => request.query.push(("resourceVersionMatch".into(), "NotOlderThan".into())),
                        _ => {}
                    }
                }
            }
            4 if self.random.chance(30) => {
                let wrong = match self.random.below(5) {
                    0 => ("resourceVersionMatch", "Exact"),
                    1 => ("resourceVersion", "abc"),
                    2 => ("labelSelector", "a=b=c"),
                    3 => ("fieldSelector", "spec.x=1"),
                    _ => ("continue", "nonsense"),
                };
                request.query.push((wrong.0.into(), wrong.1.into()));
            }
            _ => {}
        }
        StepAction::Call(request)
    }

    pub(super) fn watch(&mut self) -> StepAction {
        let mut request = self.collection();
        request.metadata_only = self.random.chance(30);
        request.query.push(("watch".into(), "true".into()));
        request.query.push(("allowWatchBookmarks".into(), "true".into()));
        request.query.push(("timeoutSeconds".into(), "290".into()));
        match self.random.below(12) {
            0 => request.query.push(("resourceVersion".into(), "0".into())),
            1 => {}
            // The server remembers everything of kinds that are there since it started.
            10 if request.path.contains("kraken-iac") && self.random.chance(60) => {
                request.query.push(("resourceVersion".into(), OLDEST.into()));
            }
            11 => {
                request.query.push(("sendInitialEvents".into(), "true".into()));
                request.query.push(("resourceVersionMatch".into(), "NotOlderThan".into()));
                let version = self.any_version().filter(|_| self.random.chance(50));
                request.query.extend(version.map(|version| ("resourceVersion".into(), version)));
            }
            2 if self.random.chance(20) => request.query.push(("resourceVersion".into(), "abc".into())),
            _ => {
                if let Some(version) = self.any_version() {
                    request.query.push(("resourceVersion".into(), version));
                }
            }
        }
        StepAction::Watch(request)
    }

    pub(super) fn read(&mut self) -> StepAction {
        if self.watches.is_empty() {
            return self.watch();
        }
        let index = self.random.below(self.watches.len());
        StepAction::Read(self.watches[index])
    }

    /// A collection with a selector sometimes; all namespaces sometimes.
    fn collection(&mut self) -> Request {
        // Of a kind that there are objects of.
        let (kind, ..) = self.any_object(|_| true);
        let namespace =
            if self.random.chance(20) { "" } else { NAMESPACES[usize::from(self.random.chance(20))] };
        let mut request =
            Request { method: "GET".into(), path: self.kinds[kind].path(namespace), ..Request::default() };
        if self.random.chance(25) {
            let selector = self.random.one(LABELS);
            request.query.push(("labelSelector".into(), selector.into()));
        }
        if self.random.chance(15) {
            let is_secret = self.kinds[kind].plural == "secrets";
            let selector = match self.random.below(4) {
                0 if is_secret => "type!=helm.sh/release.v1",
                1 if is_secret => "type=Opaque",
                2 => "metadata.name!=a",
                _ => "metadata.name=a",
            };
            request.query.push(("fieldSelector".into(), selector.into()));
        }
        request
    }

    /// The version of a list or of an object that was seen.
    fn any_version(&mut self) -> Option<String> {
        let step = if !self.lists.is_empty() && self.random.chance(40) {
            self.lists[self.random.below(self.lists.len())]
        } else {
            let all: Vec<usize> = self.history.values().flatten().copied().collect();
            *all.get(self.random.below(all.len()))?
        };
        Some(format!("<<{step}/metadata/resourceVersion>>"))
    }
}
