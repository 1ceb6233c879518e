//! The calls of launch templates, which belong to the API of EC2.

use kraken_aws::{
    AwsSpec as _, base64,
    ec2::{
        operation::describe_launch_template_versions::builders::DescribeLaunchTemplateVersionsFluentBuilder,
        types::{
            LaunchTemplateBlockDeviceMappingRequest, LaunchTemplateEbsBlockDeviceRequest,
            LaunchTemplateIamInstanceProfileSpecificationRequest,
            LaunchTemplateInstanceMetadataOptionsRequest, LaunchTemplateVersion,
            LaunchTemplatesMonitoringRequest, RequestLaunchTemplateData,
        },
    },
    missing::or_nothing,
    prelude::*,
};

use super::{
    api::{self, Change, Desired, DesiredBlockDevice, DesiredMetadataOptions, HttpEndpoint, HttpTokens},
    observed::Template,
};

const CREATE: &str = "failed to create the launch template";
const VERSIONS: [&str; 2] = ["$Default", "$Latest"];
/// The maximum page size.
const PAGE: i32 = 200;
/// The number of templates from which on a list of all versions costs less than reading each of them.
const FEW: usize = 4;

/// The kind LaunchTemplate.
pub(crate) struct LaunchTemplates;

impl AwsResource for LaunchTemplates {
    type Kind = api::LaunchTemplate;
    /// By a token.
    const FEATURES: Features = Features { is_idempotent: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn import_notes(template: &Template) -> Vec<String> {
        let has_user_data = !template.default.user_data.0.is_empty();
        let note = "userData is not imported, because it may contain secrets: the template keeps it, and each new version has it";
        has_user_data.then(|| note.to_owned()).into_iter().collect()
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Template>, Failure> {
        let page_size = query.filters.is_some().then_some(PAGE);
        let call = aws.ec2().describe_launch_templates();
        let call =
            call.set_launch_template_ids(query.ids).set_filters(query.filters).set_max_results(page_size);
        let (action, pages) = ("failed to describe launch templates", call.into_paginator().send());
        let mut found: Vec<Template> =
            aws.items("DescribeLaunchTemplates", action, pages, |page| page.launch_templates).await?;
        let all = aws.ec2().describe_launch_template_versions();
        if found.len() >= FEW {
            let versions = versions(aws, all).await?;
            for template in &mut found {
                fill(template, &versions);
            }
            return Ok(found);
        }
        for template in &mut found {
            let call = all.clone().launch_template_id(&template.launch_template_id);
            fill(template, &or_nothing(versions(aws, call).await)?);
        }
        Ok(found)
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Template, Failure> {
        let name = exposed(desired.name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .ec2_once()
            .create_launch_template()
            .launch_template_name(&name)
            .client_token(&creation.launch.token)
            .launch_template_data(data(desired, None))
            .set_tag_specifications(Some(creation.specifications(ResourceType::LaunchTemplate)));
        match aws.call("CreateLaunchTemplate", CREATE, call.send()).await {
            Ok(made) => Ok(made.launch_template.map(Template::from).unwrap_or_default()),
            Err(failure) if failure.code == "InvalidLaunchTemplateName.AlreadyExistsException" => {
                let holders = Self::read(aws, DescribeQuery::with("launch-template-name", &name)).await?;
                Err(creation.is_taken(failure, &format!("the name {name}"), &holders))
            }
            Err(failure) => Err(failure),
        }
    }

    /// A version that was created before, and did not become the default because of a crash, is not created again.
    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        template: &Template,
    ) -> Result<(), Failure> {
        let Change::Version = change;
        let (id, mut version) = (&template.launch_template_id, template.latest_version_number);
        if !api::LaunchTemplateSpec::differences(desired, &template.with_latest()).is_empty() {
            // What the spec does not set is that of the default version.
            let source = template.default_version_number.map(|number| number.to_string());
            let call = aws.ec2_once().create_launch_template_version().launch_template_id(id);
            let call = call.set_source_version(source).launch_template_data(data(desired, Some(template)));
            let action = "failed to create a version of the launch template";
            let made = aws.call("CreateLaunchTemplateVersion", action, call.send()).await?;
            version = made.launch_template_version.and_then(|made| made.version_number);
        }
        let version = version.map(|number| number.to_string());
        let call = aws.ec2().modify_launch_template().launch_template_id(id).set_default_version(version);
        let action = "failed to set the default version of the launch template";
        aws.call("ModifyLaunchTemplate", action, call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, template: &Template) -> Result<(), Failure> {
        let call = aws.ec2().delete_launch_template().launch_template_id(&template.launch_template_id);
        let action = "failed to delete the launch template";
        aws.call("DeleteLaunchTemplate", action, call.send()).await.map(drop)
    }
}

/// The default and the latest versions that a call returns.
async fn versions(
    aws: &Aws,
    call: DescribeLaunchTemplateVersionsFluentBuilder,
) -> Result<Vec<LaunchTemplateVersion>, Failure> {
    let call = call.set_versions(Some(VERSIONS.map(str::to_owned).to_vec())).max_results(PAGE);
    let (action, pages) = ("failed to describe versions of launch templates", call.into_paginator().send());
    aws.items("DescribeLaunchTemplateVersions", action, pages, |page| page.launch_template_versions).await
}

fn fill(template: &mut Template, versions: &[LaunchTemplateVersion]) {
    let data = |number: Option<i64>| {
        let is_it = |one: &&LaunchTemplateVersion| {
            one.launch_template_id() == Some(&template.launch_template_id) && one.version_number() == number
        };
        let version = versions.iter().find(is_it).and_then(|one| one.launch_template_data().cloned());
        version.map(From::from).unwrap_or_default()
    };
    (template.default, template.latest) =
        (data(template.default_version_number), data(template.latest_version_number));
}

/// The content of a version, which follows the default version of `current`. The first one requires IMDSv2, unless the spec says
/// otherwise.
pub(super) fn data(desired: &Desired, current: Option<&Template>) -> RequestLaunchTemplateData {
    let Desired {
        name: _,
        image_id,
        instance_type,
        key_name,
        security_group_ids,
        iam_instance_profile,
        user_data,
        monitoring,
        ebs_optimized,
        metadata_options,
        block_devices,
    } = desired;
    let monitoring = exposed(monitoring.as_ref());
    let monitoring = monitoring.map(|on| LaunchTemplatesMonitoringRequest::builder().enabled(on).build());
    let devices = block_devices.as_ref().map(|all| all.iter().map(mapping).collect());
    RequestLaunchTemplateData::builder()
        .image_id(image_id.expose())
        .instance_type(instance_type.expose().as_str().into())
        .set_key_name(exposed(key_name.as_ref()))
        .set_security_group_ids(exposed(security_group_ids.as_ref()))
        .set_iam_instance_profile(iam_instance_profile.as_ref().map(|profile| named(profile.expose())))
        .set_user_data(user_data.as_ref().map(|text| base64::encode(text.expose())))
        .set_monitoring(monitoring)
        .set_ebs_optimized(exposed(ebs_optimized.as_ref()))
        .set_metadata_options(metadata(metadata_options.as_ref(), current))
        .set_block_device_mappings(devices)
        .build()
}

/// By its name or ARN.
fn named(profile: &str) -> LaunchTemplateIamInstanceProfileSpecificationRequest {
    let builder = LaunchTemplateIamInstanceProfileSpecificationRequest::builder();
    if profile.starts_with("arn:") { builder.arn(profile).build() } else { builder.name(profile).build() }
}

/// With those of the current version that the spec does not set, because a version has all of these settings or none.
fn metadata(
    options: Option<&DesiredMetadataOptions>,
    current: Option<&Template>,
) -> Option<LaunchTemplateInstanceMetadataOptionsRequest> {
    let options = options.cloned().unwrap_or_default();
    let have = current.and_then(|current| current.default.metadata_options.clone()).unwrap_or_default();
    let text = |wanted: Option<&'static str>, have: Option<String>| wanted.map(str::to_owned).or(have);
    let endpoint = exposed(options.http_endpoint.as_ref()).map(HttpEndpoint::as_str);
    let endpoint = text(endpoint, have.http_endpoint);
    let is_enabled = endpoint.as_deref() != Some(HttpEndpoint::Disabled.as_str());
    let tokens = text(exposed(options.http_tokens.as_ref()).map(HttpTokens::as_str), have.http_tokens);
    let tokens = tokens.or((current.is_none() && is_enabled).then(|| HttpTokens::Required.to_string()));
    let hops = exposed(options.hop_limit.as_ref()).or(have.http_put_response_hop_limit);
    let is_given = tokens.is_some() || hops.is_some() || endpoint.is_some();
    is_given.then(|| {
        LaunchTemplateInstanceMetadataOptionsRequest::builder()
            .set_http_tokens(tokens.as_deref().map(From::from))
            .set_http_put_response_hop_limit(hops)
            .set_http_endpoint(endpoint.as_deref().map(From::from))
            .build()
    })
}

fn mapping(device: &DesiredBlockDevice) -> LaunchTemplateBlockDeviceMappingRequest {
    let DesiredBlockDevice {
        device_name,
        size_gib,
        volume_type,
        iops,
        throughput,
        encrypted,
        kms_key_id,
        delete_on_termination,
    } = device;
    let ebs = LaunchTemplateEbsBlockDeviceRequest::builder()
        .set_volume_size(exposed(size_gib.as_ref()))
        .set_volume_type(exposed(volume_type.as_ref()).map(|kind| kind.as_str().into()))
        .set_iops(exposed(iops.as_ref()))
        .set_throughput(exposed(throughput.as_ref()))
        .set_encrypted(exposed(encrypted.as_ref()))
        .set_kms_key_id(exposed(kms_key_id.as_ref()))
        .set_delete_on_termination(exposed(delete_on_termination.as_ref()));
    LaunchTemplateBlockDeviceMappingRequest::builder()
        .device_name(device_name.expose())
        .ebs(ebs.build())
        .build()
}
