//! Validation rules for values that AWS would reject. Pure. No message contains a value, because it may come from a
//! Secret.

use kraken_aws::{
    Tags,
    bounds::{Range, SECURITY_GROUP_ID},
    rules::{ValidationError, ValidationResult, each, ensure},
};

/// The maximum number of instances of one resource: limited by the size of the published state, see [`fits_a_state`].
pub(crate) const MAX_COUNT: i32 = 500;
/// The size limit of an object in etcd, 1.5 MiB, minus a reserve for metadata, the spec and unbounded fields.
const MAX_STATE: usize = 1_300_000;
/// The size of a published instance without its tags: about 1.6 KB with one interface, some groups and volumes.
pub(crate) const INSTANCE_BYTES: usize = 2_400;
/// The size of a tag without its key and value: `{"Key":"","Value":""},`.
pub(crate) const TAG_BYTES: usize = 24;
/// The maximum number of security groups of one network interface, with the highest quota that AWS grants.
pub(crate) const MAX_GROUPS: usize = 16;
pub(crate) const COUNT: Range = Range(0, MAX_COUNT);

/// Whether the state of so many instances with these tags can be published: it is one Kubernetes object.
pub(crate) fn fits_a_state(count: i32, tags: &Tags) -> Result<(), String> {
    let of_tags: usize = tags.iter().map(|(key, value)| key.len() + value.len() + TAG_BYTES).sum();
    let most = MAX_STATE / (INSTANCE_BYTES + of_tags);
    if usize::try_from(count).is_ok_and(|count| count > most) {
        return Err(format!(
            "exceeds the maximum size of the state of one resource: with these tags at most {most}"
        ));
    }
    Ok(())
}

pub(crate) fn security_group_ids(ids: &[String]) -> ValidationResult<ValidationError> {
    ensure((1..=MAX_GROUPS).contains(&ids.len()), || format!("must have 1 to {MAX_GROUPS} items"))?;
    each(ids, |id| SECURITY_GROUP_ID.check(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::bounds::{
        IMAGE_ID, INSTANCE_PROFILE, INSTANCE_TYPE, IPV4, KEY_NAME, SUBNET_ID, USER_DATA, rule,
    };

    fn accepts<T: ?Sized, W: Into<ValidationError>>(rule: impl Fn(&T) -> ValidationResult<W>, value: &T) {
        assert_eq!(rule(value).map_err(Into::into), Ok(()));
    }

    fn rejects<T: ?Sized, W: Into<ValidationError>>(
        rule: impl Fn(&T) -> ValidationResult<W>,
        value: &T,
        words: &str,
    ) {
        let why = rule(value).map_err(Into::into).unwrap_err().text;
        assert!(why.contains(words), "{why}");
    }

    #[test]
    fn ids_have_their_prefix() {
        accepts(rule(&IMAGE_ID), "ami-0abc1234def567890");
        accepts(rule(&IMAGE_ID), "ami-12c6146b");
        accepts(rule(&SUBNET_ID), "subnet-1");
        for wrong in ["", "ami-", "ami", "AMI-1", "ami-1 ", "sg-1", "resolve:ssm:/aws/x", "ami-../1"] {
            rejects(rule(&IMAGE_ID), wrong, "must look like ami-");
        }
    }

    #[test]
    fn an_instance_type_is_a_family_and_a_size() {
        for right in ["t2.nano", "u-6tb1.metal", "mac2-m2.metal", "r7iz.metal-16xl"] {
            accepts(rule(&INSTANCE_TYPE), right);
        }
        for wrong in ["", "t2", "t2.", ".nano", "T2.nano", "t2.nano.x", "t2 .nano"] {
            rejects(rule(&INSTANCE_TYPE), wrong, "family and a size");
        }
    }

    #[test]
    fn counts_are_bounded() {
        assert_eq!((COUNT.check(0), COUNT.check(500)), (Ok(()), Ok(())));
        assert_eq!(COUNT.check(501), Err("must be 0 to 500".to_owned()));
        assert_eq!(COUNT.check(501), COUNT.check(-1));
    }

    #[test]
    fn many_tags_reduce_the_maximum_count() {
        let tags = |count: usize| (0..count).map(|n| (format!("key-{n:02}"), "v".repeat(250))).collect();
        assert_eq!(fits_a_state(MAX_COUNT, &Tags::new()), Ok(()));
        assert_eq!(fits_a_state(90, &tags(40)), Ok(()));
        let why = fits_a_state(100, &tags(40)).unwrap_err();
        assert!(why.contains("at most 95"), "{why}");
    }

    #[test]
    fn security_groups_must_be_non_empty_and_unique() {
        let groups = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(security_group_ids(&groups(&["sg-1", "sg-2"])), Ok(()));
        for (wrong, words) in [(vec![], "1 to 16"), (vec!["sg-1", "web"], "must look like sg-")] {
            let why = security_group_ids(&groups(&wrong)).unwrap_err().text;
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn texts_are_bounded() {
        accepts(rule(&USER_DATA), "x".repeat(USER_DATA.0).as_str());
        rejects(rule(&USER_DATA), "x".repeat(USER_DATA.0 + 1).as_str(), "16385 bytes");
        accepts(rule(&KEY_NAME), "ops key");
        rejects(rule(&KEY_NAME), " ", "1 to 255");
    }

    #[test]
    fn a_profile_is_a_name_or_an_arn() {
        accepts(rule(&INSTANCE_PROFILE), "web+a=b,c.d@e_f-g");
        accepts(rule(&INSTANCE_PROFILE), "arn:aws:iam::123456789012:instance-profile/path/web");
        rejects(rule(&INSTANCE_PROFILE), "arn:aws:iam::123456789012:role/web", "instance profile");
        rejects(rule(&INSTANCE_PROFILE), "a/b", "instance profile");
        accepts(rule(&INSTANCE_PROFILE), "");
    }

    #[test]
    fn an_address_is_ipv4() {
        accepts(rule(&IPV4), "10.0.0.10");
        rejects(rule(&IPV4), "10.0.0", "IPv4");
        rejects(rule(&IPV4), "::1", "IPv4");
    }
}
