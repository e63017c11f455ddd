//! The ontology's cues in the form in which they are looked for in questions. Built once per ontology.

use super::{
    classes::{is_light, is_particle, is_place_particle},
    words::{Word, is_past_form, stem, words},
};
use recall_domain::{EntityType, Ontology, Relation};

/// How the sides of a fact stand around a cue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// "S verb O".
    Verb,
    /// "O verb S".
    InverseVerb,
    /// "S's noun is O".
    Noun,
    /// "S's noun is O" where the fact is O-R-S.
    InverseNoun,
    /// "S verb O" where that denies the relation.
    Negating,
    /// "S verb O" where that says that it is over.
    Ending,
}

#[derive(Clone, Debug)]
struct Cue {
    relation: usize,
    form: Form,
    /// Stems, in order.
    core: Vec<String>,
    /// The prepositions that belong to it.
    particles: Vec<String>,
    /// So common a verb that a surer reading goes before it.
    weak: bool,
}

/// All cues of an ontology.
#[derive(Clone, Debug)]
pub(super) struct CueBook {
    relations: Vec<Relation>,
    cues: Vec<Cue>,
}

/// A relation that a question asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CueMatch {
    pub(super) relation: usize,
    pub(super) form: Form,
    /// Place of the first word of the cue.
    pub(super) start: usize,
    /// Place of its last word that is no preposition: a name before it stands before the verb ("has she been to").
    pub(super) head: usize,
    /// Places of all words of the cue, its prepositions included.
    pub(super) places: Vec<usize>,
    /// Stem of its first word.
    pub(super) stem: String,
    /// Stems of words of the cue that narrow the relation.
    pub(super) manner: Vec<String>,
    /// How sure it is; compare within one question.
    pub(super) strength: f32,
    /// So common a verb that it may mean anything.
    pub(super) weak: bool,
}

/// A relation with so many nouns puts different things under one name (sister, son, uncle). A question for one of
/// them must not be answered with another.
const MANY_NOUNS: usize = 24;

impl CueBook {
    pub(super) fn new(ontology: &Ontology) -> Self {
        let relations: Vec<Relation> = ontology.iter().cloned().collect();
        let mut cues = Vec::new();
        for (i, relation) in relations.iter().enumerate() {
            let c = &relation.cues;
            let forms = [
                (&c.verbs, Form::Verb),
                (&c.inverse_verbs, Form::InverseVerb),
                (&c.nouns, Form::Noun),
                (&c.inverse_nouns, Form::InverseNoun),
            ];
            let phrase = [relation.phrase.clone()];
            let all = forms.iter().flat_map(|(list, form)| list.iter().map(|cue| (cue, *form)));
            let more = c.adjectives.iter().chain(&phrase).map(|cue| (cue, Form::Verb));
            cues.extend(all.chain(more).filter_map(|(cue, form)| Cue::new(i, form, cue, false)));
            cues.extend(c.weak_verbs.iter().filter_map(|cue| Cue::new(i, Form::Verb, cue, true)));
            cues.extend(c.ending_verbs.iter().filter_map(|cue| Cue::new(i, Form::Ending, cue, false)));
            cues.extend(c.negating_verbs.iter().filter_map(|cue| Cue::new(i, Form::Negating, cue, false)));
        }
        Self { relations, cues }
    }

    pub(super) fn relation(&self, index: usize) -> &Relation {
        &self.relations[index]
    }

    /// Whether a question by this relation asks for one kind out of many.
    pub(super) fn is_collective(&self, index: usize) -> bool {
        self.relations[index].cues.nouns.len() > MANY_NOUNS
    }

    /// A relation by name.
    pub(super) fn by_name(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|r| r.name == name)
    }

    /// Where a text has a verb of a relation. One that is common (as "have" is) does not count, and what ends a relation
    /// does not state it.
    pub(super) fn speaks_of(&self, relation: usize, ending: bool, text: &[Word]) -> Option<usize> {
        let fits = |c: &&Cue| match c.form {
            Form::Verb | Form::InverseVerb => !ending,
            Form::Ending => ending,
            Form::Noun | Form::InverseNoun | Form::Negating => false,
        };
        self.cues.iter().filter(fits).filter(|c| c.relation == relation && !c.weak).find_map(|c| c.place_in(text))
    }

    /// Relations of which a word is a noun ("sister", "boss"), also in the plural.
    pub(super) fn nouns(&self, word: &str) -> Vec<(usize, Form)> {
        let stem = stem(word);
        let noun = |c: &&Cue| matches!(c.form, Form::Noun | Form::InverseNoun) && c.core == [stem.clone()];
        self.cues.iter().filter(noun).map(|c| (c.relation, c.form)).collect()
    }

    /// Whether a question by this relation asks for one kind out of many.
    pub(super) fn is_collective_name(&self, relation: &str) -> bool {
        self.by_name(relation).is_some_and(|r| r.cues.nouns.len() > MANY_NOUNS)
    }

    /// Relations that tell where a thing is at a time: functional, towards a place.
    pub(super) fn whereabouts(&self) -> impl Iterator<Item = usize> {
        let is_place = |r: &Relation| r.functional && r.object_types == [EntityType::Place];
        self.relations.iter().enumerate().filter(move |(_, r)| is_place(r)).map(|(i, _)| i)
    }

    /// The relations asked for, surest first. `taken` are places of words that belong to names.
    pub(super) fn find(&self, question: &[Word], taken: &[bool], asks_where: bool) -> Vec<CueMatch> {
        let mut found: Vec<CueMatch> = self.cues.iter().filter_map(|cue| cue.find(question, taken, asks_where)).collect();
        found.sort_by(|a, b| b.strength.total_cmp(&a.strength));
        // What is clearly less sure than the best reading is a worse reading of the same words.
        let best = found.first().map_or(0.0, |m| m.strength);
        found.retain(|m| m.strength > best - 0.15 && m.strength > 0.65);
        let mut seen = std::collections::HashSet::new();
        found.retain(|m| seen.insert((m.relation, m.form as u8, m.start)));
        found
    }
}

impl Cue {
    fn new(relation: usize, form: Form, text: &str, weak: bool) -> Option<Self> {
        let (mut core, mut particles) = (Vec::new(), Vec::new());
        for word in words(text) {
            if is_particle(&word.plain) {
                particles.push(word.plain);
            } else if !matches!(word.plain.as_str(), "be" | "is" | "are" | "get" | "a" | "an" | "the") {
                core.push(word.stem);
            }
        }
        // "be at" and the like are no words to look for; a question with "where" finds such facts without them.
        // Nor is "do": half of all questions have it.
        core.retain(|part| part != "do");
        // "Make" may mean anything, also where the relation means "be making".
        let weak = weak || (particles.is_empty() && matches!(core.as_slice(), [one] if is_light(one)));
        (!core.is_empty()).then_some(Self { relation, form, core, particles, weak })
    }

    fn find(&self, question: &[Word], taken: &[bool], asks_where: bool) -> Option<CueMatch> {
        let mut places = Vec::with_capacity(self.core.len() + self.particles.len());
        for part in &self.core {
            let from = places.last().map_or(0, |p| p + 1);
            let to = if places.is_empty() { question.len() } else { question.len().min(from + 3) };
            places.push(
                (from..to).find(|i| !taken[*i] && question[*i].stem == *part && (self.core.len() > 1 || !is_auxiliary(question, *i)))?,
            );
        }
        let start = *places.first()?;
        let end = *places.last()?;
        let base = if self.weak { 0.7 } else { 1.0 };
        let mut strength = base + 0.2 * (self.core.len() as f32 - 1.0);
        let mut missing = 0;
        for particle in &self.particles {
            match (end + 1..question.len()).find(|i| question[*i].plain == *particle && !places.contains(i)) {
                Some(place) => places.push(place),
                None if asks_where && is_place_particle(particle) => {}
                None => missing += 1,
            }
        }
        if self.particles.is_empty() {
            // "work" where the question says "work with" is a worse reading than "work with".
            let followed = question.get(end + 1).is_some_and(|w| is_particle(&w.plain) && w.plain != "by");
            strength -= if followed { 0.1 } else { 0.0 };
        } else if missing == 0 {
            strength += 0.1;
        } else {
            strength -= 0.4 * missing as f32;
        }
        // The particle of another verb: "work with" is not "work on", nor is "go to Rome with" "go with".
        let next = question.get(end + 1).filter(|w| is_particle(&w.plain) && w.plain != "by");
        let other = next.is_some_and(|w| missing > 0 || !(self.particles.is_empty() || self.particles.contains(&w.plain)));
        if other {
            return None;
        }
        // "go hiking in" asks for hiking, not for any visit.
        let manner = self.core.iter().skip(1).zip(&places[1..]).filter(|(_, i)| question[**i].plain.ends_with("ing"));
        let manner = manner.map(|(part, _)| part.clone()).collect();
        let stem = stem(&question[start].plain);
        Some(CueMatch { relation: self.relation, form: self.form, start, head: end, places, stem, manner, strength, weak: self.weak })
    }

    /// Where a text has the cue's words close together, in order, with its prepositions.
    fn place_in(&self, text: &[Word]) -> Option<usize> {
        let first = self.core.first()?;
        let starts = text.iter().enumerate().filter(|(_, w)| w.stem == *first).map(|(i, _)| i);
        starts.into_iter().find(|start| {
            let mut from = start + 1;
            let core = self.core.iter().skip(1).all(|part| {
                let found = (from..text.len().min(from + 3)).find(|i| text[*i].stem == *part);
                from = found.map_or(from, |i| i + 1);
                found.is_some()
            });
            let near = text.get(from..text.len().min(from + 4)).unwrap_or_default();
            core && self.particles.iter().all(|p| near.iter().any(|w| w.plain == *p))
        })
    }
}

/// Whether "have" at a place only makes a tense: "have I visited", not "do I have".
fn is_auxiliary(question: &[Word], place: usize) -> bool {
    let helped =
        question[..place].iter().rev().take(4).any(|w| matches!(w.plain.as_str(), "do" | "does" | "did" | "don't" | "doesn't" | "to"));
    let participle =
        question[place + 1..].iter().take(4).any(|w| is_past_form(&w.plain) && !matches!(w.plain.as_str(), "is" | "are" | "has"));
    question[place].stem == "have" && !helped && participle
}
