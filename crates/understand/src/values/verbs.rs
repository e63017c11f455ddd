//! Values after a verb, and adjectives that are values: "it costs €5", "the report is due on Friday", "Ann is vegan".

use recall_domain::Polarity;

use super::{Reading, ValueFrame, ValueRelation};
use crate::clauses::Clause;
use crate::phrases::ChunkKind;
use crate::reader::Reader;
use crate::tokens::Pos;

impl Reader<'_> {
    /// Reads the values that a verb or an adjective of the relation states.
    pub(super) fn read_verb_values(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame, text: &str) {
        let limit = self.phrases.chunks[clause.end.max(1) - 1].end;
        let Some(at) = relation.verbs.iter().find_map(|cue| self.after_verb(cue, clause, limit)) else {
            return self.read_adjective(relation, clause, frame, limit);
        };
        // "Cost me €5"
        let pronoun = self.tokens.get(at).is_some_and(|t| matches!(t.norm.as_str(), "me" | "us" | "him" | "her" | "them"));
        let at = at + usize::from(pronoun);
        let values = self.values_at(relation, at, text);
        let end = values.last().map(|(_, end)| *end);
        for (value, end) in values {
            self.add_value(relation, frame, &value, end);
        }
        // "Allergic to cashews, not peanuts"
        let denied = end.filter(|_| frame.polarity == Polarity::Affirmed).and_then(|end| {
            let comma = usize::from(self.tokens.get(end).is_some_and(|t| t.is(",")));
            self.tokens.get(end + comma).filter(|t| t.is("not")).map(|_| end + comma + 1)
        });
        if let Some(at) = denied {
            let frame = ValueFrame { polarity: Polarity::Negated, ..frame.clone() };
            for (value, end) in self.values_at(relation, at, text) {
                self.add_value(relation, &frame, &value, end);
            }
        }
    }

    /// Returns the token after a cue that begins at the verb of the clause.
    fn after_verb(&self, cue: &[String], clause: &Clause, limit: usize) -> Option<usize> {
        let g = &self.phrases.verbs[clause.verb];
        let (first, rest) = cue.split_first()?;
        // In "was born" the verb group has both words.
        let anchor = match g.be.filter(|_| first == "be" || first == "get") {
            Some(be) => be + 1,
            None if g.lemma == *first => g.end,
            None => return None,
        };
        let mut at = anchor;
        for word in rest {
            let skips = |t: &crate::tokens::Token| t.pos == Pos::Adv || t.pos == Pos::Det || matches!(t.norm.as_str(), "not" | "currently");
            while at < limit && !self.fits(at, word) && skips(self.tokens.get(at)?) {
                at += 1;
            }
            // "Works at Tesco as a manager"
            if word == "as" && !self.fits(at, word) {
                at = self.after_employer(at).unwrap_or(at);
            }
            if at >= limit.max(g.end + rest.len()).min(self.tokens.len()) || !self.fits(at, word) {
                return None;
            }
            at += 1;
        }
        (at >= g.end).then_some(at)
    }

    /// Returns the token after "at Tesco" or "for the council" that begins at a token.
    fn after_employer(&self, at: usize) -> Option<usize> {
        let chunk = self.chunk_at(at)?;
        let (prep, noun) = (self.phrases.chunks[chunk], self.phrases.chunks.get(chunk + 1)?);
        let is_employer = prep.kind == ChunkKind::Prep && matches!(self.tokens[prep.start].norm.as_str(), "at" | "for" | "in" | "with");
        (is_employer && matches!(noun.kind, ChunkKind::Noun(_))).then_some(noun.end)
    }

    fn fits(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|t| t.norm == word || t.lemma == word)
    }

    /// Reads "Ann is vegan", "I went vegan".
    fn read_adjective(&mut self, relation: &ValueRelation, clause: &Clause, frame: &ValueFrame, limit: usize) {
        let g = &self.phrases.verbs[clause.verb];
        let past = g.past && g.lemma == "be" && !g.used_to;
        if relation.adjectives.is_empty() || relation.reading == Some(Reading::Allergy) || past {
            return;
        }
        if !matches!(g.lemma.as_str(), "be" | "become" | "go" | "turn" | "eat") || g.passive {
            return;
        }
        let mut at = g.end;
        while at < limit && self.tokens[at].pos != Pos::Punct && !self.starts_adjective(relation, at) {
            let skips = matches!(self.tokens[at].pos, Pos::Adv | Pos::Det | Pos::Part)
                || self.tokens[at].is("strict")
                || self.tokens[at].is("strictly");
            if !skips {
                return;
            }
            at += 1;
        }
        let cue = relation.adjectives.iter().find(|cue| self.is_cue_at(cue, at)).cloned();
        let Some(cue) = cue else { return };
        let end = at + cue.len();
        // "A vegan restaurant", "vegan food": the word describes something else.
        let describes = self.tokens.get(end).is_some_and(|t| t.nominal() && !matches!(t.norm.as_str(), "diet" | "now"));
        if !describes || self.tokens.get(end).is_some_and(|t| t.is("diet")) {
            let negated = self.tokens[g.end..at].iter().any(|t| t.is("not") || t.is("no"));
            let polarity = if negated { Polarity::Negated } else { frame.polarity };
            let frame = ValueFrame { polarity, ..frame.clone() };
            self.add_text(relation, &frame, &cue.join(" ").replace(" free", "-free"), end);
        }
    }

    fn starts_adjective(&self, relation: &ValueRelation, at: usize) -> bool {
        relation.adjectives.iter().any(|cue| self.is_cue_at(cue, at))
    }

    fn is_cue_at(&self, cue: &[String], at: usize) -> bool {
        cue.iter().enumerate().all(|(k, w)| self.fits(at + k, w))
    }
}
