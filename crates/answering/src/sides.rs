//! Which side of a relation each name in a question stands on.

use super::{
    classes::{is_function, is_particle},
    cues::{CueMatch, Form},
    names::Named,
    question::Question,
    words::Word,
};
use recall_domain::{Entity, EntityId, Relation, context::RankedFact};

/// Who stands on which side of the relation.
#[derive(Clone, Debug)]
pub(super) struct Sides<'q> {
    pub(super) first: Vec<&'q Named>,
    pub(super) second: Vec<&'q Named>,
    pub(super) unplaced: Vec<&'q Named>,
    /// Names on one side are alternatives or a list: "do I or John like".
    pub(super) listed: bool,
}

impl<'q> Sides<'q> {
    pub(super) fn of(question: &'q Question, cue: &CueMatch, symmetric: bool) -> Self {
        let start = cue.start;
        let end = cue.places.iter().max().map_or(start, |p| p + 1);
        let passive = question.words.get(end).is_some_and(|w| w.plain == "by")
            || (cue.form == Form::Verb && question.words.get(start + 1).is_some_and(|w| w.plain == "by"));
        let listed = question.words.iter().any(|w| matches!(w.plain.as_str(), "or" | "and"));
        let mut sides = Self { first: Vec::new(), second: Vec::new(), unplaced: Vec::new(), listed };
        let noun = matches!(cue.form, Form::Noun | Form::InverseNoun);
        for named in &question.named {
            let is_owner_of_next = named.possessive && question.named.iter().any(|n| n.start == named.end);
            if is_owner_of_next && !noun {
                // In "who has my tent" it is the tent that stands on a side.
                continue;
            }
            if noun {
                // "John's manager", "my sister", "the manager of John"; in "is Dave my manager" Dave is the manager.
                // "Do I have a brother" asks for mine.
                let has = || question.words[named.end.min(start)..start].iter().any(|w| matches!(w.stem.as_str(), "have" | "got"));
                let owner = (named.end <= start && (named.possessive || has()))
                    || (named.start >= end && question.words[end..named.start].iter().any(|w| w.plain == "of"));
                if owner { sides.first.push(named) } else { sides.second.push(named) }
            } else if named.start < cue.head {
                sides.first.push(named);
            } else {
                // Only glue between the verb and the name: "like Mary", "work with John". After another
                // preposition it is a circumstance: "use for Phoenix".
                let between = &question.words[(start + 1).min(named.start)..named.start];
                let at = |i: usize| start + 1 + i;
                let strange = between.iter().enumerate().any(|(i, w)| {
                    // "In Lyon or in Ghent" repeats the preposition.
                    let again = || cue.places.iter().any(|p| question.words.get(*p).is_some_and(|own| own.plain == w.plain));
                    let own = cue.places.contains(&at(i)) || question.in_name(at(i)) || (listed && again());
                    !own && w.plain != "by" && (is_particle(&w.plain) || !is_function(w))
                });
                if strange { sides.unplaced.push(named) } else { sides.second.push(named) }
            }
        }
        if noun && sides.first.is_empty() {
            // Without an owner the noun is another word: "go" in "did she go to Rome" is nobody's go-to.
            sides.second.clear();
        }
        let inverse = matches!(cue.form, Form::InverseVerb | Form::InverseNoun);
        if inverse != passive && !symmetric {
            std::mem::swap(&mut sides.first, &mut sides.second);
        }
        sides
    }

    /// Whether no name stands on a side.
    pub(super) fn are_empty(&self) -> bool {
        self.first.is_empty() && self.second.is_empty()
    }

    /// Whether names stand on both sides, so that nothing is left to ask for.
    pub(super) fn are_full(&self) -> bool {
        !self.first.is_empty() && !self.second.is_empty()
    }

    pub(super) fn fit(&self, f: &RankedFact, relation: &Relation) -> bool {
        let any = |named: &[&Named], id: EntityId| match self.listed {
            true => named.is_empty() || named.iter().any(|n| n.entities.contains(&id)),
            false => named.iter().all(|n| n.entities.contains(&id)),
        };
        let (s, o) = (f.fact.subject, f.fact.object);
        (any(&self.first, s) && any(&self.second, o)) || (relation.symmetric && any(&self.first, o) && any(&self.second, s))
    }

    /// The side of the fact that the question has no name for.
    pub(super) fn asked<'f>(&self, f: &'f RankedFact) -> &'f Entity {
        let given = |named: &[&Named], id: EntityId| named.iter().any(|n| n.entities.contains(&id));
        if given(&self.first, f.fact.subject) || given(&self.second, f.fact.subject) { &f.object } else { &f.subject }
    }

    /// Words of names that stand on neither side.
    pub(super) fn unplaced_words(&self, question: &'q Question) -> Vec<&'q Word> {
        self.unplaced.iter().flat_map(|n| &question.words[n.start..n.end]).collect()
    }
}
