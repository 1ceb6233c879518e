//! Hosts: operations that survive those who began them, and plugins that are shared, idle or replaced.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kraken_tfplugin::{
    Applied, CallError, Host, HostLink, HostOptions, Plugin, Protocol, Recalled, ResourceState, StartRequest,
    serve,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::ktest::{Ktest, request};

/// A host behind a socket.
struct Served {
    host: Arc<Host>,
    link: HostLink,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

fn served(options: HostOptions) -> Served {
    let (host, folder) = (Host::new(options), tempfile::tempdir().unwrap());
    let socket = folder.path().join("host/socket");
    let link = HostLink::at(socket.clone());
    let serving = tokio::spawn({
        let host = host.clone();
        async move {
            tokio::select! {
                served = serve(host.clone(), &socket) => served.unwrap(),
                () = host.tend() => {}
            }
        }
    });
    Served { host, link, serving, _folder: folder }
}

fn shared(key: &str) -> StartRequest {
    StartRequest { key: Some(key.to_owned()), ..request(Protocol::V6) }
}

fn is_running(process: i32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

async fn ended(process: i32) -> bool {
    for _ in 0..100 {
        if !is_running(process) {
            return true;
        }
        sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test]
async fn an_answer_is_kept_for_the_one_who_comes_after_a_caller_that_was_killed() {
    let served = served(HostOptions::new("a"));
    let ktest = Ktest::start_in(&served.link, shared("x")).await;
    ktest.plugin.share().await.unwrap();
    let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "delay_ms": 700})).await;
    let ticket = served.link.reserve("u").await.unwrap();
    let operation = ktest.plugin.apply(ticket.clone(), "create".to_owned(), plan.clone());
    assert!(timeout(Duration::from_millis(200), operation).await.is_err());

    // The next one: the same plugin, the same operation, and no second one.
    let next = Plugin::start_known(&served.link, shared("x"), ktest.plugin.schema().clone()).await.unwrap();
    assert!(next.is_shared() && next.process_id() == ktest.plugin.process_id());
    let recalled = served.link.recall("u", Some(ticket.clone())).await.unwrap();
    assert!(matches!(recalled, Recalled::Running { label } if label == "create"));
    assert!(matches!(served.link.reserve("u").await, Err(CallError::NotBegun(_))));
    let applied = next.apply(ticket.clone(), "create".to_owned(), plan).await.unwrap();
    assert_eq!(ktest.objects(), 1);

    let Recalled::Answered { answer, .. } = served.link.recall("u", None).await.unwrap() else { panic!() };
    let decoded = Applied::decode(&answer.unwrap(), &ktest.schema(), ResourceState::default(), false);
    assert!(decoded.unwrap() == applied && applied.state.exists());
    served.link.acknowledge(ticket.clone()).await.unwrap();
    assert!(matches!(served.link.recall("u", Some(ticket)).await.unwrap(), Recalled::Nothing));
    assert!(!format!("{:?}", served.host).contains("web"), "{:?}", served.host);
}

#[tokio::test]
async fn an_operation_that_did_not_arrive_was_never_begun() {
    let served = served(HostOptions::new("a"));
    let ktest = Ktest::start_in(&served.link, shared("x")).await;
    let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web"})).await;
    let ticket = served.link.reserve("u").await.unwrap();
    assert!(matches!(served.link.recall("u", Some(ticket.clone())).await.unwrap(), Recalled::NeverBegun));
    // It arrives late.
    let late = ktest.plugin.apply(ticket, String::new(), plan).await.unwrap_err();
    assert!(!late.may_have_changed() && late.is_temporary(), "{late}");
    assert_eq!(ktest.objects(), 0);
}

#[tokio::test]
async fn a_host_that_was_started_again_knows_nothing() {
    let first = served(HostOptions::new("a"));
    let ticket = first.link.reserve("u").await.unwrap();
    let Served { host, serving, _folder: folder, .. } = first;
    serving.abort();
    drop(host);
    let socket = folder.path().join("host/socket");
    let link = HostLink::at(socket.clone());
    // Not reachable meanwhile, and a socket of the former one is there.
    assert!(socket.exists());
    let waiting = tokio::spawn({
        let (link, ticket) = (link.clone(), ticket.clone());
        async move { link.recall("u", Some(ticket)).await }
    });
    sleep(Duration::from_millis(300)).await;
    let next = Host::new(HostOptions::new("b"));
    let serving = tokio::spawn(async move { serve(next, &socket).await });
    assert!(matches!(waiting.await.unwrap().unwrap(), Recalled::Nothing));
    serving.abort();
    let _ = serving.await;
    let error = link.recall("u", Some(ticket)).await.unwrap_err();
    assert!(matches!(&error, CallError::NotBegun(why) if why.contains("not reachable")), "{error}");
}

#[tokio::test]
async fn plugins_that_are_idle_or_made_their_calls_end() {
    let options = HostOptions { idle: Duration::from_millis(400), ..HostOptions::new("a") };
    let served = served(options);
    let ktest = Ktest::start_in(&served.link, request(Protocol::V6)).await;
    // Not while it works.
    let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "delay_ms": 1500})).await;
    let ticket = served.link.reserve("u").await.unwrap();
    ktest.plugin.apply(ticket, String::new(), plan).await.unwrap();
    assert!(ended(ktest.plugin.process_id()).await);
    let error = ktest.plugin.configure(&ktest.provider_config("right")).await.unwrap_err();
    assert!(matches!(error, CallError::Ended(_)), "{error}");

    // The schema, and the two calls of the configuration.
    let served = self::served(HostOptions { calls: 4, ..HostOptions::new("a") });
    let first = Ktest::start_in(&served.link, shared("x")).await;
    first.plugin.share().await.unwrap();
    let of =
        async || Plugin::start_known(&served.link, shared("x"), first.plugin.schema().clone()).await.unwrap();
    assert_eq!(of().await.process_id(), first.plugin.process_id());
    first.plugin.configure(&first.provider_config("right")).await.unwrap();
    assert_ne!(of().await.process_id(), first.plugin.process_id());
}

#[tokio::test]
async fn a_host_that_is_ended_finishes_and_starts_nothing() {
    let served = served(HostOptions::new("a"));
    let ktest = Ktest::start_in(&served.link, shared("x")).await;
    let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "delay_ms": 1000})).await;
    let ticket = served.link.reserve("u").await.unwrap();
    let (plugin, of) = (ktest.plugin.clone(), ticket.clone());
    let operation = tokio::spawn(async move { plugin.apply(of, String::new(), plan).await });
    sleep(Duration::from_millis(200)).await;
    let closing = tokio::spawn({
        let host = served.host.clone();
        async move { host.close().await }
    });
    sleep(Duration::from_millis(100)).await;
    assert_eq!(served.link.reserve("v").await, Err(CallError::Stopping));
    assert!(Plugin::start(&served.link, request(Protocol::V6)).await.is_err());
    assert!(operation.await.unwrap().unwrap().state.exists());
    assert!(!closing.is_finished());
    served.link.acknowledge(ticket).await.unwrap();
    closing.await.unwrap();
    assert!(!is_running(ktest.plugin.process_id()));
}
