//! Selects the messages to quote with a network, if no fact and no message has the words of the question.
//!
//! People ask in other words than they tell: "Who bought my scooter?" is answered by "I sold the Vespa to Anselmo". The network reads the question
//! together with each message that the search has found, and says whether the message answers. If none does, it reads pairs of messages with a common name:
//! "What does my old boss keep as a pet?" needs "Margit, my old boss, went to Baltrex" and "Margit has a whippet now".

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    excerpts::{MAX_EXCERPT, shorten, without_quotations},
    lexicon::is_function_word,
    quotes::{MAX_QUOTES, Quote, QuoteFinder},
    times::is_time,
    words::{Word, is_first_person, words},
};
use recall_domain::{Message, MessageId, MessageKind, Role, Timestamp, UserText, context::RankedMessage};
use recall_ports::{AnswerError, AnswerVerifier};

/// Least probability of a message that is quoted. Both limits were chosen on the development dialogues.
const SURE: f32 = 0.9;
/// Least probability of two messages that are quoted together.
const SURE_TOGETHER: f32 = 0.87;
/// Least probability of one message, or of two together, from which messages are shown as what comes nearest to an answer.
const NEAR: f32 = 0.1;
/// Least probability of each message that is shown so. From 0, one more of 68 questions of the development dialogues has its answer there, and messages are shown
/// that have nothing to do with the question.
const POSSIBLE: f32 = 0.02;
/// What a place further down in the order of the search costs a message in log odds, when those that come nearest are chosen. The search and the network err in
/// different ways. Values from .1 to .3 do about the same on the development dialogues.
const PLACE: f32 = 0.15;
/// Most texts that the network reads for one wording of a question. Each takes some milliseconds.
const MAX_TEXTS: usize = 40;
/// Most pairs of texts that it reads if no text alone answers. On the development dialogues, the right one is among the first eight.
const MAX_PAIRS: usize = 8;
/// Most pairs whose names are compared with those of the question.
const MAX_COMPARED: usize = 100;
/// Most words of a text that are searched for names. Parts of usual messages have fewer.
const MAX_WORDS: usize = 200;
/// Words with a capital that name nothing.
const TITLES: [&str; 7] = ["dr", "miss", "mr", "mrs", "ms", "prof", "sir"];

/// What a network says of the messages of a context.
pub(super) struct Verified<'m> {
    /// The messages that answer, best first, or two that answer together.
    pub(super) quotes: Vec<Quote<'m>>,
    /// If none is sure enough, those that come nearest to an answer, best first.
    pub(super) nearest: Vec<Quote<'m>>,
}

/// A part of a message, with the probability that it answers.
struct Candidate<'m> {
    message: &'m Message,
    text: UserText,
    /// The place of its message in the order of the search, from 0. What cannot be quoted has none.
    place: usize,
    probability: f32,
}

impl<'m> Candidate<'m> {
    fn quote(&self) -> Quote<'m> {
        Quote { message: self.message, excerpt: shorten(self.text.as_str()), sentence: None, verdict: None, coverage: self.probability }
    }

    /// How near it comes to an answer if it is as probable as this, in log odds.
    fn nearness(&self, probability: f32) -> f32 {
        let likely = probability.clamp(f32::EPSILON, 1.0 - f32::EPSILON);
        (likely / (1.0 - likely)).ln() - PLACE * self.place as f32
    }

    fn sent(&self) -> (Timestamp, MessageId) {
        (self.message.sent_at, self.message.id)
    }
}

/// Two parts of different messages, the earlier one first, with the probability that they answer together.
struct Pair<'c, 'm> {
    both: [&'c Candidate<'m>; 2],
    probability: f32,
}

/// Returns the quotes that come nearest to an answer, best first and one for each message; none if neither one message nor the pair is likely enough. If one is,
/// the others need little.
fn nearest<'m>(candidates: &[&Candidate<'m>], pair: Option<Pair<'_, 'm>>) -> Vec<Quote<'m>> {
    let likeliest = candidates.iter().map(|c| c.probability).chain(pair.iter().map(|p| p.probability)).fold(0.0, f32::max);
    if likeliest < NEAR {
        return Vec::new();
    }
    let mut near: Vec<(f32, &Candidate<'m>)> =
        candidates.iter().filter(|c| c.probability >= POSSIBLE).map(|c| (c.nearness(c.probability), *c)).collect();
    if let Some(Pair { both, probability }) = pair {
        let nearness = both.map(|c| c.nearness(probability)).into_iter().fold(f32::MIN, f32::max);
        near.extend(both.map(|c| (nearness, c)));
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen = HashSet::new();
    near.retain(|(_, c)| seen.insert(c.message.id));
    // The answer names three. A correction may stand for several.
    near.truncate(2 * MAX_QUOTES);
    near.into_iter().map(|(_, c)| c.quote()).collect()
}

impl QuoteFinder<'_> {
    /// Returns the messages that answer the question as it was `asked`, best first; or two that answer it together. They must have its proper names;
    /// the network reads descriptions.
    ///
    /// # Errors
    /// Fails if the verifier cannot work.
    pub(super) async fn find_verified<'m>(
        &self,
        verifier: &dyn AnswerVerifier,
        asked: &UserText,
        ranked: &'m [RankedMessage],
    ) -> Result<Verified<'m>, AnswerError> {
        let usable = |m: &&Message| m.role == Role::User && m.kind != Some(MessageKind::Question);
        let messages = ranked.iter().map(|r| &r.message).filter(usable).enumerate();
        // The others may answer together with these.
        let (about, others): (Vec<_>, Vec<_>) = messages.partition(|(_, m)| self.is_about(m, None, false));
        let of = |messages: Vec<(usize, &'m Message)>| {
            let parts =
                |(place, message)| self.parts(message).into_iter().map(move |text| Candidate { message, text, place, probability: 0.0 });
            messages.into_iter().flat_map(parts)
        };
        let fits = |c: &Candidate<'_>| !self.is_excluded(c.message, c.text.as_str());
        let mut candidates: Vec<Candidate<'m>> = of(about).filter(fits).take(MAX_TEXTS).collect();
        let alone = candidates.len();
        candidates.extend(of(others).take(MAX_TEXTS - alone));
        let texts: Vec<UserText> = candidates.iter().map(|c| c.text.clone()).collect();
        let verified = verifier.verify(asked, &texts).await?;
        candidates.iter_mut().zip(verified).for_each(|(candidate, probability)| candidate.probability = probability.max(0.0));
        let mut sure: Vec<&Candidate<'m>> = candidates.iter().take(alone).filter(|c| c.probability >= SURE).collect();
        sure.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        let mut quotes: Vec<Quote<'m>> = Vec::new();
        for candidate in sure {
            if quotes.len() < MAX_QUOTES && !quotes.iter().any(|q| q.message.id == candidate.message.id) {
                quotes.push(candidate.quote());
            }
        }
        if !quotes.is_empty() {
            return Ok(Verified { quotes, nearest: Vec::new() });
        }
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        let pair = self.find_likeliest_pair(verifier, asked, &candidates).await?;
        if let Some(pair) = pair.as_ref().filter(|pair| pair.probability >= SURE_TOGETHER) {
            return Ok(Verified { quotes: pair.both.map(Candidate::quote).into(), nearest: Vec::new() });
        }
        let near: Vec<&Candidate<'m>> = candidates.iter().filter(|c| fits(c)).collect();
        Ok(Verified { quotes: Vec::new(), nearest: nearest(&near, pair) })
    }

    /// Returns the two messages that most probably answer together: one tells who or what the question describes, and the other one, which has the same name,
    /// what it asks for. Together they must be surer than each alone. `candidates` are sorted, best first.
    async fn find_likeliest_pair<'c, 'm>(
        &self,
        verifier: &dyn AnswerVerifier,
        asked: &UserText,
        candidates: &'c [Candidate<'m>],
    ) -> Result<Option<Pair<'c, 'm>>, AnswerError> {
        let names = self.names_in(candidates);
        let mut pairs: Vec<[&'c Candidate<'m>; 2]> = Vec::new();
        for (i, one) in candidates.iter().enumerate() {
            for (j, other) in candidates.iter().enumerate().skip(i + 1) {
                let is_apart = one.message.id != other.message.id && one.message.speaker == other.message.speaker;
                if is_apart && names.get(i).zip(names.get(j)).is_some_and(|(a, b)| !a.is_disjoint(b)) {
                    pairs.push(if one.sent() <= other.sent() { [one, other] } else { [other, one] });
                }
            }
        }
        pairs.sort_by(|[a, b], [c, d]| (c.probability + d.probability).total_cmp(&(a.probability + b.probability)));
        let joined = |[one, other]: &[&Candidate<'_>; 2]| UserText::from(format!("{}\n{}", one.text.as_str(), other.text.as_str()));
        let read: Vec<([&'c Candidate<'m>; 2], UserText)> = pairs
            .into_iter()
            .take(MAX_COMPARED)
            .map(|pair| (pair, joined(&pair)))
            .filter(|([one, _], text)| self.is_about(&Message { text: text.clone(), ..one.message.clone() }, None, false))
            .take(MAX_PAIRS)
            .collect();
        let texts: Vec<UserText> = read.iter().map(|(_, text)| text.clone()).collect();
        let verified = verifier.verify(asked, &texts).await?;
        let verified = verified.into_iter().zip(read).map(|(probability, (both, _))| Pair { both, probability: probability.max(0.0) });
        let surer = verified.filter(|pair| pair.both.iter().all(|c| pair.probability > c.probability));
        Ok(surer.max_by(|a, b| a.probability.total_cmp(&b.probability)))
    }

    /// Splits a message at the ends of sentences into parts that can be quoted. What a message asks, and what it quotes of others, is left out.
    fn parts(&self, message: &Message) -> Vec<UserText> {
        let mut parts: Vec<String> = Vec::new();
        let mut goes_on = false;
        for sentence in without_quotations(message.text.as_str()).unicode_sentences() {
            if self.is_asked(sentence) {
                goes_on = false;
                continue;
            }
            match parts.last_mut().filter(|_| goes_on) {
                Some(part) if part.chars().count() + sentence.chars().count() <= MAX_EXCERPT => part.push_str(sentence),
                _ => parts.push(sentence.to_owned()),
            }
            goes_on = true;
        }
        parts.into_iter().map(UserText::from).collect()
    }

    /// Returns the names in each text: words with a capital that are part of the name of an entity, or stand inside of a sentence somewhere.
    fn names_in(&self, candidates: &[Candidate<'_>]) -> Vec<HashSet<String>> {
        let is_name = |w: &Word| {
            w.capital && !is_function_word(w) && !is_first_person(&w.plain) && !is_time(&w.plain) && !TITLES.contains(&w.plain.as_str())
        };
        let read = |text: &str| -> Vec<Word> { text.unicode_sentences().flat_map(words).take(MAX_WORDS).filter(is_name).collect() };
        let capitals: Vec<Vec<Word>> = candidates.iter().map(|c| read(c.text.as_str())).collect();
        let of_entities = self.entities.iter().filter(|e| !e.is_viewer).flat_map(|e| words(&e.name)).filter(is_name);
        let inside = capitals.iter().flatten().filter(|w| w.proper).cloned();
        let known: HashSet<String> = of_entities.chain(inside).map(|w| w.plain).collect();
        capitals.into_iter().map(|all| all.into_iter().map(|w| w.plain).filter(|name| known.contains(name)).collect()).collect()
    }
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
    use recall_ports::{AnswerDraft, AnswerSink, Answerer};
    use uuid::Uuid;

    /// Takes the number after "sure" in a text for its probability, and after "together" for that of a pair.
    struct Labelled {
        fails: bool,
    }

    #[async_trait::async_trait]
    impl AnswerVerifier for Labelled {
        async fn verify(&self, _: &UserText, texts: &[UserText]) -> Result<Vec<f32>, AnswerError> {
            if self.fails {
                return Err(AnswerError::Transient("it fails".to_owned()));
            }
            let label = |text: &UserText| {
                let word = if text.as_str().contains('\n') { "together " } else { "sure " };
                text.as_str().split(word).nth(1).and_then(|rest| rest.get(..3)?.parse().ok())
            };
            Ok(texts.iter().map(|text| label(text).unwrap_or(0.0)).collect())
        }
    }

    struct Nothing;

    impl AnswerSink for Nothing {
        fn delta(&self, _: &str) {}
    }

    async fn answer(memory: &TestMemory, question: &str, fails: bool) -> String {
        draft(memory, question, fails).await.text.into_string()
    }

    async fn draft(memory: &TestMemory, question: &str, fails: bool) -> AnswerDraft {
        let networks = Networks { verifier: Some(Arc::new(Labelled { fails })), ..Networks::default() };
        let answerer = ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), networks);
        let caller = Caller::verified(UserId(Uuid::from_u128(1)), ViewerRole::User);
        let context = Context {
            messages: memory.messages.clone(),
            facts: memory.facts.clone(),
            entities: memory.entities.clone(),
            ..Context::default()
        };
        answerer.answer(&caller, &asked(question), &context, &Nothing).await.unwrap()
    }

    fn told(messages: &[(Option<&str>, &str)]) -> TestMemory {
        let mut memory = test_memory();
        messages.iter().for_each(|(speaker, text)| memory.add_message(*speaker, text));
        memory
    }

    #[tokio::test]
    async fn message_with_other_words_is_quoted_if_the_network_is_sure() {
        let memory = told(&[(None, "The Vespa went to Anselmo. sure 1.0"), (None, "Anselmo has a boat. sure 0.8")]);
        let found = answer(&memory, "Who bought my scooter?", false).await;
        assert_eq!(found, "On 8 May 2026 you said: “The Vespa went to Anselmo. sure 1.0” [1].");
        assert!(
            answer(&told(&[(None, "Anselmo has a boat. sure 0.8")]), "Who bought my scooter?", false).await.starts_with("I don't know")
        );
        assert!(answer(&memory, "Who bought my scooter?", true).await.starts_with("I don't know"), "without the network");
    }

    #[tokio::test]
    async fn likeliest_messages_are_nearest_if_the_network_is_not_sure() {
        let told_before =
            ["Anselmo has a boat. sure 0.7", "The Vespa went to Anselmo. sure 0.8", "We saw him. sure 0.6", "He sings. sure 0.5"];
        let memory = told(&told_before.map(|text| (None, text)));
        let found = draft(&memory, "Who bought my scooter?", false).await;
        assert!(found.text.as_str().starts_with("I don't know"), "{found:?}");
        let nearest = "Nearest to it: on 8 May 2026 you said: “The Vespa went to Anselmo. sure 0.8”; \
            on 8 May 2026 you said: “Anselmo has a boat. sure 0.7”; on 8 May 2026 you said: “We saw him. sure 0.6”.";
        assert!(found.text.as_str().ends_with(nearest), "{found:?}");
        assert!(!found.grounded && found.citations.is_empty(), "{found:?}");
        let sources: Vec<_> = found.nearest.iter().map(|c| (c.index, c.message_id)).collect();
        let message = |text| memory.messages.iter().find(|m| m.message.text.as_str() == text).map(|m| m.message.id);
        assert_eq!(sources, [(1, message(told_before[1])), (2, message(told_before[0])), (3, message(told_before[2]))]);
        let memory = told(&[(None, "The Vespa went to Anselmo. sure 0.0")]);
        assert!(draft(&memory, "Who bought my scooter?", false).await.nearest.is_empty());
    }

    #[tokio::test]
    async fn order_of_the_search_decides_between_messages_that_are_about_as_likely() {
        let memory = told(&[(None, "The Vespa went to Anselmo. sure 0.7"), (None, "He sings. sure 0.0"), (None, "We saw him. sure 0.75")]);
        let found = draft(&memory, "Who bought my scooter?", false).await.text.into_string();
        assert!(found.find("Anselmo").unwrap() < found.find("We saw").unwrap(), "{found}");
        assert!(!found.contains("He sings"), "{found}");
        let memory = told(&[(None, "The Vespa went to Anselmo. sure 0.5"), (None, "He sings. sure 0.0"), (None, "We saw him. sure 0.8")]);
        let found = draft(&memory, "Who bought my scooter?", false).await.text.into_string();
        assert!(found.find("We saw").unwrap() < found.find("Anselmo").unwrap(), "{found}");
    }

    #[tokio::test]
    async fn message_without_the_name_of_the_question_is_no_answer_but_nearest() {
        let found = draft(&told(&[(None, "The Vespa went to Anselmo. sure 1.0")]), "Who bought Leonie's scooter?", false).await;
        assert!(!found.grounded && found.text.as_str().contains("Nearest to it: on 8 May 2026 you said: “The Vespa"), "{found:?}");
    }

    #[tokio::test]
    async fn likely_pair_is_nearest_with_both_messages() {
        let memory =
            told(&[(None, "Saw Margit at the fair, she has a whippet."), (None, "My old boss Margit went to Baltrex. together 0.8")]);
        let found = draft(&memory, "What does my former boss keep as a pet?", false).await;
        assert!(!found.grounded && found.text.as_str().contains("whippet") && found.text.as_str().contains("Baltrex"), "{found:?}");
        assert_eq!(found.nearest.len(), 2);
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
    async fn questions_are_not_quoted() {
        for asked_before in ["who bought my scooter, sure 1.0", "I want a new one. Who bought my scooter, sure 1.0?"] {
            let found = answer(&told(&[(None, asked_before)]), "Who bought my scooter, sure 1.0?", false).await;
            assert!(found.starts_with("I don't know"), "{found}");
        }
        // Nobody said these two sentences one after the other.
        let found = answer(&told(&[(None, "The Vespa went to Anselmo, sure 1.0. Happy? He is.")]), "Who bought my scooter?", false).await;
        assert!(found.contains("sure 1.0.”"), "{found}");
    }

    #[tokio::test]
    async fn all_messages_that_the_network_is_sure_of_are_quoted() {
        let memory = told(&[(None, "A sure 0.8 one."), (None, "Another, sure 1.0"), (None, "A third, sure 1.0")]);
        let found = answer(&memory, "Who bought my scooter?", false).await;
        assert!(found.find("Another").unwrap() < found.find("A third").unwrap() && !found.contains("A sure"), "{found}");
    }

    #[tokio::test]
    async fn two_messages_with_a_common_name_answer_together() {
        const BOSS: &str = "My old boss Margit went to Baltrex. together 1.0";
        let question = "What does my former boss keep as a pet?";
        let memory = told(&[(None, "Saw Margit at the fair, she has a whippet."), (None, BOSS)]);
        let found = answer(&memory, question, false).await;
        assert!(found.contains("Baltrex") && found.contains("whippet") && found.ends_with("[2]."), "{found}");
        assert!(answer(&memory, question, true).await.starts_with("I don't know"), "without the network");
        for other in [
            (None, "Saw somebody at the fair, she has a whippet."),
            (Some("Bob"), "Saw Margit at the fair, she has a whippet."),
            (None, "She has a whippet, and margit a cat."),
            (None, "My dog is a whippet."),
        ] {
            assert!(answer(&told(&[other, (None, BOSS)]), question, false).await.starts_with("I don't know"), "{other:?}");
        }
        let unsure =
            told(&[(None, "Saw Margit at the fair, she has a whippet."), (None, "My old boss Margit went to Baltrex. together 0.8")]);
        assert!(answer(&unsure, question, false).await.starts_with("I don't know"));
    }

    #[tokio::test]
    async fn a_name_of_the_question_is_in_one_of_two_messages() {
        let memory = told(&[(None, "The sister of Ole is Berit. together 1.0"), (None, "We saw Berit, who drives a tram.")]);
        assert!(answer(&memory, "What does the sister of Ole do?", false).await.contains("tram"));
        assert!(answer(&memory, "What does the sister of Kjell do?", false).await.starts_with("I don't know"));
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
