//! Starting, stopping and terminating. Each call affects all of its instances or none.

use crate::answer::Answer;
use crate::cloud::Cloud;
use crate::event::Event;
use crate::form::Form;
use crate::kind::Kind;
use crate::markup::Xml;
use crate::model::Instance;
use crate::model::instance::State;
use crate::refusal::Refusal;
use crate::registry::{ObjectRef, Visibility};
use crate::state_transition::StateTransition;

use super::named::instance_ids;

/// TerminateInstances; a terminated instance is not an error.
pub(super) fn terminate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let takes = cloud.options.shutting_down;
    let (now, call) = (cloud.now, cloud.call);
    let answer = transition(cloud, form, |instance| {
        if instance.settings.protected && !instance.state(now).is_over() {
            let message = format!(
                "The instance '{}' may not be terminated. Modify its 'disableApiTermination' instance attribute and \
                 try again.",
                instance.id
            );
            return Err(Refusal::new("OperationNotPermitted", message));
        }
        let over = instance.state(now).is_over();
        Ok((!over).then(|| StateTransition::new(State::ShuttingDown, State::Terminated, now, takes)))
    })?;
    for number in cloud.numbers(Kind::Instance, &instance_ids(form)?, Visibility::Known)? {
        if let Some(instance) = cloud.store.instances.get_mut(&number)
            && instance.ended_by.is_none()
        {
            instance.ended_by = Some(call);
            let at = instance.transition.at;
            let vanishes = at + cloud.options.terminated_visible;
            cloud.schedule(at, Event::Terminated(number));
            cloud.schedule(vanishes, Event::Vanished(ObjectRef { kind: Kind::Instance, number }));
        }
    }
    Ok(answer)
}

/// StartInstances.
pub(super) fn start(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (now, takes) = (cloud.now, cloud.options.pending);
    transition(cloud, form, |instance| match instance.state(now) {
        State::Stopped => Ok(Some(StateTransition::new(State::Pending, State::Running, now, takes))),
        State::Pending | State::Running => Ok(None),
        _ => Err(Refusal::state(&instance.id, "a state from which it can be started")),
    })
}

/// StopInstances.
pub(super) fn stop(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (now, takes) = (cloud.now, cloud.options.stopping);
    transition(cloud, form, |instance| match instance.state(now) {
        State::Running => Ok(Some(StateTransition::new(State::Stopping, State::Stopped, now, takes))),
        State::Stopping | State::Stopped => Ok(None),
        _ => Err(Refusal::state(&instance.id, "a state from which it can be stopped")),
    })
}

/// Sets the next state of each instance, unless `next` rejects one of them.
fn transition(
    cloud: &mut Cloud,
    form: &Form,
    next: impl Fn(&Instance) -> Result<Option<StateTransition<State>>, Refusal>,
) -> Result<Answer, Refusal> {
    let numbers = cloud.numbers(Kind::Instance, &instance_ids(form)?, Visibility::Known)?;
    let mut transitions = vec![];
    for instance in numbers.iter().filter_map(|number| cloud.store.instances.get(number)) {
        transitions.push((instance.number, next(instance)?));
    }
    let (mut changed, now) = (vec![], cloud.now);
    for (number, transition) in transitions {
        cloud.touch::<Instance>(number, false);
        let Some(instance) = cloud.store.instances.get_mut(&number) else { continue };
        let before = instance.state(now);
        if let Some(transition) = transition {
            instance.transition = transition;
        }
        // The response has the transitional state, even if it takes no time.
        let current = transition.map_or(before, |transition| transition.from);
        changed.push((instance.id.clone(), before, current));
    }
    let mut body = Xml::default();
    body.list("instancesSet", &changed, |xml, (id, before, current)| {
        xml.text("instanceId", id);
        current.write(xml, "currentState");
        before.write(xml, "previousState");
    });
    Ok(Answer { body, ids: changed.into_iter().map(|(id, ..)| id).collect() })
}
