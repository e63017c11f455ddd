//! The ontology's cues in the form in which they are looked for in questions. Built once per ontology.

use super::words::{PARTICLES, PLACE_PARTICLES, Word, stem, words};
use crate::domain::{EntityType, Ontology, Relation};

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
}

#[derive(Clone, Debug)]
struct Cue {
    relation: usize,
    form: Form,
    /// Stems, in order.
    core: Vec<String>,
    /// The prepositions that belong to it.
    particles: Vec<String>,
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
    /// Places of all words of the cue, its prepositions included.
    pub(super) places: Vec<usize>,
    /// Stem of its first word.
    pub(super) stem: String,
    /// How sure it is; compare within one question.
    pub(super) strength: f32,
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
            let more = c.adjectives.iter().chain(&c.ending_verbs).chain(&phrase).map(|cue| (cue, Form::Verb));
            cues.extend(all.chain(more).filter_map(|(cue, form)| Cue::new(i, form, cue)));
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
        found.retain(|m| m.strength > best - 0.15);
        found.dedup_by(|a, b| a.relation == b.relation && a.form == b.form && a.start == b.start);
        found
    }
}

impl Cue {
    fn new(relation: usize, form: Form, text: &str) -> Option<Self> {
        let (mut core, mut particles) = (Vec::new(), Vec::new());
        for word in words(text) {
            if PARTICLES.contains(&word.plain.as_str()) {
                particles.push(word.plain);
            } else if !matches!(word.plain.as_str(), "be" | "is" | "are" | "get" | "a" | "an" | "the") {
                core.push(word.stem);
            }
        }
        // "be at" and the like are no words to look for; a question with "where" finds such facts without them.
        (!core.is_empty()).then_some(Self { relation, form, core, particles })
    }

    fn find(&self, question: &[Word], taken: &[bool], asks_where: bool) -> Option<CueMatch> {
        let mut places = Vec::with_capacity(self.core.len() + self.particles.len());
        for part in &self.core {
            let from = places.last().map_or(0, |p| p + 1);
            let to = if places.is_empty() { question.len() } else { question.len().min(from + 3) };
            places.push((from..to).find(|i| !taken[*i] && question[*i].stem == *part)?);
        }
        let start = *places.first()?;
        let end = *places.last()?;
        let mut strength = 1.0 + 0.2 * (self.core.len() as f32 - 1.0);
        let mut missing = 0;
        for particle in &self.particles {
            match (end + 1..question.len()).find(|i| question[*i].plain == *particle && !places.contains(i)) {
                Some(place) => places.push(place),
                None if asks_where && PLACE_PARTICLES.contains(&particle.as_str()) => {}
                None => missing += 1,
            }
        }
        if self.particles.is_empty() {
            // "work" where the question says "work with" is a worse reading than "work with".
            let followed = question.get(end + 1).is_some_and(|w| PARTICLES.contains(&w.plain.as_str()) && w.plain != "by");
            strength -= if followed { 0.1 } else { 0.0 };
        } else if missing == 0 {
            strength += 0.1;
        } else {
            strength -= 0.4 * missing as f32;
        }
        // The particle of another verb: "work with" is not "work on".
        let other = question.get(end + 1).is_some_and(|w| PARTICLES.contains(&w.plain.as_str()) && w.plain != "by");
        if missing > 0 && other {
            return None;
        }
        Some(CueMatch { relation: self.relation, form: self.form, start, places, stem: stem(&question[start].plain), strength })
    }
}
