//! Adds what people get from others, the names of owned animals in a list, and team mates.

use recall_domain::{EntityType, Polarity};

use super::clauses::Clause;
use super::cues::{Cue, Effect};
use super::objects::Object;
use super::phrases::{ChunkKind, Possessor, VerbGroup};
use super::reader::{FactDraft, Reader, Referent};
use super::verbal::Frame;

/// Those who take back what they sold.
const SELLERS: &[&str] = &["shop", "store", "dealer", "dealership", "seller", "shelter", "breeder", "retailer"];

impl Reader<'_> {
    /// Replaces a plural that is owned by the names of its members.
    pub(super) fn replace_by_members(&mut self, cue: &Cue, items: Vec<Object>) -> Vec<Object> {
        if self.cues.relations[cue.relation].possessed.is_empty() {
            return items;
        }
        let mut out = Vec::new();
        for (object, end) in items {
            let noun = (0..self.referents.len()).find(|&n| self.referents[n] == Some(object) && self.phrases.nouns[n].end <= end);
            let members = noun.map_or_else(Vec::new, |n| self.names_of_members(n));
            for &member in &members {
                if let Referent::Entity(m, _) = member {
                    self.registry.retype(m, self.type_of(object).0);
                }
            }
            if members.is_empty() {
                out.push((object, end));
            }
            out.extend(members.into_iter().map(|m| (m.with_list(object), end)));
        }
        out
    }

    /// Adds the colleagues that a clause names: "Ayumi is on my team".
    pub(super) fn read_team_mates(&mut self, clause: &Clause, cue: &Cue, frame: &Frame, next: usize) -> bool {
        let rel = &self.cues.relations[cue.relation];
        let belongs = cue.effect == Effect::States && rel.object_types == [EntityType::Organization, EntityType::Project];
        let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= next).filter(|_| belongs) else { return false };
        let ChunkKind::Noun(n) = self.phrases.chunks[c].kind else { return false };
        let np = &self.phrases.nouns[n];
        let team = matches!(self.tokens[np.head].norm.as_str(), "team" | "squad" | "crew" | "shift") && np.core == np.head;
        let own = np.possessor == Possessor::Speaker && team && !frame.subjects.contains(&Referent::Speaker);
        let Some(colleague) = self.cues.noun_cue("colleague").filter(|_| own) else { return false };
        let span = self.span(frame.start, np.end);
        let mut any = false;
        for &subject in &frame.subjects {
            any |= self.add_fact(FactDraft {
                relation: colleague.relation,
                subject,
                object: Referent::Speaker,
                polarity: frame.polarity,
                confidence: frame.confidence * 0.9,
                weak: false,
                span,
            });
        }
        any
    }

    /// Adds who has what somebody gave away: "sold my Corolla to Sam", "gave Professor to Ralitsa". That the giver has it no longer is a cue.
    fn read_transfer(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) {
        let gives = matches!(g.lemma.as_str(), "give" | "sell" | "donate" | "hand" | "pass");
        if !gives || !g.past || g.passive || frame.polarity != Polarity::Affirmed {
            return;
        }
        // "Ben sold it back to me": no adverb matters.
        let chunks = &self.phrases.chunks[(at + 1).min(clause.end)..clause.end];
        let chunks: Vec<_> = chunks.iter().filter(|c| c.kind != ChunkKind::Adverb && !self.tokens[c.start].is("back")).take(3).collect();
        let [what, prep, to] = chunks[..] else { return };
        let (ChunkKind::Noun(what), ChunkKind::Prep, ChunkKind::Noun(to)) = (what.kind, prep.kind, to.kind) else { return };
        let (Some(object), Some(receiver)) = (self.referents[what], self.referents[to]) else { return };
        let is_person = self.type_of(receiver).0 == EntityType::Person
            && match receiver {
                Referent::Entity(i, _) => self.registry.named[i],
                Referent::Speaker => !frame.subjects.contains(&Referent::Speaker),
            };
        // "gave a talk to Anna" hands over nothing.
        let np = &self.phrases.nouns[what];
        let named = matches!(object, Referent::Entity(i, _) if self.registry.named[i]);
        let definite =
            named || np.pronoun || np.possessor != Possessor::Unmarked || np.determiner.is_some_and(|d| self.tokens[d].is("the"));
        let Some(relation) = self.cues.relations.iter().position(|r| !r.possessed.is_empty()) else { return };
        if self.tokens[prep.start].is("to")
            && is_person
            && definite
            && (named || np.pronoun || self.is_possession(&self.cues.relations[relation], object))
        {
            let span = self.span(frame.start, self.phrases.nouns[to].end);
            let confidence = frame.confidence * 0.8;
            let polarity = Polarity::Affirmed;
            self.add_fact(FactDraft { relation, subject: receiver, object, polarity, confidence, weak: false, span });
        }
    }

    /// Adds that the subject gave back what they may have: "I returned it", "sent the drone back". A possession counts, if it is known.
    pub(super) fn read_return(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let after = self.phrases.chunks[clause.end.max(1) - 1].end;
        let back = (g.end..after).find(|&k| self.tokens[k].is("back"));
        // "Took it back to the shop", but not "for repair".
        let is_taken_back = self.tokens[g.end..after].iter().any(|t| SELLERS.contains(&t.norm.as_str()))
            && back.is_some_and(|k| self.tokens.get(k + 1).is_some_and(|t| t.is("to")))
            && !self.tokens[g.end..].iter().any(|t| t.is("for") || t.is("repair"));
        let gives_back = match g.lemma.as_str() {
            "return" => true,
            // "Sent it back for repair"
            "send" | "hand" | "give" | "sell" => back.is_some_and(|k| self.tokens.get(k + 1).is_none_or(|t| !t.is("for"))),
            "take" | "bring" => is_taken_back,
            _ => false,
        };
        let Some(ChunkKind::Noun(n)) = self.phrases.chunks.get(at + 1).filter(|_| at + 1 < clause.end).map(|c| c.kind) else {
            return false;
        };
        let np = &self.phrases.nouns[n];
        // "I returned the book to the shelf" puts it in its place.
        let is_own = is_taken_back && np.possessor == Possessor::Speaker;
        let is_meant = np.pronoun || is_own || back.is_some() && np.determiner.is_some_and(|d| self.tokens[d].is("the"));
        let happened = g.past && !g.passive && frame.polarity == Polarity::Affirmed;
        let Some(relation) = self.cues.relations.iter().position(|r| !r.possessed.is_empty()) else { return false };
        let types = &self.cues.relations[relation].object_types;
        let Some(object) = self.referents[n].filter(|r| self.type_fit(*r, types).is_some()) else { return false };
        if !gives_back || !is_meant || !happened {
            return false;
        }
        let span = self.span(frame.start, np.end);
        let mut any = false;
        for &subject in &frame.subjects {
            any |= self.add_possible_end(relation, subject, Some(object), frame.confidence, span);
        }
        any
    }

    /// Adds what somebody gets from somebody: "Ama gave me her sewing machine", "I bought Nkem a ukulele".
    pub(super) fn read_gift(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        // "I gave Marcus my guitar, then he gave it back"
        if self.is_found_again(g) {
            return false;
        }
        self.read_transfer(clause, at, g, frame);
        let gives = matches!(g.lemma.as_str(), "give" | "gift" | "buy" | "leave" | "get" | "hand" | "sell");
        if !gives || !g.past || g.passive || frame.polarity != Polarity::Affirmed {
            return false;
        }
        let (Some(ChunkKind::Noun(to)), Some(ChunkKind::Noun(what))) = (
            self.phrases.chunks.get(at + 1).filter(|_| at + 1 < clause.end).map(|c| c.kind),
            self.phrases.chunks.get(at + 2).filter(|_| at + 2 < clause.end).map(|c| c.kind),
        ) else {
            return false;
        };
        let (Some(receiver), Some(object)) = (self.referents[to], self.referents[what]) else { return false };
        let Some(relation) = self.cues.relations.iter().position(|r| self.is_possession(r, object)) else { return false };
        if self.type_of(receiver).0 != EntityType::Person {
            return false;
        }
        let span = self.span(frame.start, self.phrases.nouns[what].end);
        let confidence = frame.confidence * 0.9;
        let draft = FactDraft { relation, subject: receiver, object, polarity: Polarity::Affirmed, confidence, weak: false, span };
        // "her old sewing machine" was hers.
        let own = match self.phrases.nouns[what].possessor {
            Possessor::Speaker => frame.subjects == [Referent::Speaker],
            possessor => possessor == Possessor::ThirdPerson,
        };
        if let ([giver], true) = (frame.subjects.as_slice(), own && g.lemma != "buy") {
            self.add_fact(FactDraft { subject: *giver, polarity: Polarity::Ended, ..draft });
            self.covered[what] = true;
        }
        self.add_fact(draft)
    }
}
