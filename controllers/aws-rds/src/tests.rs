//! What calls send, to a server that answers as a script says: for what moto has not.

use std::sync::Arc;

use kraken_aws::{
    Aws, AwsResource, Tags,
    resource::{Creation, DescribeQuery},
    tags,
    testing::{self, descriptions, unlisted_secrets},
};
use kraken_kind::{FailureClass, Identity, Launch};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{db_instance::Instances, db_parameter_group::ParameterGroups, db_subnet_group::SubnetGroups};

#[test]
fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
    assert_eq!(unlisted_secrets::<super::Rds>(), [] as [&str; 0]);
}

#[test]
fn every_field_has_a_description_with_an_example() {
    for (path, text) in descriptions::<super::Rds>() {
        assert!(text.contains("Example: `"), "{path}: {text}");
    }
}

/// A cloud with a response for each action, and the calls that it received.
struct Cloud {
    aws: Aws,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Cloud {
    /// An action without a response succeeds; a response is the content of the result, or `!` and an error code.
    async fn with(answers: &'static [(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::<Mutex<Vec<String>>>::default();
        let received = calls.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![];
                let body = loop {
                    let mut part = [0; 16 * 1024];
                    let read = stream.read(&mut part).await.unwrap();
                    request.extend_from_slice(&part[..read]);
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head.to_lowercase().lines().find_map(|line| {
                        line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
                    });
                    if body.len() >= length.unwrap_or_default() {
                        break body.to_owned();
                    }
                };
                let action =
                    body.split('&').find_map(|pair| pair.strip_prefix("Action=")).unwrap().to_owned();
                received.lock().push(body);
                let answer = answers.iter().find(|(of, _)| *of == action).map_or("", |(_, answer)| answer);
                let (status, xml) = match answer.strip_prefix('!') {
                    Some(code) => {
                        let error = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
                        ("400 Bad Request", format!("<ErrorResponse>{error}</ErrorResponse>"))
                    }
                    None => (
                        "200 OK",
                        format!(
                            "<{action}Response><{action}Result>{answer}</{action}Result></{action}Response>"
                        ),
                    ),
                };
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/xml\r\nconnection: close");
                let response = format!("{head}\r\ncontent-length: {}\r\n\r\n{xml}", xml.len());
                stream.write_all(response.as_bytes()).await.unwrap();
            }
        });
        Self { aws: testing::aws(&endpoint).await, calls }
    }

    /// The actions since the last time.
    fn actions(&self) -> Vec<String> {
        let action =
            |body: &String| body.split('&').find_map(|pair| pair.strip_prefix("Action=")).map(str::to_owned);
        self.calls.lock().iter().filter_map(action).collect()
    }

    /// The parameters of the only call of this action, sorted, without its name and version.
    fn sent(&self, action: &str) -> Vec<String> {
        let calls = self.calls.lock();
        let of_action = |body: &&String| body.contains(&format!("Action={action}&"));
        let found: Vec<&String> = calls.iter().filter(of_action).collect();
        let [body] = found.as_slice() else { panic!("{found:?}") };
        let is_own = |pair: &&str| !pair.starts_with("Action=") && !pair.starts_with("Version=");
        let mut pairs: Vec<String> = body.split('&').filter(is_own).map(str::to_owned).collect();
        pairs.sort();
        pairs
    }
}

const SUBNET_GROUP: &str = "<DBSubnetGroups><DBSubnetGroup><DBSubnetGroupName>orders</DBSubnetGroupName>\
    <DBSubnetGroupArn>arn:orders</DBSubnetGroupArn><DBSubnetGroupDescription>old</DBSubnetGroupDescription><Subnets><Subnet>\
    <SubnetIdentifier>subnet-1</SubnetIdentifier></Subnet></Subnets></DBSubnetGroup></DBSubnetGroups>";
const PARAMETER_GROUP: &str = "<DBParameterGroups><DBParameterGroup><DBParameterGroupName>orders</DBParameterGroupName>\
    <DBParameterGroupArn>arn:orders</DBParameterGroupArn></DBParameterGroup></DBParameterGroups>";
const PARAMETERS: &str = "<Parameters><Parameter><ParameterName>a</ParameterName><ParameterValue>1</ParameterValue>\
    <ApplyType>dynamic</ApplyType></Parameter><Parameter><ParameterName>b</ParameterName><ParameterValue>1</ParameterValue>\
    <ApplyType>static</ApplyType></Parameter></Parameters>";
const DATABASE: &str = "<DBInstances><DBInstance><DBInstanceIdentifier>orders</DBInstanceIdentifier>\
    <DBInstanceArn>arn:orders</DBInstanceArn><DBInstanceClass>db.t4g.micro</DBInstanceClass><AllocatedStorage>20</AllocatedStorage>\
    <DbiResourceId>db-ABC</DbiResourceId><MultiAZ>false</MultiAZ><EngineVersion>16.4</EngineVersion><PendingModifiedValues>\
    <MultiAZ>true</MultiAZ></PendingModifiedValues><DBSubnetGroup>\
    <DBSubnetGroupName>orders</DBSubnetGroupName></DBSubnetGroup><TagList><Tag><Key>Team</Key><Value>shop</Value></Tag></TagList></DBInstance>\
    </DBInstances>";

#[tokio::test]
async fn a_change_of_a_subnet_group_keeps_what_it_does_not_change() {
    let cloud = Cloud::with(&[("DescribeDBSubnetGroups", SUBNET_GROUP)]).await;
    let mut found = SubnetGroups::read(&cloud.aws, DescribeQuery::of("orders")).await.unwrap();
    let group = found.pop().unwrap();
    assert_eq!(cloud.actions(), ["DescribeDBSubnetGroups", "ListTagsForResource"]);
    assert_eq!(cloud.sent("ListTagsForResource"), ["ResourceName=arn%3Aorders"]);
    let spec = json!({"description": {"value": "new"}, "subnetIDs": {"value": ["subnet-2"]}});
    let desired = testing::desired::<SubnetGroups>(spec);
    for (change, sent) in [
        (
            crate::db_subnet_group::Change::Description,
            vec![
                "DBSubnetGroupDescription=new",
                "DBSubnetGroupName=orders",
                "SubnetIds.SubnetIdentifier.1=subnet-1",
            ],
        ),
        (
            crate::db_subnet_group::Change::Subnets,
            vec!["DBSubnetGroupName=orders", "SubnetIds.SubnetIdentifier.1=subnet-2"],
        ),
    ] {
        cloud.calls.lock().clear();
        SubnetGroups::update(&cloud.aws, &change, &desired, &group).await.unwrap();
        assert_eq!(cloud.sent("ModifyDBSubnetGroup"), sent);
    }
}

#[tokio::test]
async fn the_name_of_a_group_of_somebody_else_is_never_taken_over() {
    let identity = Identity { cluster: "c".into(), uid: "u".into(), owner: "DBSubnetGroup/ns/a".into() };
    let (tags, launch) = (tags::identity_tags(&identity, 1), Launch { epoch: 1, token: "t".into() });
    let creation = Creation { tags: &tags, launch: &launch };
    let cloud = Cloud::with(&[
        ("CreateDBSubnetGroup", "!DBSubnetGroupAlreadyExists"),
        ("DescribeDBSubnetGroups", SUBNET_GROUP),
    ])
    .await;
    let spec = json!({"name": {"value": "orders"}, "subnetIDs": {"value": ["subnet-2"]}});
    let desired = testing::desired::<SubnetGroups>(spec);
    let failure = SubnetGroups::create(&cloud.aws, &desired, &creation).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Terminal);
    assert!(
        failure.message.starts_with("the name orders is in use by orders, which is not managed"),
        "{failure}"
    );
    assert!(!cloud.actions().contains(&"AddTagsToResource".to_owned()));
}

#[tokio::test]
async fn parameters_that_are_not_in_the_spec_are_reset_by_one_call() {
    let cloud =
        Cloud::with(&[("DescribeDBParameterGroups", PARAMETER_GROUP), ("DescribeDBParameters", PARAMETERS)])
            .await;
    let mut group =
        ParameterGroups::read(&cloud.aws, DescribeQuery::of("orders")).await.unwrap().pop().unwrap();
    ParameterGroups::complete(&cloud.aws, &mut group, true).await.unwrap();
    assert!(cloud.sent("DescribeDBParameters").contains(&"Source=user".to_owned()));
    let spec = json!({"family": {"value": "postgres16"}, "parameters": [{"name": {"value": "c"}, "value": {"value": "2"}}]});
    let (desired, change) =
        (testing::desired::<ParameterGroups>(spec), crate::db_parameter_group::Change::Parameters);
    ParameterGroups::update(&cloud.aws, &change, &desired, &group).await.unwrap();
    let set = cloud.sent("ModifyDBParameterGroup");
    assert!(set.contains(&"Parameters.Parameter.1.ApplyMethod=immediate".to_owned()), "{set:?}");
    assert!(set.contains(&"Parameters.Parameter.1.ParameterName=c".to_owned()), "{set:?}");
    assert_eq!(
        cloud.sent("ResetDBParameterGroup"),
        [
            "DBParameterGroupName=orders",
            "Parameters.Parameter.1.ApplyMethod=immediate",
            "Parameters.Parameter.1.ParameterName=a",
            "Parameters.Parameter.2.ApplyMethod=pending-reboot",
            "Parameters.Parameter.2.ParameterName=b",
            "ResetAllParameters=false",
        ]
    );
}

#[tokio::test]
async fn a_change_of_a_database_sends_what_differs_at_once() {
    let cloud = Cloud::with(&[("DescribeDBInstances", DATABASE)]).await;
    let database = Instances::read(&cloud.aws, DescribeQuery::of("orders")).await.unwrap().pop().unwrap();
    let password = json!({"valueFrom": {"templateString": "{{ .Secret.s.k }}-{{ .Secret.s.k }}"}});
    let spec = json!({
        "engine": {"value": "postgres"}, "instanceClass": {"value": "db.t4g.small"}, "allocatedStorageGiB": {"value": 20},
        "masterUsername": {"value": "shop"}, "masterUserPassword": password, "multiAZ": {"value": true},
        "iops": {"value": 12000}, "deletionProtection": {"value": true}, "engineVersion": {"value": "16"},
        "vpcSecurityGroupIDs": {"value": ["sg-1"]}, "dbSubnetGroupName": {"value": "other"},
    });
    let desired = testing::desired::<Instances>(spec);
    let mut sent = vec![];
    for change in [
        crate::db_instance::Change::Settings,
        crate::db_instance::Change::Restart,
        crate::db_instance::Change::Password,
    ] {
        cloud.calls.lock().clear();
        Instances::update(&cloud.aws, &change, &desired, &database).await.unwrap();
        sent.push(cloud.sent("ModifyDBInstance"));
    }
    let (id, now) = ("DBInstanceIdentifier=orders", "ApplyImmediately=true");
    let groups = "VpcSecurityGroupIds.VpcSecurityGroupId.1=sg-1";
    // A standby is being added already; storage is one setting.
    assert_eq!(sent[0], ["AllocatedStorage=20", now, id, "DeletionProtection=true", "Iops=12000", groups]);
    assert_eq!(sent[1], [now, "DBInstanceClass=db.t4g.small", id, "DBSubnetGroupName=other", groups]);
    assert_eq!(sent[2], [now, id, "MasterUserPassword=hunter2-hunter2"]);
    assert_eq!(cloud.actions(), ["ModifyDBInstance", "AddTagsToResource"]);
    let tag = cloud.sent("AddTagsToResource").concat();
    assert!(tag.contains("master-user-password") && !tag.contains("hunter2"), "{tag}");
}

#[tokio::test]
async fn databases_are_read_by_few_calls_with_their_tags() {
    let cloud = Cloud::with(&[("DescribeDBInstances", DATABASE)]).await;
    let ids = |count: usize| {
        let ids = (1..count).map(|number| format!("other-{number}")).chain(["orders".to_owned()]).collect();
        DescribeQuery { ids: Some(ids), filters: None }
    };
    for (count, by_name) in [(1, true), (20, true), (21, false), (300, false)] {
        cloud.calls.lock().clear();
        let found = Instances::read(&cloud.aws, ids(count)).await.unwrap();
        let tags: Vec<&Tags> = found.iter().map(kraken_aws::lookup::Tagged::tags).collect();
        assert_eq!(tags, [&Tags::from([("Team".to_owned(), "shop".to_owned())])]);
        let sent = cloud.sent("DescribeDBInstances");
        assert_eq!(
            sent.iter().filter(|pair| pair.contains(".Values.")).count(),
            if by_name { count } else { 0 }
        );
    }
    // What is no identifier is not sent, because AWS would reject the call.
    cloud.calls.lock().clear();
    let none = DescribeQuery { ids: Some(vec!["Orders!".to_owned()]), filters: None };
    assert!(Instances::read(&cloud.aws, none).await.unwrap().is_empty());
    assert_eq!(cloud.actions(), [""; 0]);
}

#[tokio::test]
async fn a_deletion_has_the_name_of_the_final_snapshot_or_refuses_it() {
    let cloud = Cloud::with(&[("DescribeDBInstances", DATABASE)]).await;
    let mut database = Instances::read(&cloud.aws, DescribeQuery::of("orders")).await.unwrap().pop().unwrap();
    let id = "DBInstanceIdentifier=orders";
    Instances::delete(&cloud.aws, &database).await.unwrap();
    assert_eq!(
        cloud.sent("DeleteDBInstance"),
        [id, "FinalDBSnapshotIdentifier=orders-final-abc", "SkipFinalSnapshot=false"]
    );
    cloud.calls.lock().clear();
    let spec =
        json!({"engine": {"value": "postgres"}, "masterUsername": {"value": "a"}, "skipFinalSnapshot": true});
    Instances::to_delete(&serde_json::from_value(spec).unwrap(), &mut database);
    Instances::delete(&cloud.aws, &database).await.unwrap();
    assert_eq!(cloud.sent("DeleteDBInstance"), [id, "SkipFinalSnapshot=true"]);
}
