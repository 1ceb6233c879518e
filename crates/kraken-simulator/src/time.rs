//! Time passes: scheduled transitions happen, and changed tags become visible.

use std::cmp::Reverse;

use tokio::time::Instant;

use super::cloud::Cloud;
use super::event::Event;
use super::registry::ObjectRef;
use super::releases;
use super::tags::Tags;

impl Cloud {
    /// Advances the time. It never decreases, even if a caller is outside the runtime with its clock.
    pub(super) fn tick(&mut self, now: Instant) {
        let now = now.max(self.now);
        while let Some(Reverse((at, event))) = self.events.peek().copied()
            && at <= now
        {
            self.events.pop();
            self.now = at;
            self.revision += 1;
            self.apply_event(event);
        }
        self.now = now;
    }

    fn apply_event(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Settled(object) => self.registry.with_history(object, |history| history.settle(now)),
            Event::Terminated(number) => releases::terminated(self, number),
            Event::NatDeleted(number) => releases::nat_deleted(self, number),
            Event::Detached(number) => releases::detached(self, number),
            Event::Released(number) => releases::released(self, number),
            Event::Vanished(object) => self.registry.remove(object),
        }
    }

    /// Changes the tags of an object; Describe calls return them after a delay.
    pub(super) fn set_tags(&mut self, object: ObjectRef, tags: Tags) {
        self.touch_any(object);
        let seen = self.now + self.options.tag_lag;
        self.registry.with_history(object, |history| history.set(seen, tags));
        self.schedule(seen, Event::Settled(object));
        self.tick(self.now); // without a delay it is visible at once
    }
}
