//! Adds facts from nouns: possessives ("my manager Dave", "our cats", "John's boss"), persons after "have", and appositives.

use recall_domain::{EntityType, Polarity};

use super::clauses::Clause;
use super::cues::NounCue;
use super::lexicon::{WordList, lexicon};
use super::mentions;
use super::phrases::{ChunkKind, NounPhrase, Possessor, VerbKind};
use super::reader::{FactDraft, Reader, Referent, is_personal};
use super::tokens::Pos;

impl Reader<'_> {
    /// Returns the noun cue of a phrase and its token.
    pub(super) fn find_noun_cue(&self, np: &NounPhrase) -> Option<(NounCue, usize)> {
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
    pub(super) fn possessor(&self, n: usize) -> Option<Referent> {
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
                    && lexicon().in_set("bare_kin", &head.norm)
                    && (np.head == np.core || lexicon().in_set("plain_adjectives", &self.tokens[np.core].norm));
                (bare_kin || self.is_titled_relative(np)).then_some(Referent::Speaker)
            }
        }
    }

    /// Whether a name follows the word for a relative or a peer of the speaker: "Aunt Perpetua", "Co-workers Birgit and Anton".
    fn is_titled_relative(&self, np: &NounPhrase) -> bool {
        let title = &self.tokens[np.core];
        let named = np.proper_name.is_some() || self.tokens[np.head].pos == Pos::Propn;
        let relative = || {
            let cue = self.cues.noun_cue(&title.norm).or_else(|| self.cues.noun_cue(&title.lemma));
            cue.is_some_and(|c| self.cues.relations[c.relation].symmetric)
        };
        np.determiner.is_none() && named && np.core < np.head && np.core == np.start && relative()
    }

    /// Returns the first chunk after a verb that is not an adverb or "not".
    pub(super) fn complement(&self, clause: &Clause) -> Option<usize> {
        (clause.at + 1..clause.end).find(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Adverb | ChunkKind::Not))
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
        // "Their owners" says only that somebody owns them.
        let owns = cue.inverse && !self.cues.relations[cue.relation].possessed.is_empty();
        if owns && matches!(other, Referent::Entity(i, _) if !self.registry.named[i]) {
            return false;
        }
        let (subject, object) = if cue.inverse { (other, possessor) } else { (possessor, other) };
        let span = self.span(words.0, words.1);
        self.add_fact(FactDraft { relation: cue.relation, subject, object, polarity, confidence, weak: false, span })
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
        let possessors = self.subjects_of(clause);
        if possessors.is_empty() {
            return;
        }
        let Some(mut c) = self.complement(clause) else { return };
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

    /// Whether the cue at token `k` of a noun phrase tells what is over: "my former boss", "my ex-wife".
    pub(super) fn is_former(&self, np: &NounPhrase, cue: NounCue, k: usize) -> bool {
        let personal = is_personal(self.cues, cue.relation, cue.inverse);
        // An old boss is a former one, an old friend is not.
        let former = (np.core..k).any(|t| match self.tokens[t].norm.as_str() {
            "former" | "ex" | "previous" => true,
            // "my 60 year old boss"
            "old" => personal && cue.inverse && t == np.core,
            _ => false,
        });
        let friend_like = matches!(self.tokens[k].lemma.as_str(), "roommate" | "neighbor" | "neighbour" | "classmate" | "flatmate");
        (former || self.tokens[k].norm.starts_with("ex-") || self.tokens[k].is("ex")) && !friend_like
    }

    /// Adds the facts of all possessives of the sentence.
    pub(crate) fn read_possessives(&mut self) {
        let appositives: Vec<(usize, usize)> =
            self.phrases.nouns.iter().enumerate().filter_map(|(a, n)| n.appositive.map(|b| (a, b))).collect();
        for n in 0..self.phrases.nouns.len() {
            let np = self.phrases.nouns[n].clone();
            // "Not my dog!" denies what the words alone would say.
            let denied = np.start > 0 && self.tokens[np.start - 1].is("not");
            if self.covered[n] || np.pronoun || np.opaque || denied {
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
                let polarity = if self.is_former(&np, cue, k) { Polarity::Ended } else { Polarity::Affirmed };
                self.add_noun_fact(cue, possessor, other, polarity, 1.0, (start, np.end));
                self.read_listed_names(n, cue, possessor, k);
                continue;
            }
            let members = self.names_of_members(n);
            // "our cats", "my bike"
            for (i, rel) in self.cues.relations.iter().enumerate() {
                if !rel.possessed.is_empty() && self.is_possession(rel, other) && !members.is_empty() && np.possessor != Possessor::Unmarked
                {
                    let whole = self.type_of(other).0;
                    for &member in &members {
                        if let Referent::Entity(m, _) = member {
                            self.registry.retype(m, whole);
                        }
                        let cue = NounCue { relation: i, inverse: false };
                        self.add_noun_fact(cue, possessor, member, Polarity::Affirmed, 0.9, (np.start, np.end));
                    }
                    break;
                }
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
