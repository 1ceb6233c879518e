//! The calls of subscriptions.

use kraken_aws::{
    Tags,
    errors::{terminal, undecided},
    marker::Marker,
    prelude::*,
};

use super::{
    api::{self, Change, Desired},
    desired::attributes,
    marker::{self, id_in},
    observed::Subscription,
    read::{self, topic_in},
};
use crate::sns::{self, SnsClients as _};

const CREATE: &str = "failed to create the subscription";

/// The kind Subscription.
pub(crate) struct Subscriptions;

impl AwsResource for Subscriptions {
    type Kind = api::Subscription;
    /// By its topic, protocol and endpoint, of which a topic has one subscription.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Subscription>, Failure> {
        read::read(aws, query).await
    }

    async fn complete(aws: &Aws, found: &mut Subscription, deep: bool) -> Result<(), Failure> {
        if deep
            && found.attributes.is_none()
            && let Some(read) = read::attributes(aws, &found.subscription_arn).await?
        {
            found.attributes = read.attributes;
        }
        Ok(())
    }

    /// The call returns the subscription that exists, whoever created it. So it is read before, and a tag of the topic says, before the call,
    /// that this launch creates it: a subscription that exists after a crash is then that of the launch.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Subscription, Failure> {
        let (topic, protocol) = (desired.topic_arn.expose(), desired.protocol.expose().as_str());
        let endpoint = desired.endpoint.expose();
        let found = read::of_topic(aws, topic).await?;
        let marker = marker::of(&found.tags, protocol, endpoint).unwrap_or_default();
        let began = marker.is_pending() && creation.has_created(&marker.tags);
        if let Some(holder) = found.subscriptions.into_iter().find(|one| one.is_same(protocol, endpoint))
            && !began
        {
            let is_owned = marker.is_of(id_in(&holder.subscription_arn));
            let tags = if is_owned { marker.tags } else { Tags::new() };
            return own_or_taken(Subscription { tags, ..holder }, creation);
        }
        let key = marker::key(protocol, endpoint);
        if !began {
            let pending = Marker::new(None, creation.tags).text();
            sns::set_tags(aws, topic, &Tags::from([(key.clone(), pending)])).await?;
        }
        let attributes = attributes(desired).into_iter().map(|(_, name, value)| (name.to_owned(), value));
        // An empty value is only for a change.
        let attributes = attributes.filter(|(_, value)| !value.is_empty()).collect();
        let call = aws.sns_once().subscribe().topic_arn(topic).protocol(protocol).endpoint(endpoint);
        let call = call.set_attributes(Some(attributes)).return_subscription_arn(true).send();
        let subscription_arn =
            aws.call("Subscribe", CREATE, call).await?.subscription_arn.unwrap_or_default();
        let tags = sns::tags_of(aws, topic).await.map_err(undecided)?.unwrap_or_default();
        let marker = marker::of(&tags, protocol, endpoint).unwrap_or_default();
        let made = Subscription {
            subscription_arn,
            topic_arn: topic.clone(),
            protocol: protocol.to_owned(),
            endpoint: endpoint.clone(),
            tags: marker.tags,
            ..Subscription::default()
        };
        // Another launch may have begun at the same time.
        let made = own_or_taken(made, creation)?;
        let complete = Marker::new(Some(id_in(&made.subscription_arn)), creation.tags).text();
        sns::set_tags(aws, topic, &Tags::from([(key, complete)])).await.map_err(undecided)?;
        Ok(made)
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        found: &Subscription,
    ) -> Result<(), Failure> {
        for (_, name, value) in attributes(desired).into_iter().filter(|(one, ..)| one == change) {
            let call = aws.sns().set_subscription_attributes().subscription_arn(&found.subscription_arn);
            let call = call.attribute_name(name).attribute_value(value).send();
            aws.call("SetSubscriptionAttributes", "failed to change the subscription", call).await?;
        }
        Ok(())
    }

    /// AWS deletes a subscription that was not confirmed by itself, after some days, and not on request.
    async fn delete(aws: &Aws, found: &Subscription) -> Result<(), Failure> {
        if !found.is_unconfirmed {
            let call = aws.sns().unsubscribe().subscription_arn(&found.subscription_arn).send();
            aws.call("Unsubscribe", "failed to delete the subscription", call).await?;
        }
        let key = marker::key(&found.protocol, &found.endpoint);
        sns::remove_tags(aws, &found.topic_arn, &[&key]).await
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        write_marker(aws, id, |all| all.extend(tags.clone())).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        write_marker(aws, id, |all| all.retain(|key, _| !keys.contains(&key.as_str()))).await
    }
}

/// Changes the owner tags of a subscription; without any, the tag of its topic is removed.
async fn write_marker(aws: &Aws, id: &str, edit: impl FnOnce(&mut Tags)) -> Result<(), Failure> {
    let Some(topic) = topic_in(id) else { return Ok(()) };
    let Some(found) = read::attributes(aws, id).await? else { return Ok(()) };
    let all = sns::tags_of(aws, topic).await?.unwrap_or_default();
    let before = marker::of(&all, &found.protocol, &found.endpoint).filter(|marker| marker.is_of(id_in(id)));
    let mut tags = before.unwrap_or_default().tags;
    edit(&mut tags);
    let (key, after) = (marker::key(&found.protocol, &found.endpoint), Marker::new(Some(id_in(id)), &tags));
    if after.tags.is_empty() {
        return sns::remove_tags(aws, topic, &[&key]).await;
    }
    sns::set_tags(aws, topic, &Tags::from([(key, after.text())])).await
}

/// The endpoint may come from a Secret, and is not in the message.
fn own_or_taken(holder: Subscription, creation: &Creation<'_>) -> Result<Subscription, Failure> {
    if creation.has_created(&holder.tags) {
        return Ok(holder);
    }
    let what = format!("the endpoint of protocol {} of the topic", holder.protocol);
    Err(creation.is_taken(terminal(CREATE, ""), &what, &[holder]))
}
