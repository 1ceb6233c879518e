//! A simulator with a server, and the calls of instance tests.

use std::time::{Duration, Instant};

use crate::{Simulator, SimulatorOptions};
use crate::{http, xml};

pub(super) const IMAGE: &str = "ami-12c6146b";

pub(super) struct Cloud(pub(super) Simulator);

impl Cloud {
    pub(super) fn new(change: impl FnOnce(&mut SimulatorOptions)) -> Self {
        let mut options = SimulatorOptions::default();
        change(&mut options);
        Self(Simulator::start(options).unwrap())
    }

    pub(super) async fn send(&self, action: &str, fields: &[(&str, &str)]) -> anyhow::Result<http::Response> {
        let form = [&[("Action", action), ("Version", "2016-11-15")], fields].concat();
        http::post_form(self.0.endpoint(), &[], &form).await
    }

    pub(super) async fn ok(&self, action: &str, fields: &[(&str, &str)]) -> xml::Element {
        let answer = self.send(action, fields).await.unwrap();
        assert_eq!(answer.status, 200, "{action}: {}", answer.body);
        xml::parse(&answer.body).unwrap()
    }

    /// The code and message of a call that must be rejected.
    pub(super) async fn no(&self, action: &str, fields: &[(&str, &str)]) -> (String, String) {
        let answer = self.send(action, fields).await.unwrap();
        assert_ne!(answer.status, 200, "{action}: {}", answer.body);
        let root = xml::parse(&answer.body).unwrap();
        let text = |name| root.text_at(&["Errors", "Error", name]);
        (text("Code"), text("Message"))
    }

    pub(super) async fn run(&self, count: &str, more: &[(&str, &str)]) -> Vec<String> {
        let fields = [&launch(count), more].concat();
        ids(self.ok("RunInstances", &fields).await.items("instancesSet"))
    }

    pub(super) async fn one(&self) -> String {
        self.run("1", &[]).await.remove(0)
    }

    pub(super) async fn described(&self, fields: &[(&str, &str)]) -> Vec<String> {
        let page = self.ok("DescribeInstances", fields).await;
        page.items("reservationSet").flat_map(|reservation| ids(reservation.items("instancesSet"))).collect()
    }

    pub(super) async fn state(&self, id: &str) -> String {
        let page = self.ok("DescribeInstances", &[("InstanceId.1", id)]).await;
        let reservation = page.items("reservationSet").next().unwrap();
        reservation.items("instancesSet").next().unwrap().text_at(&["instanceState", "name"])
    }

    pub(super) async fn until(&self, id: &str, state: &str) {
        let started = Instant::now();
        while self.state(id).await != state {
            assert!(started.elapsed() < Duration::from_mins(1), "{id} does not become {state}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(super) fn launch(count: &str) -> [(&str, &str); 4] {
    [("ImageId", IMAGE), ("InstanceType", "t3.micro"), ("MinCount", "1"), ("MaxCount", count)]
}

pub(super) fn ids<'a>(items: impl Iterator<Item = &'a xml::Element>) -> Vec<String> {
    items.map(|item| item.text_at(&["instanceId"])).collect()
}

pub(super) fn tag<'a>(key: &'a str, value: &'a str) -> [(&'a str, &'a str); 3] {
    let kind = ("TagSpecification.1.ResourceType", "instance");
    [kind, ("TagSpecification.1.Tag.1.Key", key), ("TagSpecification.1.Tag.1.Value", value)]
}

pub(super) fn moment() -> Duration {
    Duration::from_millis(300)
}
