use kraken_aws::{
    AwsResource as _, AwsSpec as _, Tags,
    lookup::Tagged as _,
    resource::{Phase, RemoteObject as _},
    testing::{self, HIDDEN, assert_begin, assert_round_trips, rendered, with},
};
use kraken_kind::{Edit, Failure, FailureClass, Remedy};
use serde_json::{Value, json};

use super::{
    Instances,
    api::{Change, DBInstanceSpec, Desired},
    calls::undeletable,
    desired::final_snapshot,
    observed::{Endpoint, InParameterGroup, InSecurityGroup, InSubnetGroup, Instance, Pending},
    password,
};

/// A password from the Secret that the tests have.
fn password() -> Value {
    json!({"valueFrom": {"templateString": "{{ .Secret.s.k }}-{{ .Secret.s.k }}"}})
}

fn written(changes: Value) -> Value {
    let least = json!({
        "engine": {"value": "postgres"}, "instanceClass": {"value": "db.t4g.micro"}, "allocatedStorageGiB": {"value": 20},
        "masterUsername": {"value": "shop"}, "masterUserPassword": password(),
    });
    with(least, changes)
}

fn desired(changes: Value) -> Desired {
    testing::desired::<Instances>(written(changes))
}

fn tagged(instance: Instance, desired: &Desired) -> Instance {
    Instance { tags: password::tag(desired).unwrap(), ..instance }
}

fn instance() -> Instance {
    let instance = Instance {
        db_instance_identifier: "orders".into(),
        db_instance_arn: "arn:aws:rds:us-east-1:123456789012:db:orders".into(),
        dbi_resource_id: Some("db-ABC123".into()),
        db_instance_status: Some("available".into()),
        db_instance_class: Some("db.t4g.micro".into()),
        engine: Some("postgres".into()),
        engine_version: Some("16.4".into()),
        endpoint: Some(Endpoint { address: Some("orders.example".into()), port: Some(5432) }),
        master_username: Some("shop".into()),
        allocated_storage: Some(20),
        backup_retention_period: Some(1),
        multi_az: Some(false),
        availability_zone: Some("us-east-1a".into()),
        auto_minor_version_upgrade: Some(true),
        ..Instance::default()
    };
    tagged(instance, &desired(json!({})))
}

fn differing(changes: Value, instance: &Instance) -> Vec<String> {
    rendered(DBInstanceSpec::differences(&desired(changes), instance))
}

#[test]
fn what_the_spec_does_not_set_is_not_compared() {
    assert_eq!(differing(json!({}), &instance()), [""; 0]);
}

#[test]
fn settings_are_changed_in_place_and_others_by_an_interruption() {
    let found = differing(
        json!({
            "identifier": {"value": "other"}, "engine": {"value": "mysql"}, "masterUsername": {"value": "root"},
            "engineVersion": {"value": "17"}, "instanceClass": {"value": "db.t4g.small"}, "port": {"value": 6000},
            "dbSubnetGroupName": {"value": "orders"}, "allocatedStorageGiB": {"value": 30}, "multiAZ": {"value": true},
            "vpcSecurityGroupIDs": {"value": ["sg-1"]}, "deletionProtection": {"value": true},
        }),
        &instance(),
    );
    assert_eq!(
        found,
        [
            "identifier: orders becomes other: fixed",
            "engine: postgres becomes mysql: fixed",
            "masterUsername: shop becomes root: fixed",
            "engineVersion: 16.4 becomes 17: disruptive Restart",
            "instanceClass: db.t4g.micro becomes db.t4g.small: disruptive Restart",
            "allocatedStorageGiB: 20 becomes 30: Settings",
            "port: 5432 becomes 6000: disruptive Restart",
            "vpcSecurityGroupIDs: none becomes sg-1: Settings",
            "multiAZ: false becomes true: Settings",
            "deletionProtection: (absent) becomes true: Settings",
        ]
    );
}

#[test]
fn an_interruption_says_what_it_takes() {
    let found = DBInstanceSpec::differences(&desired(json!({"port": {"value": 6000}})), &instance());
    let [port] = found.as_slice() else { panic!("{found:?}") };
    let Remedy::Disruptive(Change::Restart, takes) = &port.remedy else { panic!("{port:?}") };
    assert!(takes.contains("interrupts the database"), "{takes}");
}

#[test]
fn a_change_in_progress_is_no_difference_and_is_awaited() {
    let pending = Pending {
        db_instance_class: Some("db.t4g.small".into()),
        multi_az: Some(true),
        port: Some(6000),
        ..Pending::default()
    };
    let changing = Instance { pending, ..instance() };
    let wanted = json!({
        "instanceClass": {"value": "db.t4g.small"}, "multiAZ": {"value": true}, "port": {"value": 6000},
    });
    assert_eq!(differing(wanted, &changing), [""; 0]);
    let waits = Phase::Pending("waiting for AWS to set DBInstanceClass, MultiAZ, Port".into());
    assert_eq!(changing.phase(), waits);
}

#[test]
fn it_is_ready_when_it_is_available_with_an_endpoint() {
    let in_state = |state: &str| Instance { db_instance_status: Some(state.into()), ..instance() }.phase();
    for state in ["available", "backing-up", "storage-optimization", "storage-full"] {
        assert_eq!(in_state(state), Phase::Available, "{state}");
    }
    for state in [
        "creating",
        "modifying",
        "rebooting",
        "resetting-master-credentials",
        "stopped",
        "incompatible-network",
    ] {
        assert_eq!(in_state(state), Phase::Pending(state.into()));
    }
    assert_eq!(in_state("deleting"), Phase::Deleting);
    assert!(matches!(in_state("failed"), Phase::Failed(_)));
    let without = Instance { endpoint: None, ..instance() };
    assert_eq!(without.phase(), Phase::Pending("waiting for its endpoint".into()));
}

#[test]
fn a_version_is_compared_by_its_beginning_and_is_never_lowered() {
    let version = |wanted: &str, have: &str, upgrades: bool| {
        let have = Instance {
            engine_version: Some(have.into()),
            auto_minor_version_upgrade: Some(upgrades),
            ..instance()
        };
        differing(json!({"engineVersion": {"value": wanted}}), &have).pop()
    };
    for (wanted, have, upgrades) in [("16", "16.4", false), ("16.4", "16.4", false), ("16.4", "16.10", true)]
    {
        assert_eq!(version(wanted, have, upgrades), None, "{wanted} {have}");
    }
    for (wanted, have) in [("16.10", "16.4"), ("1", "16.4"), ("17", "16.4")] {
        let found = version(wanted, have, true).unwrap();
        let is_raised = found.ends_with("disruptive Restart");
        assert_eq!(is_raised, wanted != "1", "{found}");
    }
    assert!(version("16.4", "16.10", false).unwrap().ends_with("fixed"));
    assert!(version("15.7", "16.4", true).unwrap().ends_with("fixed"), "another major version");
}

#[test]
fn storage_that_aws_added_is_kept_and_other_storage_cannot_decrease() {
    let grown = |limit| Instance { allocated_storage: Some(40), max_allocated_storage: limit, ..instance() };
    assert_eq!(differing(json!({}), &grown(Some(100))), [""; 0]);
    assert_eq!(differing(json!({}), &grown(None)), ["allocatedStorageGiB: 40 becomes 20: fixed"]);
    let limit = |limit: i32| json!({"maxAllocatedStorageGiB": {"value": limit}});
    assert_eq!(differing(limit(20), &instance()), [""; 0]);
    assert_eq!(differing(limit(50), &instance()), ["maxAllocatedStorageGiB: 20 becomes 50: Settings"]);
}

#[test]
fn backups_begin_and_end_by_an_interruption() {
    let days = |days: i32| json!({"backupRetentionDays": {"value": days}});
    assert_eq!(differing(days(7), &instance()), ["backupRetentionDays: 1 becomes 7: Settings"]);
    assert_eq!(differing(days(0), &instance()), ["backupRetentionDays: 1 becomes 0: disruptive Restart"]);
    let spec = |changes: Value| serde_json::from_value::<DBInstanceSpec>(written(changes)).unwrap();
    let edit = |before, after, field| Instances::edit_of(&spec(before), &spec(after), field);
    assert_eq!(edit(days(7), days(0), "backupRetentionDays"), Edit::Stops);
    assert_eq!(edit(days(7), days(8), "backupRetentionDays"), Edit::InPlace);
    let storage = |size: i32| json!({"allocatedStorageGiB": {"value": size}});
    assert_eq!(edit(storage(30), storage(20), "allocatedStorageGiB"), Edit::Replaces);
    assert_eq!(edit(storage(20), storage(30), "allocatedStorageGiB"), Edit::InPlace);
    assert_eq!(edit(json!({}), json!({"port": {"value": 6000}}), "port"), Edit::Stops);
}

#[test]
fn the_zone_of_a_database_with_a_standby_is_not_compared() {
    let zone = json!({"availabilityZone": {"value": "us-east-1b"}});
    assert_eq!(
        differing(zone.clone(), &instance()),
        ["availabilityZone: us-east-1a becomes us-east-1b: fixed"]
    );
    assert_eq!(differing(zone, &Instance { multi_az: Some(true), ..instance() }), [""; 0]);
}

#[test]
fn groups_are_compared_by_their_names() {
    let member = |id: &str, status: &str| InSecurityGroup {
        vpc_security_group_id: id.into(),
        status: Some(status.into()),
    };
    let have = Instance {
        db_subnet_group: Some(InSubnetGroup { db_subnet_group_name: Some("orders".into()), vpc_id: None }),
        db_parameter_groups: vec![InParameterGroup {
            db_parameter_group_name: "pg".into(),
            ..InParameterGroup::default()
        }],
        vpc_security_groups: vec![member("sg-1", "active"), member("sg-2", "removing")],
        ..instance()
    };
    let groups = |name: &str, id: &str| {
        json!({
            "dbSubnetGroupName": {"value": name}, "dbParameterGroupName": {"value": name},
            "vpcSecurityGroupIDs": {"value": [id]},
        })
    };
    let found = differing(groups("orders", "sg-1"), &have);
    assert_eq!(found, ["dbParameterGroupName: pg becomes orders: Settings"]);
    assert_eq!(differing(groups("pg", "sg-2"), &have).len(), 2);
}

#[test]
fn a_password_is_changed_when_its_keyed_digest_differs_from_the_tag() {
    let (wanted, found) = (desired(json!({})), |instance: &Instance| differing(json!({}), instance));
    let digest = password::tag(&wanted).unwrap().remove(password::KEY).unwrap();
    assert!(!digest.contains(HIDDEN), "{digest}");
    assert_eq!(found(&instance()), [""; 0]);
    let other = Instance { tags: Tags::from([(password::KEY.to_owned(), "0".to_owned())]), ..instance() };
    assert_eq!(found(&other), ["masterUserPassword: (not shown) becomes ***: Password"]);
    let adopted = Instance { tags: Tags::new(), ..instance() };
    assert_eq!(found(&adopted), ["masterUserPassword: (absent) becomes ***: Password"]);
}

#[test]
fn the_tag_of_the_password_is_no_tag_of_the_user_and_is_not_published() {
    let state = serde_json::to_string(&instance()).unwrap();
    assert!(!state.contains(password::KEY) && !state.contains(HIDDEN), "{state}");
    assert!(Instances::OWN_KEYS.contains(&password::KEY));
}

#[test]
fn a_password_comes_from_a_secret_and_its_problems_do_not_show_it() {
    let problems =
        |password: Value| testing::problems::<Instances>(written(json!({"masterUserPassword": password})));
    assert_begin(
        &problems(json!({"value": "correct-horse"})),
        &["spec.masterUserPassword: must come from a Secret"],
    );
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let short = problems(secret);
    assert_begin(&short, &["spec.masterUserPassword: the value of Secret s key \"k\" must have 8 to 128"]);
    assert!(!short[0].contains(HIDDEN), "{short:?}");
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = testing::problems::<Instances>(json!({
        "engine": {"value": "postgres"}, "masterUsername": {"value": "1"}, "identifier": {"value": "a--b"},
        "kmsKeyID": {"value": "alias/shop"}, "multiAZ": {"value": true}, "availabilityZone": {"value": "us-east-1a"},
    }));
    let wanted = [
        "spec.identifier: must have 1 to 63",
        "spec.masterUsername: must have 1 to 128",
        "spec.masterUserPassword: is required, unless",
        "spec.instanceClass: is required, unless",
        "spec.allocatedStorageGiB: is required, unless",
        "spec.kmsKeyID: requires storageEncrypted",
        "spec.availabilityZone: cannot be combined",
    ];
    assert_begin(&found, &wanted);
    let limit = written(json!({"maxAllocatedStorageGiB": {"value": 10}}));
    assert_begin(&testing::problems::<Instances>(limit), &["spec.maxAllocatedStorageGiB: must not be less"]);
    let groups = written(json!({"vpcSecurityGroupIDs": {"value": []}}));
    assert_begin(
        &testing::problems::<Instances>(groups),
        &["spec.vpcSecurityGroupIDs: must have at least 1"],
    );
}

#[test]
fn an_adopted_database_needs_no_password() {
    let spec = json!({
        "engine": {"value": "postgres"}, "masterUsername": {"value": "shop"}, "lifecycle": {"adopt": {"id": "orders"}},
    });
    assert_eq!(
        rendered(DBInstanceSpec::differences(&testing::desired::<Instances>(spec), &instance())),
        [""; 0]
    );
}

#[test]
fn a_final_snapshot_is_made_unless_the_spec_refuses_it() {
    assert_eq!(final_snapshot(&instance()), "orders-final-abc123");
    let skips = |changes: Value| {
        let (spec, mut doomed) = (serde_json::from_value(written(changes)).unwrap(), instance());
        Instances::to_delete(&spec, &mut doomed);
        doomed.skips_final_snapshot
    };
    assert!(!skips(json!({})) && !skips(json!({"skipFinalSnapshot": false})));
    assert!(skips(json!({"skipFinalSnapshot": true})));
}

#[test]
fn what_prevents_a_deletion_is_explained() {
    let refused = |class, message: &str| {
        let (action, code) = ("failed".to_owned(), "InvalidParameterCombination".to_owned());
        undeletable(Failure { class, action, code, message: message.to_owned() })
    };
    let message = "Cannot delete protected DB Instance, please disable deletion protection and try again.";
    let protected = refused(FailureClass::Terminal, message);
    assert_eq!(protected.class, FailureClass::Protected);
    assert!(protected.message.contains("spec.deletionProtection"), "{protected}");
    let message = "Cannot create a snapshot because the database instance orders is not currently in the available state.";
    let busy = refused(FailureClass::NotYet, message);
    assert_eq!(busy.class, FailureClass::NotYet);
    assert!(busy.message.contains("spec.skipFinalSnapshot"), "{busy}");
    assert_eq!(refused(FailureClass::Terminal, "other").message, "other");
}

#[test]
fn its_id_is_its_identifier_and_it_is_tagged_by_its_arn() {
    assert_eq!(
        (instance().id(), instance().tagged_as()),
        ("orders", "arn:aws:rds:us-east-1:123456789012:db:orders")
    );
    assert!(!instance().has_own_id());
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    assert_round_trips::<DBInstanceSpec>(&written(json!({
        "identifier": {"value": "orders"}, "engineVersion": {"value": "16"}, "maxAllocatedStorageGiB": {"value": 100},
        "storageType": {"value": "gp3"}, "iops": {"value": 12000}, "throughput": {"value": 500},
        "storageEncrypted": {"value": true}, "kmsKeyID": {"value": "alias/shop"}, "dbName": {"value": "orders"},
        "port": {"value": 5432}, "dbSubnetGroupName": {"value": "orders"}, "vpcSecurityGroupIDs": {"value": ["sg-1"]},
        "publiclyAccessible": {"value": false}, "multiAZ": {"value": true}, "dbParameterGroupName": {"value": "orders"},
        "backupRetentionDays": {"value": 7}, "preferredBackupWindow": {"value": "03:00-03:30"},
        "preferredMaintenanceWindow": {"value": "sun:04:00-sun:04:30"}, "autoMinorVersionUpgrade": {"value": false},
        "deletionProtection": {"value": true}, "copyTagsToSnapshot": {"value": true},
        "iamDatabaseAuthentication": {"value": true}, "performanceInsights": {"value": true},
        "skipFinalSnapshot": true, "tags": {"Name": "orders"},
    })));
}
