//! Selects the chunk of a document to quote when nothing states the answer in the words of the question.
//!
//! A manual says "must" and "if", speaks of nobody, and calls things by other names than its readers. So the rules for messages
//! reject most of it. Here, a chunk answers if it fits the question well, and clearly better than all other passages. If a network has ordered the
//! chunks, it also says which sentence answers; else the chunk must contain most words of the question.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    answer_type::AnswerType,
    excerpts::{quoted_range, shorten},
    question::{Question, QuestionKind},
    quotes::{Quote, QuoteFinder, Sentence, Term, YES_NO_COVERAGE},
    words::is_first_person,
};
use recall_domain::{
    Message, MessageId, UserText,
    context::{Context, RankedChunk, RankedMessage},
};
use recall_ports::{EmbedError, PassageEncoder};

/// Share of the question's content words that the chunk must contain, with its heading and the title of its document.
const COVERAGE: f32 = 0.6;
/// How far the score of the chunk must be above that of the next passage.
///
/// Chosen with the development questions of `tests/documents`, asked with and without the documents that have the answer.
const STANDS_OUT: f64 = 0.07;
/// Least sum of the relevance of a chunk and its lead over the next passage.
///
/// With the same questions, nine of ten answers are then at the right page. A logistic regression gives both the same weight.
const SURE: f64 = 0.8;
/// Relevance of the next passage in a library that has none as relevant: where there is little to choose from, the best is not sure for that.
const NEXT: f64 = 0.5;
/// Most sentences of a chunk that are compared with a question by the network.
const MAX_SENTENCES: usize = 40;

/// Returns the messages of a context, and its chunks as messages. Chunks that a network has ordered are left out: among many, one has the words of the
/// question by chance, and the network knows better which one answers.
pub(super) fn quotable(context: &Context) -> Vec<RankedMessage> {
    let ordered: HashSet<MessageId> = context.chunks.iter().filter(|c| c.relevance.is_some()).map(|c| c.chunk.id).collect();
    context.passages().into_iter().filter(|r| !ordered.contains(&r.message.id)).collect()
}

/// Returns the best chunk, if it fits the question well and clearly better than all other passages.
pub(super) fn surest<'c>(question: &Question, chunks: &'c [RankedChunk]) -> Option<&'c RankedChunk> {
    let is_ordered = chunks.iter().any(|c| c.relevance.is_some());
    let fits = |c: &RankedChunk| if is_ordered { c.relevance.unwrap_or_default() } else { c.score };
    let best = chunks.iter().max_by(|a, b| fits(a).total_cmp(&fits(b)))?;
    let next = chunks.iter().filter(|c| !overlap(c, best)).map(fits).fold(if is_ordered { NEXT } else { 0.0 }, f64::max);
    let lead = fits(best) - next;
    let is_sure = if is_ordered { fits(best) + lead >= SURE } else { lead >= STANDS_OUT };
    (is_sure && !is_personal(question)).then_some(best)
}

/// The place in a chunk that answers a question best.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearestSentence {
    chunk: MessageId,
    /// Its number among the sentences of the chunk.
    sentence: usize,
}

/// Finds the sentence of a chunk whose surroundings cover the words of a question best; `None` if none may answer it, or if the encoder knows too few
/// words.
pub(super) async fn nearest_sentence(
    encoder: &dyn PassageEncoder,
    asked: &UserText,
    question: &Question,
    chunk: &RankedChunk,
) -> Result<Option<NearestSentence>, EmbedError> {
    let sentences: Vec<&str> = chunk.chunk.text.as_str().unicode_sentences().collect();
    let quotes = (0..sentences.len().min(MAX_SENTENCES)).map(|i| (i, UserText::from(surroundings(&sentences, i))));
    let (numbers, quotes): (Vec<usize>, Vec<UserText>) = quotes.filter(|(_, quote)| may_answer(question, quote.as_str())).unzip();
    let asked = encoder.encode_question(asked).await?;
    let encoded = encoder.encode(&quotes).await?;
    let covered = numbers.iter().zip(&encoded).filter_map(|(i, quote)| Some((*i, asked.words.covered_by(&quote.words)?)));
    let nearest = covered.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    Ok(nearest.map(|(sentence, _)| NearestSentence { chunk: chunk.chunk.id, sentence }))
}

/// A sentence with those around it, as they are quoted.
fn surroundings(sentences: &[&str], i: usize) -> String {
    let (first, last) = quoted_range(sentences, i);
    sentences.get(first..=last).unwrap_or_default().concat()
}

/// Whether a text may answer a question: it has a number or a time if one is asked for. "When should I" asks for a condition.
fn may_answer(question: &Question, text: &str) -> bool {
    let names_date = || question.words.iter().any(|w| matches!(w.plain.as_str(), "year" | "month" | "day" | "date" | "time"));
    match question.answer_type {
        AnswerType::Time if question.is_past || names_date() => question.answer_type.is_given_in(text, &question.words),
        _ => question.answer_type.has_number_if_wanted(text),
    }
}

impl QuoteFinder<'_> {
    /// Returns a quote of the [surest] chunk, at the sentence that is known to be nearest or at the one with most words of the question.
    pub(super) fn find_passage<'m>(
        &self,
        chunks: &[RankedChunk],
        nearest: Option<NearestSentence>,
        passages: &'m [RankedMessage],
    ) -> Option<Quote<'m>> {
        let best = surest(self.question, chunks)?;
        let message = passages.iter().map(|r| &r.message).find(|m| m.id == best.chunk.id)?;
        let heading = best.chunk.heading.as_ref().map_or("", |h| h.as_str());
        let title = best.document.title.as_ref().map_or("", |t| t.as_str());
        let topic = format!("{heading} {title} {}", best.document.filename.as_str());
        let nearest = nearest.filter(|nearest| nearest.chunk == best.chunk.id).map(|nearest| nearest.sentence);
        self.quote_passage(message, &topic, best.relevance.is_some(), nearest)
    }

    /// Quotes the part of a chunk that is nearest to the question. `topic` says what the chunk is about.
    fn quote_passage<'m>(&self, message: &'m Message, topic: &str, is_relevant: bool, nearest: Option<usize>) -> Option<Quote<'m>> {
        let text = message.text.as_str();
        let (terms, topic) = (self.terms(), self.read_sentence(topic, true));
        let sentences: Vec<&str> = text.unicode_sentences().collect();
        let read: Vec<Sentence> = sentences.iter().map(|s| self.read_sentence(s, true)).collect();
        let shares: Vec<Vec<f32>> = read.iter().map(|s| terms.iter().map(|t| self.share(t, s, message)).collect()).collect();
        let covered = |(n, term): (usize, &Term)| {
            let of_text = shares.iter().filter_map(|row| row.get(n)).fold(0.0, |most: f32, share| most.max(*share));
            of_text.max(self.share(term, &topic, message))
        };
        let shares_of_terms: Vec<f32> = terms.iter().enumerate().map(covered).collect();
        // A chunk that does not contain a name of the question is about something else.
        let name_missing = terms.iter().zip(&shares_of_terms).any(|(t, share)| t.is_name && *share == 0.0);
        let coverage = shares_of_terms.iter().sum::<f32>() / terms.len().max(1) as f32;
        if name_missing || !(is_relevant || self.has_words_of_answer(text, &terms, coverage)) {
            return None;
        }
        let sums: Vec<f32> = shares.iter().map(|row| row.iter().sum()).collect();
        let may_answer = |i: &usize| may_answer(self.question, &surroundings(&sentences, *i));
        let with_most_words = || (0..sums.len()).filter(may_answer).max_by(|a, b| sums[*a].total_cmp(&sums[*b]).then(b.cmp(a)));
        let nearest = nearest.filter(|i| *i < sentences.len()).or_else(with_most_words)?;
        // In a list of questions, the answer comes after the question.
        let is_question = |i: &usize| sentences.get(*i).is_some_and(|s| s.trim_end().ends_with('?'));
        let nearest = (nearest..sentences.len()).find(|i| !is_question(i)).unwrap_or(nearest);
        let (first, last) = quoted_range(&sentences, nearest);
        let first = (first..=nearest).rev().take_while(|i| !is_question(i)).last().unwrap_or(nearest);
        Some(Quote { message, excerpt: shorten(&sentences.get(first..=last)?.concat()), verdict: None, coverage })
    }

    /// Whether a chunk that no network has judged has most words of the question, and an answer of the expected type.
    fn has_words_of_answer(&self, text: &str, terms: &[Term], coverage: f32) -> bool {
        let least = if self.question.kind == QuestionKind::YesNo { YES_NO_COVERAGE } else { COVERAGE };
        !terms.iter().all(|t| t.is_name) && coverage >= least && self.question.answer_type.is_given_in(text, &self.question.words)
    }
}

/// Whether two chunks are neighbours in one document: they repeat a part of each other.
fn overlap(a: &RankedChunk, b: &RankedChunk) -> bool {
    a.document.id == b.document.id && a.chunk.position.abs_diff(b.chunk.position) <= 1
}

/// Whether a question is about the user. In "how can I", "what should I", "do I need" and "if I lose my key", "I" is anybody.
fn is_personal(question: &Question) -> bool {
    const BEFORE_ANYBODY: [&str; 10] = ["can", "could", "may", "might", "must", "shall", "should", "would", "if", "unless"];
    let plain = |i: usize| question.words.get(i).map_or("", |w| w.plain.as_str());
    let is_anybody = |i: usize| {
        let before = i.checked_sub(1).map_or("", plain);
        let how = i.checked_sub(2).map_or("", plain) == "how";
        BEFORE_ANYBODY.contains(&before) || (before == "do" && (how || matches!(plain(i + 1), "need" | "have" | "get")))
    };
    let subject = |i: usize| plain(i) == "i" || plain(i) == "we";
    let positions = || (0..question.words.len()).filter(|i| is_first_person(plain(*i)));
    positions().any(|_| true) && !positions().any(|i| subject(i) && is_anybody(i))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::LazyLock;

    use recall_domain::{
        Chunk, Document, DocumentId, DocumentStatus, MessageId, Ontology, Timestamp, UserText,
        context::{Context, RankedChunk},
    };
    use recall_embedding::LocalEmbedder;
    use recall_ports::{Asked, EmbedError, Embedding, EncodedText, PassageEncoder, WordVectors};
    use uuid::Uuid;

    use crate::ExtractiveAnswerer;

    const ONTOLOGY: &str = r#"
[[relation]]
name = "LIKES"
phrase = "likes"
description = "Is fond of."
half_life_days = 365.0
cues.verbs = ["like"]
"#;

    static ANSWERER: LazyLock<ExtractiveAnswerer> =
        LazyLock::new(|| ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), None));

    const KEYS: &str =
        "How do I get a key? The reception hands out keys on the first day. If a key is lost, the loss must be reported there.";

    fn chunk(position: u32, score: f64, text: &str) -> RankedChunk {
        let document = Document {
            id: DocumentId(Uuid::from_u128(7)),
            collection: "default".to_owned(),
            path: None,
            version: 1,
            is_current: true,
            filename: "handbook.pdf".into(),
            media_type: None,
            bytes: 1,
            sha256: String::new(),
            status: DocumentStatus::Completed,
            error: None,
            title: Some("Office handbook".into()),
            summary: None,
            pages: None,
            links: Vec::new(),
            chunk_count: 9,
            stored: 9,
            understood: 9,
            chunk_chars: 1024,
            chunk_overlap: 200,
            has_original: false,
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            viewed_at: None,
        };
        let chunk = Chunk {
            id: MessageId(Uuid::from_u128(u128::from(position) + 100)),
            document: document.id,
            position,
            section: position,
            heading: None,
            char_offset: 0,
            pages: None,
            text: text.into(),
        };
        RankedChunk { chunk, document, score, relevance: None, methods: Vec::new(), shared: false }
    }

    fn answer(question: &str, chunks: &[RankedChunk]) -> String {
        let asked = Asked { message: None, text: UserText::from(question), original: None, at: Timestamp::default() };
        let context = Context { chunks: chunks.to_vec(), ..Context::default() };
        ANSWERER.draft(&asked, &context, None).text.into_string()
    }

    fn is_quoted(question: &str, chunks: &[RankedChunk]) -> bool {
        answer(question, chunks).starts_with("In handbook.pdf: “")
    }

    #[test]
    fn passage_that_stands_out_is_quoted_from_the_answer_on() {
        let found = answer("What should I do about lost keys of the office?", &[chunk(1, 0.6, KEYS), chunk(5, 0.5, "Dogs are welcome.")]);
        assert!(found.starts_with("In handbook.pdf: “The reception hands out keys"), "{found}");
        assert!(found.contains("must be reported"), "{found}");
    }

    #[test]
    fn heading_of_the_chunk_is_not_quoted() {
        let mut best = chunk(1, 0.6, "Trips\nExpense reports are due within two weeks of the trip.");
        best.chunk.heading = Some("Trips".into());
        let found = answer("When are expense reports of trips due?", &[best]);
        assert_eq!(found, "In handbook.pdf: “Expense reports are due within two weeks of the trip.” [1].");
    }

    #[test]
    fn passage_with_a_rival_is_quoted_only_if_they_are_neighbours() {
        let question = "What should I do about lost keys of the office?";
        let rival = "The kitchen is cleaned at night.";
        assert!(!is_quoted(question, &[chunk(1, 0.6, KEYS), chunk(5, 0.58, rival)]));
        assert!(is_quoted(question, &[chunk(1, 0.6, KEYS), chunk(2, 0.58, rival)]));
    }

    #[test]
    fn relevant_passage_is_quoted_though_it_has_other_words() {
        let question = "How do I get a replacement for a mislaid badge?";
        let found = |first: f64, second: f64| {
            let (mut best, mut rival) = (chunk(1, 0.6, KEYS), chunk(5, 0.6, "Dogs are welcome."));
            (best.relevance, rival.relevance) = (Some(first), Some(second));
            is_quoted(question, &[rival, best])
        };
        assert!(found(0.7, 0.55));
        assert!(!found(0.7, 0.65), "a rival is nearly as relevant");
        assert!(!found(0.6, 0.1), "little is relevant in a small library");
        assert!(!is_quoted(question, &[chunk(1, 0.6, KEYS)]), "nothing says that it is relevant");
    }

    #[test]
    fn question_for_a_number_or_a_time_is_answered_only_by_one() {
        let found = |question: &str, text: &str| {
            let mut best = chunk(1, 0.6, text);
            best.relevance = Some(0.8);
            is_quoted(question, &[best])
        };
        let (told, untold) = ("The reception opened in 2019 and hands out forty keys a week.", "The reception hands out keys.");
        for question in
            ["How many keys does the reception hand out?", "When did the reception open?", "In which year did the reception open?"]
        {
            assert!(found(question, told) && !found(question, untold), "{question}");
        }
        assert!(found("When should the reception be asked?", untold), "it asks for a condition");
    }

    #[test]
    fn chunk_that_a_network_has_judged_is_not_quoted_for_its_words() {
        let question = "Where are keys handed out on the first day?";
        let found = |relevance| {
            let mut best = chunk(1, 0.6, KEYS);
            best.relevance = relevance;
            is_quoted(question, &[best, chunk(5, 0.59, "Dogs are welcome.")])
        };
        assert!(found(None) && found(Some(0.7)));
        assert!(!found(Some(0.6)));
    }

    /// Reads a question as the words "key" and "lost", and a passage as those of its words that are among them, whatever their form.
    struct TwoWords;

    #[async_trait::async_trait]
    impl PassageEncoder for TwoWords {
        fn model(&self) -> &str {
            "two words"
        }

        async fn encode(&self, passages: &[UserText]) -> Result<Vec<EncodedText>, EmbedError> {
            let of = |text: &UserText| {
                let mut words = WordVectors::default();
                for (n, word) in ["key", "lost", "."].into_iter().enumerate().filter(|(_, word)| text.as_str().contains(word)) {
                    words.push(&std::array::from_fn(|i| if i == n { word.len() as f32 } else { 0.0 }));
                }
                EncodedText { vector: Embedding(vec![1.0]), words }
            };
            Ok(passages.iter().map(of).collect())
        }

        async fn encode_question(&self, _: &UserText) -> Result<EncodedText, EmbedError> {
            Ok(self.encode(&["key lost".into()]).await?.remove(0))
        }
    }

    #[tokio::test]
    async fn sentence_that_the_network_finds_nearest_is_quoted() {
        let filler =
            "Nothing of the kind is said here, though it takes many words to say so, and they all stand in one long sentence. ".repeat(3);
        let text = format!("A key opens one door. {filler}A key that is lost must be reported at once. {filler}Dogs bark at doors.");
        let mut best = chunk(1, 0.6, &text);
        best.relevance = Some(0.7);
        let question = UserText::from("What opens a door?");
        let context = Context { chunks: vec![best.clone()], ..Context::default() };
        let asked = Asked { message: None, text: question.clone(), original: None, at: Timestamp::default() };
        let parsed = ANSWERER.parse_question(&asked, &context);
        let nearest = super::nearest_sentence(&TwoWords, &question, &parsed, &best).await.unwrap().unwrap();
        let at = |nearest| ANSWERER.draft(&asked, &context, nearest).text.into_string();
        assert!(at(Some(nearest)).contains("A key that is lost must be reported"), "{}", at(Some(nearest)));
        assert!(at(None).contains("A key opens one door."), "{}", at(None));
    }

    #[test]
    fn passage_about_something_else_is_not_quoted() {
        let best = [chunk(1, 0.6, KEYS)];
        assert!(is_quoted("What about lost keys of the office if I had mine stolen?", &best));
        for question in
            ["What should I do about noise in the garage at night?", "What should Marlene do about lost keys?", "Where are my lost keys?"]
        {
            assert!(!is_quoted(question, &best), "{question}");
        }
    }
}
