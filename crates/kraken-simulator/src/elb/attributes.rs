//! The attributes of load balancers and target groups: names with values, of which only known ones can be set.

use std::collections::BTreeMap;

use crate::answer::{Answer, Handler};
use crate::form::Form;
use crate::model::{LoadBalancer, TargetGroup};
use crate::refusal::Refusal;

type Attributes = BTreeMap<String, String>;

const OF_ALL: &[(&str, &str)] = &[
    ("access_logs.s3.bucket", ""),
    ("access_logs.s3.enabled", "false"),
    ("access_logs.s3.prefix", ""),
    ("deletion_protection.enabled", "false"),
    ("load_balancing.cross_zone.enabled", "true"),
];
const OF_APPLICATION: &[(&str, &str)] = &[
    ("client_keep_alive.seconds", "3600"),
    ("connection_logs.s3.bucket", ""),
    ("connection_logs.s3.enabled", "false"),
    ("connection_logs.s3.prefix", ""),
    ("idle_timeout.timeout_seconds", "60"),
    ("routing.http.desync_mitigation_mode", "defensive"),
    ("routing.http.drop_invalid_header_fields.enabled", "false"),
    ("routing.http.preserve_host_header.enabled", "false"),
    ("routing.http.x_amzn_tls_version_and_cipher_suite.enabled", "false"),
    ("routing.http.xff_client_port.enabled", "false"),
    ("routing.http.xff_header_processing.mode", "append"),
    ("routing.http2.enabled", "true"),
    ("waf.fail_open.enabled", "false"),
    ("zonal_shift.config.enabled", "false"),
];
const OF_NETWORK: &[(&str, &str)] = &[
    ("dns_record.client_routing_policy", "any_availability_zone"),
    ("load_balancing.cross_zone.enabled", "false"),
    ("zonal_shift.config.enabled", "false"),
];
const OF_GROUP: &[(&str, &str)] = &[
    ("deregistration_delay.timeout_seconds", "300"),
    ("load_balancing.cross_zone.enabled", "use_load_balancer_configuration"),
    ("stickiness.enabled", "false"),
];
const OF_HTTP_GROUP: &[(&str, &str)] = &[
    ("load_balancing.algorithm.type", "round_robin"),
    ("slow_start.duration_seconds", "0"),
    ("stickiness.app_cookie.cookie_name", ""),
    ("stickiness.app_cookie.duration_seconds", "86400"),
    ("stickiness.lb_cookie.duration_seconds", "86400"),
    ("stickiness.type", "lb_cookie"),
];
const OF_TCP_GROUP: &[(&str, &str)] = &[
    ("deregistration_delay.connection_termination.enabled", "false"),
    ("preserve_client_ip.enabled", "true"),
    ("proxy_protocol_v2.enabled", "false"),
    ("stickiness.type", "source_ip"),
];

fn defaults(tables: [&[(&str, &str)]; 2]) -> Attributes {
    let all = tables.into_iter().flatten();
    all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The attributes of a new load balancer.
pub(super) fn of_load_balancer(application: bool) -> Attributes {
    defaults([OF_ALL, if application { OF_APPLICATION } else { OF_NETWORK }])
}

/// The attributes of a new target group.
pub(super) fn of_target_group(http: bool) -> Attributes {
    defaults([OF_GROUP, if http { OF_HTTP_GROUP } else { OF_TCP_GROUP }])
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    const BALANCER: &str = "LoadBalancerArn";
    const GROUP: &str = "TargetGroupArn";
    let handler: Handler = match action {
        "DescribeLoadBalancerAttributes" => |cloud, form| {
            let arn = form.required(BALANCER)?;
            Ok(attributes_response(arn, &cloud.one::<LoadBalancer>(arn)?.attributes))
        },
        "ModifyLoadBalancerAttributes" => |cloud, form| {
            let arn = form.required(BALANCER)?;
            changed(arn, &mut cloud.one_mut::<LoadBalancer>(arn)?.attributes, form, "Load balancer")
        },
        "DescribeTargetGroupAttributes" => |cloud, form| {
            let arn = form.required(GROUP)?;
            Ok(attributes_response(arn, &cloud.one::<TargetGroup>(arn)?.attributes))
        },
        "ModifyTargetGroupAttributes" => |cloud, form| {
            let arn = form.required(GROUP)?;
            changed(arn, &mut cloud.one_mut::<TargetGroup>(arn)?.attributes, form, "Target group")
        },
        _ => return None,
    };
    Some(handler)
}

fn attributes_response(arn: &str, attributes: &Attributes) -> Answer {
    Answer::about(arn, |xml| {
        xml.members("Attributes", attributes, |xml, (key, value)| {
            xml.text("Key", key);
            xml.text("Value", value);
        });
    })
}

/// All or none.
fn changed(arn: &str, attributes: &mut Attributes, form: &Form, noun: &str) -> Result<Answer, Refusal> {
    let mut wanted = attributes.clone();
    for attribute in form.structures("Attributes.member") {
        let key = attribute.required("Key")?;
        let Some(value) = wanted.get_mut(key) else {
            return Err(Refusal::invalid(format!("{noun} attribute key '{key}' is not recognized")));
        };
        let new = attribute.text("Value").unwrap_or_default();
        if key.ends_with(".enabled") && *value != "use_load_balancer_configuration" {
            let is_flag = ["true", "false"].contains(&new.as_str());
            is_flag.then_some(()).ok_or_else(|| {
                Refusal::invalid(format!(
                    "{noun} attribute value '{new}' of '{key}' must be 'true' or 'false'"
                ))
            })?;
        }
        *value = new;
    }
    *attributes = wanted;
    Ok(attributes_response(arn, attributes))
}
