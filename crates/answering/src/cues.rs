//! Finds the relations that a question asks for, by the cues of the ontology.

use super::{
    lexicon::{is_light_verb, is_particle, is_place_particle},
    words::{Word, is_past_form, stem, words},
};
use recall_domain::{EntityType, Ontology, Relation};

/// The grammatical form of a cue, with the positions of subject (S) and object (O).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// "S verb O".
    Verb,
    /// "O verb S".
    InverseVerb,
    /// "S's noun is O".
    Noun,
    /// "S's noun is O" where O is the subject of the fact.
    InverseNoun,
    /// "S verb O", which denies the relation.
    Negating,
    /// "S verb O", which ends the relation.
    Ending,
}

#[derive(Clone, Debug)]
struct Cue {
    relation: usize,
    form: Form,
    /// Stems, in order.
    core: Vec<String>,
    /// Its prepositions.
    particles: Vec<String>,
    /// Whether the verb is so common that other cues take precedence.
    weak: bool,
}

/// All cues of an ontology, prepared for matching.
#[derive(Clone, Debug)]
pub(super) struct CueIndex {
    relations: Vec<Relation>,
    cues: Vec<Cue>,
}

/// A cue of a relation found in a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CueMatch {
    pub(super) relation: usize,
    pub(super) form: Form,
    /// Position of the first word of the cue.
    pub(super) start: usize,
    /// Position of its last word that is no preposition. A name before it precedes the verb ("has she been to").
    pub(super) head: usize,
    /// Positions of all words of the cue, including prepositions.
    pub(super) positions: Vec<usize>,
    /// Stem of its first word.
    pub(super) stem: String,
    /// Stems of cue words that narrow the relation, such as "hiking" in "go hiking".
    pub(super) manner: Vec<String>,
    /// Confidence, comparable within one question.
    pub(super) strength: f32,
    /// Whether the verb is so common that it may mean anything.
    pub(super) weak: bool,
}

/// Number of nouns above which a relation is collective: it covers different roles, such as sister, son and uncle.
///
/// A question about one role must not be answered with another.
const MANY_NOUNS: usize = 24;

impl CueIndex {
    pub(super) fn new(ontology: &Ontology) -> Self {
        let relations: Vec<Relation> = ontology.iter().cloned().collect();
        let mut cues = Vec::new();
        for (i, relation) in relations.iter().enumerate() {
            // `values` answers questions about values.
            if relation.has_values() {
                continue;
            }
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

    /// Returns the relation that contradicts this one.
    pub(super) fn opposite(&self, index: usize) -> Option<usize> {
        let opposite = self.relations[index].opposite.as_ref()?;
        self.relations.iter().position(|r| r.name == *opposite)
    }

    /// Whether the relation covers many roles.
    pub(super) fn is_collective(&self, index: usize) -> bool {
        self.relations[index].cues.nouns.len() > MANY_NOUNS
    }

    /// Returns the relation with this name.
    pub(super) fn relation_by_name(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|r| r.name == name)
    }

    /// Returns the position of a verb of a relation in a text.
    ///
    /// Common verbs such as "have" do not count. `ending` selects the verbs that end the relation.
    pub(super) fn find_verb(&self, relation: usize, ending: bool, text: &[Word]) -> Option<usize> {
        let fits = |c: &&Cue| match c.form {
            Form::Verb | Form::InverseVerb => !ending,
            Form::Ending => ending,
            Form::Noun | Form::InverseNoun | Form::Negating => false,
        };
        self.cues.iter().filter(fits).filter(|c| c.relation == relation && !c.weak).find_map(|c| c.place_in(text))
    }

    /// Returns the relations that have this noun as a cue ("sister", "boss"), also in the plural.
    pub(super) fn nouns(&self, word: &str) -> Vec<(usize, Form)> {
        let stem = stem(word);
        let noun = |c: &&Cue| matches!(c.form, Form::Noun | Form::InverseNoun) && c.core == [stem.clone()];
        self.cues.iter().filter(noun).map(|c| (c.relation, c.form)).collect()
    }

    /// Whether the relation with this name covers many roles.
    pub(super) fn is_collective_name(&self, relation: &str) -> bool {
        self.relation_by_name(relation).is_some_and(|r| r.cues.nouns.len() > MANY_NOUNS)
    }

    /// Whether "have" may express the relation with this name.
    pub(super) fn is_possession(&self, relation: &str) -> bool {
        let have = stem("have");
        self.cues
            .iter()
            .any(|c| c.weak && c.core == [have.clone()] && c.particles.is_empty() && self.relations[c.relation].name == relation)
    }

    /// Whether the relation can end, so that it holds for a time and does not happen at one.
    pub(super) fn is_state(&self, index: usize) -> bool {
        !self.relations[index].cues.ending_verbs.is_empty()
    }

    /// Returns the relations that give the location of a thing: functional ones to a place.
    pub(super) fn location_relations(&self) -> impl Iterator<Item = usize> {
        let is_place = |r: &Relation| r.functional && r.object_types == [EntityType::Place];
        self.relations.iter().enumerate().filter(move |(_, r)| is_place(r)).map(|(i, _)| i)
    }

    /// Returns the cues in a question, most confident first, and clearly worse readings of the same words. `taken` marks the words of names.
    pub(super) fn find(&self, question: &[Word], taken: &[bool], asks_where: bool) -> (Vec<CueMatch>, Vec<CueMatch>) {
        let mut found: Vec<CueMatch> = self.cues.iter().filter_map(|cue| cue.find(question, taken, asks_where)).collect();
        found.sort_by(|a, b| b.strength.total_cmp(&a.strength));
        let best = found.first().map_or(0.0, |m| m.strength);
        found.retain(|m| m.strength > 0.65);
        let mut seen = std::collections::HashSet::new();
        found.retain(|m| seen.insert((m.relation, m.form as u8, m.start)));
        found.into_iter().partition(|m| m.strength > best - 0.15)
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
        // "be at" is too common to match; a question with "where" finds such facts without it. "do" is as common.
        core.retain(|part| part != "do");
        // A light verb such as "make" alone may mean anything.
        let weak = weak || (particles.is_empty() && matches!(core.as_slice(), [one] if is_light_verb(one)));
        (!core.is_empty()).then_some(Self { relation, form, core, particles, weak })
    }

    fn find(&self, question: &[Word], taken: &[bool], asks_where: bool) -> Option<CueMatch> {
        let mut positions = Vec::with_capacity(self.core.len() + self.particles.len());
        for part in &self.core {
            let from = positions.last().map_or(0, |p| p + 1);
            let to = if positions.is_empty() { question.len() } else { question.len().min(from + 3) };
            positions.push(
                (from..to).find(|i| !taken[*i] && question[*i].stem == *part && (self.core.len() > 1 || !is_auxiliary(question, *i)))?,
            );
        }
        let start = *positions.first()?;
        let end = *positions.last()?;
        let before = start.checked_sub(1).map_or("", |i| question[i].plain.as_str());
        if matches!(self.form, Form::Noun | Form::InverseNoun) && (is_subject(before) || matches!(before, "do" | "does" | "did" | "to")) {
            // "Where did I go to" does not ask for a go-to.
            return None;
        }
        let base = if self.weak { 0.7 } else { 1.0 };
        let mut strength = base + 0.2 * (self.core.len() as f32 - 1.0);
        let mut missing = 0;
        for particle in &self.particles {
            match (end + 1..question.len()).find(|i| question[*i].plain == *particle && !positions.contains(i) && !taken[*i]) {
                Some(position) => positions.push(position),
                None if asks_where && is_place_particle(particle) => {}
                // "Joris and I split up": reciprocal.
                None if particle == "with" && question[..start].iter().any(|w| w.plain == "and") => {}
                None => missing += 1,
            }
        }
        // "my manager at Kern": a preposition after a noun is not its own.
        let is_noun = matches!(self.form, Form::Noun | Form::InverseNoun);
        let own = |w: &&Word| is_particle(&w.plain) && w.plain != "by" && !is_noun && !taken[end + 1];
        let next_particle = question.get(end + 1).filter(own);
        if self.particles.is_empty() {
            // For "work with", the cue "work" is a worse reading than "work with".
            let followed = next_particle.is_some();
            strength -= if followed { 0.1 } else { 0.0 };
        } else if missing == 0 {
            strength += 0.1;
        } else {
            strength -= 0.4 * missing as f32;
        }
        // A different preposition means another verb: "work with" is not "work on".
        let other = next_particle.is_some_and(|w| missing > 0 || !(self.particles.is_empty() || self.particles.contains(&w.plain)));
        if other {
            return None;
        }
        // "go hiking in" asks about hiking, not about any visit.
        let manner = self.core.iter().skip(1).zip(&positions[1..]).filter(|(_, i)| question[**i].plain.ends_with("ing"));
        let manner = manner.map(|(part, _)| part.clone()).collect();
        let stem = stem(&question[start].plain);
        Some(CueMatch { relation: self.relation, form: self.form, start, head: end, positions, stem, manner, strength, weak: self.weak })
    }

    /// Returns the position where a text has the words of the cue close together, in order, with its prepositions.
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
            // "We broke up".
            let reciprocal = || text[..*start].iter().any(|w| matches!(w.plain.as_str(), "we" | "and" | "they"));
            core && self.particles.iter().all(|p| near.iter().any(|w| w.plain == *p) || (p == "with" && reciprocal()))
        })
    }
}

fn is_subject(word: &str) -> bool {
    matches!(word, "i" | "we" | "he" | "she" | "they" | "you" | "it")
}

/// Whether "have" at a position is an auxiliary: "have I visited", not "do I have".
fn is_auxiliary(question: &[Word], position: usize) -> bool {
    let helped =
        question[..position].iter().rev().take(4).any(|w| matches!(w.plain.as_str(), "do" | "does" | "did" | "don't" | "doesn't" | "to"));
    let participle =
        question[position + 1..].iter().take(4).any(|w| is_past_form(&w.plain) && !matches!(w.plain.as_str(), "is" | "are" | "has"));
    question[position].stem == "have" && !helped && participle
}
