//! Reading instances: lags, filters, pages, and many of them.

use std::time::{Duration, Instant};

use super::served::{Cloud, ids, launch, moment, tag};

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
    assert_eq!(cloud.0.instances()[0].instance.tags["a"], "2", "the actual state is not delayed");
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
async fn instances_of_one_launch_appear_one_by_one() {
    let cloud = Cloud::new(|options| options.describe_lag = 3 * moment());
    let launched = cloud.run("3", &tag("a", "1")).await;
    let by = [("Filter.1.Name", "tag:a"), ("Filter.1.Value.1", "1")];
    let (started, mut seen) = (Instant::now(), vec![]);
    while seen.last().is_none_or(|last: &Vec<String>| last.len() < 3) {
        assert!(started.elapsed() < Duration::from_mins(1), "{seen:?}");
        let now = cloud.described(&by).await;
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(seen, [&[][..], &launched[2..], &launched[1..], &launched[..]]);
}

#[tokio::test]
async fn a_hidden_instance_is_described_again_after_some_time() {
    let cloud = Cloud::new(|_| {});
    let id = cloud.one().await;
    cloud.0.hide(crate::Kind::Instance, &id, moment());
    assert!(cloud.described(&[]).await.is_empty());
    cloud.ok("CreateTags", &[("ResourceId.1", &id), ("Tag.1.Key", "a"), ("Tag.1.Value", "2")]).await;
    tokio::time::sleep(moment()).await;
    assert_eq!(cloud.described(&[]).await, [id]);
}

#[tokio::test]
async fn a_stale_read_returns_former_properties_for_some_time() {
    let cloud = Cloud::new(|options| options.stopping = Duration::ZERO);
    let id = cloud.one().await;
    let is = |state: &'static str| [("Filter.1.Name", "instance-state-name"), ("Filter.1.Value.1", state)];
    tokio::time::sleep(moment()).await;
    cloud.0.keep_described(crate::Kind::Instance, &id, moment());
    cloud.ok("StopInstances", &[("InstanceId.1", &id)]).await;
    assert_eq!(cloud.described(&is("running")).await, [id.as_str()]);
    assert_eq!(cloud.0.instances()[0].instance.state, "stopped", "the actual state");
    tokio::time::sleep(moment()).await;
    assert_eq!(cloud.described(&is("stopped")).await, [id.as_str()]);
}

#[tokio::test]
async fn filters_match_tags_states_and_patterns_and_have_a_limit() {
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
async fn a_hundred_thousand_instances_are_described_in_pages() {
    let cloud = Cloud::new(|_| {});
    let launch = [&launch("1000")[..], &tag("cluster", "c")].concat();
    let all: Vec<String> =
        (0..100).flat_map(|_| cloud.0.out_of_band("RunInstances", &launch).unwrap()).collect();
    assert_eq!(all.len(), 100_000);
    let numbered: Vec<String> = (1..=1000).map(|n| format!("InstanceId.{n}")).collect();
    let by_id: Vec<(&str, &str)> =
        numbered.iter().zip(&all[50_000..]).map(|(name, id)| (name.as_str(), id.as_str())).collect();
    let by_tag = [("Filter.1.Name", "tag:cluster"), ("Filter.1.Value.1", "c"), ("MaxResults", "1000")];
    assert!(cloud.send("DescribeInstances", &by_id).await.unwrap().body.contains(&all[50_999]));
    assert!(cloud.send("DescribeInstances", &by_tag).await.unwrap().body.contains("<nextToken>"));
}
