//! A hook, which decides on each call between a caller and a server: before the call is forwarded, and after it took effect but before
//! the caller receives the response. Used by [`Simulator::connector`](crate::Simulator::connector) and by proxies.

use hyper::body::Bytes;

/// One call as it arrived.
#[derive(Debug, Clone)]
pub struct Call {
    /// The number of the call at this proxy, from 1.
    pub number: u64,
    /// The name of the call: `RunInstances` for a cloud, `PATCH ec2instances/status` for Kubernetes.
    pub name: String,
    /// Whether it may change something.
    pub writes: bool,
    /// Whether its response is an endless stream.
    pub watches: bool,
    /// The namespace, empty if there is none.
    pub namespace: String,
    /// The name of the object, empty if there is none.
    pub object: String,
    /// Its body; the form of a cloud's call.
    pub body: Bytes,
}

impl Call {
    /// A call of AWS's query protocol, named by its action.
    pub fn cloud(body: &Bytes) -> Self {
        let text = String::from_utf8_lossy(body);
        let action =
            text.split('&').find_map(|field| field.strip_prefix("Action=")).unwrap_or("?").to_owned();
        let writes = !["Describe", "Get", "List"].iter().any(|prefix| action.starts_with(prefix));
        Self {
            number: 0,
            name: action,
            writes,
            watches: false,
            namespace: String::new(),
            object: String::new(),
            body: body.clone(),
        }
    }
}

/// The response before it is forwarded to the caller, without the body of a stream.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body of the response to a write.
    pub body: Bytes,
}

/// The action of a hook on a call or its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAction {
    /// It is forwarded.
    Pass,
    /// The connection is closed.
    Drop,
    /// The caller receives this status as a Kubernetes `Status` instead.
    Refuse(u16),
}

/// Decides on every call.
pub trait Hook: Send + Sync + 'static {
    /// Before it is forwarded: any action except [`HookAction::Pass`] prevents its effect.
    fn before(&self, call: &Call) -> impl Future<Output = HookAction> + Send;
    /// After it took effect.
    fn after(&self, call: &Call, answer: &Answer) -> impl Future<Output = HookAction> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_a_cloud_is_named_by_its_action() {
        assert!(Call::cloud(&"Version=1&Action=RunInstances".into()).writes);
        assert!(!Call::cloud(&"Action=DescribeInstances".into()).writes);
    }
}
