//! Selects the messages to quote with a network, if no fact and no message has the words of the question.
//!
//! People ask in other words than they tell: "Who bought my scooter?" is answered by "I sold the Vespa to Anselmo". The network reads the question
//! together with each message that the search has found, and says whether the message answers.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    excerpts::{MAX_EXCERPT, shorten, without_quotations},
    quotes::{MAX_QUOTES, Quote, QuoteFinder},
};
use recall_domain::{Message, MessageKind, Role, UserText, context::RankedMessage};
use recall_ports::{AnswerError, AnswerVerifier};

/// Least probability of a message that is quoted.
///
/// On the development dialogues, a limit of 0.9 gave five more right answers, one more false one, and eight quotes beside the point.
const SURE: f32 = 0.95;
/// Most texts that the network reads for one wording of a question. Each takes some milliseconds.
const MAX_TEXTS: usize = 40;

impl QuoteFinder<'_> {
    /// Returns the messages that answer the question as it was `asked`, best first. They must have its proper names; the network reads descriptions.
    ///
    /// # Errors
    /// Fails if the verifier cannot work.
    pub(super) async fn find_verified<'m>(
        &self,
        verifier: &dyn AnswerVerifier,
        asked: &UserText,
        ranked: &'m [RankedMessage],
    ) -> Result<Vec<Quote<'m>>, AnswerError> {
        let usable = |m: &&Message| m.role == Role::User && m.kind != Some(MessageKind::Question) && self.is_about(m, None, false);
        let messages = ranked.iter().map(|r| &r.message).filter(usable);
        let read: Vec<(&Message, UserText)> = messages.flat_map(|m| parts(m).map(move |part| (m, part))).take(MAX_TEXTS).collect();
        let texts: Vec<UserText> = read.iter().map(|(_, text)| text.clone()).collect();
        let verified = verifier.verify(asked, &texts).await?;
        let mut sure: Vec<(f32, (&Message, UserText))> = verified.into_iter().zip(read).filter(|(p, _)| *p >= SURE).collect();
        sure.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut quotes: Vec<Quote<'m>> = Vec::new();
        for (coverage, (message, text)) in sure {
            if quotes.len() < MAX_QUOTES && !quotes.iter().any(|q| q.message.id == message.id) {
                quotes.push(Quote { message, excerpt: shorten(text.as_str()), verdict: None, coverage });
            }
        }
        Ok(quotes)
    }
}

/// Splits a message at the ends of sentences into parts that can be quoted. What it quotes of others is no answer, so it is left out.
fn parts(message: &Message) -> impl Iterator<Item = UserText> {
    let mut parts: Vec<String> = Vec::new();
    for sentence in without_quotations(message.text.as_str()).unicode_sentences() {
        match parts.last_mut() {
            Some(part) if part.chars().count() + sentence.chars().count() <= MAX_EXCERPT => part.push_str(sentence),
            _ => parts.push(sentence.to_owned()),
        }
    }
    parts.into_iter().map(UserText::from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        ExtractiveAnswerer, Networks,
        tests::{ONTOLOGY, TestMemory, asked, test_memory},
    };
    use recall_domain::{Caller, Ontology, UserId, ViewerRole, context::Context};
    use recall_embedding::LocalEmbedder;
    use recall_ports::{AnswerSink, Answerer};
    use uuid::Uuid;

    /// Takes the number after "sure" in a text for its probability.
    struct Labelled {
        fails: bool,
    }

    #[async_trait::async_trait]
    impl AnswerVerifier for Labelled {
        async fn verify(&self, _: &UserText, texts: &[UserText]) -> Result<Vec<f32>, AnswerError> {
            if self.fails {
                return Err(AnswerError::Transient("it fails".to_owned()));
            }
            let label = |text: &UserText| text.as_str().split("sure ").nth(1).and_then(|rest| rest.get(..3)?.parse().ok());
            Ok(texts.iter().map(|text| label(text).unwrap_or(0.0)).collect())
        }
    }

    struct Nothing;

    impl AnswerSink for Nothing {
        fn delta(&self, _: &str) {}
    }

    async fn answer(memory: &TestMemory, question: &str, fails: bool) -> String {
        let networks = Networks { verifier: Some(Arc::new(Labelled { fails })), ..Networks::default() };
        let answerer = ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), networks);
        let caller = Caller::verified(UserId(Uuid::from_u128(1)), ViewerRole::User);
        let context = Context {
            messages: memory.messages.clone(),
            facts: memory.facts.clone(),
            entities: memory.entities.clone(),
            ..Context::default()
        };
        answerer.answer(&caller, &asked(question), &context, &Nothing).await.unwrap().text.into_string()
    }

    fn told(messages: &[(Option<&str>, &str)]) -> TestMemory {
        let mut memory = test_memory();
        messages.iter().for_each(|(speaker, text)| memory.add_message(*speaker, text));
        memory
    }

    #[tokio::test]
    async fn message_with_other_words_is_quoted_if_the_network_is_sure() {
        let memory = told(&[(None, "The Vespa went to Anselmo. sure 1.0"), (None, "Anselmo has a boat. sure 0.9")]);
        let found = answer(&memory, "Who bought my scooter?", false).await;
        assert_eq!(found, "On 8 May 2026 you said: “The Vespa went to Anselmo. sure 1.0” [1].");
        assert!(
            answer(&told(&[(None, "Anselmo has a boat. sure 0.9")]), "Who bought my scooter?", false).await.starts_with("I don't know")
        );
        assert!(answer(&memory, "Who bought my scooter?", true).await.starts_with("I don't know"), "without the network");
    }

    #[tokio::test]
    async fn messages_of_others_and_about_others_are_not_quoted() {
        let memory = told(&[(Some("Bob"), "The Vespa went to Anselmo. sure 1.0")]);
        assert!(answer(&memory, "Who bought my scooter?", false).await.starts_with("I don't know"));
        let memory = told(&[(None, "The Vespa went to Anselmo. sure 1.0")]);
        assert!(answer(&memory, "Who bought Leonie's scooter?", false).await.starts_with("I don't know"));
    }

    #[tokio::test]
    async fn words_of_others_are_not_quoted() {
        let memory = told(&[(None, "Helen read to me: \"The Vespa went to Anselmo, sure 1.0, for a song.\"")]);
        assert!(answer(&memory, "Who bought my scooter?", false).await.starts_with("I don't know"));
    }

    #[tokio::test]
    async fn all_messages_that_the_network_is_sure_of_are_quoted() {
        let memory = told(&[(None, "A sure 0.9 one."), (None, "Another, sure 1.0"), (None, "A third, sure 1.0")]);
        let found = answer(&memory, "Who bought my scooter?", false).await;
        assert!(found.find("Another").unwrap() < found.find("A third").unwrap() && !found.contains("A sure"), "{found}");
    }

    #[tokio::test]
    async fn part_of_a_long_message_is_quoted() {
        let filler =
            "This sentence says nothing of any use, and it goes on for a while so that the message becomes long enough. ".repeat(3);
        let memory = told(&[(None, &format!("{filler}The Vespa went to Anselmo, sure 1.0, in May."))]);
        let found = answer(&memory, "Who bought my scooter?", false).await;
        assert!(found.contains("The Vespa went") && found.chars().count() < 300, "{found}");
    }
}
