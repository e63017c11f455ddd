//! Selects the chunk of a document to quote when nothing states the answer in the words of the question.
//!
//! A manual says "must" and "if", speaks of nobody, and calls things by other names than its readers. So the rules for messages
//! reject most of it. Here, a chunk answers if the sum of how well it fits the question and of its lead over the next passage is high. If a network has
//! ordered the chunks, it also says which sentence answers, and another one reads the question together with the chunk; else the chunk must contain most
//! words of the question.

use std::collections::HashSet;

use tracing::warn;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    Networks,
    answer_type::AnswerType,
    excerpts::{quoted_range, shorten},
    lexicon::is_function_word,
    passage_times::is_of_other_time,
    question::{Question, QuestionKind},
    quotes::{QuoteFinder, Term, YES_NO_COVERAGE},
    words::{Word, is_first_person, words},
};
use recall_domain::{
    Chunk, Message, MessageId, UserText,
    context::{Context, RankedChunk, RankedMessage},
};
use recall_ports::{AnswerError, AnswerVerifier, EmbedError, PassageEncoder};

/// Share of the question's content words that the chunk must contain, with its heading and the title of its document.
const COVERAGE: f32 = 0.6;
/// How far the score of the chunk must be above that of the next passage.
///
/// Chosen with the development questions of `tests/documents`, asked with and without the documents that have the answer.
const STANDS_OUT: f64 = 0.07;
/// Share of common words from which two chunks are versions of one passage, and the most versions that are quoted besides.
const VERSION_LIKENESS: f64 = 0.6;
/// The same for two chunks under the same heading.
const LIKENESS_UNDER_HEADING: f64 = 0.4;
const MAX_VERSIONS: usize = 2;
/// Least sum of the relevance of a chunk and its lead over the next passage.
///
/// With the same questions, nine of ten answers are then at the right page. A logistic regression gives both the same weight.
const SURE: f64 = 0.8;
/// Least of that sum and of the weighted log odds that the verifier gives, if there is a verifier. Chosen with the same questions.
const SURE_WITH_ODDS: f64 = 0.78;
/// Least relevance of a chunk that is shown as what comes nearest to an answer. Of 37 questions of `tests/documents` that stayed unanswered, the first chunk
/// is at the right page for 26.
const NEAR: f64 = 0.5;
/// Weight of the log odds.
const LOG_ODDS_WEIGHT: f64 = 0.06;
/// Bounds of a probability whose odds count: a probability of one is no proof.
const PROBABILITIES: (f64, f64) = (0.002, 0.998);
/// Share of the question's content words from which the relevance alone decides. The verifier was trained with questions in other words, and doubts
/// texts with the same ones.
const SAME_WORDS: f32 = 0.9;
/// Least sum that the verifier is asked about. No odds make up for a chunk that does not fit.
const WORTH_ASKING: f64 = 0.55;
/// Least relevance assumed for the next passage, so that a small library does not make its best chunk sure.
const NEXT: f64 = 0.5;
/// Most excerpts of a chunk that the networks read with a question. A chunk of usual length has fewer.
const MAX_EXCERPTS: usize = 16;

/// Returns the messages of a context, and its chunks as messages. Chunks that a network has ordered are left out: among many, one has the words of the
/// question by chance, and the network knows better which one answers.
pub(super) fn quotable(context: &Context) -> Vec<RankedMessage> {
    let ordered: HashSet<MessageId> = context.chunks.iter().filter(|c| c.relevance.is_some()).map(|c| c.chunk.id).collect();
    context.passages().into_iter().filter(|r| !ordered.contains(&r.message.id)).collect()
}

/// A chunk that may be quoted.
pub(super) struct CandidatePassage<'c> {
    pub(super) chunk: &'c RankedChunk,
    /// The same passage in other documents, such as versions of a file, best first.
    versions: Vec<&'c RankedChunk>,
    /// How well it fits.
    fit: f64,
    /// How well it fits, plus its lead over the next passage.
    score: f64,
    /// Whether it may be sure enough to answer.
    may_answer: bool,
}

/// Returns the best chunk, and whether its fit and its lead over the next passage are high enough, or may be so together with the odds that a verifier gives.
pub(super) fn find_candidate<'c>(question: &Question, chunks: &'c [RankedChunk], networks: &Networks) -> Option<CandidatePassage<'c>> {
    let is_ordered = chunks.iter().any(|c| c.relevance.is_some());
    let fits = |c: &RankedChunk| if is_ordered { c.relevance.unwrap_or_default() } else { c.score };
    let best = chunks.iter().max_by(|a, b| fits(a).total_cmp(&fits(b)))?;
    let versions: Vec<&RankedChunk> = chunks.iter().filter(|c| is_version(c, best)).collect();
    let is_other = |c: &&RankedChunk| !overlap(c, best) && !versions.iter().any(|v| overlap(c, v));
    let next = chunks.iter().filter(is_other).map(fits).fold(if is_ordered { NEXT } else { 0.0 }, f64::max);
    let lead = fits(best) - next;
    let score = fits(best) + lead;
    let least = if networks.verifier.is_some() { WORTH_ASKING } else { SURE };
    let is_likely = if is_ordered { score >= least } else { lead >= STANDS_OUT };
    // A chunk that the network has not judged yet may answer better.
    let mut before = chunks.iter().take_while(|c| c.chunk.id != best.chunk.id);
    let is_rivalled = is_ordered && before.any(|c| c.relevance.is_none());
    let may_concern = !is_personal(question) || addresses_reader(best);
    let may_answer = is_likely && !is_rivalled;
    may_concern.then_some(CandidatePassage { chunk: best, versions, fit: fits(best), score, may_answer })
}

impl<'c> CandidatePassage<'c> {
    /// Returns what the other versions of the passage say instead of an excerpt. Those that say the same are left out.
    pub(super) fn other_versions(&self, question: &Question, excerpt: &str) -> Vec<(&'c RankedChunk, Excerpt)> {
        let wanted = stems(excerpt);
        let nearest = |version: &&'c RankedChunk| {
            let likeness = |e: &Excerpt| likeness(&stems(&e.text), &wanted);
            let excerpt = Excerpts::of(version, question).all().map(|(_, e)| e).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
            Some((*version, excerpt))
        };
        let mut said = HashSet::from([without_space(excerpt)]);
        self.versions.iter().filter_map(nearest).filter(|(_, other)| said.insert(without_space(&other.text))).take(MAX_VERSIONS).collect()
    }

    /// Returns what to quote of the chunk: where the networks find the answer, or `by_words` if there are none, or if the chunk only comes near.
    pub(super) async fn excerpt(
        &self,
        asked: &UserText,
        question: &Question,
        by_words: Excerpt,
        coverage: f32,
        networks: &Networks,
    ) -> Judged {
        if !self.may_answer {
            return self.near(by_words);
        }
        if self.chunk.relevance.is_none() {
            return Judged::Answers(by_words);
        }
        let mut excerpts = vec![by_words.clone()];
        for (_, excerpt) in Excerpts::of(self.chunk, question).all() {
            if excerpts.len() < MAX_EXCERPTS && !excerpts.contains(&excerpt) {
                excerpts.push(excerpt);
            }
        }
        // A number or a code is exactly what is asked for: "week 5", "P3".
        let exact: Vec<&str> =
            question.words.iter().map(|w| w.plain.as_str()).filter(|w| w.contains(|c: char| c.is_ascii_digit())).collect();
        let has_exact = |e: &Excerpt| exact.iter().all(|code| words(&e.sentence).iter().any(|w| w.plain == *code));
        if excerpts.iter().any(has_exact) {
            excerpts.retain(has_exact);
        }
        let texts: Vec<UserText> = excerpts.iter().map(|e| e.text.as_str().into()).collect();
        let has_same_words = coverage >= SAME_WORDS && self.is_sure(None);
        let probability = match networks.verifier.as_deref().filter(|_| !has_same_words) {
            Some(verifier) => greatest_probability(verifier, asked, &texts).await.unwrap_or_else(|cause| {
                warn!(%cause, "a passage is judged by its relevance alone");
                None
            }),
            None => None,
        };
        if !self.is_sure(probability) {
            return self.near(by_words);
        }
        let nearest = match networks.passages.as_deref() {
            Some(encoder) => nearest(encoder, asked, &texts).await.unwrap_or_else(|cause| {
                warn!(%cause, "the sentence to quote is chosen by its words");
                None
            }),
            None => None,
        };
        // The chunk may be about the same, but have no answer.
        let mut found = excerpts.swap_remove(nearest.unwrap_or(0));
        if !may_answer(question, &self.chunk.chunk, &found.text) {
            return self.near(by_words);
        }
        let sentences: Vec<UserText> = found.text.unicode_sentences().map(UserText::from).collect();
        if let Some(encoder) = networks.passages.as_deref().filter(|_| sentences.len() > 1)
            && let Ok(Some(place)) = self::nearest(encoder, asked, &sentences).await
        {
            found.sentence = sentences[place].as_str().trim().to_owned();
        }
        Judged::Answers(found)
    }

    /// Whether the chunk is sure enough to be quoted, with the probability that it answers if that is known.
    fn is_sure(&self, probability: Option<f32>) -> bool {
        let Some(probability) = probability else { return self.score >= SURE };
        let probability = f64::from(probability).clamp(PROBABILITIES.0, PROBABILITIES.1);
        self.score + LOG_ODDS_WEIGHT * (probability / (1.0 - probability)).ln() >= SURE_WITH_ODDS
    }

    /// Judges a chunk that is not sure enough to answer.
    fn near(&self, excerpt: Excerpt) -> Judged {
        let is_near = self.chunk.relevance.is_some() && self.fit >= NEAR;
        if is_near { Judged::Near(excerpt) } else { Judged::Neither }
    }
}

/// What a chunk is worth, with what to quote of it.
pub(super) enum Judged {
    /// It answers.
    Answers(Excerpt),
    /// It only comes near to an answer.
    Near(Excerpt),
    /// It is about something else.
    Neither,
}

/// Returns the probability of the excerpt that most probably answers.
async fn greatest_probability(verifier: &dyn AnswerVerifier, asked: &UserText, excerpts: &[UserText]) -> Result<Option<f32>, AnswerError> {
    Ok(verifier.verify(asked, excerpts).await?.into_iter().max_by(f32::total_cmp))
}

/// Returns the place of the excerpt that covers the words of a question best, or nothing if the encoder knows too few words.
async fn nearest(encoder: &dyn PassageEncoder, asked: &UserText, excerpts: &[UserText]) -> Result<Option<usize>, EmbedError> {
    let asked = encoder.encode_question(asked).await?;
    let encoded = encoder.encode(excerpts).await?;
    let covered = encoded.iter().enumerate().filter_map(|(place, e)| Some((asked.words.covered_by(&e.words)?, place)));
    Ok(covered.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, place)| place))
}

/// What is quoted of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// The sentence for which it is quoted.
    pub(super) sentence: String,
}

/// The sentences of a chunk, each with what is quoted at it.
struct Excerpts<'c> {
    chunk: &'c RankedChunk,
    sentences: Vec<&'c str>,
    /// Rows of tables that have a word of the question which another row lacks. They are quoted alone.
    single_rows: HashSet<usize>,
}

impl<'c> Excerpts<'c> {
    fn of(chunk: &'c RankedChunk, question: &Question) -> Self {
        let text = chunk.chunk.text.as_str();
        let body = text.get(chunk.chunk.headings().len()..).filter(|body| !body.trim().is_empty()).unwrap_or(text);
        let sentences: Vec<&str> = body.unicode_sentences().collect();
        let single_rows = single_rows(&sentences, question);
        Self { chunk, sentences, single_rows }
    }

    /// Returns what is quoted at a sentence: those around it, without questions before the answer. A question without one answers nothing.
    fn at(&self, sentence: usize) -> Option<Excerpt> {
        // The number of a question in a list is a sentence of its own.
        let is_number = |s: &str| s.trim_end().strip_suffix(['.', ')']).is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()));
        let is_question = |i: &usize| self.sentences.get(*i).is_some_and(|s| s.trim_end().ends_with('?') || is_number(s));
        // In a list of questions, the answer comes after the question.
        let nearest = (sentence..self.sentences.len()).find(|i| !is_question(i))?;
        let is_single = self.single_rows.contains(&nearest);
        let (first, last) = if is_single { (nearest, nearest) } else { quoted_range(&self.sentences, nearest) };
        let first = (first..=nearest).rev().take_while(|i| !is_question(i)).last().unwrap_or(nearest);
        let without_headings = |text: &str| self.chunk.chunk.without_headings(text).trim().to_owned();
        let text = without_headings(&shorten(&self.sentences.get(first..=last)?.concat()));
        Some(Excerpt { text, sentence: without_headings(self.sentences.get(nearest)?) })
    }

    /// Returns what is quoted at each sentence.
    fn all(&self) -> impl Iterator<Item = (usize, Excerpt)> {
        (0..self.sentences.len()).filter_map(|i| Some((i, self.at(i)?)))
    }
}

/// Returns the rows of a table that have a content word of the question which another row lacks: "Pro | €20" for the price of Pro, and not "Team | €50".
fn single_rows(sentences: &[&str], question: &Question) -> HashSet<usize> {
    let is_row = |sentence: &str| sentence.contains(" | ");
    let rows: Vec<(usize, HashSet<String>)> =
        sentences.iter().enumerate().filter(|(_, sentence)| is_row(sentence)).map(|(at, row)| (at, stems(row))).collect();
    let is_told = |word: &&Word| !is_function_word(word) && !rows.iter().all(|(_, row)| row.contains(&word.stem));
    let telling: Vec<&String> = question.words.iter().filter(is_told).map(|word| &word.stem).collect();
    rows.iter().filter(|(_, row)| telling.iter().any(|stem| row.contains(*stem))).map(|(at, _)| *at).collect()
}

/// Whether a text of a chunk may answer a question: it has a number, a price or a time if one is asked for, or the heading above it has. "When should I" asks
/// for a condition.
fn may_answer(question: &Question, chunk: &Chunk, text: &str) -> bool {
    let text = &format!("{} {text}", chunk.heading.as_ref().map_or("", UserText::as_str));
    let names_date = || question.words.iter().any(|w| matches!(w.plain.as_str(), "year" | "month" | "day" | "date" | "time"));
    match question.answer_type {
        AnswerType::Time if question.is_past || names_date() => question.answer_type.is_given_in(text, &question.words),
        _ => question.answer_type.has_number_if_wanted(text, &question.words),
    }
}

impl QuoteFinder<'_> {
    /// Returns what to quote of the chunk of [`find_candidate`], at the sentence with most words of the question, and the share of these words that the chunk
    /// contains.
    ///
    /// A chunk that is known to be relevant needs only the names of the question; another one needs most of its words, and an answer of the expected
    /// type.
    pub(super) fn find_passage(&self, chunk: &RankedChunk, message: &Message) -> Option<(Excerpt, f32)> {
        let heading = chunk.chunk.heading.as_ref().map_or("", |h| h.as_str());
        let title = chunk.document.title.as_ref().map_or("", |t| t.as_str());
        let topic = self.read_sentence(&format!("{heading} {title} {}", chunk.document.filename.as_str()), true);
        let (terms, excerpts) = (self.terms(), Excerpts::of(chunk, self.question));
        let shares = |s: &&str| -> Vec<f32> {
            let sentence = self.read_sentence(s, true);
            terms.iter().map(|t| self.share(t, &sentence, message)).collect()
        };
        let shares: Vec<Vec<f32>> = excerpts.sentences.iter().map(shares).collect();
        let covered = |(n, term): (usize, &Term)| {
            let of_text = shares.iter().filter_map(|row| row.get(n)).fold(0.0, |most: f32, share| most.max(*share));
            of_text.max(self.share(term, &topic, message))
        };
        let shares_of_terms: Vec<f32> = terms.iter().enumerate().map(covered).collect();
        // A chunk that does not contain a name of the question is about something else.
        let name_missing = terms.iter().zip(&shares_of_terms).any(|(t, share)| t.is_name && *share == 0.0);
        let coverage = shares_of_terms.iter().sum::<f32>() / terms.len().max(1) as f32;
        if name_missing
            || is_of_other_time(self.question, &format!("{} {title} {heading}", message.text.as_str()))
            || !(chunk.relevance.is_some() || self.has_words_of_answer(message.text.as_str(), &terms, coverage))
        {
            return None;
        }
        let sums: Vec<f32> = shares.iter().map(|row| row.iter().sum()).collect();
        let answering = excerpts.all().filter(|(_, excerpt)| may_answer(self.question, &chunk.chunk, &excerpt.text));
        let (_, excerpt) = answering.max_by(|(a, _), (b, _)| sums[*a].total_cmp(&sums[*b]).then(b.cmp(a)))?;
        Some((excerpt, coverage))
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

/// Whether two chunks of different documents are versions of one passage: they have most of their words in common, or many under the same heading.
fn is_version(a: &RankedChunk, b: &RankedChunk) -> bool {
    let same_heading = a.chunk.heading.is_some() && a.chunk.heading == b.chunk.heading;
    let least = if same_heading { LIKENESS_UNDER_HEADING } else { VERSION_LIKENESS };
    a.document.id != b.document.id && likeness(&stems(a.chunk.text.as_str()), &stems(b.chunk.text.as_str())) >= least
}

fn stems(text: &str) -> HashSet<String> {
    words(text).into_iter().map(|word| word.stem).collect()
}

/// The share of words that two texts have in common (Jaccard index).
fn likeness(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let common = a.intersection(b).count();
    common as f64 / (a.len() + b.len() - common).max(1) as f64
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a chunk speaks to its reader: "your data" answers a question about "my data".
fn addresses_reader(chunk: &RankedChunk) -> bool {
    words(chunk.chunk.text.as_str()).iter().any(|w| matches!(w.plain.as_str(), "you" | "your" | "yours"))
}

/// Verbs of what anybody does by the same rules: "where do I report a loss".
const BY_RULES: [&str; 26] = [
    "apply", "ask", "book", "call", "cancel", "claim", "contact", "file", "find", "get", "hand", "have", "install", "log", "need", "open",
    "order", "register", "renew", "report", "request", "reset", "return", "send", "sign", "submit",
];

/// Whether a question is about the user. In "how can I", "what should I", "where do I report" and "if I lose my key", "I" is anybody.
pub(super) fn is_personal(question: &Question) -> bool {
    const BEFORE_ANYBODY: [&str; 10] = ["can", "could", "may", "might", "must", "shall", "should", "would", "if", "unless"];
    let plain = |i: usize| question.words.get(i).map_or("", |w| w.plain.as_str());
    let is_anybody = |i: usize| {
        let before = i.checked_sub(1).map_or("", plain);
        // "How do I", "how long do I".
        let how = (2..=3).any(|back| i.checked_sub(back).map_or("", plain) == "how");
        BEFORE_ANYBODY.contains(&before) || (before == "do" && (how || BY_RULES.contains(&plain(i + 1))))
    };
    let subject = |i: usize| plain(i) == "i" || plain(i) == "we";
    let positions = || (0..question.words.len()).filter(|i| is_first_person(plain(*i)));
    positions().any(|_| true) && !positions().any(|i| subject(i) && is_anybody(i))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use recall_domain::{
        Caller, Chunk, Document, DocumentId, DocumentStatus, MessageId, Ontology, Timestamp, UserId, UserText, ViewerRole,
        context::{Context, RankedChunk},
    };
    use recall_embedding::LocalEmbedder;
    use recall_ports::{
        AnswerError, AnswerSink, AnswerVerifier, Answerer, Asked, EmbedError, Embedding, EncodedText, PassageEncoder, WordVectors,
    };
    use uuid::Uuid;

    use crate::{ExtractiveAnswerer, Networks, tests::answer_now};

    const ONTOLOGY: &str = r#"
[[relation]]
name = "LIKES"
phrase = "likes"
description = "Is fond of."
half_life_days = 365.0
cues.verbs = ["like"]
"#;

    static ANSWERER: LazyLock<ExtractiveAnswerer> =
        LazyLock::new(|| ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), Networks::default()));

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
        answer_now(&ANSWERER, &asked, &context).text.into_string()
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
    fn row_of_a_table_is_quoted_alone_if_it_is_asked_for() {
        let table = "Plan | Price\nPlan: Basic | Price: €10\nPlan: Pro | Price: €20\nPlan: Team | Price: €50";
        let chunks = [RankedChunk { relevance: Some(0.9), ..chunk(1, 0.6, table) }];
        assert_eq!(answer("What does the Pro plan cost?", &chunks), "In handbook.pdf: “Plan: Pro | Price: €20” [1].");
        let found = answer("What is the price of each plan?", &chunks);
        assert!(found.contains("€10") && found.contains("€50"), "{found}");
    }

    #[test]
    fn synonyms_are_the_same_words() {
        // The verifier doubts, and is asked only about a chunk in other words.
        let networks = Networks { verifier: Some(Arc::new(Says(Some(0.01)))), ..Networks::default() };
        let answerer = ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), networks);
        let best = RankedChunk { relevance: Some(0.7), ..chunk(1, 0.6, "Staff are entitled to 25 days of annual leave.") };
        let context = Context { chunks: vec![best], ..Context::default() };
        let draft = |question: &str, context: &Context| answer_now(&answerer, &crate::tests::asked(question), context);
        let answer =
            |question: &str| Some(draft(question, &context)).filter(|d| d.grounded).map_or(String::new(), |d| d.text.into_string());
        assert!(answer("How many days of vacation are employees entitled to?").contains("25 days"));
        assert!(!answer("How many days of training are employees entitled to?").contains("25 days"));
        // A phrase is one only as a whole, and "leave" has other meanings.
        for (question, text, wrong) in [
            ("How many days of annual leave do employees get?", "Parental leave is 10 days.", "10 days"),
            ("How high is the damage deposit?", "The rental deposit is €500.", "€500"),
        ] {
            let best = RankedChunk { relevance: Some(0.7), ..chunk(1, 0.6, text) };
            let context = Context { chunks: vec![best], ..Context::default() };
            let found = draft(question, &context);
            assert!(!found.grounded, "{question} {wrong}: {found:?}");
        }
    }

    #[test]
    fn question_is_asked_in_the_words_of_the_documents() {
        let text = "Both parties keep a notice period of three months. A medical certificate is needed. You may leave the flat on Sundays. \
            The tenant pays.";
        let context = Context { chunks: vec![chunk(1, 0.6, text)], ..Context::default() };
        let rephrased = |question: &str| ANSWERER.rephrase(&crate::tests::asked(question), &context).map(UserText::into_string);
        for (question, expected) in [
            ("How long is the cancellation period?", Some("How long is the notice period?")),
            ("When do I need a doctor's note?", Some("When do I need a medical certificate?")),
            ("How high are the lessee's costs?", Some("How high are the tenant's costs?")),
            ("How high are the lessee’s costs?", Some("How high are the tenant’s costs?")),
            ("How long is the notice period?", None),
            // "Leave" and "flat" have other meanings.
            ("How much vacation do I get?", None),
            ("How big is the apartment?", None),
            // The user's own things, and names.
            ("Where is my doctor's note?", None),
        ] {
            assert_eq!(rephrased(question).as_deref(), expected, "{question}");
        }
    }

    #[test]
    fn heading_is_named_before_the_quote() {
        let mut best = chunk(1, 0.6, "Trips\nExpense reports are due within two weeks of the trip.");
        best.chunk.heading = Some("Trips".into());
        let found = answer("When are expense reports of trips due?", &[best]);
        assert_eq!(found, "In handbook.pdf, “Trips”: “Expense reports are due within two weeks of the trip.” [1].");
        let mut best = chunk(1, 0.6, "Not allowed\n- Dogs in the office.");
        best.chunk.heading = Some("Not allowed".into());
        let found = answer("Are dogs allowed in the office?", &[best]);
        assert_eq!(found, "In handbook.pdf, “Not allowed”: “- Dogs in the office.” [1].");
    }

    #[test]
    fn citation_shows_the_sentence_that_answers() {
        let text = "Subletting requires the written consent of the landlord. Small animals such as hamsters may be kept. Rowing after sunset is forbidden.";
        let asked = Asked { message: None, text: "What about rowing after sunset?".into(), original: None, at: Timestamp::default() };
        let context = Context { chunks: vec![RankedChunk { relevance: Some(0.9), ..chunk(1, 0.6, text) }], ..Context::default() };
        let draft = answer_now(&ANSWERER, &asked, &context);
        assert_eq!(draft.citations[0].excerpt.as_str(), "Rowing after sunset is forbidden.");
    }

    #[test]
    fn question_in_a_document_answers_nothing() {
        let contents = "1. When is the pool open?\n2. When is the sauna open?";
        assert!(!is_quoted("When is the sauna open?", &[chunk(1, 0.9, contents)]));
        assert!(is_quoted("When is the sauna open?", &[chunk(1, 0.9, &format!("{contents}\nThe sauna is open from 7 to 21."))]));
    }

    #[test]
    fn may_at_the_beginning_is_no_month() {
        let found = |question: &str, text: &str| is_quoted(question, &[RankedChunk { relevance: Some(0.8), ..chunk(1, 0.6, text) }]);
        assert!(found("May dogs come to the office?", "Dogs come to the office on Fridays."));
        assert!(found("Can leave be taken in August?", "Leave must be requested two weeks ahead and can be taken at any time."));
    }

    #[test]
    fn number_of_the_question_and_other_times_are_no_answer() {
        let found = |question: &str, text: &str| {
            let mut best = chunk(1, 0.6, text);
            best.relevance = Some(0.8);
            is_quoted(question, &[best])
        };
        for (question, no, yes) in [
            ("How much does the AquaPure 300 cost?", "Thank you for buying the AquaPure 300.", "The AquaPure 300 costs 90 euros."),
            ("How much does parking cost?", "There are 40 spaces for parking.", "Parking is free for 40 visitors."),
            ("What time does the fair in July start?", "The fair on 13 June starts at 11 am.", "The fair on 13 July starts at 11 am."),
            ("Is the pool open in July?", "The pool opens on 1 June.", "The pool is open from May to September."),
            ("When was the release in August published?", "It was published on 2025-07-27.", "It was published on 2025-08-27."),
            ("Which version was released in August 2025?", "Version 3 was released on 1.2.2025.", "Jan released version 3.1.0 in 2025."),
            (
                "Who chaired the council before Susan Bell?",
                "The council is chaired by Susan Bell.",
                "Until May, Ed Fox chaired the council, then Susan Bell.",
            ),
        ] {
            assert!(!found(question, no) && found(question, yes), "{question}");
        }
    }

    #[test]
    fn passage_with_a_rival_is_quoted_only_if_they_are_neighbours() {
        let question = "What should I do about lost keys of the office?";
        let rival = "The kitchen is cleaned at night.";
        assert!(!is_quoted(question, &[chunk(1, 0.6, KEYS), chunk(5, 0.58, rival)]));
        assert!(is_quoted(question, &[chunk(1, 0.6, KEYS), chunk(2, 0.58, rival)]));
    }

    #[test]
    fn versions_of_a_passage_are_no_rivals_and_are_quoted_if_they_differ() {
        let version = |number: u128, text: &str| {
            let mut version = chunk(1, 0.6, text);
            (version.chunk.id, version.document.id) = (MessageId(Uuid::from_u128(number)), DocumentId(Uuid::from_u128(number)));
            version.document.filename = format!("rules-{number}.md").into();
            version.relevance = Some(0.8);
            version
        };
        let pets = |said: &str| format!("Pets of the house. {said} Dogs need the written consent of the landlord.");
        let found = |texts: &[&str]| {
            let versions: Vec<_> = texts.iter().zip(1..).map(|(text, number)| version(number, &pets(text))).collect();
            answer("Are cats allowed in the house?", &versions)
        };
        let said = found(&["Cats are allowed.", "Cats are not allowed."]);
        assert!(said.starts_with("In rules-") && said.contains("“Pets of the house. Cats are allowed."), "{said}");
        assert!(said.contains(" In rules-") && said.contains("Cats are not allowed."), "{said}");
        let fourth = found(&["Cats are allowed.", "Cats are allowed.", "Cats are allowed.", "Cats are not allowed."]);
        assert!(fourth.contains("Cats are not allowed.") && fourth.matches("In rules-").count() == 2, "{fourth}");
        let same = found(&["Cats are allowed.", "Cats are allowed."]);
        assert_eq!(same.matches("In rules-").count(), 1, "{same}");
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
    fn what_anybody_does_by_the_rules_is_not_asked_of_the_user() {
        let mut rule = chunk(1, 0.6, "Lost keys are reported to the reception.");
        rule.relevance = Some(0.8);
        assert!(is_quoted("Where do I report lost keys?", std::slice::from_ref(&rule)));
        assert!(!is_quoted("Where do I keep lost keys?", &[rule]));
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

    /// Reads a question as the words "key" and "lost", and a passage as those that it contains.
    struct TwoWords {
        fails: bool,
    }

    #[async_trait::async_trait]
    impl PassageEncoder for TwoWords {
        fn model(&self) -> &str {
            "two words"
        }

        async fn encode(&self, passages: &[UserText]) -> Result<Vec<EncodedText>, EmbedError> {
            if self.fails {
                return Err(EmbedError::Transient("it fails".to_owned()));
            }
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

    /// Gives each text the same probability; `None` fails.
    struct Says(Option<f32>);

    #[async_trait::async_trait]
    impl AnswerVerifier for Says {
        async fn verify(&self, _: &UserText, texts: &[UserText]) -> Result<Vec<f32>, AnswerError> {
            let probability = self.0.ok_or_else(|| AnswerError::Transient("it fails".to_owned()))?;
            Ok(vec![probability; texts.len()])
        }
    }

    struct Nothing;

    impl AnswerSink for Nothing {
        fn delta(&self, _: &str) {}
    }

    async fn answer_with(encoder: impl PassageEncoder + 'static, question: &str) -> String {
        answer_at(0.7, Networks { passages: Some(Arc::new(encoder)), ..Networks::default() }, question).await
    }

    /// Answers from one chunk of a relevance.
    async fn answer_at(relevance: f64, networks: Networks, question: &str) -> String {
        let filler =
            "Nothing of the kind is said here, though it takes many words to say so, and they all stand in a single long sentence. "
                .repeat(3);
        let text = format!("A key opens one door. {filler}A key that is lost must be reported at once. {filler}Dogs bark at doors.");
        let mut best = chunk(1, 0.6, &text);
        best.relevance = Some(relevance);
        let asked = Asked { message: None, text: question.into(), original: None, at: Timestamp::default() };
        let context = Context { chunks: vec![best], ..Context::default() };
        let answerer = ExtractiveAnswerer::new(&Ontology::parse(ONTOLOGY).unwrap(), LocalEmbedder::load().unwrap(), networks);
        let caller = Caller::verified(UserId(Uuid::from_u128(1)), ViewerRole::User);
        answerer.answer(&caller, &asked, &context, &Nothing).await.unwrap().text.into_string()
    }

    #[tokio::test]
    async fn sentence_that_the_network_finds_nearest_is_quoted() {
        let found = answer_with(TwoWords { fails: false }, "What opens a door?").await;
        assert!(found.contains("A key that is lost must be reported"), "{found}");
    }

    #[tokio::test]
    async fn nothing_is_quoted_if_the_nearest_sentence_lacks_the_number() {
        let question = "How many doors does a key open?";
        let found = answer_with(TwoWords { fails: false }, question).await;
        assert!(found.starts_with("I don't know"), "{found}");
        let by_words = answer_with(TwoWords { fails: true }, question).await;
        assert!(by_words.contains("A key opens one door."), "{by_words}");
    }

    #[tokio::test]
    async fn sentence_with_the_words_is_quoted_if_the_network_fails() {
        let found = answer_with(TwoWords { fails: true }, "What opens a door?").await;
        assert!(found.contains("A key opens one door."), "{found}");
    }

    #[tokio::test]
    async fn relevance_and_odds_decide_together() {
        let is_quoted = async |relevance, probability| {
            let networks = Networks { verifier: Some(Arc::new(Says(probability))), ..Networks::default() };
            !answer_at(relevance, networks, "What unlocks an entrance?").await.starts_with("I don't know")
        };
        // Without odds, the limit is at a relevance of .65.
        assert!(is_quoted(0.7, None).await && !is_quoted(0.6, None).await);
        assert!(is_quoted(0.6, Some(0.9)).await && is_quoted(0.7, Some(0.3)).await);
        assert!(!is_quoted(0.6, Some(0.3)).await && !is_quoted(0.7, Some(0.05)).await);
        let networks = || Networks { verifier: Some(Arc::new(Says(Some(0.01)))), ..Networks::default() };
        let found = answer_at(0.7, networks(), "Which key must be reported at once when it is lost?").await;
        assert!(found.contains("A key that is lost"), "the chunk has the words of the question: {found}");
        // What is not sure enough comes nearest, if it is relevant.
        let doubts = || Networks { verifier: Some(Arc::new(Says(Some(0.3)))), ..Networks::default() };
        let found = answer_at(0.6, doubts(), "What unlocks an entrance?").await;
        assert!(found.starts_with("I don't know") && found.contains("Nearest to it: in handbook.pdf: “"), "{found}");
        assert!(!answer_at(0.4, doubts(), "What unlocks an entrance?").await.contains("Nearest"));
        // Neither decides alone.
        assert!(!is_quoted(0.52, Some(1.0)).await && is_quoted(0.9, Some(0.0)).await);
    }

    #[tokio::test]
    async fn both_networks_choose_whether_and_what_to_quote() {
        let networks = |probability| Networks {
            passages: Some(Arc::new(TwoWords { fails: false })),
            verifier: Some(Arc::new(Says(Some(probability)))),
        };
        let found = answer_at(0.6, networks(0.9), "What unlocks an entrance?").await;
        assert!(found.contains("A key that is lost must be reported"), "{found}");
        assert!(answer_at(0.6, networks(0.2), "What unlocks an entrance?").await.starts_with("I don't know"));
    }

    #[test]
    fn chunk_that_the_network_has_not_judged_may_answer_better() {
        let question = "How do I get a replacement for a mislaid badge?";
        let mut judged = chunk(1, 0.6, KEYS);
        judged.relevance = Some(0.8);
        let unjudged = chunk(5, 0.7, "Dogs are welcome.");
        assert!(is_quoted(question, &[judged.clone(), unjudged.clone()]));
        assert!(!is_quoted(question, &[unjudged, judged]));
    }

    #[test]
    fn copies_of_a_chunk_that_fits_very_well_are_no_rivals() {
        let question = "How do I get a replacement for a mislaid badge?";
        let copies =
            [(1, 0.85), (5, 0.85)].map(|(position, relevance)| RankedChunk { relevance: Some(relevance), ..chunk(position, 0.6, KEYS) });
        assert!(is_quoted(question, &copies));
    }

    #[test]
    fn parts_of_a_question_are_not_answered_by_the_chunk_for_the_whole() {
        let mut best = chunk(1, 0.6, KEYS);
        best.relevance = Some(0.8);
        let found = answer("How do I get a key and where is a lost one reported?", &[best]);
        assert_eq!(found.matches("In handbook.pdf").count(), 1, "{found}");
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
