//! Behaviour over HTTP.

use std::time::Duration;

use super::*;
use crate::{http, xml};

const IMAGE: &str = "ami-12c6146b";

struct Cloud(Simulator);

impl Cloud {
    fn new(change: impl FnOnce(&mut SimulatorOptions)) -> Self {
        let mut options = SimulatorOptions::default();
        change(&mut options);
        Self(Simulator::start(options).unwrap())
    }

    async fn send(&self, action: &str, fields: &[(&str, &str)]) -> Result<http::Response> {
        let form = [&[("Action", action), ("Version", "2016-11-15")], fields].concat();
        http::post_form(self.0.endpoint(), &[], &form).await
    }

    async fn ok(&self, action: &str, fields: &[(&str, &str)]) -> xml::Element {
        let answer = self.send(action, fields).await.unwrap();
        assert_eq!(answer.status, 200, "{action}: {}", answer.body);
        xml::parse(&answer.body).unwrap()
    }

    /// The code and text of a refusal.
    async fn no(&self, action: &str, fields: &[(&str, &str)]) -> (String, String) {
        let answer = self.send(action, fields).await.unwrap();
        assert_ne!(answer.status, 200, "{action}: {}", answer.body);
        let root = xml::parse(&answer.body).unwrap();
        let text = |name| root.text_at(&["Errors", "Error", name]);
        (text("Code"), text("Message"))
    }

    async fn run(&self, count: &str, more: &[(&str, &str)]) -> Vec<String> {
        let fields = [&launch(count), more].concat();
        ids(self.ok("RunInstances", &fields).await.items("instancesSet"))
    }

    async fn one(&self) -> String {
        self.run("1", &[]).await.remove(0)
    }

    async fn described(&self, fields: &[(&str, &str)]) -> Vec<String> {
        let page = self.ok("DescribeInstances", fields).await;
        page.items("reservationSet").flat_map(|reservation| ids(reservation.items("instancesSet"))).collect()
    }

    async fn state(&self, id: &str) -> String {
        let page = self.ok("DescribeInstances", &[("InstanceId.1", id)]).await;
        let reservation = page.items("reservationSet").next().unwrap();
        reservation.items("instancesSet").next().unwrap().text_at(&["instanceState", "name"])
    }

    async fn until(&self, id: &str, state: &str) {
        let started = Instant::now();
        while self.state(id).await != state {
            assert!(started.elapsed() < Duration::from_secs(10), "{id} does not get {state}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn launch(count: &str) -> [(&str, &str); 4] {
    [("ImageId", IMAGE), ("InstanceType", "t3.micro"), ("MinCount", "1"), ("MaxCount", count)]
}

fn ids<'a>(items: impl Iterator<Item = &'a xml::Element>) -> Vec<String> {
    items.map(|item| item.text_at(&["instanceId"])).collect()
}

fn tag<'a>(key: &'a str, value: &'a str) -> [(&'a str, &'a str); 3] {
    let kind = ("TagSpecification.1.ResourceType", "instance");
    [kind, ("TagSpecification.1.Tag.1.Key", key), ("TagSpecification.1.Tag.1.Value", value)]
}

fn moment() -> Duration {
    Duration::from_millis(300)
}

#[tokio::test]
async fn a_token_launches_once_and_is_spent_when_its_instances_are_gone() {
    let cloud = Cloud::new(|_| {});
    let token = [("ClientToken", "t")];
    let first = cloud.run("2", &token).await;
    assert_eq!(cloud.run("2", &token).await, first);
    assert_eq!(cloud.0.instances().len(), 2);
    let (code, _) = cloud.no("RunInstances", &[&launch("3")[..], &token].concat()).await;
    assert_eq!(code, "IdempotentParameterMismatch");

    cloud.ok("TerminateInstances", &[("InstanceId.1", &first[0])]).await;
    cloud.until(&first[0], "terminated").await;
    assert_eq!(cloud.run("2", &token).await, first, "one of the two still lives");
    cloud.ok("TerminateInstances", &[("InstanceId.1", &first[1])]).await;
    cloud.until(&first[1], "terminated").await;
    let (code, _) = cloud.no("RunInstances", &[&launch("2")[..], &token].concat()).await;
    assert_eq!(code, "IdempotentInstanceTerminated");
    assert_eq!(cloud.0.instances().len(), 2);
}

#[tokio::test]
async fn states_take_time_and_the_terminated_vanish() {
    let cloud = Cloud::new(|options| {
        (options.pending, options.shutting_down, options.terminated_visible) = (moment(), moment(), moment());
    });
    let id = cloud.one().await;
    assert_eq!(cloud.state(&id).await, "pending");
    cloud.until(&id, "running").await;
    cloud.ok("TerminateInstances", &[("InstanceId.1", &id)]).await;
    assert_eq!(cloud.state(&id).await, "shutting-down");
    cloud.until(&id, "terminated").await;
    tokio::time::sleep(moment()).await;
    let other = "i-00000000000000001";
    let (code, message) =
        cloud.no("DescribeInstances", &[("InstanceId.1", &id), ("InstanceId.2", other)]).await;
    assert_eq!(code, "InvalidInstanceID.NotFound");
    assert_eq!(message, format!("The instance IDs '{id}, {other}' do not exist"));
    assert!(cloud.described(&[]).await.is_empty());
    let record = &cloud.0.instances()[0];
    assert!(record.vanished && (record.launched_by, record.ended_by) == (1, Some(record.ended_by.unwrap())));
    assert!(cloud.ok("DescribeTags", &[]).await.items("tagSet").next().is_none());
}

#[tokio::test]
async fn reads_lag_behind_launches_and_tags() {
    let cloud = Cloud::new(|options| (options.describe_lag, options.tag_lag) = (moment(), moment()));
    let id = cloud.run("1", &tag("a", "1")).await.remove(0);
    let by = |value| [("Filter.1.Name", "tag:a"), ("Filter.1.Value.1", value)];
    assert_eq!(cloud.no("DescribeInstances", &[("InstanceId.1", &id)]).await.0, "InvalidInstanceID.NotFound");
    assert!(cloud.described(&by("1")).await.is_empty());
    tokio::time::sleep(moment()).await;
    assert_eq!(cloud.described(&by("1")).await, [id.as_str()]);

    cloud.ok("CreateTags", &[("ResourceId.1", &id), ("Tag.1.Key", "a"), ("Tag.1.Value", "2")]).await;
    assert_eq!(cloud.0.instances()[0].instance.tags["a"], "2", "the truth does not lag");
    assert_eq!((cloud.described(&by("1")).await.len(), cloud.described(&by("2")).await.len()), (1, 0));
    tokio::time::sleep(moment()).await;
    assert_eq!((cloud.described(&by("1")).await.len(), cloud.described(&by("2")).await.len()), (0, 1));

    cloud.0.configure(|options| options.change_lag = moment());
    let id = cloud.one().await;
    let terminate = [("InstanceId.1", id.as_str())];
    assert_eq!(cloud.no("TerminateInstances", &terminate).await.0, "InvalidInstanceID.NotFound");
    tokio::time::sleep(moment()).await;
    cloud.ok("TerminateInstances", &terminate).await;
}

#[tokio::test]
async fn filters_find_by_tag_state_and_pattern_and_have_a_limit() {
    let cloud = Cloud::new(|_| {});
    let web = cloud.run("1", &tag("role", "web-1")).await;
    let database = cloud.run("1", &tag("role", "db")).await;
    cloud.until(&web[0], "running").await;
    let by = |name, value| [("Filter.1.Name", name), ("Filter.1.Value.1", value)];
    assert_eq!(cloud.described(&by("tag:role", "web-*")).await, web);
    assert_eq!(cloud.described(&by("tag:role", "db")).await, database);
    assert_eq!(cloud.described(&by("tag-key", "role")).await.len(), 2);
    assert_eq!(cloud.described(&by("instance-id", &web[0])).await, web);
    assert!(cloud.described(&by("instance-state-name", "stopped")).await.is_empty());
    let both = [("Filter.2.Name", "tag:role"), ("Filter.2.Value.1", "db"), ("Filter.2.Value.2", "web-1")];
    assert_eq!(cloud.described(&[&by("tag-key", "role")[..], &both].concat()).await.len(), 2);
    assert_eq!(cloud.no("DescribeInstances", &by("moon", "full")).await.0, "InvalidParameterValue");

    let names: Vec<String> = (1..=201).map(|n| format!("Filter.1.Value.{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let many = |count| [&[("Filter.1.Name", "tag:role")], &many[..count]].concat();
    assert!(cloud.described(&many(200)).await.is_empty());
    assert_eq!(cloud.no("DescribeInstances", &many(201)).await.0, "FilterLimitExceeded");
}

#[tokio::test]
async fn pages_follow_each_other_and_have_sizes() {
    let cloud = Cloud::new(|options| options.page_size = 7);
    let all = cloud.run("17", &[]).await;
    let (mut seen, mut token) = (vec![], String::new());
    loop {
        let page = cloud.ok("DescribeInstances", &[("MaxResults", "10"), ("NextToken", &token)]).await;
        let found: Vec<String> =
            page.items("reservationSet").flat_map(|r| ids(r.items("instancesSet"))).collect();
        assert!(found.len() <= 7);
        seen.extend(found);
        token = page.text_at(&["nextToken"]);
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, all);
    let with_id = [("MaxResults", "10"), ("InstanceId.1", all[0].as_str())];
    assert_eq!(cloud.no("DescribeInstances", &with_id).await.0, "InvalidParameterCombination");
    assert_eq!(cloud.no("DescribeInstances", &[("MaxResults", "4")]).await.0, "InvalidParameterValue");
    assert_eq!(cloud.no("DescribeInstances", &[("NextToken", "x")]).await.0, "InvalidNextToken");
}

#[tokio::test]
async fn what_needs_a_stopped_instance_is_refused_until_it_is() {
    let cloud = Cloud::new(|_| {});
    let id = cloud.one().await;
    cloud.until(&id, "running").await;
    let about = ("InstanceId", id.as_str());
    let resize = [about, ("InstanceType.Value", "t3.large")];
    let (code, message) = cloud.no("ModifyInstanceAttribute", &resize).await;
    assert_eq!(code, "IncorrectInstanceState");
    assert!(message.contains(&id) && message.contains("'stopped' state"), "{message}");
    cloud.ok("StopInstances", &[("InstanceId.1", &id)]).await;
    assert_eq!(cloud.no("StartInstances", &[("InstanceId.1", &id)]).await.0, "IncorrectInstanceState");
    cloud.until(&id, "stopped").await;
    cloud.ok("ModifyInstanceAttribute", &resize).await;
    cloud.ok("ModifyInstanceAttribute", &[about, ("UserData.Value", "aGVsbG8=")]).await;
    cloud.ok("ModifyInstanceAttribute", &[about, ("EbsOptimized.Value", "true")]).await;
    cloud.ok("StartInstances", &[("InstanceId.1", &id)]).await;
    cloud.until(&id, "running").await;
    assert_eq!(cloud.0.instances()[0].instance.instance_type, "t3.large");
    let data = cloud.ok("DescribeInstanceAttribute", &[about, ("Attribute", "userData")]).await;
    assert_eq!(data.text_at(&["userData", "value"]), "aGVsbG8=");
    cloud.ok("ModifyInstanceAttribute", &[about, ("GroupId.1", "sg-0a0a0a0a")]).await;
    cloud.ok("ModifyInstanceMetadataOptions", &[about, ("HttpTokens", "required")]).await;
    cloud.ok("MonitorInstances", &[("InstanceId.1", &id)]).await;
    let body = cloud.send("DescribeInstances", &[]).await.unwrap().body;
    for part in
        ["<groupId>sg-0a0a0a0a", "<httpTokens>required", "<monitoring><state>enabled", "<ebsOptimized>true"]
    {
        assert!(body.contains(part), "{part}: {body}");
    }
    cloud.ok("TerminateInstances", &[("InstanceId.1", &id)]).await;
    cloud.until(&id, "terminated").await;
    assert_eq!(cloud.no("StopInstances", &[("InstanceId.1", &id)]).await.0, "IncorrectInstanceState");
}

#[tokio::test]
async fn the_protected_stay_and_what_does_not_exist_is_refused() {
    let cloud = Cloud::new(|options| options.images = Some([IMAGE.to_owned()].into()));
    let (kept, other) = (cloud.one().await, cloud.one().await);
    cloud.0.protect_outside(&kept, true).unwrap();
    let both = [("InstanceId.1", other.as_str()), ("InstanceId.2", kept.as_str())];
    let (code, message) = cloud.no("TerminateInstances", &both).await;
    assert!(code == "OperationNotPermitted" && message.contains(&kept), "{code} {message}");
    assert!(cloud.0.instances().iter().all(|record| record.instance.is_alive()), "all or none");
    cloud.0.protect_outside(&kept, false).unwrap();
    cloud.ok("TerminateInstances", &both).await;

    for (image, code) in [("ami-0badc0de", "InvalidAMIID.NotFound"), ("moon", "InvalidAMIID.Malformed")] {
        let mut fields = launch("1");
        fields[0].1 = image;
        assert_eq!(cloud.no("RunInstances", &fields).await.0, code);
        assert_eq!(cloud.no("DescribeImages", &[("ImageId.1", image)]).await.0, code);
    }
    assert_eq!(
        cloud.no("DescribeInstances", &[("InstanceId.1", "i-x")]).await.0,
        "InvalidInstanceID.Malformed"
    );
    assert_eq!(cloud.no("DescribeMoons", &[]).await.0, "InvalidAction");
}

#[tokio::test]
async fn a_launch_gets_what_there_is_room_for() {
    let cloud = Cloud::new(|options| options.capacity = Some(3));
    assert_eq!(cloud.run("5", &[]).await.len(), 3);
    assert_eq!(cloud.no("RunInstances", &launch("1")).await.0, "InsufficientInstanceCapacity");
    cloud.0.configure(|options| options.capacity = None);
    cloud.0.limit_next_launch(2);
    assert_eq!(cloud.run("5", &[]).await.len(), 2);
    assert_eq!(cloud.run("5", &[]).await.len(), 5);
}

#[tokio::test]
async fn calls_are_throttled_by_action() {
    let limit = Limit { burst: 1.0, per_second: 0.0 };
    let cloud = Cloud::new(|options| options.limits = [("RunInstances".to_owned(), limit)].into());
    cloud.one().await;
    let answer = cloud.send("RunInstances", &launch("1")).await.unwrap();
    assert!(answer.status == 503 && answer.body.contains("<Code>RequestLimitExceeded</Code>"));
    assert_eq!(cloud.described(&[]).await.len(), 1);
}

#[tokio::test]
async fn faults_come_before_or_after_the_effect_of_the_chosen_call() {
    let cloud = Cloud::new(|_| {});
    let alive = || cloud.0.instances().len();
    cloud.0.fail_nth("RunInstances", 2, When::Before, How::Drop);
    cloud.one().await;
    assert!(cloud.send("RunInstances", &launch("1")).await.is_err());
    assert_eq!(alive(), 1);
    cloud.0.fail_next("RunInstances", When::After, How::Drop);
    assert!(cloud.send("RunInstances", &launch("1")).await.is_err());
    assert_eq!(alive(), 2);
    cloud.0.fail_next("*", When::After, How::error(500, "InternalError", "no"));
    assert_eq!(cloud.no("RunInstances", &launch("1")).await.0, "InternalError");
    assert_eq!(alive(), 3);
    cloud.0.expire_credentials();
    assert_eq!(cloud.no("DescribeInstances", &[]).await.0, "RequestExpired");
    cloud.0.heal();
    let told: Vec<_> = cloud.0.journal().into_iter().map(|call| (call.outcome, call.lost)).collect();
    let expired = Outcome::Refused("RequestExpired".to_owned());
    let expected = [
        (Outcome::Done, false),
        (Outcome::NotReached, true),
        (Outcome::Done, true),
        (Outcome::Done, true),
        (expired, false),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_hook_sees_each_call_before_and_after_and_may_use_the_simulator() {
    let cloud = Arc::new(Cloud::new(|_| {}));
    let seen = Arc::new(std::sync::Mutex::new(vec![]));
    let (inner, notes) = (Arc::downgrade(&cloud), Arc::clone(&seen));
    cloud.0.on_call(move |phase, call| {
        let count = inner.upgrade().map_or(0, |cloud| cloud.0.instances().len());
        notes.lock().unwrap().push((phase, call.number, count));
        // The second call is cut before its effect, the third after it.
        let cut =
            (call.number, phase) == (2, Phase::Before) || (call.number, phase) == (3, Phase::AfterEffect);
        if cut { Verdict::Drop } else { Verdict::Continue }
    });
    cloud.one().await;
    assert!(cloud.send("RunInstances", &launch("1")).await.is_err());
    assert!(cloud.send("RunInstances", &launch("1")).await.is_err());
    cloud.0.clear_hook();
    cloud.one().await;
    let expected = [
        (Phase::Before, 1, 0),
        (Phase::AfterEffect, 1, 1),
        (Phase::Before, 2, 1),
        (Phase::Before, 3, 1),
        (Phase::AfterEffect, 3, 2),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!(
        cloud.0.journal().iter().map(|call| call.lost).collect::<Vec<_>>(),
        [false, true, true, false]
    );
}

#[tokio::test]
async fn what_happens_outside_is_in_the_journal_and_beyond_every_fault() {
    let cloud = Cloud::new(|_| {});
    cloud.0.fail_always("*", When::Before, How::Drop);
    let id = cloud.0.launch_outside(IMAGE, "t3.micro", &[("Name", "adopt me")]).unwrap();
    cloud.0.tag_outside(&id, "Name", None).unwrap();
    cloud.0.terminate_outside(&id).unwrap();
    assert!(cloud.0.stop_outside("i-00000000000000001").is_err());
    let record = &cloud.0.instances()[0];
    assert!(record.instance.tags.is_empty() && record.ended_by == Some(3));
    assert!(cloud.0.journal().iter().all(|call| call.outside) && cloud.0.count("*") == 0);
}

#[tokio::test]
async fn volumes_carry_tags_and_may_outlive_their_instance() {
    let cloud = Cloud::new(|_| {});
    let volume = [
        ("TagSpecification.1.ResourceType", "volume"),
        ("TagSpecification.1.Tag.1.Key", "uid"),
        ("TagSpecification.1.Tag.1.Value", "u"),
    ];
    let keep = [("BlockDeviceMapping.1.Ebs.DeleteOnTermination", "false")];
    for more in [&volume[..], &[&volume[..], &keep].concat()] {
        let id = cloud.run("1", more).await.remove(0);
        cloud.ok("TerminateInstances", &[("InstanceId.1", &id)]).await;
        cloud.until(&id, "terminated").await;
    }
    let owned = [
        ("Filter.1.Name", "key"),
        ("Filter.1.Value.1", "uid"),
        ("Filter.2.Name", "resource-type"),
        ("Filter.2.Value.1", "volume"),
    ];
    let found = cloud.ok("DescribeTags", &owned).await;
    let left: Vec<String> = found.items("tagSet").map(|tag| tag.text_at(&["resourceId"])).collect();
    assert!(left.len() == 1 && left[0].starts_with("vol-"), "{left:?}");
    cloud.ok("DeleteTags", &[("ResourceId.1", &left[0]), ("Tag.1.Key", "uid")]).await;
    assert!(cloud.ok("DescribeTags", &owned).await.items("tagSet").next().is_none());
}

#[tokio::test]
async fn a_hundred_thousand_instances_are_described_by_the_page() {
    let cloud = Cloud::new(|_| {});
    let launch = [&launch("1000")[..], &tag("cluster", "c")].concat();
    let started = Instant::now();
    let all: Vec<String> = (0..100).flat_map(|_| cloud.0.outside("RunInstances", &launch).unwrap()).collect();
    let launched = started.elapsed();
    assert_eq!(all.len(), 100_000);
    let numbered: Vec<String> = (1..=1000).map(|n| format!("InstanceId.{n}")).collect();
    let asked: Vec<(&str, &str)> =
        numbered.iter().zip(&all[50_000..]).map(|(name, id)| (name.as_str(), id.as_str())).collect();
    let by_tag = [("Filter.1.Name", "tag:cluster"), ("Filter.1.Value.1", "c"), ("MaxResults", "1000")];
    let started = Instant::now();
    for _ in 0..5 {
        assert!(cloud.send("DescribeInstances", &asked).await.unwrap().body.contains(&all[50_999]));
        assert!(cloud.send("DescribeInstances", &by_tag).await.unwrap().body.contains("<nextToken>"));
    }
    let each = started.elapsed() / 10;
    // Far above what it takes (some 10 ms) and far below what a walk over everything would.
    assert!(each < Duration::from_millis(400), "{each:?} for a page of a thousand; {launched:?} to launch");
    eprintln!("{each:?} for a page of a thousand; {launched:?} to launch");
}
