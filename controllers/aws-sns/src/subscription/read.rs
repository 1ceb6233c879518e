//! Reads of subscriptions: one list of those of a topic, and its tags, for all resources of the topic.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_aws::{Tags, lookup_kind::passing, missing::or_nothing, prelude::*};

use super::{
    marker::{self, id_in},
    observed::Subscription,
};
use crate::sns::{self, AT_ONCE, SnsClients as _, types};

/// The subscriptions of a topic, and its tags.
#[derive(Debug, Default)]
pub(super) struct OfTopic {
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) tags: Tags,
}

pub(super) async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Subscription>, Failure> {
    let Some(arns) = query.ids else {
        let pages = aws.sns().list_subscriptions().into_paginator().send();
        let pages = aws.pages("ListSubscriptions", "failed to list subscriptions", pages).await?;
        let all = pages.into_iter().flat_map(|page| page.subscriptions.unwrap_or_default());
        let mut by_topic = BTreeMap::<String, Vec<Subscription>>::new();
        for one in all.map(Subscription::from) {
            by_topic.entry(one.topic_arn.clone()).or_default().push(one);
        }
        let each = by_topic.into_iter().map(|(topic, subscriptions)| async move {
            // A topic of another account, whose tags cannot be read, has no owners of Kraken.
            let tags = sns::tags_of(aws, &topic).await.unwrap_or_default().unwrap_or_default();
            with_owners(aws, &topic, OfTopic { subscriptions, tags }).await
        });
        let found: Vec<Subscription> = stream::iter(each).buffered(AT_ONCE).try_concat().await?;
        return Ok(passing(query.filters.as_deref(), found));
    };
    let topics: BTreeSet<String> = arns.iter().filter_map(|arn| topic_in(arn)).map(str::to_owned).collect();
    let each = topics.into_iter().map(|topic| async move {
        let found = of_topic(aws, &topic).await?;
        with_owners(aws, &topic, found).await
    });
    let mut found: Vec<Subscription> = stream::iter(each).buffered(AT_ONCE).try_concat().await?;
    found.retain(|one| arns.contains(&one.subscription_arn));
    Ok(found)
}

/// The ARN of the topic in that of a subscription; none if it is none.
pub(super) fn topic_in(arn: &str) -> Option<&str> {
    let parts: Vec<&str> = arn.split(':').collect();
    let ["arn", _, "sns", _, _, _, _] = parts.as_slice() else { return None };
    arn.rsplit_once(':').map(|(topic, _)| topic)
}

/// Nothing if the topic does not exist.
pub(super) async fn of_topic(aws: &Aws, topic: &str) -> Result<OfTopic, Failure> {
    let Some(tags) = sns::tags_of(aws, topic).await? else { return Ok(OfTopic::default()) };
    let pages = aws.sns().list_subscriptions_by_topic().topic_arn(topic).into_paginator().send();
    let action = "failed to list the subscriptions of the topic";
    let pages = or_nothing(aws.pages("ListSubscriptionsByTopic", action, pages).await)?;
    let all = pages.into_iter().flat_map(|page| page.subscriptions.unwrap_or_default());
    Ok(OfTopic { subscriptions: all.map(Subscription::from).collect(), tags })
}

/// Each with the tags of its owner, if it has one. Of one that is not confirmed, only an owner knows the ARN.
async fn with_owners(aws: &Aws, topic: &str, found: OfTopic) -> Result<Vec<Subscription>, Failure> {
    let OfTopic { subscriptions, tags } = found;
    let mut all = vec![];
    for one in subscriptions {
        let marker = marker::of(&tags, &one.protocol, &one.endpoint);
        if one.has_arn() {
            let marker = marker.filter(|marker| marker.is_of(id_in(&one.subscription_arn)));
            all.push(Subscription { tags: marker.unwrap_or_default().tags, ..one });
        } else if let Some((marker, arn)) =
            marker.and_then(|marker| marker::arn(&marker, topic).map(|arn| (marker, arn)))
        {
            all.extend(attributes(aws, &arn).await?.map(|one| Subscription { tags: marker.tags, ..one }));
        }
    }
    Ok(all)
}

/// A subscription by its attributes, without an owner; none if it does not exist.
pub(super) async fn attributes(aws: &Aws, arn: &str) -> Result<Option<Subscription>, Failure> {
    let call = aws.sns().get_subscription_attributes().subscription_arn(arn).send();
    let action = "failed to read the attributes of the subscription";
    let answer = or_nothing(aws.call("GetSubscriptionAttributes", action, call).await.map(Some))?;
    let texts = answer.map(|answer| answer.attributes.unwrap_or_default().into_iter().collect());
    Ok(texts.map(|texts| Subscription::new(&texts, Tags::new())))
}

impl From<types::Subscription> for Subscription {
    fn from(sdk: types::Subscription) -> Self {
        Self {
            subscription_arn: sdk.subscription_arn.unwrap_or_default(),
            topic_arn: sdk.topic_arn.unwrap_or_default(),
            protocol: sdk.protocol.unwrap_or_default(),
            endpoint: sdk.endpoint.unwrap_or_default(),
            ..Self::default()
        }
    }
}
