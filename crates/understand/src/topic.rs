//! Finds who a clause without a subject is about: "Rima has quit. Handed in her badge, starts at Deltares in May."
//!
//! A verb in the third person ("starts") cannot be about the speaker. It continues the subject of the sentence before, or is about the only
//! person in that sentence. A past form ("handed in") continues a person of the sentence before within one message; otherwise the
//! speaker left out "I".

use recall_domain::{EntityType, FirstPerson, PronounForm};

use super::clauses::{Clause, Subject};
use super::phrases::ChunkKind;
use super::pronouns::AntecedentKind;
use super::reader::{Reader, Referent};

/// What a sentence is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topic {
    /// The referents of the subject of its last clause.
    referents: Vec<Referent>,
    /// The referents of the last subject in the third person; empty if it is a pronoun without an antecedent.
    third_person: Vec<Referent>,
    /// It belongs to an earlier message.
    pub(crate) is_earlier: bool,
}

/// The referents of the subjects that a sentence leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftOut {
    /// Of verbs that may be about the speaker.
    pub(crate) of_any_person: Referent,
    /// Of verbs in the third person.
    pub(crate) of_third_person: Option<Referent>,
}

impl Default for LeftOut {
    fn default() -> Self {
        Self { of_any_person: Referent::Speaker, of_third_person: None }
    }
}

impl Reader<'_> {
    /// Finds the referents of the omitted subjects of the sentence.
    pub(crate) fn resolve_omitted_subjects(&mut self, clauses: &[Clause]) {
        let token = |clause: &Clause| self.phrases.verbs[clause.verb].start;
        let third = clauses.iter().find(|c| c.subject == Subject::Omitted).map(token);
        let any = clauses.iter().find(|c| c.subject == Subject::Implied).map(token);
        if let Some(verb) = third {
            self.left_out.of_third_person = self.continued_subject(verb);
        }
        if let Some(verb) = any
            && let Some(person) = self.continued_person()
        {
            self.mention_again(person, verb);
            self.left_out.of_any_person = person;
        }
    }

    /// Returns how sure the subject of a clause is.
    pub(super) fn certainty_of_subject(&self, clause: &Clause) -> f64 {
        match clause.subject {
            Subject::Implied if self.left_out.of_any_person != Referent::Speaker => 0.75,
            Subject::Implied | Subject::Omitted => 0.85,
            Subject::Nouns(_) | Subject::Unknown => 1.0,
        }
    }

    /// Remembers what the sentence is about.
    pub(crate) fn remember_topic(&mut self, clauses: &[Clause]) {
        // "Mum says Rima has quit" is about Rima.
        let governs = |i: usize| clauses.get(i + 1).is_some_and(|c| c.hedged.is_some());
        let subjects = clauses.iter().enumerate().filter(|(i, c)| c.subject != Subject::Unknown && !governs(*i));
        let subjects: Vec<Vec<Referent>> = subjects.map(|(_, clause)| self.subjects_of(clause)).collect();
        let Some(referents) = subjects.last().cloned() else {
            // "Damian Roth, from Mediaș."; another sentence without a verb says more of the same.
            if let Some(ChunkKind::Noun(n)) = self.phrases.chunks.first().map(|c| c.kind)
                && clauses.is_empty()
                && self.is_name(self.referents[n])
            {
                let named: Vec<Referent> = self.referents[n].into_iter().collect();
                self.registry.topic = Topic { referents: named.clone(), third_person: named, is_earlier: false };
            }
            return;
        };
        let third_person = subjects.into_iter().rev().find(|s| !s.contains(&Referent::Speaker)).unwrap_or_default();
        self.registry.topic = Topic { referents, third_person, is_earlier: false };
    }

    /// Returns the referent of an omitted subject in the third person.
    fn continued_subject(&mut self, verb: usize) -> Option<Referent> {
        let found = match self.registry.topic.third_person[..] {
            [referent] => Some(referent),
            _ => self.registry.antecedents(AntecedentKind::Person, &[]).first().map(|&i| Referent::Entity(i, None)),
        };
        match found {
            Some(referent) => self.mention_again(referent, verb),
            None => self.registry.unresolved += 1,
        }
        found
    }

    /// Returns the person or organization that the sentence before is about, if a past form of this one can be about it too.
    fn continued_person(&self) -> Option<Referent> {
        let topic = &self.registry.topic;
        let [referent] = topic.referents[..] else { return None };
        let actor = matches!(self.type_of(referent).0, EntityType::Person | EntityType::Organization);
        if referent == Referent::Speaker || topic.is_earlier || !actor {
            return None;
        }
        // "Wrote to congratulate her", "sold my bike": the subject is somebody else.
        let is_object =
            self.phrases.nouns.iter().zip(&self.referents).any(|(np, r)| np.pronoun && r.is_some_and(|r| r.party() == referent.party()));
        let owned = self.tokens.iter().any(|t| FirstPerson::of(&t.norm).is_some_and(|p| p.form == PronounForm::Determiner));
        (!is_object && !owned).then_some(referent)
    }

    fn mention_again(&mut self, referent: Referent, token: usize) {
        let span = self.span(token, token + 1);
        if let Referent::Entity(i, _) = referent {
            self.registry.mention_again(i, span);
        }
    }

    pub(crate) fn is_name(&self, referent: Option<Referent>) -> bool {
        matches!(referent, Some(Referent::Entity(i, _)) if self.registry.named[i])
    }
}
