//! Associations of route tables with subnets.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::route_table::Association;
use crate::model::{RouteTable, Subnet};
use crate::refusal::Refusal;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "AssociateRouteTable" => associate,
        "DisassociateRouteTable" => disassociate,
        "ReplaceRouteTableAssociation" => replace,
        _ => return None,
    };
    Some(handler)
}

/// AWS responds to a repeated call with the existing association.
fn associate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("RouteTableId")?;
    let table = cloud.one::<RouteTable>(id)?;
    let subnet = cloud.one::<Subnet>(form.required("SubnetId")?)?;
    if table.vpc != subnet.vpc {
        let message = format!("route table {id} and subnet {} belong to different networks", subnet.id);
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    let subnet = subnet.id.clone();
    let existing = find(cloud, |association| association.subnet.as_ref() == Some(&subnet));
    let association = match existing {
        Some((other, association)) if other == id => association.id,
        Some(_) => {
            let message = format!(
                "the specified association for route table {id} conflicts with an existing association"
            );
            return Err(Refusal::new("Resource.AlreadyAssociated", message));
        }
        None => {
            let association = cloud.part_ids.next("rtbassoc-");
            let new = Association { id: association.clone(), subnet: Some(subnet.clone()) };
            cloud.one_mut::<RouteTable>(id)?.associations.push(new);
            association
        }
    };
    Ok(answer("associationId", &association, vec![id.to_owned(), subnet]))
}

fn disassociate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("AssociationId")?;
    let (table, association) = known(cloud, id)?;
    if association.subnet.is_none() {
        let message = format!("cannot disassociate the main route table association {id}");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    remove(cloud, &table, id);
    Ok(done([Some(table), association.subnet].into_iter().flatten().collect()))
}

/// This call also makes another table the main one.
fn replace(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("AssociationId")?;
    let wanted = form.required("RouteTableId")?;
    let vpc = cloud.one::<RouteTable>(wanted)?.vpc.clone();
    let (table, association) = known(cloud, id)?;
    if cloud.existing::<RouteTable>(&table).is_some_and(|table| table.vpc != vpc) {
        let message = format!("route table {wanted} and association {id} belong to different networks");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    remove(cloud, &table, id);
    let new = cloud.part_ids.next("rtbassoc-");
    let moved = Association { id: new.clone(), subnet: association.subnet };
    cloud.one_mut::<RouteTable>(wanted)?.associations.push(moved);
    Ok(answer("newAssociationId", &new, vec![table, wanted.to_owned()]))
}

fn answer(name: &str, association: &str, ids: Vec<String>) -> Answer {
    let mut body = Xml::default();
    body.text(name, association);
    body.tag("associationState", |xml| xml.text("state", "associated"));
    Answer { body, ids }
}

/// An association with the id of its table.
fn find(cloud: &Cloud, is_meant: impl Fn(&Association) -> bool) -> Option<(String, Association)> {
    cloud.store.route_tables.values().find_map(|table| {
        let association = table.associations.iter().find(|association| is_meant(association))?;
        Some((table.id.clone(), association.clone()))
    })
}

fn known(cloud: &Cloud, id: &str) -> Result<(String, Association), Refusal> {
    let missing = || {
        let message = format!("The association ID '{id}' does not exist");
        Refusal::new("InvalidAssociationID.NotFound", message)
    };
    find(cloud, |association| association.id == id).ok_or_else(missing)
}

fn remove(cloud: &mut Cloud, table: &str, association: &str) {
    if let Some(table) = cloud.existing_mut::<RouteTable>(table) {
        table.associations.retain(|each| each.id != association);
    }
}
