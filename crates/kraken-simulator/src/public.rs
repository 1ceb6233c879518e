//! The texts that everyone with permission to describe the objects of a cloud can read: the names, descriptions and tags in calls.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::form::Form;
use super::shared::Shared;

/// The simulators that controllers can call over HTTP.
static SERVED: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Adds a simulator to those of [`public_texts`], for as long as it exists.
pub(super) fn register(shared: &Arc<Shared>) {
    let mut served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    served.retain(|one| one.strong_count() > 0);
    served.push(Arc::downgrade(shared));
}

/// The names, descriptions and tags in all calls to the simulators of this process that are served over HTTP, including calls that were
/// rejected. Names of load balancers and key pairs are included.
pub fn public_texts() -> Vec<String> {
    let served: Vec<Arc<Shared>> = {
        let served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
        served.iter().filter_map(Weak::upgrade).collect()
    };
    let mut texts = vec![];
    for shared in served {
        texts.extend(shared.lock().public.iter().cloned());
    }
    texts
}

/// The names, descriptions and tags among the parameters of a call.
pub(super) fn public(form: &Form) -> impl Iterator<Item = &str> {
    form.all().filter(|(name, _)| is_public(name)).map(|(_, value)| value)
}

fn is_public(parameter: &str) -> bool {
    let last = parameter.rsplit('.').next().unwrap_or_default();
    let is_of_tag = parameter.split('.').any(|part| part.starts_with("Tag"));
    is_of_tag || last.ends_with("Name") || last.ends_with("Description")
}

#[cfg(test)]
mod tests {
    use super::super::{Simulator, SimulatorOptions};
    use super::*;
    use crate::http;

    #[test]
    fn names_descriptions_and_tags_are_public_and_other_parameters_are_not() {
        let form = Form::parse(
            "Action=RunInstances&KeyName=k&UserData=secret&SubnetId=subnet&TargetGroupArn=arn&GroupDescription=d\
             &TagSpecification.1.Tag.1.Key=Team&TagSpecification.1.Tag.1.Value=web&Tags.member.1.Value=t&Name=n",
        );
        let mut texts: Vec<&str> = public(&form).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["Team", "d", "k", "n", "t", "web"]);
    }

    #[tokio::test]
    async fn the_calls_of_every_served_simulator_are_listed_until_it_ends() {
        let simulator = Simulator::start(SimulatorOptions::default()).unwrap();
        let fields = [
            ("Action", "CreateTags"),
            ("Version", "2016-11-15"),
            ("ResourceId.1", "vpc-0"), // rejected, and seen nevertheless
            ("Tag.1.Key", "public-tag-of-this-test"),
        ];
        http::post_form(simulator.endpoint(), &[], &fields).await.unwrap();
        let listed = || public_texts().iter().any(|text| text == "public-tag-of-this-test");
        assert!(listed());
        drop(simulator);
        assert!(!listed());
    }
}
