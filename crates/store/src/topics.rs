//! Finds the topics of new groups of texts, and stores them.
//!
//! A group is compared with the largest part of each known topic, so a topic does not grow from one neighbour to the next. It has the
//! topic of the most similar one, if both mean about the same and share a characteristic word. The words keep a model whose vectors are
//! all similar from making one topic of everything.

use std::collections::HashSet;

use async_trait::async_trait;

use super::{Refusal, UserStatements, reject_while_locked};
use recall_domain::{Caller, MessageId, SessionId, TopicId, UserId};
use recall_ports::{SessionTopics, TopicPart};

/// Most known parts of topics that a group is compared with.
pub const MAX_COMPARED: u32 = 1_000;
/// Least cosine of two parts of one topic.
const SAME_MEANING: f32 = 0.65;
/// Least cosine of related topics.
const RELATED: f32 = 0.2;

/// What is known of a part of a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPart {
    /// Its topic.
    pub topic: TopicId,
    /// Its characteristic index terms.
    pub terms: Vec<String>,
    /// The mean of its vectors, of unit length.
    pub centroid: Vec<f32>,
}

/// Statements on topics. Lists that they take are not empty.
#[async_trait]
pub trait TopicStatements: UserStatements {
    /// Keeps others from storing topics of the user, and from deleting messages, until the transaction ends.
    async fn lock_topics(&mut self, user: UserId) -> Result<(), Self::Error>;
    /// Counts those of the messages that belong to the session and are neither forgotten nor under deletion.
    async fn count_readable(&mut self, user: UserId, session: SessionId, messages: &[MessageId]) -> Result<u64, Self::Error>;
    /// Returns parts of topics with vectors of this model, largest first.
    async fn known_parts(&mut self, user: UserId, model: &str, limit: u32) -> Result<Vec<KnownPart>, Self::Error>;
    /// Deletes the topics of a session.
    async fn delete_topics(&mut self, user: UserId, session: SessionId) -> Result<(), Self::Error>;
    /// Inserts a part with its messages.
    async fn insert_part(
        &mut self,
        user: UserId,
        topics: &SessionTopics,
        place: u32,
        topic: TopicId,
        part: &TopicPart,
    ) -> Result<(), Self::Error>;
}

/// Replaces the topics of a session.
///
/// # Errors
/// `BeingErased` or `BeingImported` if the user is locked, `Stale` if a message cannot be read any more.
pub async fn replace_topics<T: TopicStatements>(tx: &mut T, caller: &Caller, topics: &SessionTopics) -> Result<(), T::Error> {
    let user = caller.user();
    reject_while_locked(tx, user).await?;
    tx.lock_topics(user).await?;
    let messages: Vec<MessageId> = topics.parts.iter().flat_map(|part| part.messages.iter().copied()).collect();
    if !messages.is_empty() && tx.count_readable(user, topics.session, &messages).await? != messages.len() as u64 {
        return Err(Refusal::Stale.into());
    }
    // With the session's own parts, so that its topics keep their ids.
    let known = tx.known_parts(user, &topics.model, MAX_COMPARED).await?;
    tx.delete_topics(user, topics.session).await?;
    for (place, part) in (0..).zip(&topics.parts) {
        let topic = topic_of(part, &known);
        tx.insert_part(user, topics, place, topic, part).await?;
    }
    Ok(())
}

/// Returns the topic of a part: that of the most similar known part, or a new one. The known parts are ordered by size.
fn topic_of(part: &TopicPart, known: &[KnownPart]) -> TopicId {
    let mut best: Option<(f32, TopicId)> = None;
    let mut seen = HashSet::new();
    // The first part of a topic is its largest.
    for other in known.iter().filter(|other| seen.insert(other.topic)) {
        let similarity = cosine(&part.centroid, &other.centroid);
        let shares = part.terms.iter().any(|term| other.terms.contains(term));
        if similarity >= SAME_MEANING && shares && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, other.topic));
        }
    }
    best.map_or(part.fresh, |(_, topic)| topic)
}

/// Returns the topics most like those of the parts `of`, best first.
pub fn rank_related(id: TopicId, of: &[KnownPart], all: &[KnownPart], limit: u32) -> Vec<TopicId> {
    let mut ranked: Vec<(f32, TopicId)> = Vec::new();
    for other in all.iter().filter(|other| other.topic != id) {
        let nearest = of.iter().map(|part| cosine(&part.centroid, &other.centroid)).fold(f32::NEG_INFINITY, f32::max);
        match ranked.iter_mut().find(|(_, topic)| *topic == other.topic) {
            Some((known, _)) => *known = known.max(nearest),
            None => ranked.push((nearest, other.topic)),
        }
    }
    ranked.retain(|(similarity, _)| *similarity >= RELATED);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().take(limit as usize).map(|(_, topic)| topic).collect()
}

/// The cosine of two vectors of unit length; 0 if their lengths differ.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn topic(n: u128) -> TopicId {
        TopicId(Uuid::from_u128(n))
    }

    fn known(n: u128, terms: &[&str], centroid: [f32; 2]) -> KnownPart {
        KnownPart { topic: topic(n), terms: terms.iter().map(|t| (*t).to_owned()).collect(), centroid: centroid.into() }
    }

    fn part(terms: &[&str], centroid: [f32; 2]) -> TopicPart {
        let KnownPart { terms, centroid, .. } = known(0, terms, centroid);
        TopicPart { fresh: topic(99), name: "x".into(), terms, centroid, messages: vec![] }
    }

    #[test]
    fn part_joins_the_most_similar_topic_with_its_words() {
        let all = [
            known(1, &["dog", "cat", "leash"], [0.8, 0.6]),
            known(2, &["dog", "cat"], [1.0, 0.0]),
            known(3, &["tax"], [1.0, 0.0]),
            known(3, &["pension"], [1.0, 0.0]),
        ];
        assert_eq!(topic_of(&part(&["cat", "fur"], [1.0, 0.0]), &all), topic(2));
        assert_eq!(topic_of(&part(&["leash"], [1.0, 0.0]), &all), topic(1), "topic 2 shares no word");
        assert_eq!(topic_of(&part(&["cat", "dog"], [0.0, -1.0]), &all), topic(99), "another meaning");
        assert_eq!(topic_of(&part(&["rain"], [1.0, 0.0]), &all), topic(99), "other words");
        assert_eq!(topic_of(&part(&["pension"], [1.0, 0.0]), &all), topic(99), "only a smaller part has the word");
        assert_eq!(topic_of(&part(&["tax"], [1.0, 0.0]), &all), topic(3));
    }

    #[test]
    fn related_topics_are_ranked_by_their_nearest_parts() {
        let all = [
            known(1, &[], [1.0, 0.0]),
            known(2, &[], [0.6, 0.8]),
            known(2, &[], [0.0, 1.0]),
            known(3, &[], [0.8, 0.6]),
            known(4, &[], [-1.0, 0.0]),
        ];
        assert_eq!(rank_related(topic(1), &all[..1], &all, 10), [topic(3), topic(2)]);
        assert_eq!(rank_related(topic(1), &all[..1], &all, 1), [topic(3)]);
        assert!(rank_related(topic(9), &[], &all, 9).is_empty());
    }
}
