use super::*;

fn queue() -> Queue<&'static str> {
    Queue::new(4)
}

async fn key(queue: &Queue<&'static str>) -> &'static str {
    queue.next().await.0
}

async fn nothing_is_due(queue: &Queue<&'static str>) -> bool {
    tokio::time::timeout(Duration::from_millis(1), queue.next()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn an_edit_overtakes_every_resync() {
    let queue = queue();
    queue.add("a", Lane::Resync);
    queue.add("b", Lane::Resync);
    queue.add("c", Lane::Edit);
    queue.add("b", Lane::Edit);
    assert_eq!((queue.depth(Lane::Edit), queue.depth(Lane::Resync)), (2, 1));
    assert_eq!([key(&queue).await, key(&queue).await, key(&queue).await], ["c", "b", "a"]);
    assert!(nothing_is_due(&queue).await);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_flight_is_reconciled_again_only_afterwards() {
    let queue = queue();
    queue.add("a", Lane::Edit);
    assert_eq!(key(&queue).await, "a");
    queue.add("a", Lane::Edit);
    assert!(nothing_is_due(&queue).await);
    queue.done(&"a", Requeue::Never);
    assert_eq!(key(&queue).await, "a");
}

#[tokio::test(start_paused = true)]
async fn some_slots_are_reserved_for_edits() {
    let queue = queue();
    for key in ["a", "b", "c", "d"] {
        queue.add(key, Lane::Resync);
    }
    for _ in 0..3 {
        queue.next().await;
    }
    assert!(nothing_is_due(&queue).await);
    queue.add("edit", Lane::Edit);
    assert_eq!(key(&queue).await, "edit");
    queue.done(&"a", Requeue::Never);
    assert_eq!(key(&queue).await, "d");
}

#[tokio::test(start_paused = true)]
async fn backoff_doubles_and_success_resets_it() {
    let queue = queue();
    queue.add("a", Lane::Edit);
    let mut key = queue.next().await.0;
    for (requeue, expected) in [
        (Requeue::Backoff, 250),
        (Requeue::Backoff, 500),
        (Requeue::Backoff, 1000),
        (Requeue::Soon(Duration::from_millis(1)), 1),
        (Requeue::Backoff, 250),
    ] {
        let before = Instant::now();
        queue.done(&key, requeue);
        key = queue.next().await.0;
        let waited = before.elapsed().as_millis();
        assert!((expected..=expected + 2).contains(&waited), "{waited} ms instead of {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_minimum_delay_is_independent_of_ticks() {
    let queue = queue();
    queue.add("a", Lane::Edit);
    let key = queue.next().await.0;
    // 8 s after the start of the queue, the next tick of 9 s is only a second away.
    tokio::time::sleep(Duration::from_secs(8)).await;
    queue.done(&key, Requeue::After(Duration::from_secs(9)));
    let before = Instant::now();
    assert_eq!(queue.next().await.0, "a");
    let waited = before.elapsed();
    assert!(waited >= Duration::from_secs(9) && waited < Duration::from_millis(9010), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_stays_in_its_lane() {
    let queue = queue();
    queue.add("resync", Lane::Resync);
    queue.add("edit", Lane::Edit);
    for _ in 0..2 {
        queue.next().await;
    }
    queue.done(&"resync", Requeue::Backoff);
    queue.done(&"edit", Requeue::Backoff);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(queue.next().await, ("edit", Lane::Edit));
    assert_eq!(queue.next().await, ("resync", Lane::Resync));
    queue.done(&"resync", Requeue::After(Duration::from_secs(1)));
    assert_eq!(queue.next().await, ("resync", Lane::Resync));
}

#[tokio::test(start_paused = true)]
async fn timers_with_the_same_interval_are_due_together() {
    let queue = queue();
    queue.add("a", Lane::Edit);
    queue.add("b", Lane::Edit);
    let a = key(&queue).await;
    queue.done(&a, Requeue::Tick(Duration::from_secs(10)));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let b = key(&queue).await;
    queue.done(&b, Requeue::Tick(Duration::from_secs(10)));
    let first = key(&queue).await;
    let at = Instant::now();
    let second = key(&queue).await;
    assert_ne!(first, second);
    assert_eq!(at.elapsed(), Duration::ZERO);
}
