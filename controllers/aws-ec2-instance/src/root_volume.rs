//! The root volume of an instance, in a spec. Pure.

use kraken_aws::{
    aws_group,
    bounds::{IOPS, KMS_KEY, SIZE_GIB, THROUGHPUT},
    rules::{ValidationResult, ensure},
    words,
};

/// The root volume of an instance. Fields that are not set are taken from the image.
#[aws_group(
    object,
    cel(
        "has(self.iops) || !has(self.type) || !(self.type in ['io1', 'io2'])"
            else "is required for the types io1 and io2" at "iops",
        "!has(self.iops) || !has(self.type) || self.type in ['gp3', 'io1', 'io2']"
            else "is only allowed for the types gp3, io1 and io2; remove it or change the type" at "iops",
        "!has(self.throughput) || !has(self.type) || self.type == 'gp3'"
            else "is only allowed for the type gp3; remove it or change the type" at "throughput",
        "!has(self.kmsKeyID) || (has(self.encrypted) && self.encrypted == true)"
            else "requires encrypted: true" at "kmsKeyID",
    )
)]
pub(crate) struct RootVolume {
    /// The size in GiB, 1 to 65536, at least the size in the image. Example: `20`
    #[field("sizeGiB", rule = SIZE_GIB)]
    pub(crate) size_gib: Option<i32>,

    /// The volume type: `gp2`, `gp3`, `io1`, `io2` or `standard`. Example: `gp3`
    #[field("type")]
    pub(crate) volume_type: Option<VolumeType>,

    /// I/O operations per second, 100 to 256000, for `gp3`, `io1` and `io2`. Required for `io1` and `io2`. Example:
    /// `3000`
    #[field("iops", rule = IOPS)]
    pub(crate) iops: Option<i32>,

    /// Throughput in MiB/s, 125 to 2000, for `gp3` only. Example: `125`
    #[field("throughput", rule = THROUGHPUT)]
    pub(crate) throughput: Option<i32>,

    /// Whether the volume is encrypted. Example: `true`
    #[field("encrypted")]
    pub(crate) encrypted: Option<bool>,

    /// The KMS key for encryption, by id, alias or ARN. Requires `encrypted: true`. Default: the account's key for EBS.
    /// Example: `alias/disks`
    #[field("kmsKeyID", rule = KMS_KEY)]
    pub(crate) kms_key_id: Option<String>,

    /// Whether the volume is deleted with the instance. Example: `true`
    #[field("deleteOnTermination")]
    pub(crate) delete_on_termination: Option<bool>,
}

words!(
    /// A volume type that an instance can boot from.
    VolumeType { Gp2 = "gp2", Gp3 = "gp3", Io1 = "io1", Io2 = "io2", Standard = "standard" }
);

/// The rule of the field. Reports all problems, not only the first.
pub(crate) fn check(volume: &RootVolume) -> ValidationResult {
    let RootVolume { size_gib, volume_type, iops, throughput, encrypted, kms_key_id, .. } = volume;
    let mut wrong = vec![];
    for (name, value, range) in
        [("sizeGiB", size_gib, SIZE_GIB), ("iops", iops, IOPS), ("throughput", throughput, THROUGHPUT)]
    {
        if let Some(Err(why)) = value.map(|value| range.check(value)) {
            wrong.push(format!("{name} {why}"));
        }
    }
    if let Some(kind) = volume_type {
        let name = kind.as_str();
        match kind {
            VolumeType::Io1 | VolumeType::Io2 if iops.is_none() => {
                wrong.push(format!("type {name} requires iops"));
            }
            VolumeType::Gp2 | VolumeType::Standard if iops.is_some() => {
                wrong.push(format!("type {name} does not support iops"));
            }
            _ => {}
        }
        if *kind != VolumeType::Gp3 && throughput.is_some() {
            wrong.push(format!("type {name} does not support throughput"));
        }
    }
    if kms_key_id.is_some() && *encrypted != Some(true) {
        wrong.push("kmsKeyID requires encrypted: true".to_owned());
    }
    if let Some(Err(why)) = kms_key_id.as_ref().map(|key| KMS_KEY.check(key)) {
        wrong.push(format!("kmsKeyID {why}"));
    }
    ensure(wrong.is_empty(), || wrong.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_of_a_volume_are_reported() {
        let volume = |text: &str| serde_json::from_str::<RootVolume>(text).unwrap();
        assert_eq!(check(&volume(r#"{"sizeGiB": 20, "type": "gp3", "throughput": 125}"#)), Ok(()));
        assert_eq!(check(&volume(r#"{"encrypted": true, "kmsKeyID": "alias/a"}"#)), Ok(()));
        for (wrong, words) in [
            (r#"{"sizeGiB": 0, "iops": 99}"#, "sizeGiB must be 1 to 65536; iops must be 100 to 256000"),
            (r#"{"type": "io2"}"#, "type io2 requires iops"),
            (
                r#"{"type": "gp2", "iops": 100, "throughput": 125}"#,
                "does not support iops; type gp2 does not support throughput",
            ),
            (r#"{"kmsKeyID": "k", "encrypted": false}"#, "kmsKeyID requires encrypted"),
        ] {
            let why = check(&volume(wrong)).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
