use super::*;

#[derive(Clone)]
struct Named(String, Tags);

impl Tagged for Named {
    fn id(&self) -> &str {
        &self.0
    }
    fn tags(&self) -> &Tags {
        &self.1
    }
}

fn tags(cluster: &str, uid: &str, epoch: &str) -> Tags {
    let owner = (tags::OWNER.to_owned(), format!("SecurityGroup/ns/{uid}"));
    let rest = [(CLUSTER, cluster), (UID, uid), (EPOCH, epoch)];
    rest.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).chain([owner]).collect()
}

fn refused(holder: Option<Tags>) -> (FailureClass, String) {
    let launch = Launch { epoch: 2, token: "t".into() };
    let tags = tags("c", "u", "2");
    let creation = Creation { tags: &tags, launch: &launch };
    let refusal = Failure {
        class: FailureClass::Terminal,
        action: "a".into(),
        code: "InvalidGroup.Duplicate".into(),
        message: "AWS's".into(),
    };
    let others: Vec<Named> = holder.into_iter().map(|tags| Named("sg-1".into(), tags)).collect();
    let failure = creation.is_taken(refusal, "the name web", &others);
    (failure.class, failure.message)
}

#[test]
fn a_name_that_only_this_launch_can_have_shows_that_it_succeeded() {
    assert_eq!(refused(None).0, FailureClass::TokenUsed);
    assert_eq!(refused(Some(tags("c", "u", "2"))).0, FailureClass::TokenUsed);
}

#[test]
fn a_name_of_the_replaced_object_is_rejected_with_a_hint() {
    let (class, message) = refused(Some(tags("c", "u", "1")));
    assert_eq!(class, FailureClass::Terminal);
    assert!(message.starts_with("the name web is in use by sg-1, which this resource replaces"), "{message}");
    assert!(message.contains("DeleteFirst"), "{message}");
}

#[test]
fn a_name_of_another_owner_is_rejected_with_the_owner() {
    let mut earlier = tags("c", "v", "2");
    earlier.insert(OWNER.to_owned(), "SecurityGroup/ns/u".to_owned());
    for (holder, expected, words) in [
        (tags("c", "v", "2"), FailureClass::InUse, "belongs to SecurityGroup/ns/v"),
        (earlier, FailureClass::Terminal, "an earlier SecurityGroup/ns/u left behind, with UID v"),
        (tags("d", "v", "2"), FailureClass::Terminal, "belongs to SecurityGroup/ns/v of another cluster"),
        (tags("d", "u", "2"), FailureClass::Terminal, "of another cluster"),
        (Tags::new(), FailureClass::Terminal, "not managed by Kraken"),
    ] {
        let (class, message) = refused(Some(holder));
        assert_eq!(class, expected, "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn an_owner_of_the_same_name_is_this_resource_or_a_former_one_of_this_cluster() {
    let launch = Launch { epoch: 2, token: "t".into() };
    let own = tags("c", "u", "2");
    let creation = Creation { tags: &own, launch: &launch };
    let with_owner = |cluster: &str, uid: &str, owner: &str| {
        let mut found = tags(cluster, uid, "1");
        found.insert(OWNER.to_owned(), owner.to_owned());
        creation.is_of_same_name(&found)
    };
    assert!(with_owner("c", "u", "SecurityGroup/ns/renamed"));
    assert!(with_owner("c", "former", "SecurityGroup/ns/u"));
    assert!(!with_owner("c", "former", "SecurityGroup/ns/other"));
    assert!(!with_owner("other", "former", "SecurityGroup/ns/u"));
    assert!(!creation.is_of_same_name(&Tags::new()));
}
