use kraken_aws::{
    AwsResource as _, AwsSpec as _, Tags,
    prelude::Creation,
    resource::{Phase, RemoteObject as _},
    tags::{CLUSTER, EPOCH, OWNER, UID},
    testing::{self, HIDDEN, assert_begin, assert_round_trips, rendered, with},
};
use kraken_kind::{Edit, Failure, FailureClass, Ignored, Launch};
use serde_json::{Value, json};

use super::{
    Tables,
    api::TableSpec,
    calls::{backup_name, is_recent, next_stream, next_time_to_live, own_or_taken},
    capacity::Settings as Due,
    index::Index,
    observed::{Settings, Table},
};
use crate::dynamodb::types::{
    AttributeDefinition, BillingMode, BillingModeSummary, GlobalSecondaryIndexDescription, IndexStatus,
    KeySchemaElement, KeyType, LocalSecondaryIndexDescription, Projection, ProjectionType,
    ProvisionedThroughputDescription, SseDescription, StreamSpecification, StreamViewType, TableDescription,
    TableStatus,
};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/orders";
const KEY: &str = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

fn key(name: &str) -> Value {
    json!({"name": {"value": name}})
}

fn by_date() -> Value {
    json!({
        "name": {"value": "by-date"}, "hashKey": key("date"), "rangeKey": {"name": {"value": "total"}, "type": {"value": "N"}},
        "projectionType": {"value": "INCLUDE"}, "nonKeyAttributes": {"value": ["b", "a"]},
    })
}

fn written(changes: Value) -> Value {
    let spec = json!({
        "name": {"value": "orders"}, "hashKey": key("customer"), "rangeKey": key("date"),
        "localSecondaryIndexes": [{
            "name": {"value": "by-total"}, "rangeKey": {"name": {"value": "total"}, "type": {"value": "N"}},
            "projectionType": {"value": "KEYS_ONLY"},
        }],
        "globalSecondaryIndexes": [by_date()],
    });
    with(spec, changes)
}

fn schema(names: &[&str]) -> Vec<KeySchemaElement> {
    let one = |(at, name): (usize, &&str)| {
        let kind = if at == 0 { KeyType::Hash } else { KeyType::Range };
        KeySchemaElement::builder().attribute_name(*name).key_type(kind).build().unwrap()
    };
    names.iter().enumerate().map(one).collect()
}

/// As AWS returns what [`written`] creates.
fn described() -> TableDescription {
    let defined = [("total", "N"), ("date", "S"), ("customer", "S")].map(|(name, kind)| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind.into()).build().unwrap()
    });
    let local = LocalSecondaryIndexDescription::builder()
        .index_name("by-total")
        .set_key_schema(Some(schema(&["customer", "total"])))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build());
    let included = Projection::builder().projection_type(ProjectionType::Include);
    let global = GlobalSecondaryIndexDescription::builder()
        .index_name("by-date")
        .set_key_schema(Some(schema(&["date", "total"])))
        .projection(included.non_key_attributes("a").non_key_attributes("b").build())
        .index_status(IndexStatus::Active)
        .provisioned_throughput(ProvisionedThroughputDescription::builder().read_capacity_units(0).build());
    TableDescription::builder()
        .table_name("orders")
        .table_arn(ARN)
        .table_id("1234")
        .table_status(TableStatus::Active)
        .set_attribute_definitions(Some(defined.to_vec()))
        .set_key_schema(Some(schema(&["customer", "date"])))
        .billing_mode_summary(BillingModeSummary::builder().billing_mode(BillingMode::PayPerRequest).build())
        .local_secondary_indexes(local.build())
        .global_secondary_indexes(global.build())
        .build()
}

fn table() -> Table {
    described().into()
}

/// With capacities.
fn provisioned() -> Table {
    let mut table = table();
    table.billing_mode = "PROVISIONED".to_owned();
    (table.read, table.write) = (Some(5), Some(6));
    (table.global_indexes[0].read, table.global_indexes[0].write) = (Some(7), Some(8));
    table
}

fn differing(changes: Value, table: &Table) -> Vec<String> {
    testing::compared::<Tables>(written(changes), table)
}

#[test]
fn a_table_as_it_was_created_does_not_differ_and_what_is_not_set_is_not_managed() {
    assert_eq!(differing(json!({}), &table()), [""; 0]);
    let unset = json!({"localSecondaryIndexes": null, "globalSecondaryIndexes": null});
    assert_eq!(differing(unset, &provisioned()), [""; 0]);
    let defaults = json!({
        "billingMode": {"value": "PAY_PER_REQUEST"}, "tableClass": {"value": "STANDARD"}, "kmsKeyID": {"value": ""},
        "streamViewType": {"value": ""}, "deletionProtection": {"value": false},
    });
    assert_eq!(differing(defaults, &table()), [""; 0]);
    let least = Table::from(TableDescription::builder().build());
    assert_eq!((&*least.billing_mode, &*least.table_class), ("PROVISIONED", "STANDARD"));
}

#[test]
fn keys_and_local_indexes_are_fixed_and_the_message_says_that_a_new_table_is_empty() {
    let other = json!({
        "name": {"value": "other"}, "hashKey": key("id"), "rangeKey": null, "localSecondaryIndexes": [],
        "globalSecondaryIndexes": null,
    });
    assert_eq!(
        differing(other.clone(), &table()),
        [
            "name: orders becomes other: fixed",
            "hashKey: customer (S) becomes id (S): fixed",
            "rangeKey: date (S) becomes (absent): fixed",
            "localSecondaryIndexes: by-total: customer (S), total (N), projection KEYS_ONLY becomes (absent): fixed",
        ]
    );
    let desired = testing::desired::<Tables>(written(other));
    for difference in TableSpec::differences(&desired, &table()) {
        assert!(format!("{:?}", difference.remedy).contains("an empty one"), "{difference:?}");
    }
}

#[test]
fn settings_are_changed_by_a_call_each() {
    let other = json!({
        "billingMode": {"value": "PROVISIONED"}, "readCapacityUnits": {"value": 1}, "writeCapacityUnits": {"value": 1},
        "tableClass": {"value": "STANDARD_INFREQUENT_ACCESS"}, "kmsKeyID": {"value": KEY},
        "streamViewType": {"value": "NEW_IMAGE"}, "deletionProtection": {"value": true},
        "timeToLiveAttribute": {"value": "expires"}, "pointInTimeRecovery": {"value": true}, "recoveryPeriodDays": {"value": 7},
        "policy": {"statements": [{
            "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["*"]}}, "actions": {"value": ["dynamodb:GetItem"]},
            "resources": {"value": ["*"]},
        }]},
    });
    let shallow = [
        "billingMode: PAY_PER_REQUEST becomes PROVISIONED: Settings",
        "tableClass: STANDARD becomes STANDARD_INFREQUENT_ACCESS: Class",
        &format!("kmsKeyID: (absent) becomes {KEY}: Encryption"),
        "streamViewType:  becomes NEW_IMAGE: Stream",
        "deletionProtection: false becomes true: Protection",
    ];
    assert_eq!(differing(other.clone(), &table()), shallow);
    // The others are read by deep observations only.
    let found = differing(other, &Table { settings: Some(Settings::default()), ..table() });
    assert_eq!(found[..5], shallow);
    assert_begin(
        &found[5..],
        &[
            "timeToLiveAttribute:  becomes expires: TimeToLive",
            "pointInTimeRecovery: false becomes true: Backups",
            "policy",
        ],
    );
    let on = Settings { point_in_time_recovery: true, recovery_period: Some(35), ..Settings::default() };
    let days = json!({"pointInTimeRecovery": {"value": true}, "recoveryPeriodDays": {"value": 7}});
    assert_eq!(
        differing(days, &Table { settings: Some(on), ..table() }),
        ["recoveryPeriodDays: 35 becomes 7: Backups"]
    );
}

#[test]
fn a_key_is_the_same_by_its_id_and_arn_and_is_no_alias() {
    let encrypted = described_with(|table| {
        table.sse_description(SseDescription::builder().kms_master_key_arn(KEY).build())
    });
    let (_, id) = KEY.rsplit_once('/').unwrap();
    for same in [KEY, id] {
        assert_eq!(differing(json!({"kmsKeyID": {"value": same}}), &encrypted), [""; 0]);
    }
    for other in [&id[1..], ""] {
        assert_eq!(differing(json!({"kmsKeyID": {"value": other}}), &encrypted).len(), 1, "{other}");
    }
    let found = testing::problems::<Tables>(written(json!({"kmsKeyID": {"value": "alias/shop"}})));
    assert_begin(&found, &["spec.kmsKeyID: must be the id or the ARN of a key and no alias"]);
}

fn described_with(
    change: impl FnOnce(
        crate::dynamodb::types::builders::TableDescriptionBuilder,
    ) -> crate::dynamodb::types::builders::TableDescriptionBuilder,
) -> Table {
    change(TableDescription::builder().table_name("orders").table_status(TableStatus::Active))
        .set_attribute_definitions(described().attribute_definitions)
        .set_key_schema(described().key_schema)
        .set_local_secondary_indexes(described().local_secondary_indexes)
        .set_global_secondary_indexes(described().global_secondary_indexes)
        .set_billing_mode_summary(described().billing_mode_summary)
        .build()
        .into()
}

#[test]
fn another_type_of_stream_ends_the_present_one_and_begins_another() {
    let stream =
        StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::KeysOnly);
    let stream = stream.build().unwrap();
    let streaming =
        described_with(|table| table.stream_specification(stream).latest_stream_arn("arn:stream"));
    assert_eq!(streaming.latest_stream_arn.as_deref(), Some("arn:stream"));
    let wanted = |kind: &str| json!({"streamViewType": {"value": kind}});
    assert_eq!(differing(wanted("KEYS_ONLY"), &streaming), [""; 0]);
    assert_eq!(
        differing(wanted("NEW_IMAGE"), &streaming),
        ["streamViewType: KEYS_ONLY becomes NEW_IMAGE: disruptive Stream"]
    );
    assert_eq!(differing(wanted(""), &streaming), ["streamViewType: KEYS_ONLY becomes : Stream"]);
    let next =
        |kind: &str, table: &Table| next_stream(&testing::desired::<Tables>(written(wanted(kind))), table);
    assert_eq!(next("NEW_IMAGE", &streaming), "", "it is disabled before");
    assert_eq!(next("NEW_IMAGE", &table()), "NEW_IMAGE");
    // AWS returns the ARN of a stream that was disabled for a day.
    let ended = described_with(|table| table.latest_stream_arn("arn:stream"));
    assert_eq!(ended.latest_stream_arn, None);
}

#[test]
fn indexes_are_deleted_before_others_are_created_and_rebuilt_only_with_permission() {
    let index = |name: &str, hash: &str| json!({"name": {"value": name}, "hashKey": key(hash)});
    let other = json!({"globalSecondaryIndexes": [index("by-state", "state"), index("by-place", "place")]});
    assert_eq!(
        differing(other, &table()),
        [
            "globalSecondaryIndexes[\"by-date\"]: date (S), total (N), projection INCLUDE a b becomes (absent): DeleteIndex(\"by-date\")",
            "globalSecondaryIndexes[\"by-state\"]: (absent) becomes state (S), projection ALL: CreateIndex(\"by-state\")",
            "globalSecondaryIndexes[\"by-place\"]: (absent) becomes place (S), projection ALL: CreateIndex(\"by-place\")",
        ]
    );
    let rebuilt = written(json!({"globalSecondaryIndexes": [index("by-date", "date")]}));
    let found = rendered(TableSpec::differences(&testing::desired::<Tables>(rebuilt.clone()), &table()));
    assert_eq!(
        found,
        [
            "globalSecondaryIndexes[\"by-date\"]: date (S), total (N), projection INCLUDE a b becomes date (S), projection ALL: \
             disruptive DeleteIndex(\"by-date\")"
        ]
    );
    // Admission says so before; another capacity or another index interrupts nothing.
    let edit = |after: Value| {
        let spec = |written: Value| serde_json::from_value(written).unwrap();
        Tables::edit_of(&spec(written(json!({}))), &spec(after), "globalSecondaryIndexes")
    };
    assert_eq!(edit(rebuilt), Edit::Stops);
    let larger = with(by_date(), json!({"readCapacityUnits": {"value": 5}}));
    assert_eq!(
        edit(written(json!({"globalSecondaryIndexes": [larger, index("by-state", "state")]}))),
        Edit::InPlace
    );
}

#[test]
fn a_table_waits_for_the_change_of_an_index_and_says_which() {
    let with_status = |status: &str, index: &str| {
        let mut table = Table { status: status.to_owned(), ..table() };
        index.clone_into(&mut table.global_indexes[0].status);
        table.phase()
    };
    let pending = |what: &str| Phase::Pending(what.to_owned());
    assert_eq!(with_status("ACTIVE", "ACTIVE"), Phase::Available);
    assert_eq!(with_status("CREATING", "CREATING"), pending("being created"));
    assert_eq!(with_status("UPDATING", "CREATING"), pending("building its index by-date"));
    assert_eq!(with_status("ACTIVE", "CREATING"), pending("building its index by-date"));
    assert_eq!(with_status("UPDATING", "DELETING"), pending("deleting its index by-date"));
    assert_eq!(with_status("UPDATING", "ACTIVE"), pending("being changed"));
    assert_eq!(with_status("DELETING", "ACTIVE"), Phase::Deleting);
    let Phase::Pending(why) = with_status("INACCESSIBLE_ENCRYPTION_CREDENTIALS", "ACTIVE") else { panic!() };
    assert!(why.contains("KMS key"), "{why}");
}

#[test]
fn one_call_sets_the_mode_and_all_capacities_and_later_ones_only_what_differs() {
    let capacity = |read: i32, index: Option<i32>| {
        let index = with(by_date(), json!({"readCapacityUnits": index.map(|units| json!({"value": units}))}));
        written(json!({
            "billingMode": {"value": "PROVISIONED"}, "readCapacityUnits": {"value": read},
            "writeCapacityUnits": {"value": 6}, "globalSecondaryIndexes": [index],
        }))
    };
    let due = |spec: &Value, table: &Table| Due::due(&testing::desired::<Tables>(spec.clone()), table);
    let mode = Some("PROVISIONED".to_owned());
    let all = Due { mode, table: Some((5, 6)), indexes: vec![("by-date".to_owned(), (5, 6))] };
    assert_eq!(due(&capacity(5, None), &table()), all);
    assert!(due(&capacity(5, None), &provisioned()).is_empty());
    let table_only = Due { table: Some((9, 6)), ..Due::default() };
    assert_eq!(due(&capacity(9, Some(7)), &provisioned()), table_only);
    let index_only = Due { indexes: vec![("by-date".to_owned(), (9, 8))], ..Due::default() };
    assert_eq!(due(&capacity(5, Some(9)), &provisioned()), index_only);
    assert_eq!(
        testing::compared::<Tables>(capacity(4, Some(9)), &provisioned()),
        [
            "readCapacityUnits: 5 becomes 4: Settings",
            "globalSecondaryIndexes[0].readCapacityUnits: 7 becomes 9: Settings",
        ]
    );
    let on_demand = Due { mode: Some("PAY_PER_REQUEST".to_owned()), ..Due::default() };
    assert_eq!(
        due(&written(json!({"billingMode": {"value": "PAY_PER_REQUEST"}})), &provisioned()),
        on_demand
    );
}

#[test]
fn capacities_of_an_autoscaler_are_neither_sent_nor_compared() {
    let index =
        with(by_date(), json!({"readCapacityUnits": {"value": 70}, "writeCapacityUnits": {"value": 80}}));
    let spec = written(json!({
        "billingMode": {"value": "PROVISIONED"}, "readCapacityUnits": {"value": 50}, "writeCapacityUnits": {"value": 60},
        "globalSecondaryIndexes": [index],
    }));
    let desired = testing::desired::<Tables>(spec);
    let ignoring = |paths: &[&str]| {
        let ignored = Ignored::new(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        TableSpec::without_ignored(&desired, &provisioned(), &ignored)
    };
    assert!(ignoring(&["tags"]).is_none());
    let kept = ignoring(&["readCapacityUnits", "globalSecondaryIndexes.readCapacityUnits"]).unwrap();
    let indexes = vec![("by-date".to_owned(), (7, 80))];
    assert_eq!(Due::due(&kept, &provisioned()), Due { mode: None, table: Some((5, 60)), indexes });
}

#[test]
fn another_attribute_of_the_time_to_live_follows_after_the_former_one() {
    let next = |attribute: &str, settings: Settings| {
        let spec = written(json!({"timeToLiveAttribute": {"value": attribute}}));
        let table = Table { settings: Some(settings), ..table() };
        next_time_to_live(&testing::desired::<Tables>(spec), &table)
    };
    let of = |attribute: &str| Settings { time_to_live: attribute.to_owned(), ..Settings::default() };
    assert_eq!(next("expires", of("")).unwrap(), ("expires".to_owned(), true));
    assert_eq!(next("expires", of("until")).unwrap(), ("until".to_owned(), false));
    assert_eq!(next("", of("until")).unwrap(), ("until".to_owned(), false));
    let ending = next("expires", Settings { is_time_to_live_ending: true, ..of("") }).unwrap_err();
    assert_eq!(ending.class, FailureClass::NotYet);
}

#[test]
fn all_problems_are_reported_at_once() {
    let index =
        |changes: Value| with(json!({"name": {"value": "by-total"}, "hashKey": key("total")}), changes);
    let wrong = written(json!({
        "rangeKey": null, "readCapacityUnits": {"value": 5}, "recoveryPeriodDays": {"value": 7},
        "globalSecondaryIndexes": [
            index(json!({})),
            index(json!({"name": {"value": "other"}, "projectionType": {"value": "INCLUDE"}, "readCapacityUnits": {"value": 5}})),
        ],
    }));
    assert_begin(
        &testing::problems::<Tables>(wrong),
        &[
            "spec.readCapacityUnits: requires billingMode",
            "spec.globalSecondaryIndexes[1].readCapacityUnits: requires billingMode",
            "spec.recoveryPeriodDays: requires pointInTimeRecovery",
            "spec.localSecondaryIndexes[0]: requires a table with a rangeKey",
            "spec.globalSecondaryIndexes[0].hashKey.type: must be that of the other keys",
            "spec.globalSecondaryIndexes[0].name: is the name of another index",
            "spec.globalSecondaryIndexes[1].hashKey.type: must be that of the other keys",
            "spec.globalSecondaryIndexes[1].projectionType: must have nonKeyAttributes",
        ],
    );
    let half = json!({"billingMode": {"value": "PROVISIONED"}, "readCapacityUnits": {"value": 5}});
    assert_begin(&testing::problems::<Tables>(written(half)), &["spec.billingMode: PROVISIONED requires"]);
}

#[test]
fn a_value_of_a_secret_is_not_shown() {
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    let spec = written(json!({
        "hashKey": {"name": secret}, "localSecondaryIndexes": null,
        "globalSecondaryIndexes": [{"name": {"value": "by-date"}, "hashKey": {"name": secret}}],
    }));
    let found = testing::compared::<Tables>(spec.clone(), &Table { global_indexes: vec![], ..table() });
    assert_eq!(
        found,
        [
            "hashKey: (not shown) becomes ***: fixed",
            "globalSecondaryIndexes[\"by-date\"]: (absent) becomes ***: CreateIndex(\"by-date\")",
        ]
    );
    let found = rendered(TableSpec::differences(&testing::desired::<Tables>(spec), &table()));
    assert!(!found.concat().contains(HIDDEN) && found[1].contains("(not shown) becomes ***"), "{found:?}");
}

#[test]
fn a_deletion_makes_a_backup_that_no_later_table_has() {
    let contains =
        |spec: Value| Tables::contains(&serde_json::from_value(written(spec)).unwrap()).into_owned();
    assert_eq!(contains(json!({"skipFinalBackup": true})), "all items");
    assert!(contains(json!({})).contains("final backup"));
    assert_eq!(backup_name(&table()), "orders-final-1234");
    let long = Table { table_name: "t".repeat(255), ..table() };
    assert_eq!(backup_name(&long).len(), 255);
    assert!(is_recent(1_000, 1_000 + 3_599) && !is_recent(1_000, 1_000 + 3_600));
    let mut table = table();
    Tables::to_delete(
        &serde_json::from_value(written(json!({"skipFinalBackup": true}))).unwrap(),
        &mut table,
    );
    assert!(table.skips_final_backup);
    let unprotected = |spec: Value| Tables::unprotected_by(&serde_json::from_value(written(spec)).unwrap());
    assert_eq!(unprotected(json!({"deletionProtection": {"value": false}})), Some("deletionProtection"));
    assert_eq!(unprotected(json!({})), None);
}

#[test]
fn the_table_of_somebody_else_is_never_that_of_a_launch() {
    let tags = |uid: &str| -> Tags {
        let tags = [(CLUSTER, "c"), (UID, uid), (EPOCH, "2"), (OWNER, "DynamoDBTable/ns/orders")];
        tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    };
    let (own, launch) = (tags("u"), Launch { epoch: 2, token: "t".into() });
    let creation = Creation { tags: &own, launch: &launch };
    let refusal = || Failure {
        class: FailureClass::NotYet,
        action: "failed".into(),
        code: "ResourceInUseException".into(),
        message: "Table already exists: orders".into(),
    };
    let of = |holder: Option<Table>| own_or_taken(refusal(), "orders", holder, &creation);
    let holder = |tags: Tags, status: &str| Some(Table { tags, status: status.to_owned(), ..table() });
    assert_eq!(of(holder(own.clone(), "CREATING")).unwrap().table_arn, ARN);
    let class = |holder| of(holder).unwrap_err().class;
    assert_eq!(class(holder(Tags::new(), "ACTIVE")), FailureClass::Terminal);
    assert_eq!(class(holder(tags("v"), "CREATING")), FailureClass::Terminal);
    // It may be that of this launch, or is about to be deleted.
    assert_eq!(class(holder(Tags::new(), "CREATING")), FailureClass::Transient);
    assert_eq!(class(None), FailureClass::Transient);
    assert_eq!(class(holder(Tags::new(), "DELETING")), FailureClass::NotYet);
    let why = of(holder(tags("v"), "ACTIVE")).unwrap_err().message;
    assert!(
        why.starts_with("the name orders is in use by") && why.contains("DynamoDBTable/ns/orders"),
        "{why}"
    );
}

#[test]
fn an_imported_table_has_its_keys_indexes_and_capacities() {
    let found = serde_json::to_value(TableSpec::imported(&provisioned()).group()).unwrap();
    assert_eq!(found["hashKey"], key("customer"));
    assert_eq!(found["localSecondaryIndexes"][0]["rangeKey"]["type"], json!({"value": "N"}));
    assert!(found["localSecondaryIndexes"][0].get("hashKey").is_none());
    assert_eq!(found["globalSecondaryIndexes"][0]["nonKeyAttributes"], json!({"value": ["a", "b"]}));
    assert_eq!(found["readCapacityUnits"], json!({"value": 5}));
    assert_eq!(testing::compared::<Tables>(found, &provisioned()), [""; 0]);
    let found = serde_json::to_value(TableSpec::imported(&table()).group()).unwrap();
    assert!(found.get("readCapacityUnits").is_none() && found.get("billingMode").is_none(), "{found}");
    // AWS accepts several hash keys of an index, and a spec one.
    let mut several = table();
    several.global_indexes[0].keys[1].is_range = false;
    assert_eq!(Tables::import_notes(&several).len(), 1);
    assert_eq!(several.global_indexes[0].imported(false), None);
    assert_eq!(Index::default().imported(false), None);
}

#[test]
fn only_an_arn_of_a_table_names_one() {
    assert_eq!(Table::name_of(ARN), Some("orders"));
    for other in ["orders", KEY, &format!("{ARN}/index/by-date"), "arn:aws:dynamodb"] {
        assert_eq!(Table::name_of(other), None, "{other}");
    }
}

#[test]
fn field_names_follow_kubernetes_and_values_follow_aws() {
    let spec = written(json!({
        "billingMode": {"value": "PROVISIONED"}, "readCapacityUnits": {"value": 5}, "writeCapacityUnits": {"value": 5},
        "tableClass": {"value": "STANDARD"}, "kmsKeyID": {"value": KEY}, "streamViewType": {"value": "NEW_IMAGE"},
        "deletionProtection": {"value": true}, "timeToLiveAttribute": {"value": "expires"},
        "pointInTimeRecovery": {"value": true}, "recoveryPeriodDays": {"value": 7}, "skipFinalBackup": true,
        "tags": {"Name": "orders"},
    }));
    assert_round_trips::<TableSpec>(&spec);
}
