//! Answers from the facts and messages of a context, without a model: [`ExtractiveAnswerer`].
//!
//! It states the facts that fit the question in plain English. If no fact fits, it quotes messages. If no message fits
//! either, it says that it does not know. Every statement has a citation.
//!
//! - `asking` finds the question in a message. `question` parses it: `answer_type` finds the type of the answer, `times` what is a time, `class` its class, `names`, `cues` and `sides` the
//!   entities and the relation, and `period` the days.
//! - `parts` splits two questions in one sentence.
//! - `facts` selects facts, and `called` what has a name; `phrasing` writes them as sentences with the rules of `grammar`, `roles` by roles and names.
//!   `endings` says when something was over, and `citations` collects the marks.
//! - `past` selects what held in a period, and what came before something else.
//! - `evidence` and `members` check what the evidence of a fact says, and whether it belongs to the class asked for.
//! - `deaths` finds the message about somebody's death.
//! - `later` adds what was said after the statement that an answer rests on; `changes` recognises what changes it in other words.
//! - `quotes` selects messages about what the question names (`about`); `assertion` rejects wishes, denials and statements about others, `exclusion` what is
//!   about something else, and `clause` says yes or no.
//! - `reasons` finds reasons that are told without a "because".
//! - `verified` selects messages with a network if none has the words of the question.
//! - `passages` selects the chunk of a document if no message fits; `passage_times` leaves out those about another time.
//! - `values` answers about values: ages, dates, amounts, jobs.
//! - `sources` answers "how do you know" with the messages that say so.
//! - `accents` writes names as they were told, `spelling` corrects typing errors, `synonyms` asks in the words of documents, `rephrase` replaces "my sister" by her name, and `path` other descriptions.

mod about;
mod accents;
mod answer_type;
mod asking;
mod assertion;
mod called;
mod changes;
mod citations;
mod class;
mod clause;
mod cues;
mod deaths;
mod endings;
mod evidence;
mod excerpts;
mod exclusion;
mod facts;
mod grammar;
mod later;
mod lexicon;
mod members;
mod names;
mod parts;
mod passage_times;
mod passages;
mod past;
mod path;
mod period;
mod phrasing;
mod question;
mod quotes;
mod reasons;
mod rephrase;
mod roles;
mod sides;
mod smalltalk;
mod sources;
mod spelling;
mod synonyms;
#[cfg(test)]
mod tests;
mod times;
mod values;
mod verified;
mod words;

use std::{collections::HashSet, sync::Arc};

use async_trait::async_trait;
use tracing::warn;

use self::{
    answer_type::AnswerType,
    citations::CitationList,
    cues::CueIndex,
    evidence::is_told_by,
    grammar::{capital, day},
    passages::{Excerpt, Judged},
    phrasing::FactWriter,
    question::{Question, QuestionKind},
    quotes::{Quote, QuoteFinder},
    values::ValueIndex,
};
use recall_domain::{
    Caller, Citation, Entity, Message, Ontology, UserText,
    context::{Context, RankedFact, RankedMessage},
};
use recall_embedding::LocalEmbedder;
use recall_ports::{AnswerDraft, AnswerError, AnswerSink, AnswerVerifier, Answerer, Asked, PassageEncoder};

/// The answer if nothing supports one.
const UNKNOWN: &str = "I don't know: nothing I was told answers that.";
/// Most messages and passages that an answer names as what comes nearest.
const MAX_NEAREST: usize = 3;

/// An [`Answerer`] that extracts facts and quotes from the context.
pub struct ExtractiveAnswerer {
    cue_index: CueIndex,
    values: ValueIndex,
    embedder: LocalEmbedder,
    networks: Networks,
}

/// The networks of an [`ExtractiveAnswerer`]. Without them it compares words.
#[derive(Clone, Default)]
pub struct Networks {
    /// Finds the sentence of a chunk to quote. It must be what orders the chunks.
    pub passages: Option<Arc<dyn PassageEncoder>>,
    /// Finds messages that answer in other words than the question, and judges passages.
    pub verifier: Option<Arc<dyn AnswerVerifier>>,
}

impl ExtractiveAnswerer {
    /// Creates an answerer that finds relations by the cues of `ontology` and compares words with `embedder`.
    pub fn new(ontology: &Ontology, embedder: LocalEmbedder, networks: Networks) -> Self {
        Self { cue_index: CueIndex::new(ontology), values: ValueIndex::new(ontology), embedder, networks }
    }

    /// Returns the answer of the first source that has one, or says what comes nearest.
    ///
    /// These are facts and the words of messages, then a passage of a document, then messages in other words than the question.
    async fn find_answer(&self, asked: &Asked, context: &Context) -> AnswerDraft {
        if let Some(reply) = smalltalk::reply(asked.text.as_str()) {
            return AnswerDraft::ungrounded(reply);
        }
        if let Some(found) = self.answer_by_facts_and_quotes(asked, context) {
            return found;
        }
        let passages = match self.answer_by_passage(asked, context).await {
            Found::Answer(answer) => return answer,
            Found::Nearest(passages) => passages,
        };
        match self.answer_by_verified_messages(asked, context).await {
            Found::Answer(answer) => answer,
            Found::Nearest(messages) => unknown_but(context, with_passages(messages, passages)),
        }
    }

    /// Returns an answer with the messages that the verifier is sure of, or those that come nearest.
    async fn answer_by_verified_messages(&self, asked: &Asked, context: &Context) -> Found {
        let mut nearest: Vec<Near> = Vec::new();
        let Some(verifier) = self.networks.verifier.as_deref() else { return Found::Nearest(nearest) };
        // Some messages say "Maren", and others "my sister".
        for text in std::iter::once(&asked.text).chain(&asked.original) {
            let question = self.parse_question(&Asked { text: text.clone(), ..asked.clone() }, context);
            let finder =
                QuoteFinder { question: &question, entities: &context.entities, cue_index: &self.cue_index, embedder: &self.embedder };
            let verified = match finder.find_verified(verifier, text, &context.messages).await {
                Ok(verified) => verified,
                Err(cause) => {
                    warn!(%cause, "no message is quoted that has other words than the question");
                    return Found::Nearest(nearest);
                }
            };
            let mut cited = CitationList::new(context);
            let taken_back = later::taken_back(context, &context.messages);
            let quotes = later::with_corrections(verified.quotes, &context.messages, &taken_back);
            let sentences = write_quotes(&question, context, quotes, &mut cited);
            if let Some(draft) = grounded(&sentences, cited, context) {
                return Found::Answer(draft);
            }
            if nearest.is_empty() {
                let current = |quote| later::with_corrections(vec![quote], &context.messages, &taken_back).into_iter().next();
                nearest = verified.nearest.into_iter().filter_map(current).map(|quote| Near::of(context, &quote)).collect();
            }
        }
        Found::Nearest(nearest)
    }

    /// Returns what facts and the words of messages answer: a pure function of question and context.
    fn answer_by_facts_and_quotes(&self, asked: &Asked, context: &Context) -> Option<AnswerDraft> {
        let (mut sentences, mut cited) = (Vec::new(), CitationList::new(context));
        let with_text = |text: &str| Asked { text: text.into(), ..asked.clone() };
        if let Some(parts) = parts::split(asked.text.as_str(), |text| self.parse_question(&with_text(text), context)) {
            let answers = parts.map(|part| self.sentences(&with_text(&part), context, &mut cited));
            if answers.iter().all(|answer| !answer.is_empty()) {
                sentences = answers.concat();
            } else {
                cited = CitationList::new(context);
            }
        }
        if sentences.is_empty() {
            sentences = self.sentences(asked, context, &mut cited);
        }
        grounded(&sentences, cited, context)
    }

    /// Returns the sentences that answer one question, with their citations in `cited`; none if nothing supports an answer.
    fn sentences(&self, asked: &Asked, context: &Context, cited: &mut CitationList<'_>) -> Vec<String> {
        let question = self.parse_question(asked, context);
        if let Some(claim) = sources::claim_of(asked.text.as_str()) {
            let claim = Asked { text: claim.into(), ..asked.clone() };
            let mut claim_question = self.parse_question(&claim, context);
            let mut sentences = sources::write_sources(&claim_question, context, &self.cue_index, &self.embedder, cited);
            let is_statement = claim_question.kind == QuestionKind::YesNo;
            if sentences.is_empty() && is_statement {
                // A claim is no question for yes or no: what was said of it is wanted.
                (claim_question.kind, claim_question.ignores_verb) = (QuestionKind::What, true);
                let passages = passages::quotable(context);
                let finder = QuoteFinder {
                    question: &claim_question,
                    entities: &context.entities,
                    cue_index: &self.cue_index,
                    embedder: &self.embedder,
                };
                sentences = write_quotes(&claim_question, context, finder.find_quotes(&passages), cited);
            }
            if !sentences.is_empty() {
                return sentences;
            }
        }
        let passages = passages::quotable(context);
        let finder = QuoteFinder { question: &question, entities: &context.entities, cue_index: &self.cue_index, embedder: &self.embedder };
        // For times, numbers and endings, the words of a message say more than a fact.
        let is_of_end = |c: &cues::CueMatch| c.form == cues::Form::Ending;
        let quotes_first = matches!(question.answer_type, AnswerType::Time | AnswerType::Count(_) | AnswerType::Occupation)
            || (question.kind != QuestionKind::YesNo && question.cues.iter().any(is_of_end));
        let values = self.sentences_of_values(&question, asked, context, &passages, cited);
        if !values.is_empty() {
            return values;
        }
        let asking = Asking { answerer: self, asked, context };
        if let Some((open, found)) = called::decide_name(asked.text.as_str(), &question, &asking) {
            return FactWriter { cue_index: &self.cue_index, question: &open, found: &found, messages: &context.messages }.write(cited);
        }
        let taken_back = later::taken_back(context, &passages);
        let quotes = || later::with_corrections(finder.find_quotes(&passages), &passages, &taken_back);
        let mut sentences = if quotes_first { write_quotes(&question, context, quotes(), cited) } else { Vec::new() };
        if sentences.is_empty() {
            let mut found = facts::find_answer(&question, context, &self.cue_index, &self.embedder);
            if !question.is_about_past() {
                later::drop_replaced(&mut found.facts, &passages);
            }
            let deaths = deaths::told_deaths(&question, &found.facts, &context.messages);
            // Of several relatives, the others are told too.
            if !deaths.is_empty() && found.facts.len() <= 1 {
                return write_quotes(&question, context, deaths, cited);
            }
            let after = if question.is_general() || found.facts.is_empty() || question.is_about_past() {
                None
            } else {
                // Of two sides, the words of the newer one say which.
                let is_contested =
                    FactWriter { cue_index: &self.cue_index, question: &question, found: &found, messages: &context.messages }
                        .is_contested();
                let needs_words = question.answer_type == AnswerType::Time || is_contested;
                later::after_facts(&found.facts, needs_words, finder.find_all(&passages), &passages)
            };
            // Whether what was said later is a yes or a no is not known.
            found.verdict =
                found.verdict.filter(|_| after.as_ref().is_none_or(|q| found.facts.iter().any(|f| is_told_by(f, q.message.id))));
            sentences =
                FactWriter { cue_index: &self.cue_index, question: &question, found: &found, messages: &context.messages }.write(cited);
            sentences.extend(write_quotes(&question, context, deaths, cited));
            if question.is_general() {
                sentences.extend(self.values.describe(&question, &context.facts, asked.at, cited));
            } else if !sentences.is_empty() {
                sentences.extend(write_quotes(&question, context, after.into_iter().collect(), cited));
            }
        }
        if sentences.is_empty()
            && let Some((described, found)) =
                path::find_described(asked.text.as_str(), &question, &Asking { answerer: self, asked, context })
        {
            sentences =
                FactWriter { cue_index: &self.cue_index, question: &described, found: &found, messages: &context.messages }.write(cited);
            let after = later::after_facts(&found.facts, false, Vec::new(), &passages);
            sentences.extend(write_quotes(&question, context, after.into_iter().collect(), cited));
        }
        if sentences.is_empty() && !quotes_first {
            sentences = write_quotes(&question, context, quotes(), cited);
        }
        if !sentences.is_empty() && question.is_general() {
            sentences.extend(other_names(&question, context));
        }
        sentences
    }

    /// Returns the sentences of values that answer, with the later message that changes them.
    fn sentences_of_values(
        &self,
        question: &Question,
        asked: &Asked,
        context: &Context,
        passages: &[RankedMessage],
        cited: &mut CitationList<'_>,
    ) -> Vec<String> {
        let later_change = |facts: &[&RankedFact]| {
            let after = later::after_facts(facts, false, Vec::new(), passages);
            after.filter(|q| !facts.iter().any(|f| is_told_by(f, q.message.id)))
        };
        let cited_before = cited.citations.len();
        let mut values = self.values.answer(question, &context.facts, asked.at, &|f| later_change(&[f]).is_some(), cited);
        let told: HashSet<_> = cited.citations.iter().skip(cited_before).filter_map(|c| c.fact_id).collect();
        let told: Vec<&RankedFact> = context.facts.iter().filter(|f| told.contains(&f.fact.id)).collect();
        if !values.is_empty() {
            values.extend(write_quotes(question, context, later_change(&told).into_iter().collect(), cited));
        }
        values
    }

    /// Returns an answer with the best chunk, or that chunk as what comes nearest if it is not sure enough. The relevance of chunks is that for the whole
    /// question, so none is quoted for a part of it.
    async fn answer_by_passage(&self, asked: &Asked, context: &Context) -> Found {
        let none = Found::Nearest(Vec::new());
        let question = self.parse_question(asked, context);
        let Some(candidate) = passages::find_candidate(&question, &context.chunks, &self.networks) else { return none };
        let finder = QuoteFinder { question: &question, entities: &context.entities, cue_index: &self.cue_index, embedder: &self.embedder };
        let message = candidate.chunk.as_message().message;
        let Some((by_words, coverage)) = finder.find_passage(candidate.chunk, &message) else { return none };
        let excerpt = match candidate.excerpt(&asked.text, &question, by_words, coverage, &self.networks).await {
            Judged::Answers(excerpt) => excerpt,
            Judged::Near(Excerpt { text: excerpt, sentence }) => {
                let quote = Quote { message: &message, excerpt, sentence: Some(sentence), verdict: None, coverage };
                return Found::Nearest(vec![Near::of(context, &quote)]);
            }
            Judged::Neither => return none,
        };
        let versions = candidate.other_versions(&question, &excerpt.text);
        let messages: Vec<Message> = versions.iter().map(|(version, _)| version.as_message().message).collect();
        let excerpts = std::iter::once(excerpt).chain(versions.into_iter().map(|(_, excerpt)| excerpt));
        let quote =
            |(message, Excerpt { text: excerpt, sentence })| Quote { message, excerpt, sentence: Some(sentence), verdict: None, coverage };
        let quotes = std::iter::once(&message).chain(&messages).zip(excerpts).map(quote).collect();
        let mut cited = CitationList::new(context);
        let sentences = write_quotes(&question, context, quotes, &mut cited);
        grounded(&sentences, cited, context).map_or(none, Found::Answer)
    }

    fn parse_question(&self, asked: &Asked, context: &Context) -> Question {
        let mut known: Vec<&Entity> = context.entities.iter().collect();
        known.extend(context.facts.iter().flat_map(|f| [&f.subject, &f.object]));
        let mut seen = HashSet::new();
        known.retain(|e| seen.insert(e.id));
        // An entity without facts may come from a misread question ("Ada work"), so others come before it.
        let with_facts: HashSet<_> = context.facts.iter().flat_map(|f| [f.subject.id, f.object.id]).collect();
        let tier = |e: &Entity| match with_facts.contains(&e.id) {
            true => 0,
            false => 1 + u8::from(e.mention_count <= 1),
        };
        let known: Vec<(u8, &Entity)> = known.into_iter().map(|e| (tier(e), e)).collect();
        let excerpts = context.facts.iter().flat_map(|f| &f.evidence).map(|e| e.excerpt.as_str());
        let texts = context.messages.iter().map(|m| m.message.text.as_str()).chain(excerpts);
        let texts: Vec<Vec<words::Word>> = texts.map(words::words).collect();
        let mut question = Question::read(asked.text.as_str(), asked.at, &known, &texts, &self.cue_index);
        names::keep_meant(&question.words, &mut question.named, &context.facts);
        question
    }
}

/// Returns an answer of these sentences, if there are any.
fn grounded(sentences: &[String], cited: CitationList<'_>, context: &Context) -> Option<AnswerDraft> {
    let mut citations = cited.citations;
    context.cite_chunks(&mut citations);
    let draft = AnswerDraft { text: sentences.join(" ").into(), citations, nearest: Vec::new(), grounded: true, answerer: None };
    (!sentences.is_empty()).then_some(draft)
}

/// Questions within a question, asked of the same context.
struct Asking<'a> {
    answerer: &'a ExtractiveAnswerer,
    asked: &'a Asked,
    context: &'a Context,
}

impl<'a> path::Ask<'a> for Asking<'a> {
    fn parse(&self, text: &str) -> Question {
        self.answerer.parse_question(&Asked { text: text.into(), ..self.asked.clone() }, self.context)
    }

    fn find(&self, question: &Question) -> facts::FactAnswer<'a> {
        facts::find_answer(question, self.context, &self.answerer.cue_index, &self.answerer.embedder)
    }
}

/// Returns the other names of the one that a general question is about: "who is Pip".
fn other_names(question: &Question, context: &Context) -> Option<String> {
    let named = question.named.first()?;
    let entities = context.entities.iter().chain(context.facts.iter().flat_map(|f| [&f.subject, &f.object]));
    let entity = entities.into_iter().find(|e| named.entities.contains(&e.id) && !e.is_viewer)?;
    let aliases: Vec<&str> = entity.aliases.iter().map(String::as_str).filter(|a| *a != entity.name).take(3).collect();
    (!aliases.is_empty()).then(|| format!("{} is also called {}.", entity.name, aliases.join(" or ")))
}

/// Writes each quote as a sentence with its mark: "On 8 May 2026 you said: “…” [1].", or "In handbook.pdf, page 3: “…” [1]."
fn write_quotes(question: &Question, context: &Context, quotes: Vec<Quote<'_>>, cited: &mut CitationList<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for quote in quotes {
        let mark = cited.cite(citation(context, &quote));
        let source = quoted_source(context, &quote);
        let said = match quote.verdict {
            Some(true) => format!("Yes: {source}"),
            Some(false) => format!("No: {source}"),
            None => capital(&source),
        };
        // "Yesterday" is relative to the day of the message.
        let is_dated = question.kind == QuestionKind::When && context.chunk(quote.message.id).is_none();
        let when = if is_dated { period::relatives(&quote.excerpt, quote.message.sent_at) } else { Vec::new() };
        let when: Vec<String> = when.iter().map(|(words, period)| format!("{words}: {}", period.words())).collect();
        let when = if when.is_empty() { String::new() } else { format!(" ({})", when.join(", ")) };
        sentences.push(format!("{said} {mark}{when}."));
    }
    sentences
}

/// What a source of answers found.
enum Found {
    Answer(AnswerDraft),
    /// No answer, but what comes nearest to one, best first.
    Nearest(Vec<Near>),
}

/// What comes nearest to an answer: the words of the text, and their source.
struct Near {
    quoted: String,
    source: Citation,
}

impl Near {
    fn of(context: &Context, quote: &Quote<'_>) -> Self {
        Self { quoted: quoted_source(context, quote), source: citation(context, quote) }
    }
}

/// Returns what comes nearest of messages and passages. What the messages leave free is for the passages, which have at least one place.
fn with_passages(mut messages: Vec<Near>, mut passages: Vec<Near>) -> Vec<Near> {
    // A correction may stand for several messages.
    let mut seen = HashSet::new();
    messages.retain(|near| seen.insert(near.source.message_id));
    passages.truncate(1);
    messages.truncate(MAX_NEAREST - passages.len());
    messages.extend(passages);
    messages
}

/// Returns an answer that says that nothing answers, and what comes nearest.
fn unknown_but(context: &Context, nearest: Vec<Near>) -> AnswerDraft {
    if nearest.is_empty() {
        return AnswerDraft::ungrounded(UNKNOWN);
    }
    let quoted: Vec<&str> = nearest.iter().map(|n| n.quoted.as_str()).collect();
    let text = format!("{UNKNOWN} Nearest to it: {}.", quoted.join("; "));
    let mut nearest: Vec<Citation> = (1..).zip(nearest).map(|(index, near)| Citation { index, ..near.source }).collect();
    context.cite_chunks(&mut nearest);
    AnswerDraft { nearest, ..AnswerDraft::ungrounded(text) }
}

fn citation(context: &Context, quote: &Quote<'_>) -> Citation {
    Citation {
        chunk: None,
        index: 0,
        message_id: Some(quote.message.id),
        fact_id: None,
        excerpt: UserText::from(quote.sentence.as_deref().unwrap_or_else(|| without_headings(context, quote))),
        shared: false,
    }
}

/// Returns the excerpt of a quote with its source: "on 8 May 2026 you said: “…”", or "in handbook.pdf, page 3: “…”".
fn quoted_source(context: &Context, quote: &Quote<'_>) -> String {
    let excerpt = without_headings(context, quote);
    let Some(chunk) = context.chunk(quote.message.id) else {
        let who = quote.message.speaker.as_deref().unwrap_or("you");
        return format!("on {} {who} said: “{excerpt}”", day(quote.message.sent_at));
    };
    // "Not allowed" above "Dogs in the office" turns what it says.
    let title = chunk.document.title.as_ref().map(UserText::as_str);
    let heading = chunk.chunk.heading.as_ref().map(|h| h.as_str()).filter(|h| Some(*h) != title && !h.trim().is_empty());
    let under = heading.map(|heading| format!(", “{heading}”")).unwrap_or_default();
    format!("in {}{under}: “{excerpt}”", chunk.cited().place())
}

fn without_headings<'q>(context: &'q Context, quote: &'q Quote<'_>) -> &'q str {
    context.chunk(quote.message.id).map_or(quote.excerpt.as_str(), |chunk| chunk.chunk.without_headings(&quote.excerpt))
}

#[async_trait]
impl Answerer for ExtractiveAnswerer {
    fn name(&self) -> &str {
        "extractive"
    }

    fn only_quotes(&self) -> bool {
        true
    }

    fn messages_wanted(&self) -> u32 {
        30
    }

    fn rephrase(&self, asked: &Asked, context: &Context) -> Option<UserText> {
        let text = asked.text.as_str();
        let corrected = || spelling::correct(text, context, |word| self.embedder.knows(word));
        if let Some(corrected) = accents::restore(text, context).or_else(corrected) {
            return Some(corrected.into());
        }
        let question = self.parse_question(asked, context);
        rephrase::replace_role(text, &question, &context.facts, &self.cue_index)
            .or_else(|| path::replace_description(text, &question, &Asking { answerer: self, asked, context }))
            .or_else(|| rephrase::add_occupation_words(&question))
            .or_else(|| synonyms::replace(text, &question, context))
            .filter(|rephrased| rephrased != text)
            .map(UserText::from)
    }

    async fn answer(&self, _caller: &Caller, asked: &Asked, context: &Context, sink: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError> {
        let draft = self.find_answer(asked, context).await;
        sink.delta(draft.text.as_str());
        Ok(draft)
    }
}
