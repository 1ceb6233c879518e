//! Throttling, scripted failures, hooks, and out-of-band changes.

use std::sync::Arc;

use super::served::{Cloud, IMAGE, launch};
use crate::{CallDecision, Limit, Outcome, Phase};
use crate::{FailureMode, FailurePoint, http, xml};

#[tokio::test]
async fn the_load_balancing_api_has_its_own_throttling_and_error_responses() {
    let limit = Limit { burst: 1.0, per_second: 0.0 };
    let cloud = Cloud::new(|options| options.limits = [("DescribeTargetGroups".to_owned(), limit)].into());
    let send = async |action: &str| {
        let form = [("Action", action), ("Version", "2015-12-01")];
        let answer = http::post_form(cloud.0.endpoint(), &[], &form).await.unwrap();
        (answer.status, xml::parse(&answer.body).unwrap().text_at(&["Error", "Code"]))
    };
    assert_eq!(send("DescribeTargetGroups").await, (200, String::new()));
    assert_eq!(send("DescribeTargetGroups").await, (400, "Throttling".to_owned()));
    cloud.0.fail_next(
        "DescribeLoadBalancers",
        FailurePoint::After,
        FailureMode::error(500, "InternalFailure", "no"),
    );
    assert_eq!(send("DescribeLoadBalancers").await, (500, "InternalFailure".to_owned()));
    assert_eq!(send("CreateVpc").await, (400, "InvalidAction".to_owned()));
    assert_eq!(cloud.0.refusals("Throttling").len(), 1);
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
async fn faults_occur_before_or_after_the_effect_of_the_selected_call() {
    let cloud = Cloud::new(|_| {});
    let alive = || cloud.0.instances().len();
    cloud.0.fail_nth("RunInstances", 2, FailurePoint::Before, FailureMode::Drop);
    cloud.one().await;
    assert!(cloud.send("RunInstances", &launch("1")).await.is_err());
    assert_eq!(alive(), 1);
    cloud.0.fail_next("RunInstances", FailurePoint::After, FailureMode::Drop);
    assert!(cloud.send("RunInstances", &launch("1")).await.is_err());
    assert_eq!(alive(), 2);
    cloud.0.fail_next("*", FailurePoint::After, FailureMode::error(500, "InternalError", "no"));
    assert_eq!(cloud.no("RunInstances", &launch("1")).await.0, "InternalError");
    assert_eq!(alive(), 3);
    cloud.0.expire_credentials();
    assert_eq!(cloud.no("DescribeInstances", &[]).await.0, "RequestExpired");
    cloud.0.clear_failures();
    let outcomes: Vec<_> = cloud.0.journal().into_iter().map(|call| (call.outcome, call.lost)).collect();
    let expired = Outcome::Refused("RequestExpired".to_owned());
    let expected = [
        (Outcome::Done, false),
        (Outcome::NotReached, true),
        (Outcome::Done, true),
        (Outcome::Done, true),
        (expired, false),
    ];
    assert_eq!(outcomes, expected);
}

#[tokio::test]
async fn a_hook_is_called_before_and_after_each_call_and_may_use_the_simulator() {
    let cloud = Arc::new(Cloud::new(|_| {}));
    let seen = Arc::new(std::sync::Mutex::new(vec![]));
    let (inner, notes) = (Arc::downgrade(&cloud), Arc::clone(&seen));
    cloud.0.on_call(move |phase, call| {
        let count = inner.upgrade().map_or(0, |cloud| cloud.0.instances().len());
        notes.lock().unwrap().push((phase, call.number, count));
        // The second call is cut before its effect, the third after it.
        let cut =
            (call.number, phase) == (2, Phase::Before) || (call.number, phase) == (3, Phase::AfterEffect);
        if cut { CallDecision::Drop } else { CallDecision::Continue }
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
async fn out_of_band_changes_are_in_the_journal_and_not_subject_to_faults() {
    let cloud = Cloud::new(|_| {});
    cloud.0.fail_always("*", FailurePoint::Before, FailureMode::Drop);
    let id = cloud.0.launch_out_of_band(IMAGE, "t3.micro", &[("Name", "adopt me")]).unwrap();
    cloud.0.tag_out_of_band(&id, "Name", None).unwrap();
    cloud.0.terminate_out_of_band(&id).unwrap();
    assert!(cloud.0.stop_out_of_band("i-00000000000000001").is_err());
    let record = &cloud.0.instances()[0];
    assert!(record.instance.tags.is_empty() && record.ended_by == Some(3));
    assert!(cloud.0.journal().iter().all(|call| call.out_of_band) && cloud.0.count("*") == 0);
}
