//! [`ExtractiveAnswerer`]: answers from facts and messages of the context without any model. It states the facts
//! that fit the question in plain English, quotes messages where no fact fits, cites each, and says that it does
//! not know when neither does. It never says what no citation backs.

mod cues;
mod facts;
mod messages;
mod question;
mod sentence;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashMap;

use async_trait::async_trait;

use self::{
    cues::CueBook,
    facts::{Found, Verdict, is_denied},
    question::{Asks, Question},
    sentence::{Mood, capital, clause, day, list, month, name},
};
use super::LocalEmbedder;
use crate::{
    domain::{
        Citation, Entity, EntityId, Evidence, FactStatus, Ontology, Stance, UserText,
        context::{Context, RankedFact},
    },
    ports::{AnswerError, AnswerSink, Answerer, Draft},
};

/// What is said when nothing supports an answer.
const UNKNOWN: &str = "I don't know: nothing I was told answers that.";

/// [`Answerer`] that extracts.
pub struct ExtractiveAnswerer {
    book: CueBook,
    embedder: LocalEmbedder,
}

impl ExtractiveAnswerer {
    /// An answerer that reads questions by the cues of `ontology` and compares words by `embedder`.
    pub fn new(ontology: &Ontology, embedder: LocalEmbedder) -> Self {
        Self { book: CueBook::new(ontology), embedder }
    }

    /// The answer; a pure function of question and context.
    pub fn draft(&self, question: &UserText, context: &Context) -> Draft {
        let mut known: Vec<&Entity> = context.entities.iter().collect();
        known.extend(context.facts.iter().flat_map(|f| [&f.subject, &f.object]));
        let mut seen = std::collections::HashSet::new();
        known.retain(|e| seen.insert(e.id));
        let question = Question::read(question.as_str(), &known, &self.book);
        let found = facts::find(&question, &context.facts, &self.book, &self.embedder);
        let mut page = Page::new(context);
        let mut sentences = self.state(&question, &found, &mut page);
        if messages::are_wanted(&question, !found.facts.is_empty()) {
            for quote in messages::find(&question, &context.entities, &context.messages, &self.embedder) {
                let who = quote.message.speaker.as_deref().unwrap_or("you");
                let mark = page.cite(Citation {
                    index: 0,
                    message_id: Some(quote.message.id),
                    fact_id: None,
                    excerpt: UserText::from(quote.excerpt.clone()),
                });
                sentences.push(format!("On {} {who} said: “{}” {mark}.", day(quote.message.sent_at), quote.excerpt));
            }
        }
        if sentences.is_empty() {
            return Draft { text: UNKNOWN.into(), citations: Vec::new(), grounded: false };
        }
        Draft { text: sentences.join(" ").into(), citations: page.citations, grounded: true }
    }

    /// The facts found, in sentences.
    fn state(&self, question: &Question, found: &Found<'_>, page: &mut Page<'_>) -> Vec<String> {
        let mut left: Vec<&RankedFact> = found.facts.clone();
        let mut sentences = Vec::new();
        while let Some(first) = left.first().copied() {
            let rivals: Vec<&RankedFact> =
                left.iter().filter(|f| f.fact.id != first.fact.id && self.are_rivals(first, f)).copied().collect();
            let (said, used) = if rivals.is_empty() {
                let group: Vec<&RankedFact> = left.iter().filter(|f| belongs(first, f)).copied().collect();
                (self.together(question, &group, page), group)
            } else {
                (self.rivalry(first, &rivals, page), std::iter::once(first).chain(rivals).collect())
            };
            sentences.extend(said);
            left.retain(|f| !used.iter().any(|u| u.fact.id == f.fact.id));
        }
        if let (Some(verdict), Some(first)) = (found.verdict, sentences.first_mut()) {
            let word = match verdict {
                Verdict::Yes => "Yes",
                Verdict::No => "No",
                Verdict::NotAnyMore => "Not any more",
            };
            *first = format!("{word}, {first}");
        }
        sentences.iter().map(|s| format!("{}.", capital(s))).collect()
    }

    /// Facts that differ in one side only: "John likes Mary [1], sushi [2] and hiking [3]".
    fn together(&self, question: &Question, group: &[&RankedFact], page: &mut Page<'_>) -> Option<String> {
        let first = group.first()?;
        let relation = self.book.by_name(&first.fact.relation)?;
        let when = |f: &RankedFact| match (question.asks, f.fact.status, f.fact.valid_to) {
            (_, FactStatus::Ended, Some(end)) => format!(" (until {})", month(end)),
            (Asks::When, _, _) => page_date(f).map_or_else(String::new, |at| format!(" (told on {})", day(at))),
            _ => String::new(),
        };
        let mut parts = Vec::new();
        for f in group {
            let mark = page.cite_fact(f, relation.phrase.as_str());
            parts.push(format!("{} {mark}{}", name(&f.object, &f.subject), when(f)));
        }
        Some(clause(&first.subject, relation, &list(&parts), mood(first)))
    }

    /// Facts that cannot all hold. What has ended is told as such; what holds is weighed.
    fn rivalry(&self, first: &RankedFact, rivals: &[&RankedFact], page: &mut Page<'_>) -> Option<String> {
        let mut held: Vec<&RankedFact> = std::iter::once(first).chain(rivals.iter().copied()).collect();
        // Compared at one moment; with one half-life for all rivals any moment gives the same shares.
        let latest = held.iter().map(|f| f.fact.weighed_at).max()?;
        let weight = |f: &RankedFact| {
            let half_life = self.book.by_name(&f.fact.relation).map_or(365.0, |r| r.half_life_days);
            let days = (latest - f.fact.weighed_at).num_seconds() as f64 / 86_400.0;
            f.fact.support * (-days / half_life).exp2()
        };
        let (mut ended, mut active): (Vec<&RankedFact>, Vec<&RankedFact>) =
            held.drain(..).partition(|f| f.fact.status == FactStatus::Ended);
        active.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        ended.sort_by_key(|f| std::cmp::Reverse(f.fact.valid_to));
        let mut said = Vec::new();
        let total: f64 = active.iter().map(|f| weight(f)).sum();
        for (i, f) in active.iter().enumerate() {
            let relation = self.book.by_name(&f.fact.relation)?;
            let mark = page.cite_fact(f, relation.phrase.as_str());
            let alone = clause(&f.subject, relation, &name(&f.object, &f.subject), mood(f));
            said.push(if active.len() == 1 {
                format!("{alone} {mark}")
            } else {
                let share = (100.0 * weight(f) / total.max(f64::MIN_POSITIVE)).round();
                let how = if i == 0 { "most likely" } else { "less likely" };
                format!("{how} {alone} ({share}%) {mark}")
            });
        }
        for f in ended {
            let relation = self.book.by_name(&f.fact.relation)?;
            let mark = page.cite_fact(f, relation.phrase.as_str());
            let object = name(&f.object, &f.subject);
            said.push(match (f.fact.valid_to, said.is_empty()) {
                (Some(end), false) => format!("until {} it was {object} {mark}", month(end)),
                (None, false) => format!("before, it was {object} {mark}"),
                (_, true) => format!("{} {mark}", clause(&f.subject, relation, &object, Mood::Ended)),
            });
        }
        Some(said.join("; "))
    }

    fn are_rivals(&self, a: &RankedFact, b: &RankedFact) -> bool {
        let Some(relation) = self.book.by_name(&a.fact.relation) else { return false };
        let same_subject = a.fact.subject == b.fact.subject;
        let functional = relation.functional && a.fact.relation == b.fact.relation && same_subject && a.fact.object != b.fact.object;
        let opposite = relation.opposite.as_ref() == Some(&b.fact.relation) && same_subject && a.fact.object == b.fact.object;
        functional || (opposite && !is_denied(a) && !is_denied(b))
    }
}

#[async_trait]
impl Answerer for ExtractiveAnswerer {
    fn name(&self) -> &str {
        "extractive"
    }

    async fn answer(&self, question: &UserText, context: &Context, sink: &dyn AnswerSink) -> Result<Draft, AnswerError> {
        let draft = self.draft(question, context);
        sink.delta(draft.text.as_str());
        Ok(draft)
    }
}

/// Whether two facts are told in one sentence: same subject, relation and mood.
fn belongs(a: &RankedFact, b: &RankedFact) -> bool {
    a.fact.subject == b.fact.subject && a.fact.relation == b.fact.relation && mood(a) == mood(b)
}

fn mood(f: &RankedFact) -> Mood {
    match f.fact.status {
        FactStatus::Ended => Mood::Ended,
        _ if is_denied(f) => Mood::Denied,
        _ => Mood::Holds,
    }
}

/// The evidence that shows best why the fact is told the way it is.
fn best_evidence(f: &RankedFact) -> Option<&Evidence> {
    let wanted = match mood(f) {
        Mood::Holds => Stance::Supports,
        Mood::Denied => Stance::Opposes,
        Mood::Ended => Stance::Ends,
    };
    let rank = |e: &&Evidence| (e.stance == wanted, e.span.is_some(), (e.confidence * 1000.0) as i64, e.created_at);
    f.evidence.iter().max_by_key(rank)
}

fn page_date(f: &RankedFact) -> Option<crate::domain::Timestamp> {
    best_evidence(f).map(|e| e.created_at).or(f.fact.valid_from)
}

/// The citations of one answer.
struct Page<'a> {
    context: &'a Context,
    citations: Vec<Citation>,
    facts: HashMap<(EntityId, String, EntityId), u32>,
}

impl<'a> Page<'a> {
    fn new(context: &'a Context) -> Self {
        Self { context, citations: Vec::new(), facts: HashMap::new() }
    }

    fn cite(&mut self, mut citation: Citation) -> String {
        citation.index = u32::try_from(self.citations.len() + 1).unwrap_or(u32::MAX);
        let mark = format!("[{}]", citation.index);
        self.citations.push(citation);
        mark
    }

    /// A mark for a fact, the same one if it was cited before.
    fn cite_fact(&mut self, f: &RankedFact, phrase: &str) -> String {
        let key = (f.fact.subject, f.fact.relation.clone(), f.fact.object);
        if let Some(index) = self.facts.get(&key) {
            return format!("[{index}]");
        }
        let evidence = best_evidence(f);
        let words = evidence.map(|e| e.excerpt.clone()).filter(|e| !e.as_str().is_empty());
        // Evidence without words of its own: the message's, if it is at hand; else the fact itself.
        let message = evidence.and_then(|e| self.context.messages.iter().find(|m| m.message.id == e.message));
        let excerpt = words
            .or_else(|| message.map(|m| m.message.text.clone()))
            .unwrap_or_else(|| UserText::from(format!("{} {phrase} {}", f.subject.name, f.object.name)));
        let mark = self.cite(Citation { index: 0, message_id: evidence.map(|e| e.message), fact_id: Some(f.fact.id), excerpt });
        self.facts.insert(key, u32::try_from(self.citations.len()).unwrap_or(u32::MAX));
        mark
    }
}
