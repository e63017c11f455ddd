//! Refines a search: asks again with the names that are known, and reorders what was found.

use std::collections::{HashMap, HashSet};

use super::{context::MAX_FIRST, error::UseCaseError, use_cases::UseCases};
use recall_domain::{
    Caller, Entity, UserText,
    context::{Context, ContextQuery},
};
use recall_ports::{Answerer, Asked};
use recall_text::terms;
use unicode_segmentation::UnicodeSegmentation;

/// How often a question may be rephrased: "what does my sister's husband do" needs three searches.
const MAX_HOPS: usize = 3;
/// Most names that are added to a question.
const MAX_NAMES: usize = 8;
/// Reordering looks at so many times the wanted number.
const POOL: u32 = 3;
/// Sentences in which the words of the question are looked for together.
const WINDOW: usize = 2;
/// Weight of the words found together, against the score of the search.
const TOGETHER: f64 = 0.3;

/// How a search is refined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// Search again with names in place of descriptions ("my sister"), and with the other names of what the question names.
    pub expand: bool,
    /// Reorder messages and chunks: those whose sentences have the words of the question together come first.
    pub rerank: bool,
}

impl UseCases {
    /// Finds the context of a question as [`Self::context`] does, and refines it. Returns the last question that was searched, if it is
    /// another one.
    ///
    /// # Errors
    /// As [`Self::context`].
    pub async fn refined_context(
        &self,
        caller: &Caller,
        query: ContextQuery,
        refinement: Refinement,
    ) -> Result<(Context, Option<UserText>), UseCaseError> {
        let first = query.first;
        let pool = if refinement.rerank { first.saturating_mul(POOL).min(MAX_FIRST).max(first) } else { first };
        let query = ContextQuery { first: pool, ..query };
        let mut asked = Asked { message: None, text: query.text.clone(), original: None, at: self.now() };
        let mut context = match refinement.expand {
            true => self.rephrased_context(caller, self.parts.answerer.as_ref(), &mut asked, query.clone()).await?,
            false => self.context(caller, query.clone()).await?,
        };
        if refinement.expand
            && let Some(text) = with_names(&asked.text, &context.entities)
        {
            context.join(self.context(caller, ContextQuery { text: text.clone(), ..query.clone() }).await?);
            asked.text = text;
        }
        if refinement.rerank {
            rerank(&mut context, query.text.as_str());
        }
        keep_best(&mut context, first as usize);
        let expanded = (asked.text != query.text).then_some(asked.text);
        Ok((context, expanded))
    }

    /// Searches, and searches again while the answerer can rephrase the question. `asked` gets the last question.
    pub(super) async fn rephrased_context(
        &self,
        caller: &Caller,
        answerer: &dyn Answerer,
        asked: &mut Asked,
        query: ContextQuery,
    ) -> Result<Context, UseCaseError> {
        let mut context = self.context(caller, query.clone()).await?;
        for _ in 0..MAX_HOPS {
            let Some(text) = answerer.rephrase(asked, &context) else { break };
            context.join(self.context(caller, ContextQuery { text: text.clone(), ..query.clone() }).await?);
            let before = std::mem::replace(&mut asked.text, text);
            asked.original.get_or_insert(before);
        }
        Ok(context)
    }
}

/// Adds the other names of entities that a question names; `None` if there are none.
fn with_names(text: &UserText, entities: &[Entity]) -> Option<UserText> {
    let lower = text.as_str().to_lowercase();
    let mut seen = HashSet::new();
    let named = entities.iter().filter(|entity| !entity.is_viewer).flat_map(|e| std::iter::once(&e.name).chain(&e.aliases));
    let other = named.filter(|name| !lower.contains(&name.to_lowercase()) && seen.insert(name.to_lowercase()));
    let names: Vec<&str> = other.map(String::as_str).take(MAX_NAMES).collect();
    (!names.is_empty()).then(|| UserText::from(format!("{} ({})", text.as_str(), names.join(", "))))
}

/// Reorders messages and chunks by their score and by how many words of the question stand together in them.
fn rerank(context: &mut Context, question: &str) {
    let wanted: Vec<String> = terms(question).into_iter().map(|(term, _)| term).collect();
    let texts = context.messages.iter().map(|m| m.message.text.as_str()).chain(context.chunks.iter().map(|c| c.chunk.text.as_str()));
    let windows: Vec<Vec<HashSet<String>>> = texts.map(windows).collect();
    // A word that few of the found texts have says more.
    let having = |term: &String| windows.iter().filter(|of| of.iter().any(|window| window.contains(term))).count();
    let weights: HashMap<&String, f64> =
        wanted.iter().map(|term| (term, (1.0 + windows.len() as f64 / (1.0 + having(term) as f64)).ln())).collect();
    let all: f64 = weights.values().sum();
    if all <= 0.0 {
        return;
    }
    let together = |of: &Vec<HashSet<String>>| {
        let share =
            |window: &HashSet<String>| weights.iter().filter(|(term, _)| window.contains(**term)).map(|(_, w)| w).sum::<f64>() / all;
        of.iter().map(share).fold(0.0, f64::max)
    };
    let shares: Vec<f64> = windows.iter().map(together).collect();
    let (of_messages, of_chunks) = shares.split_at(context.messages.len());
    for (message, share) in context.messages.iter_mut().zip(of_messages) {
        message.score = (1.0 - TOGETHER) * message.score + TOGETHER * share;
    }
    for (chunk, share) in context.chunks.iter_mut().zip(of_chunks) {
        chunk.score = (1.0 - TOGETHER) * chunk.score + TOGETHER * share;
    }
}

/// Returns the terms of each run of [`WINDOW`] sentences.
fn windows(text: &str) -> Vec<HashSet<String>> {
    let sentences: Vec<HashSet<String>> =
        text.unicode_sentences().map(|sentence| terms(sentence).into_iter().map(|(term, _)| term).collect()).collect();
    let size = WINDOW.min(sentences.len()).max(1);
    sentences.windows(size).map(|run| run.iter().flatten().cloned().collect()).collect()
}

/// Keeps the best messages and chunks, at most `first` together, best first.
fn keep_best(context: &mut Context, first: usize) {
    context.messages.sort_by(|a, b| b.score.total_cmp(&a.score));
    context.chunks.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut scores: Vec<f64> = context.messages.iter().map(|m| m.score).chain(context.chunks.iter().map(|c| c.score)).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let Some(least) = scores.get(first.saturating_sub(1)).filter(|_| scores.len() > first) else { return };
    context.messages.retain(|m| m.score >= *least);
    context.chunks.retain(|c| c.score >= *least);
    // Equal scores must not exceed the number.
    context.messages.truncate(first);
    context.chunks.truncate(first.saturating_sub(context.messages.len()));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use recall_domain::{
        EntityId, EntityType, Message, MessageId, MessageStatus, Role, SessionId, Timestamp,
        context::{Method, RankedMessage},
    };
    use uuid::Uuid;

    use super::*;

    fn entity(name: &str, aliases: &[&str], is_viewer: bool) -> Entity {
        Entity {
            id: EntityId(Uuid::nil()),
            name: name.to_owned(),
            entity_type: EntityType::Organization,
            aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
            description: None,
            mention_count: 1,
            confidence: 1.0,
            is_viewer,
            first_message: None,
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
        }
    }

    fn message(n: u128, text: &str, score: f64) -> RankedMessage {
        let message = Message {
            id: MessageId(Uuid::from_u128(n)),
            session: SessionId(Uuid::nil()),
            position: 1,
            role: Role::User,
            speaker: None,
            text: text.into(),
            kind: None,
            status: MessageStatus::Processed,
            sent_at: Timestamp::default(),
            created_at: Timestamp::default(),
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        };
        RankedMessage { message, score, methods: vec![Method::Keyword], shared: false }
    }

    #[test]
    fn other_names_are_added_once() {
        let entities = [entity("Kovacs & Kline", &["K&K", "Kovacs"], false), entity("You", &["me"], true)];
        let expanded = with_names(&"Where is K&K?".into(), &entities).unwrap();
        assert_eq!(expanded.as_str(), "Where is K&K? (Kovacs & Kline, Kovacs)");
        assert_eq!(with_names(&"Where is it?".into(), &[]), None);
    }

    #[test]
    fn words_that_stand_together_come_first() {
        let apart = "The budget is planned in spring. Nobody came. It rained. It snowed. The travel agency closed.";
        let together = "The travel budget of the team is 4200 euros.";
        let mut context = Context { messages: vec![message(1, apart, 0.6), message(2, together, 0.55)], ..Context::default() };
        rerank(&mut context, "How high is the travel budget of the team?");
        keep_best(&mut context, 1);
        assert_eq!(context.messages.iter().map(|m| m.message.id.0.as_u128()).collect::<Vec<_>>(), [2]);
    }

    proptest! {
        #[test]
        fn reordering_keeps_the_number_and_the_order(texts in prop::collection::vec(("\\PC{0,40}", 0.0f64..1.0), 0..12), question in "\\PC{0,30}", first in 1usize..8) {
            let messages = texts.iter().zip(1..).map(|((text, score), n)| message(n, text, *score)).collect();
            let mut context = Context { messages, ..Context::default() };
            rerank(&mut context, &question);
            keep_best(&mut context, first);
            prop_assert_eq!(context.messages.len(), first.min(texts.len()));
            prop_assert!(context.messages.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}
