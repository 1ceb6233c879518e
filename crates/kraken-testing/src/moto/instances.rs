//! Lists moto's instances without an AWS SDK, so that Kraken's actions are verified with independent code.

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{Instance, REGION, http, xml};

/// The header from which moto determines the service and the region; it checks no signature.
pub(super) fn credential(service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=testing/20200101/{REGION}/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )
}

/// All instances, page by page.
pub(super) async fn list(endpoint: &str) -> Result<Vec<Instance>> {
    let credential = credential("ec2");
    let headers = [("authorization", credential.as_str())];
    let mut instances = Vec::new();
    let mut token = String::new();
    loop {
        let mut form = vec![("Action", "DescribeInstances"), ("Version", "2016-11-15")];
        if !token.is_empty() {
            form.push(("NextToken", &token));
        }
        let answer = http::post_form(endpoint, &headers, &form).await?;
        if answer.status != 200 {
            bail!("DescribeInstances failed with {}: {}", answer.status, answer.body);
        }
        let page = xml::parse(&answer.body).context("moto's list of instances cannot be parsed")?;
        for reservation in page.items("reservationSet") {
            instances.extend(reservation.items("instancesSet").map(instance));
        }
        token = page.text_at(&["nextToken"]);
        if token.is_empty() {
            return Ok(instances);
        }
    }
}

fn instance(item: &xml::Element) -> Instance {
    Instance {
        id: item.text_at(&["instanceId"]),
        state: item.text_at(&["instanceState", "name"]),
        instance_type: item.text_at(&["instanceType"]),
        image_id: item.text_at(&["imageId"]),
        subnet_id: item.text_at(&["subnetId"]),
        tags: item.items("tagSet").map(|tag| (tag.text_at(&["key"]), tag.text_at(&["value"]))).collect(),
    }
}
