//! What a user may see of an import. Pure.

use kraken_api::{
    Adopt, ById,
    import_request::{ImportAnswer, ImportedObject, ManagedObject},
};
use kraken_kind::{
    account::Rules,
    import::{Found, Import},
};
use serde_json::{Value, json};

/// The maximum number of objects in one answer.
const MAX_OBJECTS: usize = 500;
/// The approximate maximum size of the objects in one answer, in bytes: etcd accepts 1.5 MiB.
const MAX_BYTES: usize = 512 * 1024;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The id of the cluster, as in the tags of its objects.
    pub cluster: &'a str,
    /// The namespace of the request.
    pub namespace: &'a str,
    /// The id after which the objects begin.
    pub after: Option<&'a str>,
}

/// The answer: of objects that resources of other namespaces manage, or that the account does not allow to be adopted, only their
/// number.
pub fn answer(import: Import, asked: Asked<'_>, rules: Option<&dyn Rules>) -> ImportAnswer {
    let Import { mut found, unsupported, named_by } = import;
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.retain(|object| asked.after.is_none_or(|after| object.id.as_str() > after));
    let mut answer =
        ImportAnswer { unsupported, named_by: named_by.map(str::to_owned), ..ImportAnswer::default() };
    let mut bytes = 0;
    let mut last: Option<String> = None;
    for object in found {
        let count = answer.objects.len() + answer.managed.len();
        if count >= MAX_OBJECTS || bytes > MAX_BYTES {
            answer.next = last;
            break;
        }
        last = Some(object.id.clone());
        if object.owner.is_some() {
            match resource_of(&object, asked) {
                Some(name) => answer.managed.push(ManagedObject { id: object.id, name }),
                None => answer.elsewhere += 1,
            }
        } else if is_forbidden(&object.id, rules) {
            answer.forbidden += 1;
        } else {
            let object = imported(object);
            bytes += json!(object).to_string().len();
            answer.objects.push(object);
        }
    }
    answer
}

/// The name of the resource of this namespace that manages the object.
fn resource_of(object: &Found, asked: Asked<'_>) -> Option<String> {
    let owner = object.owner.as_ref().filter(|owner| owner.cluster == asked.cluster)?;
    let (_, key) = owner.resource()?;
    (*key.namespace == *asked.namespace).then(|| key.name.to_string())
}

fn is_forbidden(id: &str, rules: Option<&dyn Rules>) -> bool {
    let adopt = Adopt::Id(ById { id: id.to_owned() });
    rules.is_some_and(|rules| !rules.refused(&[], Some(&adopt)).is_empty())
}

/// The object with a spec that adopts it.
fn imported(object: Found) -> ImportedObject {
    let Found { id, name, spec, mut notes, .. } = object;
    let spec = match spec {
        Ok(Value::Object(mut spec)) => {
            spec.insert("lifecycle".to_owned(), json!({"adopt": {"id": id}}));
            Some(Value::Object(spec))
        }
        Ok(_) => None,
        Err(why) => {
            notes.insert(0, why);
            None
        }
    };
    ImportedObject { id, name, spec, notes }
}

#[cfg(test)]
mod tests {
    use kraken_api::Location;
    use kraken_kind::Identity;
    use kraken_options::{Governed, Problem, RestrictedValue};

    use super::*;

    fn found(id: &str, owner: Option<(&str, &str)>) -> Found {
        let owner = owner.map(|(cluster, owner)| Identity {
            cluster: cluster.into(),
            uid: "u".into(),
            owner: owner.into(),
        });
        let spec = Ok(json!({"cidrBlock": {"value": "10.0.0.0/16"}}));
        Found { id: id.into(), name: None, owner, spec, notes: vec![] }
    }

    fn asked(after: Option<&str>) -> Asked<'_> {
        Asked { cluster: "c", namespace: "shop", after }
    }

    fn of(found: Vec<Found>) -> Import {
        Import { found, ..Import::default() }
    }

    fn ids(answer: &ImportAnswer) -> Vec<&str> {
        answer.objects.iter().map(|object| object.id.as_str()).collect()
    }

    /// Allows the adoption of one id.
    #[derive(Debug)]
    struct Only(&'static str, Governed);

    impl Rules for Only {
        fn governed(&self) -> &Governed {
            &self.1
        }

        fn digest(&self) -> &'static str {
            ""
        }

        fn refused(&self, _: &[RestrictedValue], adopt: Option<&Adopt>) -> Vec<Problem> {
            match adopt {
                Some(Adopt::Id(by)) if by.id == self.0 => vec![],
                _ => vec![Problem::invalid("lifecycle.adopt.id", "must not be adopted")],
            }
        }

        fn location_violation(&self, _: &Location) -> Option<String> {
            None
        }

        fn name(&self) -> &'static str {
            "shop"
        }
    }

    #[test]
    fn an_object_becomes_a_spec_that_adopts_it() {
        let answer = answer(of(vec![found("vpc-1", None)]), asked(None), None);
        assert_eq!(
            answer.objects[0].spec,
            Some(json!({"cidrBlock": {"value": "10.0.0.0/16"}, "lifecycle": {"adopt": {"id": "vpc-1"}}}))
        );
    }

    #[test]
    fn an_object_without_a_spec_says_why() {
        let object = Found { spec: Err("the default security group".into()), ..found("sg-1", None) };
        let answer = answer(of(vec![object]), asked(None), None);
        assert_eq!(answer.objects[0].spec, None);
        assert_eq!(answer.objects[0].notes, ["the default security group"]);
    }

    #[test]
    fn of_objects_of_other_namespaces_and_clusters_only_the_number_is_said() {
        let answer = answer(
            of(vec![
                found("vpc-1", Some(("c", "VPC/shop/main"))),
                found("vpc-2", Some(("c", "VPC/other/main"))),
                found("vpc-3", Some(("d", "VPC/shop/main"))),
            ]),
            asked(None),
            None,
        );
        assert_eq!(answer.managed, [ManagedObject { id: "vpc-1".into(), name: "main".into() }]);
        assert_eq!((answer.elsewhere, answer.objects.len()), (2, 0));
        assert!(!json!(answer).to_string().contains("vpc-2"));
    }

    #[test]
    fn what_the_account_does_not_allow_to_be_adopted_is_not_shown() {
        let rules = Only("vpc-2", Governed::default());
        let answer = answer(of(vec![found("vpc-1", None), found("vpc-2", None)]), asked(None), Some(&rules));
        assert_eq!((ids(&answer), answer.forbidden), (vec!["vpc-2"], 1));
    }

    #[test]
    fn a_large_answer_has_several_parts_in_the_order_of_the_ids() {
        let all = || of((0..1_200).rev().map(|n| found(&format!("vpc-{n:04}"), None)).collect());
        let first = answer(all(), asked(None), None);
        assert_eq!((first.objects.len(), first.next.as_deref()), (500, Some("vpc-0499")));
        let last = answer(all(), asked(Some("vpc-0999")), None);
        assert_eq!((last.objects.len(), last.next.as_deref()), (200, None));
        assert_eq!(last.objects[0].id, "vpc-1000");
    }

    #[test]
    fn an_answer_is_bounded_by_its_size_too() {
        let large = |n: usize| Found {
            spec: Ok(json!({"text": "x".repeat(200 * 1024)})),
            ..found(&format!("vpc-{n}"), None)
        };
        let answer = answer(of((0..9).map(large).collect()), asked(None), None);
        assert_eq!((answer.objects.len(), answer.next.as_deref()), (3, Some("vpc-2")));
    }
}
