//! Rules of listeners.

use super::account::{Account, forward, members};

const LIST: &str = "Rules";
const PATH: &str =
    "Conditions.member.1.Field=path-pattern Conditions.member.1.PathPatternConfig.Values.member.1=/api/*";

/// A listener, and the action of a rule that forwards to another group than it does.
fn listener(account: &mut Account) -> (String, String) {
    let site = account.site();
    let (balancer, group) = (account.balancer(&site, "web"), account.target_group(&site, "web"));
    let api = account.target_group(&site, "api");
    (account.listener(&balancer, 80, &group), forward(&api).replace("DefaultActions", "Actions"))
}

#[test]
fn a_listener_has_its_rules_in_order_and_the_default_one_last() {
    let mut account = Account::new();
    let (listener, action) = listener(&mut account);
    let create = |priority: u16| format!("ListenerArn={listener} Priority={priority} {PATH} {action}");
    let rule = account.member("CreateRule", &create(20), LIST);
    assert!(rule.text_at(&["RuleArn"]).contains(":listener-rule/app/web/"));
    assert_eq!(rule.text_at(&["IsDefault"]), "false");
    let condition = &members(&rule, "Conditions")[0];
    assert_eq!(condition.text_at(&["Field"]), "path-pattern");
    assert_eq!(members(condition.child("PathPatternConfig").unwrap(), "Values")[0].text.trim(), "/api/*");
    account.member("CreateRule", &create(10), LIST);
    let all = account.members("DescribeRules", &format!("ListenerArn={listener}"), LIST);
    let priorities: Vec<String> = all.iter().map(|rule| rule.text_at(&["Priority"])).collect();
    assert_eq!(priorities, ["10", "20", "default"]);
}

#[test]
fn a_priority_is_unique() {
    let mut account = Account::new();
    let (listener, action) = listener(&mut account);
    let create = |priority: u16| format!("ListenerArn={listener} Priority={priority} {PATH} {action}");
    let first = account.member("CreateRule", &create(10), LIST).text_at(&["RuleArn"]);
    assert_eq!(account.code("CreateRule", &create(10)), "PriorityInUse");
    let second = account.member("CreateRule", &create(11), LIST).text_at(&["RuleArn"]);
    let pair = |arn: &str, priority: u16| {
        format!("RulePriorities.member.1.RuleArn={arn} RulePriorities.member.1.Priority={priority}")
    };
    assert_eq!(account.code("SetRulePriorities", &pair(&second, 10)), "PriorityInUse");
    assert_eq!(account.member("SetRulePriorities", &pair(&first, 12), LIST).text_at(&["Priority"]), "12");
    account.ok("SetRulePriorities", &pair(&second, 10));
}

#[test]
fn a_rule_is_changed_and_deleted_alone_or_with_its_listener() {
    let mut account = Account::new();
    let (listener, action) = listener(&mut account);
    let create = format!("ListenerArn={listener} Priority=10 {PATH} {action}");
    let arn = account.member("CreateRule", &create, LIST).text_at(&["RuleArn"]);
    let host = "Conditions.member.1.Field=host-header Conditions.member.1.HostHeaderConfig.Values.member.1=a.example";
    let changed = account.member("ModifyRule", &format!("RuleArn={arn} {host}"), LIST);
    assert_eq!(members(&changed, "Conditions")[0].text_at(&["Field"]), "host-header");
    assert_eq!(members(&changed, "Actions")[0].text_at(&["Type"]), "forward");
    account.ok("DeleteRule", &format!("RuleArn={arn}"));
    assert_eq!(account.code("DeleteRule", &format!("RuleArn={arn}")), "RuleNotFound");
    let again = account.member("CreateRule", &create, LIST).text_at(&["RuleArn"]);
    account.ok("DeleteListener", &format!("ListenerArn={listener}"));
    assert_eq!(account.code("DescribeRules", &format!("RuleArns.member.1={again}")), "RuleNotFound");
}

#[test]
fn a_target_group_is_in_use_by_a_rule() {
    let mut account = Account::new();
    let (listener, action) = listener(&mut account);
    let create = format!("ListenerArn={listener} Priority=10 {PATH} {action}");
    account.ok("CreateRule", &create);
    let (_, group) = action.split_once("TargetGroupArn=").unwrap();
    assert_eq!(account.code("DeleteTargetGroup", &format!("TargetGroupArn={group}")), "ResourceInUse");
}

#[test]
fn conditions_are_checked() {
    let mut account = Account::new();
    let (listener, action) = listener(&mut account);
    let with = |conditions: &str| format!("ListenerArn={listener} Priority=10 {action} {conditions}");
    let many: Vec<String> = (1..=6)
        .map(|n| format!("{PATH}{n}").replace("Values.member.1", &format!("Values.member.{n}")))
        .collect();
    for wrong in
        ["", "Conditions.member.1.Field=moon", "Conditions.member.1.Field=path-pattern", &many.join(" ")]
    {
        assert_eq!(account.code("CreateRule", &with(wrong)), "ValidationError", "{wrong}");
    }
}
