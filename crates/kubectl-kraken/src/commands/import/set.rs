//! The objects of all answers together: their names, their references, and their order. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::import_request::ImportedObject;
use serde_json::Value;

use super::{
    ask::Answer,
    names::{Names, of_id, slug},
    references::{Ids, ordered, restored, targets},
};

/// What is written and what is said.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    /// In the order of their references.
    pub(super) items: Vec<Item>,
    /// The account and region.
    pub(super) location: Option<String>,
    /// The number of ids that became references.
    pub(super) references: usize,
    /// Objects without a spec: kind, id, name and reason.
    pub(super) refused: Vec<(String, String, String)>,
    /// What has no kind.
    pub(super) unsupported: Vec<String>,
    /// Resources of the namespace that manage objects already, with their ids.
    pub(super) managed: Vec<(String, String)>,
    pub(super) elsewhere: u32,
    pub(super) forbidden: u32,
    /// Kinds that could not be read, each with the reason.
    pub(super) problems: Vec<(String, String)>,
}

/// A resource that adopts an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Item {
    pub(super) kind: String,
    pub(super) api_version: String,
    pub(super) name: String,
    pub(super) id: String,
    pub(super) spec: Value,
    pub(super) notes: Vec<String>,
}

/// An object before it has a name, or one that a resource has already.
struct Found {
    kind: String,
    group: String,
    api_version: String,
    object: ImportedObject,
    /// The resource that manages it.
    managed_by: Option<String>,
}

impl Set {
    /// Besides the kinds and names of `taken`. `is_ambiguous` says whether a reference to a kind must contain its group.
    pub(super) fn of(
        answers: Vec<Answer>,
        taken: &BTreeSet<(String, String)>,
        is_ambiguous: impl Fn(&str) -> bool,
    ) -> Self {
        let mut set = Self::default();
        let (mut found, mut ids) = (vec![], Ids::default());
        for answer in answers {
            set.collect(answer, &mut found, &mut ids);
        }
        let uses: Vec<Vec<(String, usize)>> = found
            .iter()
            .map(|one| one.object.spec.as_ref().map(|spec| targets(spec, &ids)).unwrap_or_default())
            .collect();
        // Of all references: an adoption waits for each value, also of fields that a creation sets later.
        let edges: Vec<Vec<usize>> = uses
            .iter()
            .enumerate()
            .map(|(index, uses)| uses.iter().map(|(_, to)| *to).filter(|to| *to != index).collect())
            .collect();
        let (order, back) = ordered(&edges);
        let names = named(&found, &order, &uses, taken);
        let reference = |index: usize| {
            let Found { kind, group, .. } = &found[index];
            let label = group.split('.').next().unwrap_or_default();
            let kind = if is_ambiguous(kind) { format!("{kind}.{label}") } else { kind.clone() };
            format!("{kind}/{}", names[&index])
        };
        for index in by_kind(&found, &order, &edges) {
            let Found { object, kind, api_version, .. } = &found[index];
            let Some(spec) = &object.spec else { continue };
            let is_open = |to: &usize| *to != index && !back.contains(&(index, *to));
            let (spec, count) = restored(spec, &ids, &|to| Some(to).filter(is_open).map(reference));
            set.references += count;
            let mut notes = object.notes.clone();
            let cycles = back.iter().filter(|(from, _)| *from == index);
            notes.extend(cycles.map(|(_, to)| {
                format!("{} remains an id: that object refers back to this one", found[*to].object.id)
            }));
            set.items.push(Item {
                kind: kind.clone(),
                api_version: api_version.clone(),
                name: names[&index].clone(),
                id: object.id.clone(),
                spec,
                notes,
            });
        }
        set
    }

    /// Sorts the answer of one kind into objects and what is said about others.
    fn collect(&mut self, answer: Answer, found: &mut Vec<Found>, ids: &mut Ids) {
        let Answer { kind, group, api_version, parts } = answer;
        for part in parts {
            self.location = self.location.take().or(part.location);
            self.problems.extend(part.problem.map(|why| (kind.clone(), why)));
            for text in part.unsupported {
                if !self.unsupported.contains(&text) {
                    self.unsupported.push(text);
                }
            }
            self.elsewhere += part.elsewhere;
            self.forbidden += part.forbidden;
            let managed = part.managed.into_iter().map(|managed| {
                self.managed.push((format!("{kind}/{}", managed.name), managed.id.clone()));
                (ImportedObject { id: managed.id, ..ImportedObject::default() }, Some(managed.name))
            });
            for (object, managed_by) in managed.chain(part.objects.into_iter().map(|object| (object, None))) {
                if object.spec.is_none() && managed_by.is_none() {
                    self.refused.push((kind.clone(), object.id, object.notes.join("; ")));
                    continue;
                }
                match &part.named_by {
                    Some(field) => ids.names.insert((field.clone(), object.id.clone()), found.len()),
                    None => ids.unique.insert(object.id.clone(), found.len()),
                };
                found.push(Found {
                    kind: kind.clone(),
                    group: group.clone(),
                    api_version: api_version.clone(),
                    object,
                    managed_by,
                });
            }
        }
    }
}

/// The name of each object. Those with a name of their own come first, so that no made-up name takes one of them.
fn named(
    found: &[Found],
    order: &[usize],
    uses: &[Vec<(String, usize)>],
    taken: &BTreeSet<(String, String)>,
) -> BTreeMap<usize, String> {
    let (mut names, mut given) = (BTreeMap::new(), Names::besides(taken));
    let mut by_id: Vec<usize> = (0..found.len()).collect();
    by_id.sort_by(|a, b| found[*a].object.id.cmp(&found[*b].object.id));
    for index in by_id {
        let Found { kind, object, managed_by, .. } = &found[index];
        if let Some(name) = managed_by {
            names.insert(index, name.clone());
        } else if let Some(own) = object.name.as_deref().and_then(slug) {
            names.insert(index, given.give(kind, &own));
        }
    }
    for index in order {
        let Found { kind, object, .. } = &found[*index];
        if !names.contains_key(index) {
            let of_parent = parent(object, &uses[*index]).and_then(|to| names.get(&to));
            let wanted = match of_parent {
                Some(parent) => format!("{parent}-{}", distinction(kind, object)),
                None => of_id(kind, &object.id),
            };
            let name = given.give(kind, &slug(&wanted).unwrap_or_else(|| of_id(kind, &object.id)));
            names.insert(*index, name);
        }
    }
    names
}

/// The object that one without a name is a part of: the last of its fields with one id, such as `vpcID`, `subnetID`,
/// `loadBalancerARN`; or the first one in a list.
fn parent(object: &ImportedObject, uses: &[(String, usize)]) -> Option<usize> {
    let is_one = |field: &str| object.spec.as_ref().is_some_and(|spec| spec[field]["value"].is_string());
    let last = uses.iter().rev().find(|(field, _)| is_one(field));
    last.or_else(|| uses.first()).map(|(_, to)| *to)
}

/// What distinguishes a part from others of the same object: its port, its priority, or else its kind.
fn distinction(kind: &str, object: &ImportedObject) -> String {
    let number = |field: &str| object.spec.as_ref()?[field]["value"].as_i64();
    number("port")
        .or_else(|| number("priority"))
        .map_or_else(|| kind.to_lowercase(), |number| number.to_string())
}

/// The objects in the order of their references, kind by kind.
fn by_kind(found: &[Found], order: &[usize], edges: &[Vec<usize>]) -> Vec<usize> {
    let mut levels = vec![0_usize; found.len()];
    for &index in order {
        let deepest = edges[index].iter().map(|to| levels[*to] + 1).max();
        levels[index] = deepest.unwrap_or_default();
    }
    let mut of_kind = BTreeMap::<&str, usize>::new();
    for (index, one) in found.iter().enumerate() {
        let level = of_kind.entry(&one.kind).or_default();
        *level = (*level).max(levels[index]);
    }
    let mut sorted: Vec<usize> = (0..found.len()).collect();
    sorted.sort_by(|a, b| {
        let key = |index: usize| {
            let one = &found[index];
            (of_kind[one.kind.as_str()], &one.kind, levels[index], &one.object.name, &one.object.id)
        };
        key(*a).cmp(&key(*b))
    });
    sorted
}

#[cfg(test)]
pub(super) mod tests {
    use kraken_api::import_request::{ImportAnswer, ManagedObject};
    use serde_json::json;

    use super::*;

    fn object(id: &str, name: Option<&str>, spec: Value) -> ImportedObject {
        ImportedObject { id: id.into(), name: name.map(Into::into), spec: Some(spec), notes: vec![] }
    }

    fn answer(kind: &str, part: ImportAnswer) -> Answer {
        let group = "aws.kraken-iac.eoinfennessy.com".to_owned();
        Answer { kind: kind.into(), api_version: format!("{group}/v1alpha1"), group, parts: vec![part] }
    }

    fn objects(kind: &str, objects: Vec<ImportedObject>) -> Answer {
        answer(kind, ImportAnswer { objects, ..ImportAnswer::default() })
    }

    /// A VPC with a subnet, an instance with a key pair, and a load balancer with a listener and a rule.
    pub(in super::super) fn answers() -> Vec<Answer> {
        let keys = vec![object("ops", Some("ops"), json!({"publicKey": {"value": "ssh-rsa AAAA"}}))];
        vec![
            objects(
                "ListenerRule",
                vec![object(
                    "arn:rule",
                    None,
                    json!({"listenerARN": {"value": "arn:listener"}, "priority": {"value": 10}}),
                )],
            ),
            objects(
                "Listener",
                vec![object(
                    "arn:listener",
                    None,
                    json!({"loadBalancerARN": {"value": "arn:lb"}, "port": {"value": 443}}),
                )],
            ),
            objects(
                "LoadBalancer",
                vec![object("arn:lb", Some("web"), json!({"subnetIDs": {"value": ["subnet-1"]}}))],
            ),
            objects(
                "EC2Instance",
                vec![object(
                    "i-1",
                    Some("Web 1"),
                    json!({"subnetID": {"value": "subnet-1"}, "keyName": {"value": "ops"}}),
                )],
            ),
            answer(
                "KeyPair",
                ImportAnswer { objects: keys, named_by: Some("keyName".into()), ..ImportAnswer::default() },
            ),
            objects("Subnet", vec![object("subnet-1", None, json!({"vpcID": {"value": "vpc-1"}}))]),
            objects(
                "VPC",
                vec![object("vpc-1", Some("Legacy"), json!({"cidrBlock": {"value": "10.0.0.0/16"}}))],
            ),
        ]
    }

    fn set(answers: Vec<Answer>) -> Set {
        Set::of(answers, &BTreeSet::new(), |_| false)
    }

    fn named(set: &Set) -> Vec<String> {
        set.items.iter().map(|item| format!("{}/{}", item.kind, item.name)).collect()
    }

    #[test]
    fn objects_have_readable_names_and_come_after_those_that_they_refer_to() {
        let set = set(answers());
        assert_eq!(
            named(&set),
            [
                "KeyPair/ops",
                "VPC/legacy",
                "Subnet/legacy-subnet",
                "EC2Instance/web-1",
                "LoadBalancer/web",
                "Listener/web-443",
                "ListenerRule/web-443-10",
            ]
        );
        assert_eq!(set.references, 6);
        assert_eq!(set.items[3].spec["keyName"]["valueFrom"]["ref"], "KeyPair/ops");
    }

    #[test]
    fn the_order_of_the_answers_does_not_matter() {
        let mut reversed = answers();
        reversed.reverse();
        assert_eq!(set(reversed).items, set(answers()).items);
    }

    #[test]
    fn a_name_that_exists_in_the_namespace_is_not_given_again() {
        let taken = [("VPC".to_owned(), "legacy".to_owned())].into();
        let set = Set::of(answers(), &taken, |_| false);
        assert_eq!(set.items[1].name, "legacy-2");
        assert_eq!(set.items[2].spec["vpcID"]["valueFrom"]["ref"], "VPC/legacy-2");
    }

    #[test]
    fn an_object_that_a_resource_manages_is_referred_to_and_not_written() {
        let mut answers = answers();
        let managed = vec![ManagedObject { id: "vpc-1".into(), name: "main".into() }];
        answers[6] = answer("VPC", ImportAnswer { managed, ..ImportAnswer::default() });
        let set = set(answers);
        assert!(set.items.iter().all(|item| item.kind != "VPC"));
        let subnet = set.items.iter().find(|item| item.kind == "Subnet").unwrap();
        assert_eq!(subnet.spec["vpcID"]["valueFrom"]["ref"], "VPC/main");
        assert_eq!(set.managed, [("VPC/main".to_owned(), "vpc-1".to_owned())]);
    }

    #[test]
    fn groups_of_two_providers_are_told_apart() {
        let set = Set::of(answers(), &BTreeSet::new(), |kind| kind == "VPC");
        assert_eq!(set.items[2].spec["vpcID"]["valueFrom"]["ref"], "VPC.aws/legacy");
    }

    #[test]
    fn rules_of_two_groups_may_refer_to_each_other() {
        let rule = |id: &str, other: &str| {
            object(id, Some(id), json!({"ingress": [{"securityGroupIDs": {"value": [other]}}]}))
        };
        let groups = vec![rule("sg-1", "sg-2"), rule("sg-2", "sg-1")];
        let part = ImportAnswer { objects: groups.clone(), ..ImportAnswer::default() };
        // Where it would be a cycle, an id remains.
        let set = set(vec![answer("SecurityGroup", part)]);
        assert_eq!(set.references, 1);
        let notes: Vec<&String> = set.items.iter().flat_map(|item| &item.notes).collect();
        assert!(notes.len() == 1 && notes[0].contains("refers back"), "{notes:?}");
    }

    #[test]
    fn what_cannot_be_managed_is_said_with_the_reason() {
        let refused = ImportedObject {
            id: "sg-0".into(),
            notes: vec!["the default security group".into()],
            ..ImportedObject::default()
        };
        let set = set(vec![objects("SecurityGroup", vec![refused])]);
        assert!(set.items.is_empty());
        assert_eq!(
            set.refused,
            [("SecurityGroup".to_owned(), "sg-0".to_owned(), "the default security group".to_owned())]
        );
    }
}
