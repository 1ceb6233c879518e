//! Route tables: created with a VPC (the main one) or by a call.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, made};
use crate::markup::Xml;
use crate::model::route::Target;
use crate::model::route_table::Association;
use crate::model::{RouteTable, Vpc};
use crate::refusal::Refusal;
use crate::tags::Tags;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateRouteTable" => create,
        "DescribeRouteTables" => describe::<RouteTable>,
        "DeleteRouteTable" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Described for RouteTable {
    const IDS: &'static str = "RouteTableId";
    const SET: &'static str = "routeTableSet";
    const FILTERS: &'static [&'static str] = &[
        "route-table-id",
        "vpc-id",
        "owner-id",
        "association.main",
        "association.route-table-association-id",
        "association.route-table-id",
        "association.subnet-id",
        "association.gateway-id",
        "route.destination-cidr-block",
        "route.destination-ipv6-cidr-block",
        "route.gateway-id",
        "route.instance-id",
        "route.nat-gateway-id",
        "route.origin",
        "route.state",
    ];
    const PAGE: Option<(usize, usize)> = Some((5, 100));

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let associations = self.associations.iter();
        let target = |wanted: Target| -> Vec<String> {
            let routes = self.routes.iter().filter(move |route| route.target.0 == wanted);
            routes.map(|route| route.target.1.clone()).collect()
        };
        let destinations = |v6: bool| -> Vec<String> {
            let routes = self.routes.iter().filter(move |route| route.destination.contains(':') == v6);
            routes.map(|route| route.destination.clone()).collect()
        };
        match filter {
            "route-table-id" => vec![self.id.clone()],
            "vpc-id" => vec![self.vpc.clone()],
            "owner-id" => vec![cloud.options.account.clone()],
            "association.main" => associations.map(|one| one.subnet.is_none().to_string()).collect(),
            "association.route-table-association-id" => associations.map(|one| one.id.clone()).collect(),
            "association.route-table-id" => associations.map(|_| self.id.clone()).collect(),
            "association.subnet-id" => associations.filter_map(|one| one.subnet.clone()).collect(),
            "route.destination-cidr-block" => destinations(false),
            "route.destination-ipv6-cidr-block" => destinations(true),
            "route.gateway-id" => target(Target::Gateway),
            "route.instance-id" => target(Target::Instance),
            "route.nat-gateway-id" => target(Target::NatGateway),
            "route.origin" => self.routes.iter().map(|route| route.origin().to_owned()).collect(),
            "route.state" => {
                self.routes.iter().map(|route| route.state(cloud, &self.vpc).to_owned()).collect()
            }
            _ => vec![],
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("routeTableId", &self.id);
        xml.text("vpcId", &self.vpc);
        xml.text("ownerId", &cloud.options.account);
        xml.list("routeSet", &self.routes, |xml, route| route.write(xml, cloud, &self.vpc));
        xml.list("associationSet", &self.associations, |xml, one| one.write(xml, &self.id));
        xml.list("propagatingVgwSet", [(); 0], |_, ()| {});
    }
}

/// Creates the default route table of a VPC.
pub(super) fn make_main(cloud: &mut Cloud, vpc: &Vpc) {
    let main = Association::main(&mut cloud.part_ids);
    cloud.make(Tags::new(), |id| {
        let mut table = RouteTable::new(id, vpc);
        table.associations.push(main);
        table
    });
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    if let Some(used) = cloud.used(Kind::RouteTable, form)? {
        let number = used.made.first().copied().unwrap_or_default();
        return Ok(made::<RouteTable>(cloud, number, "routeTable"));
    }
    let vpc = cloud.one::<Vpc>(form.required("VpcId")?)?.clone();
    let tags = given(form, Kind::RouteTable)?;
    let number = cloud.make(tags, |id| RouteTable::new(id, &vpc));
    cloud.use_token(Kind::RouteTable, form, vec![number]);
    Ok(made::<RouteTable>(cloud, number, "routeTable"))
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("RouteTableId")?;
    let number = cloud.number::<RouteTable>(id)?;
    if !cloud.one::<RouteTable>(id)?.associations.is_empty() {
        let message = format!("The routeTable '{id}' has dependencies and cannot be deleted.");
        return Err(Refusal::dependency(message));
    }
    cloud.remove_object::<RouteTable>(number);
    Ok(done(vec![id.to_owned()]))
}
