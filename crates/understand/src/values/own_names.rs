//! The speaker's own name: "my name is Ann", "call me Ann", "hi, it's Ann again".

use recall_domain::{EntityType, FirstPerson, Polarity};

use super::{ValueFrame, ValueRelation};
use crate::clauses::{Clause, Subject};
use crate::lexicon::lexicon;
use crate::mentions::text_of;
use crate::phrases::{ChunkKind, Possessor};
use crate::reader::{Reader, Referent};
use crate::tokens::{Pos, Token};

/// Words before an introduction.
const GREETINGS: &[&str] = &["hi", "hello", "hey", "hiya", "yo", "morning", "evening", "good"];

impl Reader<'_> {
    /// Reads "my name is Ann" and "I'm called Ann".
    pub(super) fn read_own_name(&mut self, relation: &ValueRelation, clause: &Clause) {
        let g = &self.phrases.verbs[clause.verb];
        let Subject::Nouns(subjects) = &clause.subject else { return };
        let [s] = subjects[..] else { return };
        let np = &self.phrases.nouns[s];
        let named =
            g.lemma == "be" && !g.passive && np.possessor == Possessor::Speaker && np.head == np.core && self.tokens[np.head].is("name");
        // "Mine is called Ines" is about a thing of the speaker.
        let is_person = np.pronoun && FirstPerson::is_subject(&self.tokens[np.head].norm);
        let called = g.lemma == "call" && g.passive && is_person && self.referents[s] == Some(Referent::Speaker);
        if !(named || called) || g.negated || g.modal.is_some() || clause.unasserted || g.past {
            return;
        }
        let Some(ChunkKind::Noun(n)) = self.complement(clause).map(|c| self.phrases.chunks[c].kind) else { return };
        self.add_own_name(relation, n, clause.start_token);
    }

    /// Reads "call me Ann", "you can call me Ann", "everybody calls me Ann".
    pub(super) fn read_requested_name(&mut self, relation: &ValueRelation, clause: &Clause) {
        let g = &self.phrases.verbs[clause.verb];
        let is_polite = g.modal.as_deref().is_none_or(|modal| modal == "can");
        if g.lemma != "call" || g.passive || g.negated || g.past || !is_polite || clause.unasserted {
            return;
        }
        if !self.tokens.get(g.end).is_some_and(|t| t.is("me")) {
            return;
        }
        let Some(n) = self.phrases.nouns.iter().position(|np| np.start == g.end + 1) else { return };
        self.add_own_name(relation, n, g.start);
    }

    /// Reads a greeting that says who writes: "hi, it's Ann again", "this is Ann here", "hello, this is Tom from accounting".
    pub(super) fn read_introduction(&mut self, relation: &ValueRelation) {
        let words: Vec<usize> = (0..self.tokens.len()).filter(|&i| self.tokens[i].pos != Pos::Punct).collect();
        let greetings = words.iter().take_while(|&&i| GREETINGS.contains(&self.tokens[i].norm.as_str())).count();
        let word = |k: usize| words.get(greetings + k).map_or("", |&i| self.tokens[i].norm.as_str());
        // "Its Marta" is one word less.
        let is_joined = words.get(greetings).is_some_and(|&i| self.tokens[i].text.eq_ignore_ascii_case("its"));
        let name = match (word(0), word(1)) {
            _ if is_joined => 1,
            ("it", "is" | "'s") | ("this", "is") => 2,
            _ => return,
        };
        let (Some(&first), Some(&at)) = (words.first(), words.get(greetings + name)) else { return };
        let Some(n) = self.phrases.nouns.iter().position(|np| np.start <= at && at <= np.head) else { return };
        let last = words.iter().position(|&i| i == self.phrases.nouns[n].head).unwrap_or(greetings + name) - greetings;
        let end = word(last + 1);
        // "Tom from accounting" says where he is from, too. "Marta at the door" is somebody else.
        let is_placed = end == "from" && greetings > 0 && (last + 3..last + 5).any(|k| word(k).is_empty());
        let closes = end.is_empty() || is_placed || matches!(end, "again" | "here") && word(last + 2).is_empty();
        let is_person = self.referents[n].is_some_and(|r| self.type_of(r).0 == EntityType::Person);
        if closes && is_person && (greetings > 0 || end == "here") {
            self.add_own_name(relation, n, first);
        }
    }

    /// Adds a noun phrase as the name of the speaker, if it is a plain name.
    fn add_own_name(&mut self, relation: &ValueRelation, n: usize, from: usize) {
        let name = &self.phrases.nouns[n];
        let (start, end) = (name.core.min(name.head), name.head + 1);
        let is_name = |t: &Token| t.pos == Pos::Propn && t.capital && !lexicon().in_set("time", &t.norm);
        if self.tokens[start..end].iter().all(is_name) && name.possessor == Possessor::Unmarked {
            let frame = ValueFrame { subjects: vec![Referent::Speaker], polarity: Polarity::Affirmed, confidence: 1.0, start: from };
            let text = text_of(self.tokens, start, end);
            self.add_text(relation, &frame, &text, end);
        }
    }
}
