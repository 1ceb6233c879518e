//! Paths of the published state.

/// The fields of the spec that accept a Secret, and the paths of the state that contain their values.
pub(super) const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
    (
        "imageID",
        &[
            "instances.ImageId",
            "instances.Architecture",
            "instances.RootDeviceName",
            "instances.RootDeviceType",
        ],
    ),
    ("instanceType", &["instances.InstanceType"]),
    (
        "subnetID",
        &["instances.SubnetId", "instances.VpcId", "instances.NetworkInterfaces", "instances.Placement"],
    ),
    ("securityGroupIDs", &["instances.SecurityGroups"]),
    ("userData", &[]),
    ("iamInstanceProfile", &["instances.IamInstanceProfile"]),
    (
        "privateIPAddress",
        &["instances.PrivateIpAddress", "instances.PrivateDnsName", "instances.NetworkInterfaces"],
    ),
    ("associatePublicIPAddress", &[]),
    ("rootVolume", &[]),
    ("metadataOptions", &[]),
    ("monitoring", &["instances.Monitoring"]),
    ("ebsOptimized", &["instances.EbsOptimized"]),
];

/// The columns of `kubectl get`, with the paths of their values.
pub(super) const SUMMARY: &[(&str, &str)] = &[
    ("Type", "instances.0.InstanceType"),
    ("Private IP", "instances.0.PrivateIpAddress"),
    ("Public IP", "instances.0.PublicIpAddress"),
    ("State", "instances.0.State.Name"),
];
