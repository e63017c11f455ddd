//! Resolves the pronouns of a sentence and marks mentions for later pronouns. The search is in `antecedents`.

use recall_domain::EntityType;

use super::cues::Rel;
use super::lexicon::{VerbForm, lexicon};
use super::phrases::{ChunkKind, NounPhrase, Possessor, VerbKind};
use super::pronouns::{self, AntecedentKind};
use super::reader::{Reader, Referent};
use super::tokens::Pos;

impl Reader<'_> {
    /// Returns the referents of the pronoun at a token.
    pub(super) fn resolve_pronoun(&mut self, at: usize) -> Vec<Referent> {
        let Some(antecedent_kind) = pronouns::antecedent_kind(&self.tokens[at].norm) else { return Vec::new() };
        // "I love it when …", "it rains": an expletive has no referent.
        let empty = self.tokens[at].is("it")
            && self.tokens.get(at + 1).is_some_and(|t| matches!(t.norm.as_str(), "when" | "that" | "if" | "how" | "here" | "there"));
        if empty {
            #[cfg(test)]
            self.registry.referred.push(Vec::new());
            return Vec::new();
        }
        self.refer(antecedent_kind, at)
    }

    /// Returns the mentions of the same clause: in "our team uses it", "it" is not the team.
    pub(super) fn clause_mates(&self, at: usize) -> Vec<usize> {
        let Some(c) = self.chunk_at(at) else { return Vec::new() };
        let mut out = Vec::new();
        let mut verb = false;
        for chunk in self.phrases.chunks[..c].iter().rev() {
            match chunk.kind {
                ChunkKind::Noun(n) => {
                    if let Some(Referent::Entity(i, _)) = self.referents[n] {
                        out.push(i);
                    }
                    if verb {
                        break;
                    }
                }
                ChunkKind::Verb(_) => verb = true,
                ChunkKind::Prep | ChunkKind::Adverb | ChunkKind::Adjective => {}
                _ => break,
            }
        }
        // A pronoun before its verb is a subject, and has no clause mates yet.
        if verb { out } else { Vec::new() }
    }

    /// Marks one of two coreferent phrases of a copula as absorbed.
    ///
    /// "My boss is Ingrid", "his wife is called Olga", "my friend is an artist": the name, or else the first phrase,
    /// remains an antecedent.
    pub(super) fn mark_absorbed(&mut self, n: usize) {
        let Some(c) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n)) else { return };
        if c < 2 {
            return;
        }
        let (ChunkKind::Verb(v), ChunkKind::Noun(s)) = (self.phrases.chunks[c - 1].kind, self.phrases.chunks[c - 2].kind) else { return };
        let g = &self.phrases.verbs[v];
        if !(g.lemma == "be" || g.passive && matches!(g.lemma.as_str(), "call" | "name")) {
            return;
        }
        let denied = g.negated;
        let (Some(Referent::Entity(b, _)), true) = (self.referents[n], self.phrases.chunks[c].start > 0) else { return };
        match self.referents[s] {
            Some(Referent::Entity(a, _)) if !denied && a != b && !self.registry.named[a] && self.registry.named[b] => {
                self.registry.traits[a].absorbed = true
            }
            Some(referent) if referent != Referent::Entity(b, None) && !self.registry.named[b] => self.registry.traits[b].absorbed = true,
            _ => {}
        }
    }

    /// Returns the antecedents of a pronoun or demonstrative, and counts it if it has none.
    pub(super) fn refer(&mut self, antecedent_kind: AntecedentKind, at: usize) -> Vec<Referent> {
        let owns = self.tokens[at].pos == Pos::Det;
        // "Rosa says she …": a subject has no clause mates yet.
        let subject = matches!(self.tokens[at].norm.as_str(), "he" | "she" | "they")
            || self.tokens.get(at + 1).is_some_and(|t| matches!(t.pos, Pos::Aux) || t.form == Some(VerbForm::ThirdPerson));
        let mut but = if owns || subject { Vec::new() } else { self.clause_mates(at) };
        but.extend(self.reporter_before(at));
        if matches!(antecedent_kind, AntecedentKind::Singular(_)) {
            but.extend(self.visited_before(at));
        }
        let found = self.registry.antecedents(antecedent_kind, &but);
        if found.is_empty() {
            self.registry.unresolved += 1;
        }
        #[cfg(test)]
        self.registry.referred.push(found.clone());
        let span = self.span(at, at + 1);
        for &i in &found {
            self.registry.refer(i, antecedent_kind, span);
        }
        found.into_iter().map(|i| Referent::Entity(i, None)).collect()
    }

    /// Returns who says what a pronoun is part of, if only a job names them: in "the nurse said he is ill", "he" is not the nurse.
    fn reporter_before(&self, at: usize) -> Option<usize> {
        let chunks = &self.phrases.chunks;
        let is_saying = |k: &usize| match chunks[*k].kind {
            ChunkKind::Verb(v) => self.phrases.verbs[v].kind == VerbKind::Finite && lexicon().in_set("say", &self.phrases.verbs[v].lemma),
            _ => false,
        };
        let said = (1..self.chunk_at(at)?).rev().find(is_saying)?;
        let ChunkKind::Noun(n) = chunks[..said].iter().rev().find(|c| c.kind != ChunkKind::Adverb)?.kind else { return None };
        let np = &self.phrases.nouns[n];
        match self.referents[n]? {
            Referent::Entity(i, _) if !self.registry.named[i] && np.proper_name.is_none() && self.find_noun_cue(np).is_none() => Some(i),
            _ => None,
        }
    }

    /// Returns who is visited with somebody whose name may be a common noun: in "we took pickle to the vet and she weighs 4 kg", "she" may be Pickle.
    fn visited_before(&self, at: usize) -> Option<usize> {
        let before = &self.phrases.chunks[..self.chunk_at(at)?];
        before.windows(4).rev().find_map(|c| {
            let (ChunkKind::Verb(_), ChunkKind::Noun(taken), ChunkKind::Prep, ChunkKind::Noun(visited)) =
                (c[0].kind, c[1].kind, c[2].kind, c[3].kind)
            else {
                return None;
            };
            let (taken, job) = (&self.phrases.nouns[taken], &self.phrases.nouns[visited]);
            let head = &self.tokens[taken.head];
            let is_bare = taken.start == taken.head && !taken.pronoun && taken.proper_name.is_none();
            let may_be_name = is_bare && head.pos == Pos::Noun && head.lemma == head.norm;
            let is_some_job = job.possessor == Possessor::Unmarked && job.determiner.is_some_and(|d| self.tokens[d].is("the"));
            match self.referents[visited]? {
                Referent::Entity(i, _) if may_be_name && is_some_job && self.tokens[c[2].start].is("to") => Some(i),
                _ => None,
            }
        })
    }

    /// Returns what "there" means as the object of a relation: the place or organization named last.
    pub(super) fn place_meant(&self, rel: &Rel) -> Option<Referent> {
        let ty = *rel.object_types.iter().find(|t| matches!(t, EntityType::Place | EntityType::Organization))?;
        let found = self.registry.antecedents(AntecedentKind::Type(ty), &[]);
        found.first().filter(|&&i| self.registry.named[i]).map(|&i| Referent::Entity(i, None))
    }

    /// Counts "there" without an antecedent: "she works there", but not "there is a shop".
    pub(super) fn count_unresolved_place(&mut self, at: usize) {
        let expletive = self.tokens.get(at + 1).is_some_and(|t| t.lemma == "be" || t.is("'s") || t.is("has") || t.is("will"));
        let known = [EntityType::Place, EntityType::Organization];
        if !expletive && known.iter().all(|&ty| self.registry.antecedents(AntecedentKind::Type(ty), &[]).is_empty()) {
            self.registry.unresolved += 1;
        }
    }

    /// Marks a name of the addressee or the speaker: "Thanks, Melanie!", "I'm Teodor".
    pub(super) fn mark_participant(&mut self, np: &NounPhrase, n: usize) {
        let Some(Referent::Entity(i, _)) = self.referents[n] else { return };
        if self.tokens[np.head].pos != Pos::Propn
            || np.proper_name.is_some()
            || np.appositive.is_some()
            || np.possessor != Possessor::Unmarked
        {
            return;
        }
        let before = np.start.checked_sub(1).map(|k| &self.tokens[k]);
        let after = self.tokens.get(np.end);
        let own = before.is_some_and(|t| t.is("am"));
        let opens = before.is_none_or(|t| matches!(t.pos, Pos::Punct | Pos::Intj) || t.is("thanks") || t.is("hey"));
        let closes = after.is_none_or(|t| t.pos == Pos::Punct && !t.norm.starts_with(['(', '—', ':']));
        let alone = self.tokens.iter().filter(|t| t.pos != Pos::Punct).count() == np.end - np.start;
        let list = after.is_some_and(|t| t.is(","))
            && self.tokens.get(np.end + 1).is_some_and(|t| t.pos == Pos::Propn || t.pos == Pos::Cconj)
            || before.is_some_and(|t| t.is(",")) && np.start >= 2 && self.tokens[np.start - 2].pos == Pos::Propn;
        self.registry.traits[i].participant |= own || opens && closes && !list && !alone;
    }

    /// Stores coordinated persons ("Max and Ida") as antecedent of a later "they".
    pub(super) fn remember_group(&mut self, n: usize) {
        let Some(c) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n)) else { return };
        if c < 2 || self.phrases.chunks[c - 1].kind != ChunkKind::Conj {
            return;
        }
        let person = |r: &Self, c: usize| match r.phrases.chunks[c].kind {
            ChunkKind::Noun(n) => match r.referents[n] {
                Some(Referent::Entity(i, _)) if r.registry.type_of(i).0 == EntityType::Person => Some(i),
                _ => None,
            },
            _ => None,
        };
        let mut members: Vec<usize> = person(self, c).into_iter().collect();
        let mut k = c;
        while k >= 2 && matches!(self.phrases.chunks[k - 1].kind, ChunkKind::Conj | ChunkKind::Comma) {
            let Some(i) = person(self, k - 2) else { break };
            members.insert(0, i);
            k -= 2;
        }
        if members.len() > 1 {
            self.registry.groups.push((self.registry.sentence, members));
        }
    }

    /// Whether a phrase is a common noun with a demonstrative: "that car".
    pub(super) fn is_demonstrative(&self, np: &NounPhrase) -> bool {
        self.tokens[np.head].pos == Pos::Noun
            && np.proper_name.is_none()
            && np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "this" | "that" | "these" | "those"))
    }
}
