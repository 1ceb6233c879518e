//! The calls of parameter groups.

use kraken_aws::{Tags, missing::or_nothing, prelude::*};

use super::{
    api::{self, ApplyMethod, Change, Desired},
    desired::Plan,
    observed::ParameterGroup,
};
use crate::{
    named::{self, Named},
    rds::{self, PAGE, RdsClients as _, to_sdk, types::Parameter},
};

/// The number of parameters that one call changes.
const PARAMETERS: usize = 20;

/// The kind DBParameterGroup.
pub(crate) struct ParameterGroups;

impl Named for ParameterGroup {
    async fn describe(aws: &Aws, name: Option<String>) -> Result<Vec<Self>, Failure> {
        let call =
            aws.rds().describe_db_parameter_groups().set_db_parameter_group_name(name).max_records(PAGE);
        let (action, pages) = ("failed to describe parameter groups", call.into_paginator().send());
        aws.items("DescribeDBParameterGroups", action, pages, |page| page.db_parameter_groups).await
    }
}

impl AwsResource for ParameterGroups {
    type Kind = api::DBParameterGroup;
    /// By its name, which is unique in the account and region.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const NAMED_BY: &'static str = "dbParameterGroupName";
    const IN_VPC: &'static str = "";

    fn not_importable(group: &ParameterGroup) -> Option<String> {
        let is_default = group.db_parameter_group_name.starts_with("default.");
        is_default.then(|| "it is a default group of AWS".to_owned())
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<ParameterGroup>, Failure> {
        named::read(aws, query).await
    }

    async fn complete(aws: &Aws, group: &mut ParameterGroup, deep: bool) -> Result<(), Failure> {
        if !deep {
            return Ok(());
        }
        let call = aws.rds().describe_db_parameters().db_parameter_group_name(&group.db_parameter_group_name);
        let pages = call.source("user").max_records(PAGE).into_paginator().send();
        let action = "failed to describe the parameters of the group";
        let pages = or_nothing(aws.pages("DescribeDBParameters", action, pages).await)?;
        let found = pages.into_iter().flat_map(|page| page.parameters.unwrap_or_default());
        group.parameters = Some(ParameterGroup::set(found.collect()));
        Ok(())
    }

    async fn create(
        aws: &Aws,
        desired: &Desired,
        creation: &Creation<'_>,
    ) -> Result<ParameterGroup, Failure> {
        let Desired { name, family, description, parameters: _ } = desired; // parameters follow
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .rds_once()
            .create_db_parameter_group()
            .db_parameter_group_name(&name)
            .db_parameter_group_family(family.expose())
            .description(exposed(description.as_ref()).unwrap_or_else(|| name.clone()))
            .set_tags(Some(to_sdk(creation.tags)));
        let action = "failed to create the parameter group";
        let made = aws.call("CreateDBParameterGroup", action, call.send()).await;
        let made = made.map(|made| made.db_parameter_group.map(ParameterGroup::from).unwrap_or_default());
        named::created(aws, &name, creation, made).await
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        group: &ParameterGroup,
    ) -> Result<(), Failure> {
        let Change::Parameters = change;
        let (plan, name) = (Plan::of(desired, group), &group.db_parameter_group_name);
        let parameter = |name: &str, value: Option<String>, method: ApplyMethod| {
            let parameter = Parameter::builder().parameter_name(name).set_parameter_value(value);
            parameter.apply_method(method.as_str().into()).build()
        };
        let set = plan.set.iter();
        let set: Vec<_> =
            set.map(|(name, (value, method))| parameter(name, Some(value.clone()), *method)).collect();
        for some in set.chunks(PARAMETERS) {
            let call = aws.rds().modify_db_parameter_group().db_parameter_group_name(name);
            let call = call.set_parameters(Some(some.to_vec())).send();
            aws.call("ModifyDBParameterGroup", "failed to change parameters", call).await?;
        }
        let method = |is_static| if is_static { ApplyMethod::PendingReboot } else { ApplyMethod::Immediate };
        let reset = plan.reset.iter();
        let reset: Vec<_> =
            reset.map(|(name, is_static)| parameter(name, None, method(*is_static))).collect();
        for some in reset.chunks(PARAMETERS) {
            let call = aws.rds().reset_db_parameter_group().db_parameter_group_name(name);
            let call = call.reset_all_parameters(false).set_parameters(Some(some.to_vec())).send();
            aws.call("ResetDBParameterGroup", "failed to reset parameters", call).await?;
        }
        Ok(())
    }

    async fn delete(aws: &Aws, group: &ParameterGroup) -> Result<(), Failure> {
        let call =
            aws.rds().delete_db_parameter_group().db_parameter_group_name(&group.db_parameter_group_name);
        let action = "failed to delete the parameter group";
        aws.call("DeleteDBParameterGroup", action, call.send()).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        rds::set_tags(aws, id, tags).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        rds::remove_tags(aws, id, keys).await
    }
}
