//! Whom the phrases of a sentence mean, and what of them stays in mind for pronouns to come; the search is in `pronouns`.

use recall_domain::EntityType;

use super::lexicon::VerbForm;
use super::phrases::{ChunkKind, NounPhrase, Owner};
use super::pronouns::{self, Wanted};
use super::reader::{Reader, Side};
use super::tokens::Pos;

impl Reader<'_> {
    /// Whom the pronoun at a token means.
    pub(super) fn meant(&mut self, at: usize) -> Vec<Side> {
        let Some(wanted) = pronouns::wanted(&self.tokens[at].norm) else { return Vec::new() };
        // "I love it when …", "it rains": nothing is meant.
        let empty = self.tokens[at].is("it")
            && self.tokens.get(at + 1).is_some_and(|t| matches!(t.norm.as_str(), "when" | "that" | "if" | "how" | "here" | "there"));
        if empty {
            #[cfg(test)]
            self.registry.referred.push(Vec::new());
            return Vec::new();
        }
        self.refer(wanted, at)
    }

    /// Those who stand in the same clause: "our team uses it" is not about the team.
    pub(super) fn near_verb(&self, at: usize) -> Vec<usize> {
        let Some(c) = self.chunk_at(at) else { return Vec::new() };
        let mut out = Vec::new();
        let mut verb = false;
        for chunk in self.phrases.chunks[..c].iter().rev() {
            match chunk.kind {
                ChunkKind::Noun(n) => {
                    if let Some(Side::Entity(i, _)) = self.sides[n] {
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
        // A pronoun before its verb is a subject, and nothing stands beside it yet.
        if verb { out } else { Vec::new() }
    }

    /// "My boss is Ingrid", "his wife is called Olga", "my friend is an artist": two phrases for one, of which the name,
    /// or else the first, stays in mind.
    pub(super) fn mark_same(&mut self, n: usize) {
        let Some(c) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n)) else { return };
        if c < 2 {
            return;
        }
        let (ChunkKind::Verb(v), ChunkKind::Noun(s)) = (self.phrases.chunks[c - 1].kind, self.phrases.chunks[c - 2].kind) else { return };
        let g = &self.phrases.verbs[v];
        if !(g.lemma == "be" || g.passive && matches!(g.lemma.as_str(), "call" | "name")) || g.negated {
            return;
        }
        let (Some(Side::Entity(b, _)), true) = (self.sides[n], self.phrases.chunks[c].start > 0) else { return };
        match self.sides[s] {
            Some(Side::Entity(a, _)) if a != b && !self.registry.named[a] && self.registry.named[b] => {
                self.registry.traits[a].absorbed = true
            }
            Some(side) if side != Side::Entity(b, None) && !self.registry.named[b] => self.registry.traits[b].absorbed = true,
            _ => {}
        }
    }

    pub(super) fn refer(&mut self, wanted: Wanted, at: usize) -> Vec<Side> {
        let owns = self.tokens[at].pos == Pos::Det;
        // "Rosa says she …": a subject has nobody beside it yet.
        let subject = matches!(self.tokens[at].norm.as_str(), "he" | "she" | "they")
            || self.tokens.get(at + 1).is_some_and(|t| matches!(t.pos, Pos::Aux) || t.form == Some(VerbForm::Third));
        let but = if owns || subject { Vec::new() } else { self.near_verb(at) };
        let found = self.registry.antecedents(wanted, &but);
        if found.is_empty() {
            self.registry.open += 1;
        }
        #[cfg(test)]
        self.registry.referred.push(found.clone());
        let span = self.span(at, at + 1);
        for &i in &found {
            self.registry.refer(i, wanted, span);
        }
        found.into_iter().map(|i| Side::Entity(i, None)).collect()
    }

    /// "Thanks, Melanie!", "I'm Teodor": those who are in the conversation are never "she" or "he".
    pub(super) fn mark_present(&mut self, np: &NounPhrase, n: usize) {
        let Some(Side::Entity(i, _)) = self.sides[n] else { return };
        if self.tokens[np.head].pos != Pos::Propn || np.given.is_some() || np.apposition.is_some() || np.owner != Owner::Nobody {
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
        self.registry.traits[i].present |= own || opens && closes && !list && !alone;
    }

    /// "Max and Ida", for a "they" to come.
    pub(super) fn remember_group(&mut self, n: usize) {
        let Some(c) = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n)) else { return };
        if c < 2 || self.phrases.chunks[c - 1].kind != ChunkKind::Conj {
            return;
        }
        let person = |r: &Self, c: usize| match r.phrases.chunks[c].kind {
            ChunkKind::Noun(n) => match r.sides[n] {
                Some(Side::Entity(i, _)) if r.registry.kind(i).0 == EntityType::Person => Some(i),
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

    pub(super) fn demonstrative(&self, np: &NounPhrase) -> bool {
        self.tokens[np.head].pos == Pos::Noun
            && np.given.is_none()
            && np.det.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "this" | "that" | "these" | "those"))
    }
}
