//! Another program for resources that exist: its plans are counted before it takes over.
//!
//! The status says which program is in use. It is written before the new one touches anything, so that a process that starts at any moment,
//! and every standby, continues with the program that was decided.

use std::{sync::Arc, time::Instant};

use kraken_kind::{
    api::effect::Effect,
    runtime::{patch::ApiError, watch::ObjectKey},
};
use kraken_spoke::controller::Preview;
use kube::ResourceExt;

use super::{
    Inner,
    choose::{Chosen, choose},
    compared::{COMPARED_EVERY, Compared},
    crds::{self, Crds},
    outcome::Outcome,
    program::options,
};
use crate::{
    api::{ProgramInUse, ProviderInstall, ProviderInstallSpec, Switch, SwitchPolicy},
    provider::Program,
};

/// The most resources that the status names.
const EXAMPLES: usize = 10;
/// The most characters about one of them.
const LENGTH: usize = 300;

impl Inner {
    /// Continues with the program in use: at the start of a process, and on a standby that did not see each change. Does nothing if it is
    /// loaded, or does not start any more.
    pub(super) async fn continue_with(
        &self,
        install: &ProviderInstall,
        used: &ProgramInUse,
        existing: &Crds,
    ) {
        let name = install.name_any();
        let options = options(&self.folder, used);
        if self.loaded(&name).is_some_and(|loaded| *loaded.program.options() == options) {
            return;
        }
        let Ok(program) = self.program(&name, options).await else { return };
        let config = program.has_options().then_some(name.as_str());
        let Ok(mut chosen) = choose(program.schema(), &install.spec, config) else { return };
        let is_installed = |one: &Chosen| {
            existing.get(&crds::name(&one.crd)).and_then(crds::install_of) == Some(name.as_str())
        };
        chosen.retain(is_installed);
        let all = existing.values().filter(|crd| crds::install_of(crd) == Some(&name)).count();
        let is_complete = all == chosen.len();
        self.serve(&name, &program, chosen, is_complete).await;
    }

    /// Whether this program may take over, from its plans.
    pub(super) async fn switch(
        &self,
        install: &ProviderInstall,
        program: &Arc<Program>,
        chosen: Vec<Chosen>,
        current: &Crds,
    ) -> Result<Outcome, ApiError> {
        let name = install.name_any();
        let is_always = install.spec.switch_policy == SwitchPolicy::Always;
        let Some(before) = self.loaded(&name) else {
            let mut used = false;
            for crd in current.values() {
                used |= crds::in_use(&self.manager, crd).await?.is_some();
            }
            return Ok(if used && !is_always { Outcome::WithoutFormer } else { Outcome::Switching(None) });
        };
        if !self.kinds.are_listed(before.kinds.values().map(String::as_str)) {
            return Ok(Outcome::Listing);
        }
        let known = self.compared.lock().get(&name).cloned();
        let is_recent =
            |known: &Compared| known.options == *program.options() && known.at.elapsed() < COMPARED_EVERY;
        let switch = match known.filter(is_recent) {
            Some(known) => known.switch,
            None => self.compare(install, program, chosen).await,
        };
        let is_decided = is_always || switch.is_unchanged();
        Ok(if is_decided { Outcome::Switching(Some(switch)) } else { Outcome::SwitchRefused(switch) })
    }

    /// What the program would do to each resource.
    async fn compare(
        &self,
        install: &ProviderInstall,
        program: &Arc<Program>,
        chosen: Vec<Chosen>,
    ) -> Switch {
        let name = install.name_any();
        let mut all = vec![];
        for served in self.calls(&name, program, chosen) {
            let kind = served.0.info().name;
            // A kind that does not run is new, and has no resources.
            let previews = self.kinds.previews(served).await.unwrap_or_default();
            all.extend(previews.into_iter().map(|(key, preview)| (kind, key, preview)));
        }
        let switch = Switch::of(&install.spec, all);
        let (options, at) = (program.options().clone(), Instant::now());
        self.compared.lock().insert(name, Compared { options, at, switch: switch.clone() });
        switch
    }
}

/// What a plan does to a resource, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Replaced,
    Rejected,
    Unknown,
    Changed,
    NotCompared,
    Unchanged,
}

impl Class {
    fn of(preview: &Preview) -> Self {
        match preview {
            Preview::Nothing => Self::NotCompared,
            Preview::Invalid(_) => Self::Rejected,
            Preview::Failed(_) => Self::Unknown,
            Preview::Compared(effects) => {
                let classes = effects.iter().map(|effect| match Effect::of(effect) {
                    Some(Effect::Replaces | Effect::Deletes | Effect::Recreates | Effect::Creates) => {
                        Self::Replaced
                    }
                    Some(Effect::CannotChange | Effect::Waits) => Self::Rejected,
                    Some(Effect::Adopts | Effect::CannotAdopt) => Self::NotCompared,
                    Some(Effect::Keeps | Effect::ChangesNothing) => Self::Unchanged,
                    _ => Self::Changed,
                });
                classes.min().unwrap_or(Self::Unchanged)
            }
        }
    }
}

impl Switch {
    fn of(spec: &ProviderInstallSpec, previews: Vec<(&'static str, ObjectKey, Preview)>) -> Self {
        let mut switch = Self { path: spec.path.clone(), sha256: spec.sha256.clone(), ..Self::default() };
        let mut said = vec![];
        for (kind, key, preview) in previews {
            let class = Class::of(&preview);
            *match class {
                Class::Replaced => &mut switch.replaced,
                Class::Rejected => &mut switch.rejected,
                Class::Unknown => &mut switch.unknown,
                Class::Changed => &mut switch.changed,
                Class::NotCompared => &mut switch.not_compared,
                Class::Unchanged => &mut switch.unchanged,
            } += 1;
            let line = match preview {
                Preview::Compared(effects) => effects.join("; "),
                Preview::Invalid(why) | Preview::Failed(why) => why,
                Preview::Nothing => continue,
            };
            if class < Class::NotCompared {
                let line: String = format!("{kind} {key}: {line}").chars().take(LENGTH).collect();
                said.push((class, line));
            }
        }
        said.sort();
        switch.examples = said.into_iter().take(EXAMPLES).map(|(_, line)| line).collect();
        switch
    }

    /// Whether the plans are known, and change nothing.
    fn is_unchanged(&self) -> bool {
        self.replaced + self.rejected + self.unknown + self.changed == 0
    }

    /// What would happen, in words.
    pub(super) fn words(&self) -> String {
        let parts = [
            (self.replaced, "would be replaced or created again"),
            (self.rejected, "would not be ready"),
            (self.unknown, "have no plan"),
            (self.changed, "would be changed in place"),
        ];
        let said =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let all = parts.iter().map(|(count, _)| count).sum::<i64>() + self.unchanged;
        format!("of {all} resources {}", said.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(effect: &str) -> Preview {
        Preview::Compared(vec![effect.to_owned()])
    }

    #[test]
    fn resources_are_counted_by_the_gravest_effect_and_named_in_this_order() {
        let key = |name: &str| ObjectKey::new("shop", name);
        let spec = ProviderInstallSpec { path: "new".into(), sha256: "0".into(), ..Default::default() };
        let both = vec!["changes x in place: size: 1 → 2".to_owned(), "replaces x (CreateFirst)".to_owned()];
        let previews = vec![
            ("Disk", key("a"), Preview::Compared(vec![])),
            ("Disk", key("b"), said("changes x in place: size: 1 → 2")),
            ("Disk", key("c"), Preview::Compared(both)),
            ("Disk", key("d"), Preview::Invalid("spec.kind: is required".into())),
            ("Disk", key("e"), Preview::Failed("is not compared".into())),
            ("Disk", key("f"), Preview::Nothing),
            ("Disk", key("g"), said("adopts x")),
            (
                "Disk",
                key("h"),
                said("keeps what differs in x, because lifecycle.drift is Report: size: 1 → 2"),
            ),
            ("Disk", key("i"), said("cannot change x in place: kind: a → b")),
        ];
        let switch = Switch::of(&spec, previews);
        let counts = (switch.replaced, switch.rejected, switch.unknown, switch.changed);
        assert_eq!((counts, switch.not_compared, switch.unchanged), ((1, 2, 1, 1), 2, 2));
        assert!(!switch.is_unchanged());
        let names: Vec<&str> = switch.examples.iter().map(|line| &line[..11]).collect();
        assert_eq!(names, ["Disk shop/c", "Disk shop/d", "Disk shop/i", "Disk shop/e", "Disk shop/b"]);
        let words = "of 7 resources 1 would be replaced or created again, 2 would not be ready, 1 have no plan, 1 would be changed in place";
        assert_eq!(switch.words(), words);
        let unchanged = Switch::of(&spec, vec![("Disk", key("a"), Preview::Compared(vec![]))]);
        assert!(unchanged.is_unchanged() && unchanged.examples.is_empty());
    }
}
