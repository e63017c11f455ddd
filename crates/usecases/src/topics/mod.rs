//! Finds what a document or a conversation is about: groups its texts by meaning, and names the groups.

mod background;
mod cluster;
mod name;

use std::sync::Arc;

use self::{
    cluster::cluster,
    name::{Named, names},
};
use super::{failure::Failure, reading::is_waiting, use_cases::UseCases};
use recall_domain::{Caller, DocumentId, Message, MessageId, Page, Role, TopicId, UserText};
use recall_ports::{SessionTopics, TopicPart, TopicText, TopicTexts};

/// Most texts of a session that are grouped: evenly chosen chunks of a document, the latest messages of a conversation.
const MAX_TEXTS: u32 = 512;
/// Messages of a conversation after which its topics are found for the first time, and then again with each doubling.
const FIRST: u64 = 8;
/// From so many messages on, they are found again after as many more.
const REGULAR: u64 = 128;
/// How many of the newest messages are looked at for one that waits. Answers of the assistant, which have no job, may be among them.
const NEWEST: u32 = 16;
/// How many messages a turn of a conversation has: one of the user and one of the assistant, which has no job.
const TURN: u64 = 2;

impl UseCases {
    /// Finds the topics of the session of a message that is about to be understood, if it is time to do so.
    ///
    /// For a document that is before its first chunk: all chunks are stored then, because their jobs wait behind that of the parser.
    /// If the job is interrupted, the next attempt does it again, with the same result.
    pub(super) async fn find_topics_if_due(&self, caller: &Caller, first: &Message, last: &Message) -> Result<(), Failure> {
        let session = first.session;
        if first.role != Role::Document {
            let is_due = milestone(last.position) > milestone(first.position.saturating_sub(TURN));
            if !is_due || self.is_left_to_a_later_message(caller, last).await? {
                return Ok(());
            }
            return self.find_topics(caller, &TopicTexts { session, from: 1, step: 1, limit: MAX_TEXTS }).await;
        }
        // The first message holds the name of the document.
        if first.position != 2 {
            return Ok(());
        }
        let document = self.parts.store.documents_by_id(caller, &[DocumentId::from(session)]).await?.into_iter().next();
        let chunks = u64::from(document.ok_or(Failure::NotOurs)?.chunk_count);
        let texts = TopicTexts { session, from: 2, step: chunks.div_ceil(MAX_TEXTS.into()).max(1), limit: MAX_TEXTS };
        self.find_topics(caller, &texts).await
    }

    /// Whether a message that waits in the session, as after an import, reaches a later milestone. Its job groups this message, too.
    async fn is_left_to_a_later_message(&self, caller: &Caller, message: &Message) -> Result<bool, Failure> {
        let newest = self.parts.store.list_messages(caller, message.session, &Page::first(NEWEST), true).await?;
        let waiting = newest.items.iter().map(|(_, other)| other).filter(|other| is_waiting(other));
        Ok(reaches_later_milestone(message.position, waiting.map(|other| other.position)))
    }

    async fn find_topics(&self, caller: &Caller, texts: &TopicTexts) -> Result<(), Failure> {
        let mut found = self.parts.store.topic_texts(caller, texts).await?;
        found.reverse();
        // Vectors of two models cannot be compared.
        let model = self.parts.embedder.model().to_owned();
        found.retain(|text| text.model == model);
        let Some(common) = self.common_vector().await? else { return Ok(()) };
        let grouped = tokio::task::spawn_blocking(move || group(&found, &common)).await;
        let groups = grouped.map_err(|e| Failure::Transient("TOPICS", e.to_string()))?;
        let part = |(named, centroid, messages): (Named, Vec<f32>, Vec<MessageId>)| TopicPart {
            fresh: TopicId(self.parts.ids.fresh()),
            name: UserText::from(named.name),
            terms: named.terms,
            centroid,
            messages,
        };
        let parts: Vec<_> = groups.into_iter().map(part).collect();
        let topics = SessionTopics { session: texts.session, model, parts, now: self.now() };
        Ok(self.parts.store.replace_topics(caller, &topics).await?)
    }

    /// Returns what all texts of the model have in common; `None` if the embedder knows none of the sentences.
    async fn common_vector(&self) -> Result<Option<Arc<Vec<f32>>>, Failure> {
        let embed = async || {
            let sentences: Vec<UserText> = background::SENTENCES.iter().map(|sentence| UserText::from(*sentence)).collect();
            let vectors = self.parts.embedder.embed(&sentences).await?;
            Ok::<_, Failure>(background::mean(&vectors.into_iter().map(|v| v.0).collect::<Vec<_>>()).map(Arc::new))
        };
        Ok(self.common_vector.get_or_try_init(embed).await?.clone())
    }
}

/// Groups texts by meaning, largest group first. `common` is what all texts have in common. A group without a word that could name it is
/// left out.
fn group(texts: &[TopicText], common: &[f32]) -> Vec<(Named, Vec<f32>, Vec<MessageId>)> {
    // A vector without a direction is in no group.
    let vectors: Vec<Vec<f32>> = texts.iter().map(|text| background::without(&text.embedding.0, common).unwrap_or_default()).collect();
    let groups = cluster(&vectors);
    let of_group = |members: &[usize]| members.iter().filter_map(|n| texts.get(*n)).collect::<Vec<_>>();
    let words: Vec<Vec<&str>> = groups.iter().map(|g| of_group(&g.members).iter().map(|text| text.text.as_str()).collect()).collect();
    let named = names(&words).into_iter().zip(groups);
    named.filter_map(|(named, g)| Some((named?, g.centroid, of_group(&g.members).iter().map(|text| text.message).collect()))).collect()
}

/// How often the topics of a conversation were found when it has so many messages.
fn milestone(messages: u64) -> u64 {
    match messages {
        0..FIRST => 0,
        FIRST..REGULAR => u64::from((messages / FIRST).ilog2()) + 1,
        _ => u64::from((REGULAR / FIRST).ilog2()) + messages / REGULAR,
    }
}

/// Whether one of the other positions in a conversation reaches a milestone that this one has not reached.
fn reaches_later_milestone(position: u64, mut others: impl Iterator<Item = u64>) -> bool {
    others.any(|other| milestone(other) > milestone(position))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use recall_ports::Embedding;

    fn text(n: u128, text: &str, vector: [f32; 2]) -> TopicText {
        TopicText { message: MessageId(Uuid::from_u128(n)), text: text.into(), model: "m".into(), embedding: Embedding(vector.into()) }
    }

    #[test]
    fn milestones_double_and_then_are_regular() {
        let reached: Vec<u64> = (1..600).filter(|n| milestone(*n) > milestone(n - 1)).collect();
        assert_eq!(reached, [8, 16, 32, 64, 128, 256, 384, 512]);
        assert!((1..10_000).all(|n| milestone(n) - milestone(n - 1) <= 1));
    }

    #[test]
    fn only_waiting_messages_behind_the_next_milestone_take_over() {
        assert!(reaches_later_milestone(130, [500, 499].into_iter()));
        assert!(reaches_later_milestone(8, [15, 16].into_iter()));
        assert!(!reaches_later_milestone(8, [9, 15].into_iter()));
        assert!(!reaches_later_milestone(8, std::iter::empty()));
    }

    #[test]
    fn groups_have_names_and_messages() {
        let texts = [
            text(1, "Dogs may come to the office.", [1.0, 0.0]),
            text(2, "Flights are booked early.", [0.0, 1.0]),
            text(3, "Dogs need a leash.", [1.0, 0.1]),
        ];
        let groups = group(&texts, &[0.0, 0.0]);
        let ids: Vec<Vec<u128>> = groups.iter().map(|(_, _, messages)| messages.iter().map(|m| m.0.as_u128()).collect()).collect();
        assert_eq!(ids, [vec![1, 3], vec![2]]);
        assert!(groups[0].0.name.starts_with("Dogs") && groups[1].0.name.contains("Flights"), "{:?}", groups[1].0);
        assert!(group(&[text(4, "4711", [1.0, 0.0])], &[0.0, 0.0]).is_empty(), "no word names it");
        assert!(group(&[], &[]).is_empty());
    }
}
