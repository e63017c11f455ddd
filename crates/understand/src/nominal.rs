//! Facts from nouns: possessives ("my manager Dave", "our cats", "John's boss"), copulas ("Katherine is my boss",
//! "my favourite band is X") and appositions.

use recall_domain::{EntityType, Polarity};

use super::clauses::{Clause, Subject};
use super::cues::NounCue;
use super::lexicon::{Group, lexicon};
use super::mentions;
use super::phrases::{ChunkKind, NounPhrase, Owner, VerbKind};
use super::reader::{Claim, Reader, Side, is_personal};
use super::tokens::Pos;

impl Reader<'_> {
    /// The noun cue of a phrase and its position, if it has one.
    fn noun_cue(&self, np: &NounPhrase) -> Option<(NounCue, usize)> {
        if np.pronoun || np.opaque || np.title {
            return None;
        }
        let end = np.given.map_or(np.head + 1, |g| g.0.min(np.head + 1));
        // "my favorite part is the ending" is about something else.
        if lexicon().in_set("parts", &self.tokens[np.head].lemma) {
            return None;
        }
        // "my favorite type of music"
        let first = if self.tokens[np.start..np.core].iter().any(|t| t.is("of")) { np.start } else { np.core };
        for k in (first..end).rev() {
            let t = &self.tokens[k];
            if k > np.core {
                let two = format!("{} {}", self.tokens[k - 1].norm, t.lemma);
                if let Some(cue) = self.cues.noun(&two) {
                    return Some((cue, k));
                }
            }
            // "product manager" is a trade, not somebody's manager.
            if k > np.core && lexicon().has(Group::Person, &format!("{} {}", self.tokens[k - 1].norm, t.lemma)) {
                return None;
            }
            if !matches!(t.pos, Pos::Noun | Pos::Adj | Pos::Propn | Pos::Verb) {
                continue;
            }
            let cue = self.cues.noun(&t.norm).or_else(|| self.cues.noun(&t.lemma));
            if let Some(cue) = cue {
                // A personal noun must be what the phrase is about, not a modifier ("family car", "partner company").
                let personal = is_personal(self.cues, cue.relation, cue.inverse);
                let names = (k + 1..=np.head).all(|n| self.tokens[n].pos == Pos::Propn || self.tokens[n].is("'s"));
                if !personal || k == np.head || names {
                    return Some((cue, k));
                }
            }
        }
        None
    }

    /// Whose the phrase is.
    fn owner(&self, n: usize) -> Option<Side> {
        let np = &self.phrases.nouns[n];
        match np.owner {
            Owner::Speaker => Some(Side::Speaker),
            Owner::Phrase(m) => self.sides[m],
            // "Bob, whose brother …"
            Owner::Third if np.det.is_some_and(|d| self.tokens[d].is("whose")) => {
                let before = self.phrases.nouns.iter().enumerate().filter(|(_, o)| o.end <= np.start).max_by_key(|(_, o)| o.end);
                before.and_then(|(m, _)| self.sides[m]).filter(|&s| self.kind(s).0 == EntityType::Person)
            }
            Owner::Third => self.owners[n],
            Owner::Addressee => None,
            Owner::Nobody => {
                // "a friend of mine", "the mother of Tom"; bare "Dad" is the speaker's.
                let c = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n));
                if let Some(c) = c
                    && self.phrases.chunks.get(c + 1).is_some_and(|x| x.kind == ChunkKind::Prep && self.tokens[x.start].is("of"))
                    && let Some(ChunkKind::Noun(m)) = self.phrases.chunks.get(c + 2).map(|x| x.kind)
                {
                    return self.sides[m];
                }
                let head = &self.tokens[np.head];
                let bare_kin = np.det.is_none()
                    && np.given.is_none()
                    && matches!(head.norm.as_str(), "dad" | "mom" | "mum" | "grandma" | "grandpa" | "daddy" | "mommy");
                bare_kin.then_some(Side::Speaker)
            }
        }
    }

    pub(super) fn enter(
        &mut self,
        cue: NounCue,
        owner: Side,
        other: Side,
        polarity: Polarity,
        confidence: f64,
        words: (usize, usize),
    ) -> bool {
        let (subject, object) = if cue.inverse { (other, owner) } else { (owner, other) };
        let span = self.span(words.0, words.1);
        self.claim(Claim { relation: cue.relation, subject, object, polarity, confidence, weak: false, span })
    }

    /// "X is my boss", "my boss is X", "X and Y are friends".
    pub(crate) fn copula(&mut self, clause: &Clause) {
        let g = self.phrases.verbs[clause.verb].clone();
        let Subject::Nouns(subjects) = clause.subject.clone() else { return };
        if g.progressive && !g.negated && g.modal.is_none() && !clause.doubtful {
            self.favourite_activity(clause, &subjects);
        }
        if !matches!(g.lemma.as_str(), "be" | "become" | "remain" | "include")
            || g.passive
            || g.progressive
            || g.modal.is_some()
            || clause.doubtful
        {
            return;
        }
        let Some(at) = (clause.at + 1..clause.end).find(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Adverb | ChunkKind::Not))
        else {
            return;
        };
        let anymore = self.tokens[g.end..self.phrases.chunks[clause.end - 1].end].iter().any(|t| t.is("anymore"));
        let polarity = if g.used_to || g.no_longer || g.negated && anymore {
            Polarity::Ended
        } else if g.negated {
            Polarity::Negated
        } else {
            Polarity::Affirmed
        };
        let confidence = if clause.hedged.is_some() { 0.75 } else { 1.0 };
        let start = clause.start_token;
        if let [s] = subjects[..]
            && let ChunkKind::Noun(name) = self.phrases.chunks[at].kind
            && polarity == Polarity::Affirmed
            && (self.naming(s, name) || self.described(s, name))
        {
            return;
        }
        // My favourite band is X; my boss is Dave.
        if let [s] = subjects[..]
            && let Some((cue, _)) = self.noun_cue(&self.phrases.nouns[s].clone())
            && self.phrases.nouns[s].given.is_none()
            && self.tokens[self.phrases.nouns[s].head].pos != Pos::Propn
            && let Some(owner) = self.owner(s)
        {
            let personal = is_personal(self.cues, cue.relation, cue.inverse);
            // "My roommate is a DJ" says what the roommate does, not who it is.
            let kind_of = matches!(self.phrases.chunks[at].kind, ChunkKind::Noun(n)
                if self.phrases.nouns[n].det.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an")) && self.phrases.nouns[n].given.is_none());
            if personal && kind_of {
                return;
            }
            let items = self.items(at, clause, !personal);
            let mut any = false;
            for (item, end) in items {
                let fits = !personal || matches!(item, Side::Entity(i, _) if self.registry.kept[i]);
                if fits {
                    any |= self.enter(cue, owner, item, polarity, confidence, (start, end));
                }
            }
            if any {
                self.consumed[s] = true;
                return;
            }
        }
        let ChunkKind::Noun(p) = self.phrases.chunks[at].kind else { return };
        if g.lemma == "include" {
            return;
        }
        let predicate = self.phrases.nouns[p].clone();
        if lexicon().in_set("fans", &self.tokens[predicate.head].lemma) {
            self.fan(&subjects, &predicate, polarity, (start, self.phrases.chunks[at].end));
            return;
        }
        let Some((cue, _)) = self.noun_cue(&predicate) else { return };
        let end = self.phrases.chunks[at].end;
        if let Some(owner) = self.owner(p) {
            let mut any = false;
            for &s in &subjects {
                if let Some(side) = self.sides[s] {
                    any |= self.enter(cue, owner, side, polarity, confidence, (start, end));
                }
            }
            self.consumed[p] |= any;
            return;
        }
        // Priya and I are colleagues.
        let symmetric = self.cues.relations[cue.relation].symmetric;
        if symmetric && subjects.len() > 1 && predicate.owner == Owner::Nobody {
            let sides: Vec<Side> = subjects.iter().filter_map(|&s| self.sides[s]).collect();
            for (i, &a) in sides.iter().enumerate() {
                for &b in &sides[i + 1..] {
                    let (a, b) = if b == Side::Speaker { (b, a) } else { (a, b) };
                    self.enter(cue, a, b, polarity, confidence, (start, end));
                }
            }
        }
    }

    /// "I'm a big Elvis fan", "my sister is a history buff".
    fn fan(&mut self, subjects: &[usize], predicate: &NounPhrase, polarity: Polarity, words: (usize, usize)) {
        let cues = self.cues;
        let Some(cue) = cues.verb("be").iter().find(|c| c.rest.first().is_some_and(|w| w == "fan")) else { return };
        let Some(head) = predicate.head.checked_sub(1).filter(|&h| h >= predicate.core && self.tokens[h].nominal()) else { return };
        let liked = NounPhrase { end: head + 1, head, det: None, owner: Owner::Nobody, ..predicate.clone() };
        let Some(named) = mentions::describe(self.tokens, &liked, &|_| false) else { return };
        let Some(object) = self.register(&named) else { return };
        for &s in subjects {
            if let Some(subject) = self.sides[s] {
                let span = self.span(words.0, words.1);
                self.claim(Claim { relation: cue.relation, subject, object, polarity, confidence: 0.9, weak: false, span });
            }
        }
    }

    /// "My hobby is painting": the tagger's "is painting" is no progressive.
    fn favourite_activity(&mut self, clause: &Clause, subjects: &[usize]) {
        let [s] = subjects[..] else { return };
        let Some((cue, _)) = self.noun_cue(&self.phrases.nouns[s].clone()) else { return };
        if is_personal(self.cues, cue.relation, cue.inverse) || !self.cues.relations[cue.relation].activities {
            return;
        }
        let Some(owner) = self.owner(s) else { return };
        let mut items = Vec::new();
        let next = self.activity(clause.at, clause, &mut items);
        if self.phrases.chunks.get(next).is_some_and(|c| next < clause.end && matches!(c.kind, ChunkKind::Conj | ChunkKind::Comma)) {
            let more = self.items(next + 1, clause, true);
            items.extend(more);
        }
        for (item, end) in items {
            self.enter(cue, owner, item, Polarity::Affirmed, 1.0, (clause.start_token, end));
        }
    }

    /// "I have a sister named Anna", "I have two kids".
    pub(crate) fn having(&mut self, clause: &Clause) {
        let g = self.phrases.verbs[clause.verb].clone();
        if !(g.lemma == "have" || g.lemma == "get" && self.tokens[g.start].lemma == "have")
            || g.modal.is_some()
            || g.passive
            || clause.doubtful
            || g.kind != VerbKind::Finite
        {
            return;
        }
        let owners: Vec<Side> = match &clause.subject {
            Subject::Nouns(nouns) => nouns.iter().flat_map(|&n| self.sides[n].into_iter().chain(self.also[n].iter().copied())).collect(),
            Subject::Implied => vec![Side::Speaker],
            Subject::Unknown => return,
        };
        let Some(at) = (clause.at + 1..clause.end).find(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Adverb | ChunkKind::Not))
        else {
            return;
        };
        let mut c = at;
        while c < clause.end {
            if let ChunkKind::Noun(n) = self.phrases.chunks[c].kind {
                let np = self.phrases.nouns[n].clone();
                let none = np.det.is_some_and(|d| self.tokens[d].is("no") || self.tokens[d].is("any"));
                if np.owner == Owner::Nobody
                    && !none
                    && let Some((cue, k)) = self.noun_cue(&np)
                    && is_personal(self.cues, cue.relation, cue.inverse)
                {
                    let end = self.phrases.chunks[c].end;
                    let side = self.sides[n].or_else(|| {
                        // "two kids" has no determiner; it is a specific plural all the same.
                        let counted = (np.core..np.head).any(|k| self.tokens[k].pos == Pos::Num) || np.det.is_some();
                        let vague = matches!(self.tokens[k].norm.as_str(), "friends" | "parents" | "folks");
                        let named = mentions::Named {
                            name: mentions::text_of(self.tokens, k, np.head + 1),
                            ty: EntityType::Person,
                            strength: 0.9,
                            proper: false,
                            group: None,
                            role: None,
                            plural: self.tokens[np.head].norm != self.tokens[np.head].lemma,
                            span: mentions::span(self.tokens, k, np.head + 1),
                        };
                        if counted && !vague { self.register(&named) } else { None }
                    });
                    let polarity = if g.negated { Polarity::Negated } else { Polarity::Affirmed };
                    if let Some(side) = side {
                        for &owner in &owners {
                            self.enter(cue, owner, side, polarity, 1.0, (clause.start_token, end));
                        }
                        self.consumed[n] = true;
                    }
                }
            } else if !matches!(self.phrases.chunks[c].kind, ChunkKind::Comma | ChunkKind::Conj) {
                break;
            }
            c += 1;
        }
    }

    /// Possessives anywhere in the sentence.
    pub(crate) fn possessives(&mut self) {
        let apposed: Vec<(usize, usize)> =
            self.phrases.nouns.iter().enumerate().filter_map(|(a, n)| n.apposition.map(|b| (a, b))).collect();
        for n in 0..self.phrases.nouns.len() {
            let np = self.phrases.nouns[n].clone();
            if self.consumed[n] || np.pronoun || np.opaque {
                continue;
            }
            let host = apposed.iter().find(|(_, b)| *b == n).map(|(a, _)| *a);
            let other = host.map_or(self.sides[n], |a| self.sides[a]);
            let (Some(other), Some(owner)) = (other, self.owner(n)) else { continue };
            let start = host.map_or(np.start, |a| self.phrases.nouns[a].start);
            if let Some((cue, k)) = self.noun_cue(&np) {
                let personal = is_personal(self.cues, cue.relation, cue.inverse);
                let named = host.is_some() || np.given.is_some() || self.tokens[np.head].pos == Pos::Propn && k < np.head;
                if !personal && !named {
                    continue;
                }
                let former = (np.core..k)
                    .any(|t| matches!(self.tokens[t].norm.as_str(), "former" | "ex" | "previous" | "old") && self.tokens[t].norm != "old")
                    || self.tokens[k].norm.starts_with("ex-")
                    || self.tokens[k].is("ex");
                let friend_like = matches!(self.tokens[k].lemma.as_str(), "roommate" | "neighbor" | "neighbour" | "classmate" | "flatmate");
                let polarity = if former && !friend_like { Polarity::Ended } else { Polarity::Affirmed };
                self.enter(cue, owner, other, polarity, 1.0, (start, np.end));
                self.more_names(n, cue, owner, k);
                continue;
            }
            // "our cats", "my bike"
            for (i, rel) in self.cues.relations.iter().enumerate() {
                if !rel.possessed.is_empty() && self.possessed(rel, other) {
                    self.more_names(n, NounCue { relation: i, inverse: false }, owner, np.head);
                    let span = self.span(np.start, np.end);
                    let named = np.given.is_some() || self.tokens[np.head].pos == Pos::Propn;
                    let confidence = if named || np.owner == Owner::Speaker { 0.95 } else { 0.8 };
                    if !matches!(np.owner, Owner::Nobody) {
                        self.claim(Claim {
                            relation: i,
                            subject: owner,
                            object: other,
                            polarity: Polarity::Affirmed,
                            confidence,
                            weak: false,
                            span,
                        });
                    }
                    break;
                }
            }
        }
    }
}
