//! Selects the messages of the context to quote when no fact answers the question.
//!
//! A message must contain the content words of the question or similar ones. It must be by or about the person named,
//! give an answer of the expected type, and state it as true.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    answer_type::{AnswerType, tells_sum},
    assertion::{self, Statement},
    clause,
    cues::{CueIndex, Form},
    evidence::has_narrower,
    excerpts::{MAX_EXCERPT, quoted_range, shorten, without_quotations},
    exclusion::is_excluded,
    later,
    lexicon::{
        are_siblings, class_named, classes_of, is_answered_by, is_appointment, is_asking_word, is_function_word, is_light_verb,
        is_specific_class,
    },
    names::NameMention,
    period,
    question::{Question, QuestionKind},
    words::{Word, is_first_person, words},
};
use recall_domain::{Entity, Message, MessageKind, Role, context::RankedMessage};
use recall_embedding::LocalEmbedder;
use recall_text::sure_concepts;

/// Maximum number of quotes in one answer.
pub(super) const MAX_QUOTES: usize = 3;
/// Share of the question's content words that a message must contain. With less, too much stays unanswered.
const COVERAGE: f32 = 0.62;
/// The same for yes-or-no questions, where one missing word can reverse the answer.
pub(super) const YES_NO_COVERAGE: f32 = 0.85;
/// The same for chunks of documents: among many long texts, one contains most words by chance.
const CHUNK_COVERAGE: f32 = 0.8;
/// Cosine similarity from which one word may replace another.
///
/// Unrelated words have less than 0.3; inflections and close synonyms have more than 0.6.
const SIMILAR: f32 = 0.6;
/// The same for a word that an answer depends on: the only content word of a question, and the object of a yes-or-no question. "Engaged" tells nothing of a
/// wedding, and coffee is no alcohol.
const VERY_SIMILAR: f32 = 0.75;
/// Score of another word of the same relation: enough for a quote, not for a yes or no.
const SAME_RELATION_SCORE: f32 = 0.7;
/// Score of a member of the class asked for: enough if the other words match as well, or if there are none.
const CLASS_MEMBER_SCORE: f32 = 0.65;
/// Most words that somebody types to search for something.
const MAX_SEARCHED: usize = 4;
/// Number of sentences of a message that are compared by embeddings. The rest is compared by words alone.
const EMBEDDED_SENTENCES: usize = 50;

/// A message that answers the question, with the text to quote.
#[derive(Debug)]
pub(super) struct Quote<'a> {
    pub(super) message: &'a Message,
    pub(super) excerpt: String,
    /// The sentence of the excerpt that answers, which the citation shows; `None` for the whole excerpt.
    pub(super) sentence: Option<String>,
    /// The answer to a yes-or-no question, if it is clear.
    pub(super) verdict: Option<bool>,
    pub(super) coverage: f32,
}

/// A content word of the question.
pub(super) struct Term {
    position: usize,
    stem: String,
    pub(super) plain: String,
    vector: Vec<f32>,
    /// Cosine similarity from which another word may replace it in a message.
    least: f32,
    /// What it means in documents, or the phrase that it is in; synonyms have the same.
    concept: Option<&'static str>,
    pub(super) is_name: bool,
    /// Whether it is a class noun: "which instrument".
    is_class: bool,
    /// Relations that it is a cue of, each with whether the cue ends the relation. Other such cues may replace it.
    relations: Vec<(usize, bool)>,
    in_period: bool,
}

/// Finds quotes for a question.
pub(super) struct QuoteFinder<'a> {
    pub(super) question: &'a Question,
    pub(super) entities: &'a [Entity],
    pub(super) cue_index: &'a CueIndex,
    pub(super) embedder: &'a LocalEmbedder,
}

/// A sentence with its words and their vectors.
pub(super) struct Sentence {
    words: Vec<Word>,
    vectors: Vec<Option<Vec<f32>>>,
    /// What its words mean in documents.
    concepts: Vec<Option<&'static str>>,
}

impl QuoteFinder<'_> {
    /// Returns the best quotes, best first.
    pub(super) fn find_quotes<'m>(&self, ranked: &'m [RankedMessage]) -> Vec<Quote<'m>> {
        let mut quotes = self.find_all(ranked);
        // Quotes that cover clearly less than the best are off topic.
        let best = quotes.first().map_or(0.0, |q| q.coverage);
        quotes.retain(|q| q.coverage >= best - 0.1);
        quotes.truncate(MAX_QUOTES);
        quotes
    }

    /// Whether a sentence asks. That the same was asked before, without a question mark, is no answer.
    pub(super) fn is_asked(&self, sentence: &str) -> bool {
        let is_same = || words(sentence).iter().map(|w| &w.plain).eq(self.question.words.iter().map(|w| &w.plain));
        assertion::is_question(sentence) || (assertion::opens_like_question(sentence) && is_same())
    }

    /// Returns all messages that answer the question, best first.
    pub(super) fn find_all<'m>(&self, ranked: &'m [RankedMessage]) -> Vec<Quote<'m>> {
        let terms = self.terms();
        // "What is my job" and "what is my name" have no content words other than the type of the answer.
        let oneself = |n: &NameMention| self.question.words.get(n.start).is_some_and(|w| is_first_person(&w.plain));
        let named = &self.question.named;
        let of_oneself = matches!(self.question.answer_type, AnswerType::Occupation | AnswerType::Name)
            && !named.is_empty()
            && named.iter().all(oneself);
        if terms.is_empty() && !of_oneself {
            return Vec::new();
        }
        let only_names = terms.iter().all(|t| t.is_name || t.in_period);
        if only_names && self.question.kind == QuestionKind::YesNo && !terms.iter().any(|t| t.in_period) {
            // "Have I been to Georgia": a message that mentions Georgia is no answer.
            return Vec::new();
        }
        let usable = |m: &&Message| m.role != Role::Assistant && m.kind != Some(MessageKind::Question);
        let speakers: HashSet<&str> = ranked.iter().filter_map(|r| r.message.speaker.as_deref()).collect();
        let mut quotes: Vec<Quote<'m>> = ranked
            .iter()
            .map(|r| &r.message)
            .filter(usable)
            .filter_map(|m| self.quote(m, antecedent(m, ranked), &terms, &speakers))
            .collect();
        later::drop_retracted_verdicts(&mut quotes, ranked, self.entities, |w| terms.iter().any(|t| t.stem == w.stem));
        // The sort is stable, so equal coverage keeps the ranking.
        quotes.sort_by(|a, b| b.coverage.total_cmp(&a.coverage));
        let mut seen = HashSet::new();
        quotes.retain(|q| seen.insert(q.excerpt.clone()));
        quotes
    }

    /// Returns the content words of the question.
    pub(super) fn terms(&self) -> Vec<Term> {
        const VAGUE: [&str; 4] = ["new", "recent", "latest", "last"];
        let q = self.question;
        let mut terms: Vec<Term> = Vec::new();
        let concepts = sure_concepts(q.words.iter().map(|w| w.plain.as_str()));
        for (i, word) in q.words.iter().enumerate() {
            let relations: Vec<(usize, bool)> = q
                .cues
                .iter()
                .filter(|c| c.positions.contains(&i) && !c.weak && !matches!(c.form, Form::Noun | Form::InverseNoun))
                .map(|c| (c.relation, c.form == Form::Ending))
                .collect();
            let light = relations.is_empty() && (is_light_verb(&word.stem) || VAGUE.contains(&word.plain.as_str()));
            let in_period = q.in_period(i);
            let sort = q.answer_type == AnswerType::Amount && matches!(word.stem.as_str(), "cost" | "price" | "worth" | "charg");
            let sort = sort
                || (q.answer_type == AnswerType::Occupation && matches!(word.stem.as_str(), "work" | "job" | "live" | "occup" | "profess"));
            // "When is my hairdresser appointment?": "hairdresser is on the 20th" tells it.
            let sort = sort || (q.answer_type == AnswerType::Time && i > 0 && is_appointment(&word.plain) && !q.is_filler(i - 1));
            let filler = sort || q.is_filler(i) || is_asking_word(word) || is_first_person(&word.plain) || light;
            if (filler && !in_period) || terms.iter().any(|t| t.stem == word.stem || (t.in_period && in_period)) {
                continue;
            }
            terms.push(Term {
                position: i,
                stem: word.stem.clone(),
                plain: word.plain.clone(),
                vector: self.embedder.vector(&word.plain).0,
                least: SIMILAR,
                concept: concepts.get(i).copied().flatten(),
                // "My shop" is the name of an entity, but the word is also content.
                is_name: !in_period && (word.capital && (q.in_name(i) || (word.proper && relations.is_empty())) || self.names_person(i)),
                is_class: q.class.positions.contains(&i) || q.attribute == Some(i),
                relations,
                in_period,
            });
        }
        let mut content: Vec<&mut Term> = terms.iter_mut().filter(|t| !t.is_name && !t.in_period).collect();
        // The first word of a yes-or-no question is its verb.
        let verbs = usize::from(content.len() > 1);
        if content.len() == 1 || q.kind == QuestionKind::YesNo {
            content.iter_mut().skip(verbs).for_each(|t| t.least = VERY_SIMILAR);
        }
        terms
    }

    /// Returns the quote of a message, if it answers the question.
    fn quote<'m>(&self, message: &'m Message, before: Option<&Message>, terms: &[Term], speakers: &HashSet<&str>) -> Option<Quote<'m>> {
        let spoken = without_quotations(message.text.as_str());
        let text = spoken.as_str();
        let addressee = assertion::addressee(message, speakers);
        let before = before.filter(|_| !self.is_about(message, addressee, true));
        if before.is_none() && !self.is_about(message, addressee, true) || before.is_some_and(|b| !self.is_about(b, addressee, true)) {
            return None;
        }
        let sentences: Vec<&str> = text.unicode_sentences().filter(|s| !self.is_asked(s)).collect();
        let read: Vec<Sentence> = sentences.iter().enumerate().map(|(i, s)| self.read_sentence(s, i < EMBEDDED_SENTENCES)).collect();
        let shares: Vec<Vec<f32>> = read.iter().map(|s| terms.iter().map(|t| self.share(t, s, message)).collect()).collect();
        let weight = |t: &Term| if t.is_name { 0.5 } else { 1.0 };
        let score = |row: &Vec<f32>| row.iter().zip(terms).map(|(share, t)| share * weight(t)).sum::<f32>();
        // Of two sentences with the same words, prefer the one with an answer of the expected type.
        let answers = |i: usize| if self.question.answer_type.is_given_in(sentences[i], &self.question.words) { 0.2 } else { 0.0 };
        let rate: Vec<f32> = shares.iter().enumerate().map(|(i, row)| score(row) + answers(i)).collect();
        let best = (0..read.len()).max_by(|a, b| rate[*a].total_cmp(&rate[*b]).then(b.cmp(a)))?;
        // A pronoun in the best sentence may refer to a neighbouring sentence.
        let (first, last) = quoted_range(&sentences, best);
        // "She broke her hip": the message before names her.
        let earlier = before.map(|b| self.read_sentence(b.text.as_str(), true));
        let earlier_shares: Vec<f32> =
            terms.iter().map(|t| earlier.as_ref().zip(before).map_or(0.0, |(s, b)| self.share(t, s, b))).collect();
        if before.is_some()
            && terms.iter().enumerate().all(|(i, t)| t.is_name || shares[best].get(i).is_none_or(|s| *s <= earlier_shares[i]))
        {
            return None;
        }
        let near = |t: usize| {
            shares.get(first..=last).into_iter().flatten().filter_map(|row| row.get(t)).fold(earlier_shares[t], |m: f32, s| m.max(*s))
        };
        let all: f32 = terms.iter().map(weight).sum();
        let has: f32 = terms.iter().enumerate().map(|(i, t)| near(i) * weight(t)).sum();
        let coverage = if terms.is_empty() { 1.0 } else { has / all.max(f32::MIN_POSITIVE) };
        let least = match (self.question.kind, message.role) {
            (QuestionKind::YesNo, _) => YES_NO_COVERAGE,
            (_, Role::Document) => CHUNK_COVERAGE,
            _ => COVERAGE,
        };
        let only_names = terms.iter().all(|t| t.is_name || t.in_period);
        let about = only_names || terms.iter().enumerate().any(|(i, t)| !t.is_name && near(i) > 0.0);
        // The verb of a known relation must be present. Without it, the sentence says something else about the entities.
        let verb_missing = terms.iter().enumerate().any(|(i, t)| !t.relations.is_empty() && near(i) == 0.0);
        // "Which films": a message without a film is about something else.
        let is_needed = |t: &Term| (t.is_class && is_specific_class(&t.plain)) || self.question.attribute == Some(t.position);
        let class_missing = terms.iter().enumerate().any(|(i, t)| is_needed(t) && near(i) == 0.0);
        let quoted = sentences.get(first..=last)?.concat();
        let narrow = only_names
            || matches!(self.question.answer_type, AnswerType::Age | AnswerType::Count(_) | AnswerType::Occupation | AnswerType::Name);
        let given = if narrow { sentences.get(best)? } else { quoted.as_str() };
        if (coverage < least || !about || verb_missing || class_missing)
            || !self.question.answer_type.is_given_in(given, &self.question.words)
            || (terms.is_empty() && !assertion::is_self_description(&read[best].words, &self.question.answer_type))
        {
            return None;
        }
        let mut verbs = terms.iter().filter(|t| !t.is_name && !t.is_class && !self.question.ignores_verb);
        let verb = match self.question.kind {
            // "Who came along on the trip": a noun further back is no verb.
            QuestionKind::Who => verbs.next().and_then(|t| self.position_of(t, &read[best])),
            _ => verbs.filter_map(|t| self.position_of(t, &read[best])).min(),
        };
        // "Ikenna told his class we have a dog. We do not have a dog." is no clear answer.
        let negations = |i: usize| assertion::is_negated(&read[i].words, None);
        let agree = (0..read.len()).filter(|i| score(&shares[*i]) >= score(&shares[best])).all(|i| negations(i) == negations(best));
        let is_clear = agree && read.iter().all(|s| assertion::is_plain(&s.words));
        let verdict = clause::verdict_or_end(self.question, sentences[best], &read[best].words, is_clear);
        let statement = Statement { question: self.question, entities: self.entities, message, addressee };
        let asserts = statement.asserts_answer(&read[best].words, verb, verdict.is_some());
        if !self.question.has_successor(read.iter().flat_map(|s| &s.words)) && !asserts || self.is_excluded(message, &quoted) {
            return None;
        }
        let whole = message.text.as_str();
        let excerpt = shorten(if whole.chars().count() <= MAX_EXCERPT { whole } else { &quoted });
        // A few words to search for, which the user typed before, are no answer.
        if self.question.kind != QuestionKind::YesNo && !self.question.ignores_verb && self.repeats_question(&excerpt) {
            return None;
        }
        Some(Quote { message, excerpt, sentence: None, verdict, coverage })
    }

    /// Whether a text is a few words, all of the question.
    fn repeats_question(&self, text: &str) -> bool {
        let is_asked = |w: &Word| self.question.words.iter().any(|asked| asked.stem == w.stem);
        let said = words(text);
        said.len() <= MAX_SEARCHED
            && !said.iter().any(|w| is_first_person(&w.plain))
            && said.iter().filter(|w| !is_function_word(w)).all(is_asked)
    }

    /// Whether a text speaks of something that excludes what is asked for. A passage of a document is quoted with its place.
    pub(super) fn is_excluded(&self, message: &Message, text: &str) -> bool {
        message.role != Role::Document && is_excluded(self.question, text)
    }

    pub(super) fn read_sentence(&self, sentence: &str, by_meaning: bool) -> Sentence {
        let words = words(sentence);
        // A pasted log is one sentence of thousands of words, so only the first are compared.
        let vectors = words
            .iter()
            .enumerate()
            .map(|(i, w)| (by_meaning && i < 200 && !is_function_word(w)).then(|| self.embedder.vector(&w.plain).0))
            .collect();
        let concepts = sure_concepts(words.iter().map(|w| w.plain.as_str()));
        Sentence { words, vectors, concepts }
    }

    /// Returns how well a sentence covers a term, 0 to 1.
    pub(super) fn share(&self, term: &Term, sentence: &Sentence, message: &Message) -> f32 {
        let any = |test: &dyn Fn(&Word) -> bool| sentence.words.iter().any(test);
        if let Some(wanted) = self.question.period.filter(|_| term.in_period) {
            // "Yesterday" is another day in every message; the name of a month or weekday is not.
            let days = || period::relatives(message.text.as_str(), message.sent_at);
            let named = || !wanted.relative && any(&|w| w.stem == term.stem);
            let on_it = wanted.period.has(message.sent_at) || named() || days().iter().any(|(_, p)| p.overlaps(&wanted.period));
            return if on_it { 1.0 } else { 0.0 };
        }
        let has_concept = || term.concept.is_some() && sentence.concepts.contains(&term.concept);
        let is_synonym = || message.role == Role::Document && !term.is_name && has_concept();
        if any(&|w| w.stem == term.stem || is_answered_by(&term.plain, &w.plain)) || is_synonym() {
            return 1.0;
        }
        if term.is_name {
            let by = message.speaker.iter().flat_map(|s| words(s)).any(|w| w.stem == term.stem);
            let named = self.question.named.iter().find(|n| (n.start..n.end).contains(&term.position));
            let is_other = |name: Vec<Word>| name.iter().all(|w| any(&|said| said.capital && said.stem == w.stem));
            return if by || named.is_some_and(|n| self.other_names(n).any(is_other)) { 1.0 } else { 0.0 };
        }
        if term.plain.chars().any(char::is_numeric) {
            // A number never replaces another.
            return 0.0;
        }
        if term.is_class {
            // "Which pet", "what kind of dog": a member of the class is the answer.
            let which =
                self.question.words.iter().any(|w| matches!(w.plain.as_str(), "kind" | "type" | "sort" | "breed" | "kinds" | "types"));
            let mut kinds: Vec<&str> = class_named(&term.plain).into_iter().collect();
            kinds.extend(which.then(|| classes_of(&term.plain)).into_iter().flatten());
            if any(&|w| classes_of(&w.plain).iter().any(|k| kinds.contains(k))) {
                return CLASS_MEMBER_SCORE;
            }
        }
        if assertion::is_wish(&term.plain) && any(&|w| assertion::is_wish(&w.plain)) {
            return SAME_RELATION_SCORE;
        }
        // "Who do I owe money to?" is answered by "I owe my mum 200".
        if term.plain == "money" && self.question.kind == QuestionKind::Who && tells_sum(&sentence.words) {
            return 1.0;
        }
        let least = if message.role == Role::Document { SIMILAR } else { term.least };
        let soft = self.nearest(term, sentence, least).map_or(0.0, |(_, alike)| alike);
        let is_related = |(r, ending): &(usize, bool)| self.cue_index.find_verb(*r, *ending, &sentence.words).is_some();
        if term.relations.iter().any(is_related) && has_narrower(&term.plain, &sentence.words) {
            return soft.max(SAME_RELATION_SCORE);
        }
        // The vectors of "buy" and "sell" are similar, but the meaning is opposite.
        if term.relations.iter().any(|(_, ending)| *ending) { 0.0 } else { soft }
    }

    /// Returns the position and similarity of the word most similar to a term, if any is similar enough.
    fn nearest(&self, term: &Term, sentence: &Sentence, least: f32) -> Option<(usize, f32)> {
        let cosine = |v: &[f32]| v.iter().zip(&term.vector).map(|(a, b)| a * b).sum::<f32>();
        let near = sentence.vectors.iter().enumerate().filter_map(|(i, v)| Some((i, cosine(v.as_ref()?))));
        // "What breed is the dog": a dog is no breed.
        let stands_for_itself = |i: usize| self.question.words.iter().any(|w| w.stem != term.stem && w.stem == sentence.words[i].stem);
        // The vectors of unknown words with digits say nothing: "5k" is no "pb".
        let has_digit = |i: usize| sentence.words[i].plain.chars().any(char::is_numeric);
        let near = near.filter(|(i, alike)| *alike >= least && !stands_for_itself(*i) && !has_digit(*i));
        // A father is neither a brother nor the family.
        let is_kin = |word: &str| classes_of(word).contains(&"kin") || word == "family";
        let is_other = |word: &str| are_siblings(&term.plain, word) || (is_kin(&term.plain) && is_kin(word));
        let near = near.filter(|(i, _)| !is_other(&sentence.words[*i].plain));
        near.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the position of a term in a sentence.
    fn position_of(&self, term: &Term, sentence: &Sentence) -> Option<usize> {
        // Only a term after its subject in the question is a verb; "who" is a subject.
        let subject_before =
            self.question.kind == QuestionKind::Who || self.question.named.iter().any(|n| n.end <= term.position && !n.possessive);
        let own = || sentence.words.iter().position(|w| w.stem == term.stem);
        let near = || self.nearest(term, sentence, term.least).map(|(i, _)| i);
        let related = || term.relations.iter().find_map(|(r, ending)| self.cue_index.find_verb(*r, *ending, &sentence.words));
        subject_before.then(|| own().or_else(near).or_else(related)).flatten()
    }
}

/// Returns the message before, by the same speaker, if this one starts with a pronoun that may refer to it.
fn antecedent<'m>(message: &Message, ranked: &'m [RankedMessage]) -> Option<&'m Message> {
    const PRONOUNS: [&str; 10] = ["he", "she", "they", "it", "he's", "she's", "they're", "it's", "his", "her"];
    let opens = words(message.text.as_str()).iter().take(4).any(|w| PRONOUNS.contains(&w.plain.as_str()));
    let before = |m: &&Message| {
        let distance = message.position.saturating_sub(m.position);
        m.session == message.session && m.speaker == message.speaker && m.role == message.role && (1..=2).contains(&distance)
    };
    ranked.iter().map(|r| &r.message).filter(before).max_by_key(|m| m.position).filter(|_| opens)
}
