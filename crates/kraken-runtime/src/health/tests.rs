use super::*;

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn the_process_is_ready_once_every_store_has_synced_and_every_gate_is_open() {
    let health = Health::default();
    let gate = health.gate("webhook certificate");
    let (secrets, maps) = (health.register_watch("Secret"), health.register_watch("ConfigMap"));
    maps.synced();
    assert_eq!(health.missing(), ["webhook certificate", "Secret has not synced"]);
    gate.open();
    secrets.synced();
    assert!(health.missing().is_empty());
}

#[tokio::test]
async fn waiting_for_readiness_ends_with_the_last_missing_prerequisite() {
    let health = Health::default();
    let gate = health.gate("webhook certificate");
    let watch = health.register_watch("Secret");
    let waiting = tokio::spawn({
        let health = health.clone();
        async move { health.ready().await }
    });
    watch.synced();
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    gate.open();
    waiting.await.unwrap();
}

#[test]
fn a_watch_without_events_is_healthy() {
    let health = Health::default();
    let watch = health.register_watch("Secret");
    watch.synced();
    assert!(health.faults(Instant::now() + MINUTE * 10_000).is_empty());
}

#[test]
fn a_store_that_never_syncs_is_unhealthy_after_ten_minutes() {
    let health = Health::default();
    let _watch = health.register_watch("Secret");
    assert!(health.faults(Instant::now() + MINUTE * 9).is_empty());
    assert_eq!(health.faults(Instant::now() + MINUTE * 11), ["Secret has not synced in 10 minutes"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_api_server_rejects_is_unready_and_healthy() {
    let health = Health::default();
    let watch = health.register_watch("VPC");
    for _ in 0..30 {
        watch.rejected("is its CRD installed?");
        tokio::time::sleep(MINUTE).await;
    }
    assert_eq!(health.not_ready(Instant::now()), ["VPC has not synced: is its CRD installed?"]);
    assert!(health.faults(Instant::now()).is_empty(), "a restart would not help");
    tokio::time::sleep(MINUTE * 3).await;
    assert_eq!(health.faults(Instant::now()), ["VPC has not synced in 10 minutes"], "the loop hangs");
    watch.rejected("is its CRD installed?");
    watch.failed("no response");
    assert_eq!(health.faults(Instant::now()), ["VPC has not synced in 10 minutes"]);
}

#[test]
fn an_ended_watch_is_unhealthy_at_once() {
    let health = Health::default();
    let watch = health.register_watch("Secret");
    watch.synced();
    drop(watch);
    assert_eq!(health.faults(Instant::now()), ["the watch of Secret has ended"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_unhealthy_only_after_continuous_failures_without_an_event() {
    let health = Health::default();
    let watch = health.register_watch("Secret");
    watch.synced();
    let fail_for = async |minutes: u32| {
        for _ in 0..minutes {
            watch.failed("forbidden");
            tokio::time::sleep(MINUTE).await;
        }
    };
    fail_for(9).await;
    assert!(health.faults(Instant::now()).is_empty(), "not long enough");
    tokio::time::sleep(MINUTE * 30).await;
    assert!(health.faults(Instant::now()).is_empty(), "it recovered without an event");
    fail_for(12).await;
    let named = ["the watch of Secret has failed for 720 s: forbidden"];
    assert_eq!(health.not_ready(Instant::now()), named);
    assert_eq!(health.faults(Instant::now()), ["the watch of Secret has failed for 10 minutes"]);
    watch.beat();
    assert!(health.faults(Instant::now()).is_empty(), "an event arrived");
    assert!(health.not_ready(Instant::now()).is_empty(), "an event arrived");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_is_reported_within_seconds() {
    let health = Health::default();
    let watch = health.register_watch("Secret");
    watch.synced();
    for (seconds, complaints) in [(0, 0), (5, 0), (6, 1)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        watch.failed("forbidden");
        assert_eq!(health.not_ready(Instant::now()).len(), complaints, "after {seconds} s more");
    }
}

#[tokio::test(start_paused = true)]
async fn part_of_a_process_awaits_its_own_stores_and_its_end_is_no_failure() {
    let health = Health::default();
    let whole = health.register_watch("Secret");
    let part = health.part();
    let watch = part.register_watch("Widget");
    assert_eq!(part.missing(), ["Secret has not synced", "Widget has not synced"]);
    whole.synced();
    assert!(health.not_ready(Instant::now()).is_empty(), "the process stays ready while a part starts");
    assert_eq!(part.missing(), ["Widget has not synced"]);
    watch.rejected("not found");
    tokio::time::advance(NOTICE * 2).await;
    watch.rejected("not found");
    let reported = health.not_ready(Instant::now());
    assert!(reported.len() == 1 && reported[0].contains("Widget has failed"), "{reported:?}");
    watch.synced();
    assert!(part.missing().is_empty());
    part.retire();
    drop(watch);
    assert!(health.faults(Instant::now()).is_empty());
    let again = health.part();
    drop(again.register_watch("Widget"));
    assert_eq!(health.faults(Instant::now()), ["the watch of Widget has ended"]);
}

#[test]
fn a_controller_waits_for_its_own_stores_and_the_process_for_those_of_all() {
    let process = Health::default();
    let (vpc, sqs) = (process.member(), process.member());
    let (of_vpc, of_sqs) = (vpc.register_watch("VPC"), sqs.register_watch("Queue"));
    let same = [vpc.register_watch("Account"), sqs.register_watch("Account")];
    of_vpc.synced();
    same[0].synced();
    assert!(vpc.missing().is_empty());
    assert_eq!(process.not_ready(Instant::now()), ["Queue has not synced", "Account has not synced"]);
    same[1].synced();
    of_sqs.synced();
    assert!(process.not_ready(Instant::now()).is_empty());
    drop(of_vpc);
    assert_eq!(process.faults(Instant::now()), ["the watch of VPC has ended"]);
}

#[test]
fn what_several_controllers_wait_for_is_reported_once() {
    let process = Health::default();
    let _gates = [process.member(), process.member()].map(|member| member.gate("the API server"));
    assert_eq!(process.not_ready(Instant::now()), ["the API server"]);
}
