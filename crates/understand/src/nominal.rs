//! Adds facts from nouns: possessives ("my manager Dave", "our cats", "John's boss"), copulas ("Katherine is my boss",
//! "my favourite band is X") and appositives.

use recall_domain::{EntityType, Polarity};

use super::clauses::{Clause, Subject};
use super::cues::NounCue;
use super::lexicon::{WordList, lexicon};
use super::mentions;
use super::naming::describe;
use super::phrases::{ChunkKind, NounPhrase, Possessor, VerbKind};
use super::reader::{FactDraft, Reader, Referent, is_personal};
use super::tokens::Pos;

impl Reader<'_> {
    /// Returns the noun cue of a phrase and its token.
    fn find_noun_cue(&self, np: &NounPhrase) -> Option<(NounCue, usize)> {
        if np.pronoun || np.opaque || np.title {
            return None;
        }
        let end = np.proper_name.map_or(np.head + 1, |g| g.0.min(np.head + 1));
        // "my favorite part is the ending" is about a thing that the sentence does not name.
        if lexicon().in_set("parts", &self.tokens[np.head].lemma) {
            return None;
        }
        // "my favorite type of music"
        let first = if self.tokens[np.start..np.core].iter().any(|t| t.is("of")) { np.start } else { np.core };
        for k in (first..end).rev() {
            let t = &self.tokens[k];
            if k > np.core {
                let two = format!("{} {}", self.tokens[k - 1].norm, t.lemma);
                if let Some(cue) = self.cues.noun_cue(&two) {
                    return Some((cue, k));
                }
            }
            // "product manager" is an occupation, not a relation to a person.
            if k > np.core && lexicon().has(WordList::Person, &format!("{} {}", self.tokens[k - 1].norm, t.lemma)) {
                return None;
            }
            if !matches!(t.pos, Pos::Noun | Pos::Adj | Pos::Propn | Pos::Verb) {
                continue;
            }
            let cue = self.cues.noun_cue(&t.norm).or_else(|| self.cues.noun_cue(&t.lemma));
            if let Some(cue) = cue {
                // A personal noun must be the head, not a modifier ("family car", "partner company").
                let personal = is_personal(self.cues, cue.relation, cue.inverse);
                let names = (k + 1..=np.head).all(|n| self.tokens[n].pos == Pos::Propn || self.tokens[n].is("'s"));
                if !personal || k == np.head || names {
                    return Some((cue, k));
                }
            }
        }
        None
    }

    /// Returns the referent of the possessor of a phrase.
    fn possessor(&self, n: usize) -> Option<Referent> {
        let np = &self.phrases.nouns[n];
        match np.possessor {
            Possessor::Speaker => Some(Referent::Speaker),
            Possessor::Phrase(m) => self.referents[m],
            // "Bob, whose brother …"
            Possessor::ThirdPerson if np.determiner.is_some_and(|d| self.tokens[d].is("whose")) => {
                let before = self.phrases.nouns.iter().enumerate().filter(|(_, o)| o.end <= np.start).max_by_key(|(_, o)| o.end);
                before.and_then(|(m, _)| self.referents[m]).filter(|&s| self.type_of(s).0 == EntityType::Person)
            }
            Possessor::ThirdPerson => self.possessors[n],
            Possessor::Addressee => None,
            Possessor::Unmarked => {
                // "a friend of mine", "the mother of Tom". "Dad" without a determiner is the speaker's.
                let c = self.phrases.chunks.iter().position(|c| c.kind == ChunkKind::Noun(n));
                if let Some(c) = c
                    && self.phrases.chunks.get(c + 1).is_some_and(|x| x.kind == ChunkKind::Prep && self.tokens[x.start].is("of"))
                    && let Some(ChunkKind::Noun(m)) = self.phrases.chunks.get(c + 2).map(|x| x.kind)
                {
                    return self.referents[m];
                }
                let head = &self.tokens[np.head];
                let bare_kin = np.determiner.is_none()
                    && np.proper_name.is_none()
                    && matches!(head.norm.as_str(), "dad" | "mom" | "mum" | "grandma" | "grandpa" | "daddy" | "mommy");
                bare_kin.then_some(Referent::Speaker)
            }
        }
    }

    /// Adds the fact of a noun cue between a possessor and the noun's referent.
    pub(super) fn add_noun_fact(
        &mut self,
        cue: NounCue,
        possessor: Referent,
        other: Referent,
        polarity: Polarity,
        confidence: f64,
        words: (usize, usize),
    ) -> bool {
        let (subject, object) = if cue.inverse { (other, possessor) } else { (possessor, other) };
        let span = self.span(words.0, words.1);
        self.add_fact(FactDraft { relation: cue.relation, subject, object, polarity, confidence, weak: false, span })
    }

    /// Adds the facts of a copula clause: "X is my boss", "my boss is X", "X and Y are friends".
    pub(crate) fn read_copula(&mut self, clause: &Clause) {
        let g = self.phrases.verbs[clause.verb].clone();
        let Subject::Nouns(subjects) = clause.subject.clone() else { return };
        if g.progressive && !g.negated && g.modal.is_none() && !clause.unasserted {
            self.read_favourite_activity(clause, &subjects);
        }
        if !matches!(g.lemma.as_str(), "be" | "become" | "remain" | "include")
            || g.passive
            || g.progressive
            || g.modal.is_some()
            || clause.unasserted
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
            && (self.read_name_statement(s, name) || self.read_named_description(s, name))
        {
            return;
        }
        // My favourite band is X; my boss is Dave.
        if let [s] = subjects[..]
            && let Some((cue, _)) = self.find_noun_cue(&self.phrases.nouns[s].clone())
            && self.phrases.nouns[s].proper_name.is_none()
            && self.tokens[self.phrases.nouns[s].head].pos != Pos::Propn
            && let Some(possessor) = self.possessor(s)
        {
            let personal = is_personal(self.cues, cue.relation, cue.inverse);
            // "My roommate is a DJ" gives an occupation, not a name.
            let kind_of = matches!(self.phrases.chunks[at].kind, ChunkKind::Noun(n)
                if self.phrases.nouns[n].determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an")) && self.phrases.nouns[n].proper_name.is_none());
            if personal && kind_of {
                return;
            }
            let items = self.read_objects(at, clause, !personal);
            let mut any = false;
            for (item, end) in items {
                let fits = !personal || matches!(item, Referent::Entity(i, _) if self.registry.kept[i]);
                if fits {
                    any |= self.add_noun_fact(cue, possessor, item, polarity, confidence, (start, end));
                }
            }
            if any {
                self.covered[s] = true;
                return;
            }
        }
        let ChunkKind::Noun(p) = self.phrases.chunks[at].kind else { return };
        if g.lemma == "include" {
            return;
        }
        let predicate = self.phrases.nouns[p].clone();
        if lexicon().in_set("fans", &self.tokens[predicate.head].lemma) {
            self.read_fan(&subjects, &predicate, polarity, (start, self.phrases.chunks[at].end));
            return;
        }
        let Some((cue, _)) = self.find_noun_cue(&predicate) else { return };
        let end = self.phrases.chunks[at].end;
        if let Some(possessor) = self.possessor(p) {
            let mut any = false;
            for &s in &subjects {
                if let Some(referent) = self.referents[s] {
                    any |= self.add_noun_fact(cue, possessor, referent, polarity, confidence, (start, end));
                }
            }
            self.covered[p] |= any;
            return;
        }
        // Priya and I are colleagues.
        let symmetric = self.cues.relations[cue.relation].symmetric;
        if symmetric && subjects.len() > 1 && predicate.possessor == Possessor::Unmarked {
            let referents: Vec<Referent> = subjects.iter().filter_map(|&s| self.referents[s]).collect();
            for (i, &a) in referents.iter().enumerate() {
                for &b in &referents[i + 1..] {
                    let (a, b) = if b == Referent::Speaker { (b, a) } else { (a, b) };
                    self.add_noun_fact(cue, a, b, polarity, confidence, (start, end));
                }
            }
        }
    }

    /// Adds what the subjects are fans of: "I'm a big Elvis fan", "my sister is a history buff".
    fn read_fan(&mut self, subjects: &[usize], predicate: &NounPhrase, polarity: Polarity, words: (usize, usize)) {
        let cues = self.cues;
        let Some(cue) = cues.verb_cues("be").iter().find(|c| c.rest.first().is_some_and(|w| w == "fan")) else { return };
        let Some(head) = predicate.head.checked_sub(1).filter(|&h| h >= predicate.core && self.tokens[h].nominal()) else { return };
        let liked = NounPhrase { end: head + 1, head, determiner: None, possessor: Possessor::Unmarked, ..predicate.clone() };
        let Some(named) = describe(self.tokens, &liked, &|_| false) else { return };
        let Some(object) = self.register(&named) else { return };
        for &s in subjects {
            if let Some(subject) = self.referents[s] {
                let span = self.span(words.0, words.1);
                self.add_fact(FactDraft { relation: cue.relation, subject, object, polarity, confidence: 0.9, weak: false, span });
            }
        }
    }

    /// Adds the activity of "My hobby is painting", which the tagger takes for a progressive.
    fn read_favourite_activity(&mut self, clause: &Clause, subjects: &[usize]) {
        let [s] = subjects[..] else { return };
        let Some((cue, _)) = self.find_noun_cue(&self.phrases.nouns[s].clone()) else { return };
        if is_personal(self.cues, cue.relation, cue.inverse) || !self.cues.relations[cue.relation].activities {
            return;
        }
        let Some(possessor) = self.possessor(s) else { return };
        let mut items = Vec::new();
        let next = self.read_activity(clause.at, clause, &mut items);
        if self.phrases.chunks.get(next).is_some_and(|c| next < clause.end && matches!(c.kind, ChunkKind::Conj | ChunkKind::Comma)) {
            let more = self.read_objects(next + 1, clause, true);
            items.extend(more);
        }
        for (item, end) in items {
            self.add_noun_fact(cue, possessor, item, Polarity::Affirmed, 1.0, (clause.start_token, end));
        }
    }

    /// Adds persons after "have": "I have a sister named Anna", "I have two kids".
    pub(crate) fn read_having(&mut self, clause: &Clause) {
        let g = self.phrases.verbs[clause.verb].clone();
        if !(g.lemma == "have" || g.lemma == "get" && self.tokens[g.start].lemma == "have")
            || g.modal.is_some()
            || g.passive
            || clause.unasserted
            || g.kind != VerbKind::Finite
        {
            return;
        }
        let possessors: Vec<Referent> = match &clause.subject {
            Subject::Nouns(nouns) => {
                nouns.iter().flat_map(|&n| self.referents[n].into_iter().chain(self.other_referents[n].iter().copied())).collect()
            }
            Subject::Implied => vec![Referent::Speaker],
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
                let none = np.determiner.is_some_and(|d| self.tokens[d].is("no") || self.tokens[d].is("any"));
                if np.possessor == Possessor::Unmarked
                    && !none
                    && let Some((cue, k)) = self.find_noun_cue(&np)
                    && is_personal(self.cues, cue.relation, cue.inverse)
                {
                    let end = self.phrases.chunks[c].end;
                    let referent = self.referents[n].or_else(|| {
                        // "two kids" is specific, although it has no determiner.
                        let counted = (np.core..np.head).any(|k| self.tokens[k].pos == Pos::Num) || np.determiner.is_some();
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
                    if let Some(referent) = referent {
                        for &possessor in &possessors {
                            self.add_noun_fact(cue, possessor, referent, polarity, 1.0, (clause.start_token, end));
                        }
                        self.covered[n] = true;
                    }
                }
            } else if !matches!(self.phrases.chunks[c].kind, ChunkKind::Comma | ChunkKind::Conj) {
                break;
            }
            c += 1;
        }
    }

    /// Adds the facts of all possessives of the sentence.
    pub(crate) fn read_possessives(&mut self) {
        let appositives: Vec<(usize, usize)> =
            self.phrases.nouns.iter().enumerate().filter_map(|(a, n)| n.appositive.map(|b| (a, b))).collect();
        for n in 0..self.phrases.nouns.len() {
            let np = self.phrases.nouns[n].clone();
            if self.covered[n] || np.pronoun || np.opaque {
                continue;
            }
            let host = appositives.iter().find(|(_, b)| *b == n).map(|(a, _)| *a);
            let other = host.map_or(self.referents[n], |a| self.referents[a]);
            let (Some(other), Some(possessor)) = (other, self.possessor(n)) else { continue };
            let start = host.map_or(np.start, |a| self.phrases.nouns[a].start);
            if let Some((cue, k)) = self.find_noun_cue(&np) {
                let personal = is_personal(self.cues, cue.relation, cue.inverse);
                let named = host.is_some() || np.proper_name.is_some() || self.tokens[np.head].pos == Pos::Propn && k < np.head;
                if !personal && !named {
                    continue;
                }
                let former = (np.core..k)
                    .any(|t| matches!(self.tokens[t].norm.as_str(), "former" | "ex" | "previous" | "old") && self.tokens[t].norm != "old")
                    || self.tokens[k].norm.starts_with("ex-")
                    || self.tokens[k].is("ex");
                let friend_like = matches!(self.tokens[k].lemma.as_str(), "roommate" | "neighbor" | "neighbour" | "classmate" | "flatmate");
                let polarity = if former && !friend_like { Polarity::Ended } else { Polarity::Affirmed };
                self.add_noun_fact(cue, possessor, other, polarity, 1.0, (start, np.end));
                self.read_listed_names(n, cue, possessor, k);
                continue;
            }
            // "our cats", "my bike"
            for (i, rel) in self.cues.relations.iter().enumerate() {
                if !rel.possessed.is_empty() && self.is_possession(rel, other) {
                    self.read_listed_names(n, NounCue { relation: i, inverse: false }, possessor, np.head);
                    let span = self.span(np.start, np.end);
                    let named = np.proper_name.is_some() || self.tokens[np.head].pos == Pos::Propn;
                    let confidence = if named || np.possessor == Possessor::Speaker { 0.95 } else { 0.8 };
                    if !matches!(np.possessor, Possessor::Unmarked) {
                        self.add_fact(FactDraft {
                            relation: i,
                            subject: possessor,
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
