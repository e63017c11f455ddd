//! Assigns the names in a question to the sides of a relation.

use super::{
    cues::{CueMatch, Form},
    lexicon::{is_function_word, is_particle, is_person_noun},
    names::NameMention,
    question::{Question, QuestionKind},
    words::Word,
};
use recall_domain::{Entity, EntityId, EntityType, Relation, context::RankedFact};

/// Returns the types that a side of a fact may have.
///
/// An entity whose type is outside the range of the relation was taken for something else, so the range decides.
pub(super) fn types_of<'t>(entity: &'t Entity, f: &RankedFact, relation: Option<&'t Relation>) -> &'t [EntityType] {
    let range = relation.map_or(&[][..], |r| if entity.id == f.fact.object { &r.object_types } else { &r.subject_types });
    if range.is_empty() || range.contains(&entity.entity_type) { std::slice::from_ref(&entity.entity_type) } else { range }
}

/// Whether the question word asks for an entity of one of these types: "who" for a person, "where" for a place.
pub(super) fn fits_kind(kind: QuestionKind, entity: &Entity, types: &[EntityType]) -> bool {
    use EntityType as T;
    match kind {
        QuestionKind::Who => entity.is_viewer || types.iter().any(|t| matches!(t, T::Person | T::Organization)),
        QuestionKind::Where => types.iter().any(|t| matches!(t, T::Place | T::Organization | T::Event)),
        _ => true,
    }
}

/// The names on each side of the relation.
#[derive(Clone, Debug)]
pub(super) struct Sides<'q> {
    pub(super) subjects: Vec<&'q NameMention>,
    pub(super) objects: Vec<&'q NameMention>,
    pub(super) unplaced: Vec<&'q NameMention>,
    /// Whether the names on one side are alternatives or a list: "do I or John like".
    pub(super) listed: bool,
}

impl<'q> Sides<'q> {
    pub(super) fn of(question: &'q Question, cue: &CueMatch, symmetric: bool) -> Self {
        let start = cue.start;
        let end = cue.positions.iter().max().map_or(start, |p| p + 1);
        let passive = question.words.get(end).is_some_and(|w| w.plain == "by")
            || (cue.form == Form::Verb && question.words.get(start + 1).is_some_and(|w| w.plain == "by"));
        let listed = question.words.iter().any(|w| matches!(w.plain.as_str(), "or" | "and"));
        let mut sides = Self { subjects: Vec::new(), objects: Vec::new(), unplaced: Vec::new(), listed };
        let noun = matches!(cue.form, Form::Noun | Form::InverseNoun);
        for named in &question.named {
            let is_owner_of_next = question.named.iter().any(|n| n.start == named.end)
                || (named.end < start && question.words.get(named.end).is_some_and(|w| is_person_noun(&w.plain)));
            if named.possessive && is_owner_of_next && !noun {
                // In "who has my tent" and "where does my mother live", only the tent and the mother are on a side.
                continue;
            }
            if noun {
                // Owners: "John's manager", "my sister", "the manager of John", "do I have a brother".
                // In "is Dave my manager", Dave is no owner.
                let has = || question.words[named.end.min(start)..start].iter().any(|w| matches!(w.stem.as_str(), "have" | "got"));
                let owner = (named.end <= start && (named.possessive || has()))
                    || (named.start >= end && question.words[end..named.start].iter().any(|w| w.plain == "of"));
                if owner { sides.subjects.push(named) } else { sides.objects.push(named) }
            } else if named.start < cue.head {
                sides.subjects.push(named);
            } else {
                // An object has only filler between verb and name: "like Mary", "work with John". After another
                // preposition the name is on no side: "use for Phoenix".
                let between = &question.words[(start + 1).min(named.start)..named.start];
                let at = |i: usize| start + 1 + i;
                let strange = between.iter().enumerate().any(|(i, w)| {
                    // A list may repeat the preposition: "in Lyon or in Ghent".
                    let again = || cue.positions.iter().any(|p| question.words.get(*p).is_some_and(|own| own.plain == w.plain));
                    let own = cue.positions.contains(&at(i)) || question.in_name(at(i)) || (listed && again());
                    !own && w.plain != "by" && (is_particle(&w.plain) || !is_function_word(w))
                });
                if strange { sides.unplaced.push(named) } else { sides.objects.push(named) }
            }
        }
        if noun && sides.subjects.is_empty() {
            // Without an owner the word is no noun cue: "go" in "did she go to Rome" is no "go-to".
            sides.objects.clear();
        }
        let inverse = matches!(cue.form, Form::InverseVerb | Form::InverseNoun);
        if inverse != passive && !symmetric {
            std::mem::swap(&mut sides.subjects, &mut sides.objects);
        }
        sides
    }

    /// Whether no name is on a side.
    pub(super) fn are_empty(&self) -> bool {
        self.subjects.is_empty() && self.objects.is_empty()
    }

    /// Whether both sides have names, so that the question leaves no side open.
    pub(super) fn are_both_named(&self) -> bool {
        !self.subjects.is_empty() && !self.objects.is_empty()
    }

    /// Whether the sides of a fact match the names.
    pub(super) fn matches(&self, f: &RankedFact, relation: &Relation) -> bool {
        let any = |named: &[&NameMention], id: EntityId| match self.listed {
            true => named.is_empty() || named.iter().any(|n| n.entities.contains(&id)),
            false => named.iter().all(|n| n.entities.contains(&id)),
        };
        let (s, o) = (f.fact.subject, f.fact.object);
        (any(&self.subjects, s) && any(&self.objects, o)) || (relation.symmetric && any(&self.subjects, o) && any(&self.objects, s))
    }

    /// Returns the side of a fact that the question does not name.
    pub(super) fn open_side<'f>(&self, f: &'f RankedFact) -> &'f Entity {
        let given = |named: &[&NameMention], id: EntityId| named.iter().any(|n| n.entities.contains(&id));
        if given(&self.subjects, f.fact.subject) || given(&self.objects, f.fact.subject) { &f.object } else { &f.subject }
    }

    /// Returns the words of names on neither side.
    pub(super) fn unplaced_words(&self, question: &'q Question) -> Vec<&'q Word> {
        self.unplaced.iter().flat_map(|n| &question.words[n.start..n.end]).collect()
    }
}
