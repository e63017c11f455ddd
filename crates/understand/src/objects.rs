//! Reads the objects of a verb: coordinated noun phrases, and activities named by a noun or a gerund.

use recall_domain::EntityType;

use super::clauses::Clause;
use super::lemma;
use super::lexicon::{WordList, lexicon};
use super::mentions::Named;
use super::phrases::{ChunkKind, Possessor, VerbKind};
use super::reader::{Reader, Referent};

/// One object of a verb with the end of its chunk, in tokens.
pub(crate) type Object = (Referent, usize);

impl Reader<'_> {
    /// Reads the coordinated objects that begin at a chunk.
    pub(crate) fn read_objects(&mut self, from: usize, clause: &Clause, activities: bool) -> Vec<Object> {
        let mut out = Vec::new();
        let mut c = from;
        let end = clause.end;
        while c < end && matches!(self.phrases.chunks[c].kind, ChunkKind::Adverb) {
            c += 1;
        }
        while c < end {
            let chunk = self.phrases.chunks[c];
            match chunk.kind {
                ChunkKind::Noun(n) => {
                    let np = &self.phrases.nouns[n];
                    // "love my cats": `read_possessives` adds the possession. "your dog" belongs to the addressee.
                    if let Some(referent) = self.referents[n].filter(|_| np.possessor != Possessor::Addressee) {
                        out.push((referent, chunk.end));
                        out.extend(self.other_referents[n].iter().map(|&s| (s, chunk.end)));
                    }
                    c += 1;
                }
                ChunkKind::Verb(v) if activities && self.phrases.verbs[v].kind != VerbKind::Finite => {
                    c = self.read_activity(c, clause, &mut out);
                }
                _ => break,
            }
            // "animals, especially horses", "sports like skiing"
            if let Some(next) = self.example_start(c, end) {
                c = next;
                continue;
            }
            // The next conjunct: "X, Y and Z", "on X and on Y".
            let mut k = c;
            let mut conj = false;
            while k < end && matches!(self.phrases.chunks[k].kind, ChunkKind::Comma | ChunkKind::Conj) {
                let word = &self.tokens[self.phrases.chunks[k].start];
                if word.is("but") {
                    return out;
                }
                conj |= self.phrases.chunks[k].kind == ChunkKind::Conj;
                k += 1;
            }
            if k == c || k >= end {
                break;
            }
            // A comma coordinates only if a conjunction closes the list.
            let closes = conj
                || (k..end).any(|x| {
                    self.phrases.chunks[x].kind == ChunkKind::Conj
                        && !self.tokens[self.phrases.chunks[x].start].is("but")
                        && list_like(self, k, x)
                });
            if !closes {
                break;
            }
            while k < end && matches!(self.phrases.chunks[k].kind, ChunkKind::Prep | ChunkKind::Adverb) && conj {
                k += 1;
            }
            // "the parser in Haskell and the CLI in Go": the second conjunct has its own preposition.
            let word = |c: usize| &self.tokens[self.phrases.chunks[c].start];
            let governed = from > 0 && self.phrases.chunks[from - 1].kind == ChunkKind::Prep;
            if governed
                && matches!(self.phrases.chunks[k].kind, ChunkKind::Noun(_))
                && self.phrases.chunks.get(k + 1).is_some_and(|n| n.kind == ChunkKind::Prep && word(k + 1).is(&word(from - 1).norm))
            {
                break;
            }
            c = k;
        }
        out
    }

    /// Returns the chunk where examples of the last object begin.
    fn example_start(&self, from: usize, end: usize) -> Option<usize> {
        let chunk = |k: usize| self.phrases.chunks.get(k).filter(|_| k < end);
        let comma = usize::from(chunk(from)?.kind == ChunkKind::Comma);
        let word = &self.tokens[chunk(from + comma)?.start];
        let mut next = match word.norm.as_str() {
            "especially" | "particularly" | "mainly" | "mostly" | "including" | "like" => from + comma + 1,
            "such" if self.tokens.get(chunk(from + comma)?.start + 1).is_some_and(|t| t.is("as")) => from + comma + 2,
            _ => return None,
        };
        if chunk(next)?.kind == ChunkKind::Prep {
            next += 1;
        }
        // "like a dinosaur" compares.
        let compares = word.is("like") && matches!(self.tokens[chunk(next)?.start].norm.as_str(), "a" | "an");
        match chunk(next)?.kind {
            ChunkKind::Noun(_) if compares => None,
            ChunkKind::Noun(_) => Some(next),
            ChunkKind::Verb(v) if self.phrases.verbs[v].kind == VerbKind::Gerund => Some(next),
            _ => None,
        }
    }

    /// Adds the activity of a non-finite verb and returns the chunk after it.
    ///
    /// The name is a noun or the gerund: "to play soccer", "hiking", "going to concerts".
    pub(crate) fn read_activity(&mut self, at: usize, clause: &Clause, out: &mut Vec<Object>) -> usize {
        let ChunkKind::Verb(v) = self.phrases.chunks[at].kind else { return at + 1 };
        let g = self.phrases.verbs[v].clone();
        let lex = lexicon();
        let end = clause.end;
        let mut c = at + 1;
        while c < end && self.phrases.chunks[c].kind == ChunkKind::Adverb {
            c += 1;
        }
        if let Some(ChunkKind::Verb(n)) = self.phrases.chunks.get(c).filter(|_| c < end).map(|c| c.kind)
            && self.phrases.verbs[n].kind != VerbKind::Finite
        {
            // "to go hiking", "learning to cook"
            return if matches!(g.lemma.as_str(), "go" | "learn" | "try" | "get" | "start" | "do" | "come") {
                self.read_activity(c, clause, out)
            } else {
                c + 1
            };
        }
        // "working out"
        let verb_end = self.phrases.chunks[at].end;
        if let Some(t) = self.tokens.get(g.main + 1)
            && lex.has(WordList::Activity, &format!("{} {}", lemma::gerund(&g.lemma), t.norm))
        {
            let named = self.named_activity(&format!("{} {}", lemma::gerund(&g.lemma), t.norm), g.main, g.main + 2);
            if let Some(referent) = self.register(&named) {
                out.push((referent, g.main + 2));
            }
            return self.skip_objects(at + 1, end);
        }
        let generic = lex.in_set("generic", &g.lemma);
        let hollow = lex.in_set("hollow", &g.lemma);
        let mut k = c;
        let mut preposition = None;
        while k < end && self.phrases.chunks[k].kind == ChunkKind::Prep {
            preposition = Some(self.tokens[self.phrases.chunks[k].start].norm.clone());
            k += 1;
        }
        let object = match self.phrases.chunks.get(k).filter(|_| k < end).map(|c| c.kind) {
            Some(ChunkKind::Noun(n)) => Some(n),
            _ => None,
        };
        let about = preposition.as_deref().is_none_or(|p| matches!(p, "to" | "about" | "for" | "with" | "at" | "on" | "of" | "in"));
        if generic
            && about
            && object.is_some()
            && !(g.lemma == "work" || g.lemma == "go" && preposition.as_deref() == Some("with") || g.lemma == "hang")
        {
            let n = object.unwrap_or_default();
            let np = &self.phrases.nouns[n];
            let own = np.possessor == Possessor::Speaker;
            if own {
                return self.skip_objects(k, end);
            }
            let chunk_end = self.phrases.chunks[k].end;
            let on_instrument = g.lemma == "play" && self.phrases.chunks.get(k + 1).is_some_and(|c| self.tokens[c.start].is("on"));
            if let Some(referent) = self.referents[n].filter(|_| !on_instrument) {
                out.push((referent, chunk_end));
            } else {
                // "playing different songs on the piano"
                if let (Some(ChunkKind::Prep), Some(ChunkKind::Noun(m))) =
                    (self.phrases.chunks.get(k + 1).map(|c| c.kind), self.phrases.chunks.get(k + 2).map(|c| c.kind))
                    && on_instrument
                    && k + 2 < end
                    && let Some(referent) = self.referents[m]
                {
                    out.push((referent, self.phrases.chunks[k + 2].end));
                    return k + 3;
                }
            }
            return self.skip_pp(k + 1, end);
        }
        if !hollow && !g.passive {
            let named = self.named_activity(&lemma::gerund(&g.lemma), g.main, g.main + 1);
            if let Some(referent) = self.register(&named) {
                out.push((referent, verb_end));
            }
        }
        self.skip_objects(c, end)
    }

    fn named_activity(&self, name: &str, start: usize, end: usize) -> Named {
        let named_as_listed = lexicon().has(WordList::Activity, name);
        Named {
            name: name.to_owned(),
            ty: EntityType::Concept,
            strength: if named_as_listed { 1.0 } else { 0.85 },
            proper: false,
            group: Some(WordList::Activity),
            role: None,
            plural: false,
            span: self.span(start, end),
        }
    }

    /// Returns the chunk after an object and its prepositional phrases.
    fn skip_objects(&self, from: usize, end: usize) -> usize {
        let mut k = from;
        while k < end
            && matches!(self.phrases.chunks[k].kind, ChunkKind::Prep | ChunkKind::Noun(_) | ChunkKind::Adverb | ChunkKind::Adjective)
        {
            k += 1;
        }
        k
    }

    fn skip_pp(&self, from: usize, end: usize) -> usize {
        let mut k = from;
        while k + 1 < end && self.phrases.chunks[k].kind == ChunkKind::Prep && matches!(self.phrases.chunks[k + 1].kind, ChunkKind::Noun(_))
        {
            k += 2;
        }
        k
    }
}

fn list_like(r: &Reader<'_>, from: usize, conj: usize) -> bool {
    (from..conj).all(|c| match r.phrases.chunks[c].kind {
        ChunkKind::Noun(_) | ChunkKind::Comma | ChunkKind::Prep | ChunkKind::Adverb | ChunkKind::Conj => true,
        ChunkKind::Verb(v) => r.phrases.verbs[v].kind != VerbKind::Finite,
        _ => false,
    })
}
