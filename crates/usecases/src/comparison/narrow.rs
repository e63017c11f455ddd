//! Narrows a comparison to its question: ranks the points by how well their passages answer it, and leaves out unrelated ones.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation;

use super::{Compared, work::readers};
use crate::{failure::Failure, use_cases::UseCases};
use recall_domain::{Chunk, Citation, ComparisonPoint, MessageId, PointKind, UserText};
use recall_text::terms;

/// Least relevance of a related sentence, from 0 to 1, as searches of documents measure the meaning of chunks.
const RELATED: f32 = 0.3;
/// The best sentence must have this relevance, its lead over the median of all sentences included.
///
/// Chosen with 24 questions that pairs of leases, policies and product sheets answer, most of them in other words, and 18 that they do not answer:
/// 23 of the former reach it, and one of the latter.
const SURE: f32 = 0.5;
/// Least relevance among too few sentences to know their median.
const RELATED_OF_FEW: f32 = 0.4;
/// The share of the relevance of the best point that another one must have.
const NEAR: f32 = 0.8;
/// Texts from which on their median says how relevant unrelated ones are.
const FEW: usize = 4;
/// The same without an encoder: the share of the question's words that a passage has.
const RELATED_WORDS: f32 = 0.5;
/// Chunks of a document in which the sentence nearest to the question is looked for.
const NEAREST: u32 = 5;

/// Words of questions that ask for a comparison, and words that limit it to nothing.
const COMPARING: &str = "change changed new news added removed different difference differ compare comparison contrast similar similarity same equal common \
    agree agreement contradict contradiction conflict update updated deviate deviation änderung änderungen geändert neu unterschied unterschiede \
    unterscheiden vergleich vergleiche gemeinsam gemeinsamkeiten";
const LIMITING_NOTHING: &str = "document file text version edition paper page dokument dokumente datei dateien version text between both two three four five \
    all any every everything anything most main important overall there what's list show tell give find please exactly old previous current \
    zwischen beide beiden alle alles was wie hat ist sind sich die der das den dem in im zu und";

/// Whether a question asks for the whole comparison, because it names nothing but that: "What has changed?"
pub(super) fn asks_for_all(question: &UserText, names: &[&str]) -> bool {
    let of = |text: &str| -> HashSet<String> { terms(text).into_iter().map(|(term, _)| term).collect() };
    let (wanted, comparing, rest) = (of(question.as_str()), of(COMPARING), of(LIMITING_NOTHING));
    let named: HashSet<String> = names.iter().flat_map(|name| of(&name.replace(['_', '.', '-'], " "))).collect();
    let is_no_limit = |term: &String| comparing.contains(term) || rest.contains(term) || named.contains(term);
    wanted.iter().any(|term| comparing.contains(term)) && wanted.iter().all(is_no_limit)
}

impl UseCases {
    /// Returns the points that bear on a question.
    pub(super) async fn narrow(
        &self,
        compared: &[Compared],
        question: &UserText,
        mut points: Vec<ComparisonPoint>,
    ) -> Result<Vec<ComparisonPoint>, Failure> {
        let ids: Vec<MessageId> = points.iter().flat_map(|p| &p.citations).filter_map(|c| Some(c.chunk.as_ref()?.chunk_id)).collect();
        let mut chunks: HashMap<MessageId, Chunk> = HashMap::new();
        for reader in readers(compared).iter().filter(|_| !ids.is_empty()) {
            chunks.extend(self.parts.store.chunks_by_id(reader, &ids).await?.into_iter().map(|chunk| (chunk.id, chunk)));
        }
        let mut texts: Vec<UserText> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut of_points: Vec<Vec<usize>> = Vec::new();
        for point in &points {
            let cited = point.citations.iter().filter_map(|c| Some(passage(c, chunks.get(&c.chunk.as_ref()?.chunk_id)?)));
            let places = cited.map(|text| {
                *known.entry(text).or_insert_with_key(|text| {
                    texts.push(UserText::from(text.as_str()));
                    texts.len() - 1
                })
            });
            of_points.push(places.collect());
        }
        let (relevance, least) = self.relevance(question, &texts).await?;
        let least = if lacks_name(question, &texts) { least.max(SURE) } else { stands_out(&relevance, least) };
        // Both sentences of a pair count: one of them may have been paired for other words.
        let of_point = |places: &Vec<usize>| {
            let all: f32 = places.iter().filter_map(|place| relevance.get(*place)).sum();
            all / places.len().max(1) as f32
        };
        let relevant: Vec<f32> = of_points.iter().map(of_point).collect();
        let least = relevant.iter().fold(least, |least, r| least.max(r * NEAR));
        let mut ranked: Vec<(f32, ComparisonPoint)> = relevant.into_iter().zip(points.drain(..)).filter(|(r, _)| *r >= least).collect();
        for (relevance, point) in &mut ranked {
            point.importance *= *relevance;
        }
        Ok(ranked.into_iter().map(|(_, point)| point).collect())
    }

    /// Returns a point with the sentences that are nearest to a question, or one that says that nothing was found about it.
    ///
    /// It is for a report without other points: sentences that neither resemble each other nor are unlike all others have none.
    pub(super) async fn direct_point(&self, compared: &[Compared], question: &UserText) -> Result<ComparisonPoint, Failure> {
        let (mut nearest, mut all, mut least, mut read) = (Vec::new(), Vec::new(), 0.0, Vec::new());
        for one in compared {
            let sentences = self.sentences_about(one, question).await?;
            let texts: Vec<UserText> = sentences.iter().map(|(.., text)| text.clone()).collect();
            let (relevance, least_of_one) = self.relevance(question, &texts).await?;
            read.extend(texts);
            let best = sentences.into_iter().zip(relevance.iter().copied()).max_by(|a, b| a.1.total_cmp(&b.1));
            nearest.push((one, best));
            all.extend(relevance);
            least = least_of_one;
        }
        // One limit for all documents: what one of them says in other words than another is not silence.
        let least = if lacks_name(question, &read) { least.max(SURE) } else { stands_out(&all, least) };
        let least = all.iter().fold(least, |least, r| least.max(r * NEAR));
        let (mut said, mut silent) = (Vec::new(), Vec::new());
        for (one, best) in nearest {
            match best.filter(|(_, relevance)| *relevance >= least) {
                Some(((chunk, sentence, _), _)) => said.push((one, chunk, sentence)),
                None => silent.push(one.document.document.id),
            }
        }
        let sentences: Vec<String> = said
            .iter()
            .zip(1..)
            .map(|((one, _, sentence), n)| {
                let only = if said.len() == 1 { "Only " } else { "" };
                format!("{only}{} says “{}” [{n}]", one.document.document.filename.as_str(), sentence.trim_end_matches('.'))
            })
            .collect();
        let citations = said.iter().zip(1..).map(|((one, chunk, sentence), n)| one.citation(n, chunk, &UserText::from(sentence.as_str())));
        let kind = if silent.is_empty() { PointKind::Insight } else { PointKind::Difference };
        let point =
            ComparisonPoint { kind, text: sentences.join(", and ").into(), citations: citations.collect(), silent, importance: 1.0 };
        Ok(if point.is_balanced() { point } else { silence(compared, question) })
    }

    /// Returns the sentences of the chunks of a document that a question finds: chunk, sentence, and the sentence with its heading.
    async fn sentences_about(&self, of: &Compared, question: &UserText) -> Result<Vec<(Chunk, String, UserText)>, Failure> {
        let mut found = Vec::new();
        for chunk in self.asked_chunks(of, question, NEAREST).await? {
            let body = chunk.text.as_str().get(chunk.headings().len()..).unwrap_or_default();
            for sentence in body.unicode_sentences().map(str::trim).filter(|sentence| !sentence.is_empty() && !sentence.ends_with('?')) {
                let text = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
                found.push((chunk.clone(), text, with_heading(sentence, &chunk).into()));
            }
        }
        Ok(found)
    }

    /// Returns the relevance of texts, in order, and the least relevance of a related one.
    async fn relevance(&self, question: &UserText, texts: &[UserText]) -> Result<(Vec<f32>, f32), Failure> {
        Ok(match self.relevance_of_texts(question, texts).await? {
            Some(relevance) => (relevance, RELATED),
            None => (texts.iter().map(|text| shared_words(question, text)).collect(), RELATED_WORDS),
        })
    }
}

/// Returns the least relevance of a related text: that which is given, or a greater one if no text is sure or stands out from the others.
fn stands_out(relevance: &[f32], least: f32) -> f32 {
    let mut sorted = relevance.to_vec();
    sorted.sort_by(f32::total_cmp);
    // Of the middle ones the lower: half of the sentences may be those of one matter, of each document one.
    let median = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default();
    let best = sorted.last().copied().unwrap_or_default();
    match (best >= SURE, sorted.len() < FEW) {
        (true, _) => least,
        (false, true) => least.max(RELATED_OF_FEW),
        (false, false) if best + (best - median) >= SURE => least,
        (false, false) => least.max(SURE),
    }
}

/// Whether a question has a name that none of the texts has: "Can I use ChatGPT?" Then a sentence that stands out is only the least unlike one.
fn lacks_name(question: &UserText, texts: &[UserText]) -> bool {
    // A capital at the beginning is that of a sentence, or of a German noun.
    let is_name = |word: &&str| word.chars().skip(1).any(char::is_uppercase);
    let lower: Vec<String> = texts.iter().map(|text| text.as_str().to_lowercase()).collect();
    let mut names = question.as_str().unicode_words().filter(is_name).map(str::to_lowercase);
    names.any(|name| !lower.iter().any(|text| text.contains(&name)))
}

/// Says that nothing was found about the question.
fn silence(compared: &[Compared], question: &UserText) -> ComparisonPoint {
    let names: Vec<&str> = compared.iter().map(|c| c.document.document.filename.as_str()).collect();
    let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
    let asked = question.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    ComparisonPoint {
        kind: PointKind::Insight,
        text: format!("Nothing about “{asked}” was found in {} or {last}", others.join(", ")).into(),
        citations: Vec::new(),
        silent: compared.iter().map(|c| c.document.document.id).collect(),
        importance: 1.0,
    }
}

/// Returns the sentence that is cited, with the heading above it.
fn passage(citation: &Citation, chunk: &Chunk) -> String {
    let cited = citation.excerpt.as_str().trim_end_matches('…');
    let text = chunk.text.as_str();
    let is_cited = |sentence: &&str| {
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        sentence.contains(cited)
    };
    with_heading(text.unicode_sentences().find(is_cited).unwrap_or(cited).trim(), chunk)
}

fn with_heading(sentence: &str, chunk: &Chunk) -> String {
    match &chunk.heading {
        Some(heading) if heading.as_str() != sentence => format!("{}. {sentence}", heading.as_str()),
        _ => sentence.to_owned(),
    }
}

/// Returns the share of the question's words that a text has.
fn shared_words(question: &UserText, text: &UserText) -> f32 {
    let of = |text: &UserText| -> HashSet<String> { terms(text.as_str()).into_iter().map(|(term, _)| term).collect() };
    let wanted = of(question);
    wanted.intersection(&of(text)).count() as f32 / wanted.len().max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsure_sentence_is_related_only_if_it_stands_out() {
        let is = |relevance: &[f32], least: f32| (stands_out(relevance, RELATED) - least).abs() < f32::EPSILON;
        assert!(is(&[0.7, 0.68, 0.66, 0.65], RELATED));
        assert!(is(&[0.33, 0.06, 0.05, 0.04], RELATED), "far above the others");
        assert!(is(&[0.42, 0.4, 0.38, 0.37], SURE));
        assert!(is(&[0.45, 0.44, 0.2, 0.2], RELATED), "one sentence of each document");
        assert!(is(&[0.42, 0.1], RELATED_OF_FEW) && is(&[], RELATED_OF_FEW));
    }

    #[test]
    fn name_that_no_text_has_is_missing() {
        let texts = ["There is no dress code.".into(), "The Landlord pays.".into()];
        let lacks = |question: &str| lacks_name(&question.into(), &texts);
        assert!(lacks("Can I use ChatGPT?") && lacks("ChatGPT?"));
        assert!(!lacks("Can I use jeans?") && !lacks("What does the Landlord pay?") && !lacks("Dress?") && !lacks("What's new and may I?"));
    }

    #[test]
    fn question_for_changes_only_asks_for_all() {
        let all = |question: &str| asks_for_all(&question.into(), &["handbook_2025.pdf", "Employee handbook"]);
        for question in [
            "What has changed?",
            "What is new?",
            "differences",
            "What's the difference between the two documents?",
            "What is new in handbook 2025?",
            "Was ist neu?",
        ] {
            assert!(all(question), "{question}");
        }
        for question in ["What has changed for dogs?", "Is there a new rent?", "handbook", "How do the deposits differ?", ""] {
            assert!(!all(question), "{question}");
        }
    }

    #[test]
    fn words_of_a_question_are_shared_in_any_form() {
        let shared = |question: &str, text: &str| shared_words(&question.into(), &text.into());
        assert!((shared("Are cats allowed?", "A cat is allowed here.") - 1.0).abs() < f32::EPSILON);
        assert!(shared("Are cats allowed?", "Bicycles are kept in the cellar.") < RELATED_WORDS);
        assert!(shared("", "Anything.") < RELATED_WORDS);
    }
}
