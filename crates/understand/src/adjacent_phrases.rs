//! Facts from adjacent phrases: "PyCon in Pittsburgh", "Farah from legal", "my cats, Milo and Otis".

use recall_domain::{EntityType, Polarity};

use super::cues::NounCue;
use super::lexicon::lexicon;
use super::phrases::{ChunkKind, Possessor};
use super::reader::{FactDraft, Reader, Referent};
use super::tokens::Pos;

impl Reader<'_> {
    /// Adds the place of a named event: "PyCon in Pittsburgh".
    pub(crate) fn read_event_places(&mut self) {
        for c in 0..self.phrases.chunks.len().saturating_sub(2) {
            let [a, p, b] = [self.phrases.chunks[c], self.phrases.chunks[c + 1], self.phrases.chunks[c + 2]];
            let (ChunkKind::Noun(a), ChunkKind::Prep, ChunkKind::Noun(b)) = (a.kind, p.kind, b.kind) else { continue };
            let (Some(event), Some(place)) = (self.referents[a], self.referents[b]) else { continue };
            let named = matches!(event, Referent::Entity(i, _) if self.registry.named[i]) && self.type_of(event).0 == EntityType::Event;
            // "I own a bakery in Boston": premises have a place if they are part of a fact.
            let head = &self.tokens[self.phrases.nouns[a].head];
            let premises = matches!(event, Referent::Entity(i, _) if self.registry.kept[i] && lexicon().in_set("premises", &head.lemma));
            if !self.tokens[p.start].is("in") || !(named || premises) || self.type_of(place).0 != EntityType::Place {
                continue;
            }
            let relation = self
                .cues
                .relations
                .iter()
                .position(|r| r.functional && r.object_types == [EntityType::Place] && r.subject_types.contains(&EntityType::Event));
            if let Some(relation) = relation {
                let span = self.span(self.phrases.nouns[a].start, self.phrases.nouns[b].end);
                self.add_fact(FactDraft {
                    relation,
                    subject: event,
                    object: place,
                    polarity: Polarity::Affirmed,
                    confidence: 0.9,
                    weak: false,
                    span,
                });
            }
        }
    }

    /// Adds the department of a named person: "Farah from legal".
    pub(crate) fn read_departments(&mut self) {
        let cues = self.cues;
        for c in 0..self.phrases.chunks.len().saturating_sub(2) {
            let [a, p, b] = [self.phrases.chunks[c], self.phrases.chunks[c + 1], self.phrases.chunks[c + 2]];
            let (ChunkKind::Noun(a), ChunkKind::Prep, ChunkKind::Noun(b)) = (a.kind, p.kind, b.kind) else { continue };
            let (Some(person), Some(team)) = (self.referents[a], self.referents[b]) else { continue };
            let head = &self.tokens[self.phrases.nouns[b].head];
            let named = matches!(person, Referent::Entity(i, _) if self.registry.named[i]) && self.type_of(person).0 == EntityType::Person;
            let department =
                self.type_of(team).0 == EntityType::Organization && lexicon().head(&head.norm) == Some(EntityType::Organization);
            if !self.tokens[p.start].is("from") || !named || !department {
                continue;
            }
            let from = cues
                .verb_cues("be")
                .iter()
                .find(|cue| cue.rest == ["from"] && cues.relations[cue.relation].object_types.contains(&EntityType::Organization));
            if let Some(cue) = from {
                let span = self.span(self.phrases.nouns[a].start, self.phrases.nouns[b].end);
                self.add_fact(FactDraft {
                    relation: cue.relation,
                    subject: person,
                    object: team,
                    polarity: Polarity::Affirmed,
                    confidence: 0.9,
                    weak: false,
                    span,
                });
            }
        }
    }

    /// Adds a fact for each further name of a list: "my friends Tom and Anna", "my kids Leo and Mia".
    pub(super) fn read_listed_names(&mut self, n: usize, cue: NounCue, possessor: Referent, k: usize) {
        let plural = self.tokens[k].norm != self.tokens[k].lemma;
        let Some(mut c) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n)) else { return };
        // "my kids Leo and Mia", "my two cats, Milo and Otis"
        let named = self.tokens[self.phrases.nouns[n].head].pos == Pos::Propn;
        let chunks = &self.phrases.chunks;
        let listed = chunks.get(c + 1).is_some_and(|x| x.kind == ChunkKind::Comma)
            && matches!(chunks.get(c + 2).map(|x| x.kind), Some(ChunkKind::Noun(m)) if self.tokens[self.phrases.nouns[m].head].pos == Pos::Propn)
            && chunks.get(c + 3).is_some_and(|x| x.kind == ChunkKind::Conj || x.kind == ChunkKind::Comma);
        if !plural || !named && !listed {
            return;
        }
        c += 1;
        while c + 1 < self.phrases.chunks.len() && matches!(self.phrases.chunks[c].kind, ChunkKind::Comma | ChunkKind::Conj) {
            if let ChunkKind::Noun(m) = self.phrases.chunks[c + 1].kind
                && self.tokens[self.phrases.nouns[m].head].pos == Pos::Propn
                && self.phrases.nouns[m].possessor == Possessor::Unmarked
                && let Some(referent) = self.referents[m]
            {
                let (start, end) = (self.phrases.nouns[n].start, self.phrases.nouns[m].end);
                if let (Referent::Entity(i, _), Some(Referent::Entity(whole, _))) = (referent, self.referents[n])
                    && !self.cues.relations[cue.relation].possessed.is_empty()
                {
                    self.registry.retype(i, self.registry.type_of(whole).0);
                }
                self.add_noun_fact(cue, possessor, referent, Polarity::Affirmed, 0.9, (start, end));
                c += 2;
            } else if matches!(self.phrases.chunks[c + 1].kind, ChunkKind::Conj) {
                c += 1;
            } else {
                return;
            }
        }
    }
}
