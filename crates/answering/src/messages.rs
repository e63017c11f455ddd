//! Which messages of the context answer the question in someone's own words, when no fact does. A message counts
//! only if it has what the question is about (its rare words, or words close to them in meaning, said by or about the
//! one who is named), gives an answer of the sort wanted, and tells it as so.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    classes::{are_siblings, is_asking, is_called, is_first_person, is_function, is_light, is_we, kind_named, kinds_of},
    cues::{CueBook, Form},
    manner::{self, Telling},
    names::Named,
    period,
    question::{Asks, Question},
    want::Want,
    words::{Word, same_noun, words},
};
use recall_domain::{
    Entity, Message, MessageKind, Role,
    context::{RankedMessage, SHARED_SPEAKER},
};
use recall_embedding::LocalEmbedder;

/// Messages quoted in one answer.
const MOST: usize = 3;
/// Share of the question's content that a message must have. With less, too much of the question is unanswered.
const COVERAGE: f32 = 0.62;
/// The same for yes-or-no questions, where one word that is not matched turns the answer around.
const COVERAGE_OF_WHETHER: f32 = 0.85;
/// Cosine of two words from which one may stand for the other. Unrelated words lie below 0.3, inflections and close
/// synonyms above 0.6.
const ALIKE: f32 = 0.6;
/// How far another word of the relation stands for a verb: enough for quoting, not for a yes or no.
const BY_RELATION: f32 = 0.7;
/// How far one of a kind stands for the kind asked for: enough where the rest is said as well, or nothing else is asked.
const ONE_OF_A_KIND: f32 = 0.65;
/// Sentences of a message that are compared by meaning. Past them a pasted document is compared by its words alone.
const COMPARED: usize = 50;
/// Longest excerpt, in characters.
const EXCERPT: usize = 240;

/// A message that answers, with the words to quote.
#[derive(Debug)]
pub(super) struct Quote<'a> {
    pub(super) message: &'a Message,
    pub(super) excerpt: String,
    /// What it says to a yes-or-no question, where that is beyond doubt.
    pub(super) verdict: Option<bool>,
    coverage: f32,
}

/// A word of the question that an answer must have.
pub(super) struct Term {
    place: usize,
    stem: String,
    plain: String,
    vector: Vec<f32>,
    is_name: bool,
    /// It asks for one of a kind: "which instrument".
    is_class: bool,
    /// Relations of whose cue it is part, and whether that ends them; any other cue of the sort may stand for it.
    relations: Vec<(usize, bool)>,
    in_period: bool,
}

/// What quotes are looked for with.
pub(super) struct Search<'a> {
    pub(super) question: &'a Question,
    pub(super) entities: &'a [Entity],
    pub(super) book: &'a CueBook,
    pub(super) embedder: &'a LocalEmbedder,
}

/// One sentence, read.
struct Sentence {
    words: Vec<Word>,
    vectors: Vec<Option<Vec<f32>>>,
}

impl Search<'_> {
    /// The best quotes, best first.
    pub(super) fn quotes<'m>(&self, ranked: &'m [RankedMessage]) -> Vec<Quote<'m>> {
        let terms = self.terms();
        // "What is my job", "what is my name": the sort of answer is all that the question says.
        let oneself = |n: &Named| self.question.words.get(n.start).is_some_and(|w| is_first_person(&w.plain));
        let named = &self.question.named;
        let of_oneself = matches!(self.question.want, Want::Occupation | Want::Name) && !named.is_empty() && named.iter().all(oneself);
        if terms.is_empty() && !of_oneself {
            return Vec::new();
        }
        let only_names = terms.iter().all(|t| t.is_name || t.in_period);
        if only_names && self.question.asks == Asks::Whether && !terms.iter().any(|t| t.in_period) {
            // "Have I been to Georgia": that someone spoke of Georgia says nothing.
            return Vec::new();
        }
        let usable = |m: &&Message| m.role == Role::User && m.kind != Some(MessageKind::Question);
        let speakers: HashSet<&str> = ranked.iter().filter_map(|r| r.message.speaker.as_deref()).collect();
        let mut quotes: Vec<Quote<'m>> = ranked
            .iter()
            .map(|r| &r.message)
            .filter(usable)
            .filter_map(|m| self.quote(m, taken_up(m, ranked), &terms, &speakers))
            .collect();
        // Stable: equal coverage keeps the order of the ranking.
        quotes.sort_by(|a, b| b.coverage.total_cmp(&a.coverage));
        // What covers clearly less than the best is beside the point.
        let best = quotes.first().map_or(0.0, |q| q.coverage);
        quotes.retain(|q| q.coverage >= best - 0.1);
        let mut seen = HashSet::new();
        quotes.retain(|q| seen.insert(q.excerpt.clone()));
        quotes.truncate(MOST);
        quotes
    }

    /// What the question is about: no glue, and names only as names.
    fn terms(&self) -> Vec<Term> {
        const VAGUE: [&str; 4] = ["new", "recent", "latest", "last"];
        let q = self.question;
        let mut terms: Vec<Term> = Vec::new();
        for (i, word) in q.words.iter().enumerate() {
            let relations: Vec<(usize, bool)> = q
                .cues
                .iter()
                .filter(|c| c.places.contains(&i) && !c.weak && !matches!(c.form, Form::Noun | Form::InverseNoun))
                .map(|c| (c.relation, c.form == Form::Ending))
                .collect();
            let light = relations.is_empty() && (is_light(&word.stem) || VAGUE.contains(&word.plain.as_str()));
            let in_period = q.in_period(i);
            let sort = q.want == Want::Amount && matches!(word.stem.as_str(), "cost" | "price" | "worth" | "charg");
            let sort = sort || (q.want == Want::Occupation && matches!(word.stem.as_str(), "work" | "job" | "live" | "occup" | "profess"));
            let glue = sort || q.is_glue(i) || is_asking(word) || is_first_person(&word.plain) || light;
            if (glue && !in_period) || terms.iter().any(|t| t.stem == word.stem || (t.in_period && in_period)) {
                continue;
            }
            terms.push(Term {
                place: i,
                stem: word.stem.clone(),
                plain: word.plain.clone(),
                vector: self.embedder.vector(&word.plain).0,
                // "My shop" is known by that word, and yet the word says what is asked about.
                is_name: !in_period && word.capital && (q.in_name(i) || (word.proper && relations.is_empty())),
                is_class: q.class_places.contains(&i),
                relations,
                in_period,
            });
        }
        terms
    }

    fn quote<'m>(&self, message: &'m Message, before: Option<&Message>, terms: &[Term], speakers: &HashSet<&str>) -> Option<Quote<'m>> {
        let text = message.text.as_str();
        let addressee = manner::addressee(message, speakers);
        let before = before.filter(|_| !self.is_about(message, addressee));
        if before.is_none() && !self.is_about(message, addressee) || before.is_some_and(|b| !self.is_about(b, addressee)) {
            return None;
        }
        let sentences: Vec<&str> = text.unicode_sentences().filter(|s| !s.trim_end().ends_with('?')).collect();
        let read: Vec<Sentence> = sentences.iter().enumerate().map(|(i, s)| self.read(s, i < COMPARED)).collect();
        let shares: Vec<Vec<f32>> = read.iter().map(|s| terms.iter().map(|t| self.share(t, s, message)).collect()).collect();
        let weight = |t: &Term| if t.is_name { 0.5 } else { 1.0 };
        let score = |row: &Vec<f32>| row.iter().zip(terms).map(|(share, t)| share * weight(t)).sum::<f32>();
        // Of two that speak of the same, the one that answers.
        let answers = |i: usize| if self.question.want.is_met(sentences[i], &self.question.words) { 0.2 } else { 0.0 };
        let rate: Vec<f32> = shares.iter().enumerate().map(|(i, row)| score(row) + answers(i)).collect();
        let best = (0..read.len()).max_by(|a, b| rate[*a].total_cmp(&rate[*b]).then(b.cmp(a)))?;
        // Sentences beside the best one may have what it takes up again by a pronoun.
        let (first, last) = extent(&sentences, best);
        // "She broke her hip": who she is was said just before.
        let earlier = before.map(|b| self.read(b.text.as_str(), true));
        let taken_up: Vec<f32> = terms.iter().map(|t| earlier.as_ref().zip(before).map_or(0.0, |(s, b)| self.share(t, s, b))).collect();
        if before.is_some() && terms.iter().enumerate().all(|(i, t)| t.is_name || shares[best].get(i).is_none_or(|s| *s <= taken_up[i])) {
            return None;
        }
        let near =
            |t: usize| shares.get(first..=last).into_iter().flatten().filter_map(|row| row.get(t)).fold(taken_up[t], |m: f32, s| m.max(*s));
        let all: f32 = terms.iter().map(weight).sum();
        let has: f32 = terms.iter().enumerate().map(|(i, t)| near(i) * weight(t)).sum();
        let coverage = if terms.is_empty() { 1.0 } else { has / all.max(f32::MIN_POSITIVE) };
        let least = if self.question.asks == Asks::Whether { COVERAGE_OF_WHETHER } else { COVERAGE };
        let only_names = terms.iter().all(|t| t.is_name || t.in_period);
        let about = only_names || terms.iter().enumerate().any(|(i, t)| !t.is_name && near(i) > 0.0);
        // A verb whose relation is known must be told; without it something else is said of the same things.
        let verb_missing = terms.iter().enumerate().any(|(i, t)| !t.relations.is_empty() && near(i) == 0.0);
        if coverage < least || !about || verb_missing {
            return None;
        }
        let quoted = sentences.get(first..=last)?.concat();
        let narrow = only_names || matches!(self.question.want, Want::Age | Want::Count(_));
        let given = if narrow { sentences.get(best)? } else { quoted.as_str() };
        if !self.question.want.is_met(given, &self.question.words)
            || (terms.is_empty() && !manner::is_of_oneself(&read[best].words, &self.question.want))
        {
            return None;
        }
        let verb = terms.iter().filter(|t| !t.is_name && !t.is_class).filter_map(|t| self.place_of(t, &read[best])).min();
        let telling = Telling { question: self.question, entities: self.entities, message, addressee };
        if !telling.is_told(&read[best].words, verb) {
            return None;
        }
        let sure = coverage > 0.95 && verb.is_some() && self.question.asks == Asks::Whether;
        let verdict = sure.then(|| !manner::is_negated(&read[best].words, verb));
        let excerpt = cut(if text.chars().count() <= EXCERPT { text } else { &quoted });
        Some(Quote { message, excerpt, verdict, coverage })
    }

    fn read(&self, sentence: &str, by_meaning: bool) -> Sentence {
        let words = words(sentence);
        // A pasted log is one sentence of thousands of words; what is near is near early on.
        let vectors = words
            .iter()
            .enumerate()
            .map(|(i, w)| (by_meaning && i < 200 && !is_function(w)).then(|| self.embedder.vector(&w.plain).0))
            .collect();
        Sentence { words, vectors }
    }

    /// How far a sentence has a term, 0 to 1.
    fn share(&self, term: &Term, sentence: &Sentence, message: &Message) -> f32 {
        let any = |test: &dyn Fn(&Word) -> bool| sentence.words.iter().any(test);
        if let Some(asked) = self.question.period.filter(|_| term.in_period) {
            // "Yesterday" is another day in every message; a month or a weekday is called the same.
            let days = || period::relatives(message.text.as_str(), message.sent_at);
            let named = || !asked.relative && any(&|w| w.stem == term.stem);
            let on_it = asked.period.has(message.sent_at) || named() || days().iter().any(|(_, p)| p.overlaps(&asked.period));
            return if on_it { 1.0 } else { 0.0 };
        }
        if any(&|w| w.stem == term.stem || is_called(&term.plain, &w.plain)) {
            return 1.0;
        }
        if term.is_name {
            let by = message.speaker.iter().flat_map(|s| words(s)).any(|w| w.stem == term.stem);
            return if by { 1.0 } else { 0.0 };
        }
        if term.plain.chars().any(char::is_numeric) {
            // One number never stands for another.
            return 0.0;
        }
        if term.is_class {
            // "Which pet", "what kind of dog": another of the kind is the answer.
            let which =
                self.question.words.iter().any(|w| matches!(w.plain.as_str(), "kind" | "type" | "sort" | "breed" | "kinds" | "types"));
            let mut kinds: Vec<&str> = kind_named(&term.plain).into_iter().collect();
            kinds.extend(which.then(|| kinds_of(&term.plain)).into_iter().flatten());
            if any(&|w| kinds_of(&w.plain).iter().any(|k| kinds.contains(k))) {
                return ONE_OF_A_KIND;
            }
        }
        if manner::is_wish(&term.plain) && any(&|w| manner::is_wish(&w.plain)) {
            return BY_RELATION;
        }
        let soft = self.nearest(term, sentence).map_or(0.0, |(_, alike)| alike);
        if term.relations.iter().any(|(r, ending)| self.book.speaks_of(*r, *ending, &sentence.words).is_some()) {
            return soft.max(BY_RELATION);
        }
        // To buy is near to selling in meaning, and the contrary.
        if term.relations.iter().any(|(_, ending)| *ending) { 0.0 } else { soft }
    }

    /// The word of a sentence that is nearest to a term in meaning, if it is near at all.
    fn nearest(&self, term: &Term, sentence: &Sentence) -> Option<(usize, f32)> {
        let cosine = |v: &[f32]| v.iter().zip(&term.vector).map(|(a, b)| a * b).sum::<f32>();
        let near = sentence.vectors.iter().enumerate().filter_map(|(i, v)| Some((i, cosine(v.as_ref()?))));
        let near = near.filter(|(i, alike)| *alike >= ALIKE && !are_siblings(&term.plain, &sentence.words[*i].plain));
        near.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Where a sentence has a term.
    fn place_of(&self, term: &Term, sentence: &Sentence) -> Option<usize> {
        // Only what comes after its subject in the question is its verb; "who" is a subject.
        let subject_before = self.question.asks == Asks::Who || self.question.named.iter().any(|n| n.end <= term.place && !n.possessive);
        let own = || sentence.words.iter().position(|w| w.stem == term.stem);
        let near = || self.nearest(term, sentence).map(|(i, _)| i);
        let related = || term.relations.iter().find_map(|(r, ending)| self.book.speaks_of(*r, *ending, &sentence.words));
        subject_before.then(|| own().or_else(near).or_else(related)).flatten()
    }

    /// Whether the message is said by, or speaks of, who is named. "I" is who asks: their messages have no speaker.
    fn is_about(&self, message: &Message, addressee: Option<&str>) -> bool {
        let question = self.question;
        let said: HashSet<String> = words(message.text.as_str()).into_iter().map(|w| w.plain).collect();
        let mut by: Vec<String> = message.speaker.iter().flat_map(|s| words(s)).map(|w| w.plain).collect();
        if said.contains("you") || said.contains("your") {
            by.extend(addressee.into_iter().flat_map(words).map(|w| w.plain));
        }
        // A proper name that stands for nothing known is a name all the same.
        let stranger = |i: usize, w: &Word| w.proper && !question.in_name(i) && !question.in_period(i) && !is_function(w);
        let mut strangers = question.words.iter().enumerate().filter(|(i, w)| stranger(*i, w));
        if strangers.any(|(_, w)| !said.iter().any(|s| same_noun(s, &w.plain)) && !by.contains(&w.plain)) {
            return false;
        }
        question.named.iter().all(|named| {
            let word = &question.words[named.start];
            if is_first_person(&word.plain) {
                return message.speaker.is_none()
                    || (is_we(&word.plain) && message.speaker.as_deref() == Some(SHARED_SPEAKER))
                    || self.entities.iter().any(|e| e.is_viewer && message.speaker.as_deref() == Some(&e.name));
            }
            let own = &question.words[named.start..named.end];
            // Of "the Osprey launch" it is the proper name that tells which.
            let proper = own.iter().any(|w| w.capital);
            let telling = own.iter().filter(|w| w.capital || !proper);
            telling.into_iter().any(|w| said.iter().any(|s| same_noun(s, &w.plain)) || by.contains(&w.plain))
        })
    }
}

/// The message that this one goes on from, speaking of the same person by a pronoun: the one before, of the same speaker.
fn taken_up<'m>(message: &Message, ranked: &'m [RankedMessage]) -> Option<&'m Message> {
    const PRONOUNS: [&str; 10] = ["he", "she", "they", "it", "he's", "she's", "they're", "it's", "his", "her"];
    let opens = words(message.text.as_str()).iter().take(4).any(|w| PRONOUNS.contains(&w.plain.as_str()));
    let before = |m: &&Message| {
        let distance = message.position.saturating_sub(m.position);
        m.session == message.session && m.speaker == message.speaker && m.role == message.role && (1..=2).contains(&distance)
    };
    ranked.iter().map(|r| &r.message).filter(before).max_by_key(|m| m.position).filter(|_| opens)
}

/// The sentences around the best one that are quoted with it: what follows first, as long as all fit.
fn extent(sentences: &[&str], best: usize) -> (usize, usize) {
    let length = |i: usize| sentences.get(i).map_or(0, |s| s.chars().count());
    let (mut first, mut last, mut all) = (best, best, length(best));
    while last + 1 < sentences.len() && all + length(last + 1) <= EXCERPT {
        last += 1;
        all += length(last);
    }
    while first > 0 && all + length(first - 1) <= EXCERPT {
        first -= 1;
        all += length(first);
    }
    (first, last)
}

/// At most so many characters, cut between words.
fn cut(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= EXCERPT {
        return text.to_owned();
    }
    let mut cut = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        if cut.chars().count() + word.chars().count() > EXCERPT {
            break;
        }
        cut.push_str(word);
    }
    if cut.is_empty() {
        // One word longer than an excerpt.
        cut = text.chars().take(EXCERPT).collect();
    }
    format!("{}…", cut.trim_end())
}
