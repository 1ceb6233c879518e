//! The import of each kind is the inverse of its creation.

use kraken_aws::import::round_trip::{import, imported};
use kraken_kind::import::{Found, Scope};

use super::*;

impl Site {
    async fn imported<S: AwsResource>(&self, written: &Value) -> Found {
        imported::<S>(&self.aws, written).await
    }

    /// What the spec creates is imported as this spec. Returns its ARN.
    async fn returns<S: AwsResource>(&self, written: Value) -> String {
        let found = self.imported::<S>(&written).await;
        assert_eq!(found.spec, Ok(written), "{:?}", found.notes);
        assert_eq!(found.notes, [""; 0]);
        found.id
    }

    async fn imported_group(&self, name: &str) -> String {
        self.returns::<Groups>(json!({
            "name": {"value": name},
            "protocol": {"value": "HTTP"},
            "port": {"value": 80},
            "vpcID": {"value": self.vpc},
            "targetType": {"value": "ip"},
            "healthCheck": {"path": {"value": "/healthz"}, "intervalSeconds": {"value": 10}},
            "targets": {"value": ["10.0.1.7"]},
        }))
        .await
    }

    async fn imported_balancer(&self) -> String {
        let written = json!({
            "name": {"value": "web"},
            "scheme": {"value": "internal"},
            "subnetIDs": {"value": self.subnets},
            "deletionProtection": {"value": true},
            "idleTimeoutSeconds": {"value": 120},
            "tags": {"Name": "web"},
        });
        let found = self.imported::<Balancers>(&written).await;
        let mut spec = found.spec.unwrap();
        // The default group of the VPC, which AWS adds.
        assert!(spec.as_object_mut().unwrap().remove("securityGroupIDs").is_some());
        assert_eq!((spec, found.notes), (written, vec![]));
        found.id
    }

    fn https(balancer: &str, action: Value) -> Value {
        json!({
            "loadBalancerARN": {"value": balancer},
            "port": {"value": 443},
            "protocol": {"value": "HTTPS"},
            "certificateARN": {"value": "arn:aws:acm:us-east-1:123456789012:certificate/0abc1234"},
            "sslPolicy": {"value": "ELBSecurityPolicy-TLS13-1-2-2021-06"},
            "defaultAction": action,
        })
    }
}

#[tokio::test]
async fn a_load_balancer_with_listeners_rules_and_target_groups() {
    let site = site().await;
    let (group, other) = (site.imported_group("a").await, site.imported_group("b").await);
    let balancer = site.imported_balancer().await;
    let forward = json!({"forward": {"targetGroupARN": {"value": group}}});
    let listener = site.returns::<Listeners>(Site::https(&balancer, forward)).await;
    let redirect = json!({"redirect": {
        "protocol": {"value": "HTTPS"}, "port": {"value": "443"}, "statusCode": {"value": "HTTP_302"},
    }});
    let plain = testing::with(
        Site::https(&balancer, redirect),
        json!({"port": {"value": 80}, "protocol": {"value": "HTTP"}, "certificateARN": null, "sslPolicy": null}),
    );
    site.returns::<Listeners>(plain).await;
    let mut groups = [
        json!({"targetGroupARN": {"value": group}, "weight": {"value": 9}}),
        json!({"targetGroupARN": {"value": other}}),
    ];
    groups.sort_by_key(|group| group["targetGroupARN"]["value"].to_string());
    site.returns::<ListenerRules>(json!({
        "listenerARN": {"value": listener},
        "priority": {"value": 10},
        "conditions": {
            "pathPatterns": {"value": ["/api/*"]},
            "httpHeaders": [{"name": {"value": "x-a"}, "values": {"value": ["1"]}}],
            "queryStrings": [{"key": {"value": "k"}, "value": {"value": "v"}}],
        },
        "action": {"forward": {"targetGroups": groups, "stickinessSeconds": {"value": 60}}},
    }))
    .await;
    let rule = site
        .returns::<ListenerRules>(json!({
            "listenerARN": {"value": listener},
            "priority": {"value": 20},
            "conditions": {"hostHeaders": {"value": ["a.example"]}, "methods": {"value": ["GET"]}},
            "action": {"fixedResponse": {
                "statusCode": {"value": 503}, "contentType": {"value": "text/html"}, "messageBody": {"value": "later"},
            }},
        }))
        .await;
    // All kinds are found by the VPC.
    let within = Scope::Within(site.vpc.clone());
    import::<Balancers>(&site.aws, &within, &balancer).await;
    import::<Groups>(&site.aws, &within, &group).await;
    import::<Listeners>(&site.aws, &within, &listener).await;
    import::<ListenerRules>(&site.aws, &within, &rule).await;
}

#[tokio::test]
async fn a_text_that_may_come_from_a_secret_of_a_former_resource_is_not_shown() {
    let site = site().await;
    let balancer = site.imported_balancer().await;
    let body = json!({"fixedResponse": {"statusCode": {"value": 503}, "messageBody": {"value": "hunter2"}}});
    let found = site.imported::<Listeners>(&Site::https(&balancer, body)).await;
    let released = Some("released-by/c");
    site.cloud.tag_out_of_band(&found.id, "kraken-iac.eoinfennessy.com/cluster", released).unwrap();
    let found = import::<Listeners>(&site.aws, &Scope::Account, &found.id).await;
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    assert!(found.spec.is_ok() && found.notes[0].contains("may come from a Secret"), "{found:?}");
}
