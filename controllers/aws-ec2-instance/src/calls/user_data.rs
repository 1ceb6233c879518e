//! The user data of instances, which DescribeInstances does not return.

use kraken_aws::{
    Aws, base64,
    ec2::types::{AttributeValue, InstanceAttributeName},
};
use kraken_kind::{Failure, FailureClass};

use crate::instance::UserData;

/// The user data of an instance. A missing instance has none. Without permission to read it, it is unknown, with a line in
/// the log: the other fields can still be managed.
pub(super) async fn read(aws: &Aws, id: &str) -> Result<Option<UserData>, Failure> {
    let call = aws.ec2().describe_instance_attribute().instance_id(id);
    let call = call.attribute(InstanceAttributeName::UserData).send();
    match aws.call("DescribeInstanceAttribute", "failed to describe user data", call).await {
        Ok(answer) => {
            let text = answer.user_data().and_then(AttributeValue::value).unwrap_or_default();
            Ok(Some(decoded(text)))
        }
        Err(failure) if failure.class == FailureClass::NotYet => Ok(None),
        Err(failure) if failure.class == FailureClass::Terminal => {
            tracing::warn!(instance = id, %failure, "user data is not compared");
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Undecodable user data was not set by Kraken, and differs from any desired value.
fn decoded(text: &str) -> UserData {
    let text: String = text.split_whitespace().collect();
    UserData(base64::decode(&text).unwrap_or_else(|_| text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_data_is_decoded_with_any_line_breaks() {
        assert_eq!(decoded("aGVs\nbG8=\n"), UserData(b"hello".to_vec()));
        assert_eq!(decoded(""), UserData(vec![]));
        assert_eq!(decoded("%"), UserData(b"%".to_vec()));
    }
}
