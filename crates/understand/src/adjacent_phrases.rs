//! Facts from adjacent phrases: "PyCon in Pittsburgh", "Farah from legal", "my cats, Milo and Otis".

use recall_domain::{EntityType, Polarity};

use super::clauses::Clause;
use super::cues::NounCue;
use super::lexicon::lexicon;
use super::mentions::WEAK;
use super::phrases::{ChunkKind, Possessor};
use super::reader::{FactDraft, Reader, Referent};
use super::tokens::Pos;

impl Reader<'_> {
    /// Adds the place of a named event: "PyCon in Pittsburgh".
    pub(crate) fn read_event_places(&mut self) {
        for c in 0..self.phrases.chunks.len().saturating_sub(2) {
            let [a, p, b] = [self.phrases.chunks[c], self.phrases.chunks[c + 1], self.phrases.chunks[c + 2]];
            let (ChunkKind::Noun(a), ChunkKind::Prep, ChunkKind::Noun(b)) = (a.kind, p.kind, b.kind) else { continue };
            let Some(place) = self.referents[b] else { continue };
            let described = self.described_name(c, a);
            let Some(event) = described.or(self.referents[a]) else { continue };
            let (ty, strength) = self.type_of(event);
            let np = &self.phrases.nouns[a];
            let is_named = matches!(event, Referent::Entity(i, _) if self.registry.named[i]);
            let before = np.start.checked_sub(1).map_or("", |k| self.tokens[k].norm.as_str());
            let definite = np.determiner.is_some_and(|d| self.tokens[d].is("the"));
            // "worked at Bramble Rescue in Dunstable", "the Ghibli Museum in Mitaka": the words around an unknown name tell that it is no person.
            let sited = is_named
                && match ty {
                    EntityType::Event => true,
                    EntityType::Organization | EntityType::Place => strength >= WEAK || matches!(before, "at" | "for") || definite,
                    EntityType::Person | EntityType::Thing => strength < WEAK && (matches!(before, "at" | "for") || definite),
                    _ => false,
                };
            let occasion = ty == EntityType::Event && strength >= WEAK && (np.possessor != Possessor::Unmarked || definite);
            let named = sited || occasion || described.is_some();
            // "I own a bakery in Boston": premises have a place if they are part of a fact.
            let head = &self.tokens[self.phrases.nouns[a].head];
            let premises = matches!(event, Referent::Entity(i, _) if self.registry.kept[i] && lexicon().in_set("premises", &head.lemma));
            let inside = matches!(place, Referent::Entity(i, _) if self.registry.named[i]) && self.type_of(place).0 == EntityType::Place;
            if !self.tokens[p.start].is("in") || !(named || premises) || !inside || event == place {
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

    /// Returns the name that a common noun for a group, a place or an event describes: "Mission, the hospital in Asheville", "it's a school in
    /// Leeds". The noun gives an unknown name its type.
    fn described_name(&mut self, chunk: usize, n: usize) -> Option<Referent> {
        let np = &self.phrases.nouns[n];
        let head = &self.tokens[np.head];
        let class = match lexicon().head(&head.lemma) {
            Some(ty @ (EntityType::Organization | EntityType::Place | EntityType::Event)) => ty,
            _ if lexicon().in_set("institutions", &head.lemma) => EntityType::Organization,
            _ => return None,
        };
        let article = np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an" | "the"));
        if !article || np.proper_name.is_some() || head.pos != Pos::Noun || chunk < 2 {
            return None;
        }
        let joins = match self.phrases.chunks[chunk - 1].kind {
            ChunkKind::Comma => true,
            ChunkKind::Verb(v) => self.phrases.verbs[v].lemma == "be" && !self.phrases.verbs[v].negated,
            _ => false,
        };
        let ChunkKind::Noun(subject) = self.phrases.chunks[chunk - 2].kind else { return None };
        match self.referents[subject].filter(|_| joins) {
            Some(Referent::Entity(i, list)) if self.registry.named[i] => {
                let (ty, strength) = self.registry.type_of(i);
                if strength < WEAK {
                    self.registry.retype(i, class);
                }
                (strength < WEAK || ty == class || ty != EntityType::Person).then_some(Referent::Entity(i, list))
            }
            _ => None,
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

    /// Adds a fact for each further name of a plural that is named: "my kids are called Ana and Ben", "my cats are Tom and Felix".
    pub(super) fn read_further_names(&mut self, subject: usize, name: usize, clause: &Clause) {
        let np = &self.phrases.nouns[subject];
        let is_plural = self.tokens[np.head].pos == Pos::Noun && self.tokens[np.head].norm != self.tokens[np.head].lemma;
        let (Some(possessor), Some(Referent::Entity(whole, list))) = (self.possessor(subject), self.referents[subject]) else { return };
        let relation = self.cues.relations.iter().position(|r| self.is_possession(r, Referent::Entity(whole, list)));
        let owned = relation.map(|relation| NounCue { relation, inverse: false });
        let Some(cue) = self.find_noun_cue(np).map(|(cue, _)| cue).or(owned).filter(|_| is_plural) else { return };
        let Some(first) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(name)) else { return };
        let start = np.start;
        for (referent, end) in self.read_objects(first, clause, false).into_iter().skip(1) {
            let Referent::Entity(i, _) = referent else { continue };
            if self.registry.named[i] {
                self.registry.retype(i, self.registry.type_of(whole).0);
                self.add_noun_fact(cue, possessor, referent, Polarity::Affirmed, 0.9, (start, end));
            }
        }
    }

    /// Returns the names of the members of a plural: "two greyhounds, Pickle and Chutney", "my 2 cats (Dosa and Idli)".
    pub(super) fn names_of_members(&self, n: usize) -> Vec<Referent> {
        let np = &self.phrases.nouns[n];
        let plural = self.tokens[np.head].pos == Pos::Noun && self.tokens[np.head].norm != self.tokens[np.head].lemma;
        let Some(mut c) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n)).filter(|_| plural) else {
            return Vec::new();
        };
        let chunks = &self.phrases.chunks;
        let mut names = Vec::new();
        let opens = |c: usize| matches!(chunks.get(c).map(|x| x.kind), Some(ChunkKind::Comma | ChunkKind::Mark));
        // "Two cats from the shelter, Salt and Pepper"
        let place = [c + 1, c + 2].map(|c| chunks.get(c).map(|x| x.kind));
        if matches!(place, [Some(ChunkKind::Prep), Some(ChunkKind::Noun(m))] if !self.phrases.nouns[m].pronoun) {
            c += 2;
        }
        if !opens(c + 1) {
            return names;
        }
        c += 1;
        while let Some(x) =
            chunks.get(c).filter(|x| matches!(x.kind, ChunkKind::Comma | ChunkKind::Conj | ChunkKind::Mark | ChunkKind::Other))
        {
            let symbol = x.kind != ChunkKind::Other || self.tokens[x.start].is("+");
            match chunks.get(c + 1).map(|x| x.kind) {
                Some(ChunkKind::Noun(m)) if symbol && self.tokens[self.phrases.nouns[m].head].pos == Pos::Propn => {
                    names.extend(self.referents[m]);
                    c += 2;
                }
                Some(ChunkKind::Conj) => c += 1,
                _ => break,
            }
        }
        if names.len() > 1 { names } else { Vec::new() }
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
