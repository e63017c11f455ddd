//! Facts from clauses: the ontology's verb cues, with negation, aspect, modality and complements.

use crate::domain::{EntityType, Polarity, Span};

use super::clauses::{Clause, Subject};
use super::cues::{Cue, Effect};
use super::lexicon::{VerbForm, lexicon};
use super::mentions::WEAK;
use super::objects::Item;
use super::phrases::{ChunkKind, Owner, VerbGroup, VerbKind};
use super::reader::{Claim, Reader, Side};
use super::steps;
use super::tokens::{Pos, Token};
use super::walk::preposition;

/// Changes that, in the progressive, are only planned ("I'm moving to Oslo").
const PLANS: &[&str] = &[
    "move", "relocate", "go", "travel", "fly", "visit", "attend", "join", "leave", "buy", "get", "sell", "adopt", "marry", "come",
    "switch", "migrate", "meet", "quit", "drive", "start", "head", "try", "return", "take", "replace",
];

/// How a clause is put: who, whether it holds, how sure.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(super) subjects: Vec<Side>,
    pub(super) polarity: Polarity,
    pub(super) confidence: f64,
    pub(super) start: usize,
    pub(super) limit: usize,
}

impl Reader<'_> {
    /// Reads one clause.
    pub(crate) fn clause(&mut self, clause: &Clause) {
        if clause.doubtful {
            return;
        }
        let subjects: Vec<Side> = match &clause.subject {
            Subject::Nouns(nouns) => nouns.iter().flat_map(|&n| self.sides[n].into_iter().chain(self.also[n].iter().copied())).collect(),
            Subject::Implied => vec![Side::Speaker],
            Subject::Unknown => return,
        };
        if subjects.is_empty() {
            return;
        }
        let group = &self.phrases.verbs[clause.verb];
        let mut confidence = if clause.subject == Subject::Implied { 0.85 } else { 1.0 };
        let pronoun = matches!(&clause.subject, Subject::Nouns(n) if n.iter().any(|&n| self.phrases.nouns[n].pronoun));
        if clause.distant || pronoun && !subjects.contains(&Side::Speaker) {
            confidence *= 0.9;
        }
        if self.tokens[group.main].repaired {
            confidence *= 0.9;
        }
        if let Some(lemma) = &clause.hedged {
            confidence *= match lemma.as_str() {
                "think" | "believe" | "guess" | "suppose" | "feel" | "figure" | "reckon" => 0.75,
                "say" | "tell" | "claim" | "mention" | "read" => 0.65,
                _ => 0.9,
            };
        }
        let limit = self.phrases.chunks[clause.end.max(1) - 1].end;
        if self.tokens[clause.start_token.saturating_sub(2)..limit]
            .iter()
            .any(|t| matches!(t.norm.as_str(), "maybe" | "perhaps" | "apparently" | "supposedly" | "allegedly"))
        {
            return;
        }
        if self.tokens[clause.start_token..limit].iter().any(|t| matches!(t.norm.as_str(), "probably" | "possibly")) {
            confidence *= 0.7;
        }
        let mut polarity = self.polarity(group, limit);
        // "We use neither Jira nor Trello", "neither Paul nor Rita …"
        if polarity == Polarity::Affirmed && self.tokens[clause.start_token.saturating_sub(1)..limit].iter().any(|t| t.is("neither")) {
            polarity = Polarity::Negated;
        }
        if clause.denied {
            polarity = Polarity::Negated;
            confidence *= 0.9;
        }
        let frame = Frame { subjects, polarity, confidence, start: clause.start_token, limit };
        if let Some(noun) = clause.gap
            && let Some(object) = self.sides[noun]
        {
            self.moved_object(clause, &frame, object);
        }
        self.verb(clause, clause.at, &frame, 0);
    }

    /// Whether a verb group affirms, denies or ends.
    fn polarity(&self, g: &VerbGroup, limit: usize) -> Polarity {
        let tail = &self.tokens[g.end.min(limit)..limit];
        let word = |w: &str| tail.iter().any(|t| t.is(w));
        let pair = |a: &str, b: &str| tail.windows(2).any(|t| t[0].is(a) && t[1].is(b));
        let anymore = word("anymore") || pair("any", "more") || pair("any", "longer") || pair("no", "longer");
        let previously = g.past
            && (self.tokens.iter().any(|t| matches!(t.norm.as_str(), "previously" | "formerly"))
                || self.tokens.windows(2).any(|t| t[0].is("before") && t[1].is("that")));
        let after = &self.tokens[limit..];
        let until = g.past && !g.negated && tail.iter().chain(after.iter().take(2)).any(|t| matches!(t.norm.as_str(), "until" | "till"));
        if g.used_to && !g.negated || g.no_longer || g.negated && anymore || until || previously {
            Polarity::Ended
        } else if g.negated {
            Polarity::Negated
        } else {
            Polarity::Affirmed
        }
    }

    /// Reads the verb at a chunk, and what hangs on it.
    fn verb(&mut self, clause: &Clause, at: usize, frame: &Frame, depth: usize) -> bool {
        let ChunkKind::Verb(v) = self.phrases.chunks[at].kind else { return false };
        let mut g = self.phrases.verbs[v].clone();
        let lex = lexicon();
        if g.almost || depth > 4 {
            return false;
        }
        if let Some(end) = clause.shares.filter(|_| at == clause.at) {
            g.end = end;
        }
        // "I haven't been to Spain since 2009": so there was a time when it was so.
        if g.negated && self.not_lately(&g, frame.limit) {
            return false;
        }
        let unreal = g.modal.as_deref().is_some_and(|m| !(matches!(m, "can" | "could") && g.cannot));
        if unreal || (g.progressive && PLANS.contains(&g.lemma.as_str())) {
            return false;
        }
        if self.switch(clause, at, &g, frame) {
            return true;
        }
        if self.cues_at(clause, at, &g, frame) || self.reciprocal(clause, at, &g, frame) || self.christened(clause, at, &g) {
            return true;
        }
        // What hangs on it: "started using", "stopped using", "want to use".
        let next = (at + 1..clause.end).find(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Adverb));
        let next = match next.map(|c| (c, self.phrases.chunks[c].kind)) {
            Some((c, ChunkKind::Verb(n))) if self.phrases.verbs[n].kind != VerbKind::Finite => c,
            // "spend my weekends hiking"
            Some((c, ChunkKind::Noun(_)))
                if g.lemma == "spend" && matches!(self.phrases.chunks.get(c + 1).map(|c| c.kind), Some(ChunkKind::Verb(_))) =>
            {
                c + 1
            }
            _ => return false,
        };
        let mut inner = frame.clone();
        if lex.in_set("stop", &g.lemma) {
            if frame.polarity != Polarity::Affirmed {
                return false;
            }
            inner.polarity = Polarity::Ended;
            return self.verb(clause, next, &inner, depth + 1);
        }
        if lex.in_set("carry", &g.lemma) && !g.negated {
            return self.verb(clause, next, &inner, depth + 1);
        }
        false
    }

    fn not_lately(&self, g: &VerbGroup, limit: usize) -> bool {
        let perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        let tail = &self.tokens[g.end.min(limit)..limit];
        perfect
            && (tail.iter().any(|t| matches!(t.norm.as_str(), "since" | "yet" | "lately" | "recently"))
                || tail.windows(2).any(|t| (t[0].is("in") || t[0].is("for")) && lexicon().in_set("time", &t[1].norm))
                || tail.windows(3).any(|t| (t[0].is("in") || t[0].is("for")) && lexicon().in_set("time", &t[2].norm)))
    }

    fn cues_at(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let cues = self.cues;
        if let Some(be) = g.be {
            for cue in cues.verb("be") {
                if self.try_cue(clause, cue, be, g, frame) {
                    return true;
                }
            }
        }
        if matches!(g.lemma.as_str(), "become" | "feel" | "seem" | "get" | "grow" | "stay" | "remain") {
            for cue in cues.verb("be").iter().filter(|c| c.rest.len() > 1 && !c.weak) {
                if self.try_cue(clause, cue, g.main, g, frame) {
                    return true;
                }
            }
        }
        if g.passive {
            return self.passive(clause, at, g, frame);
        }
        if g.lemma != "be" {
            for cue in cues.verb(&g.lemma) {
                if self.try_cue(clause, cue, g.main, g, frame) {
                    self.beside(clause, at, cue, g, frame);
                    return true;
                }
            }
        }
        // "was hired": the first of a verb cue that speaks of "get"
        if let Some(be) = g.be.filter(|&b| self.tokens[b].lemma == "get") {
            for cue in cues.verb("get") {
                if self.try_cue(clause, cue, be, g, frame) {
                    return true;
                }
            }
        }
        false
    }

    /// "works with me on the billing rewrite": the same verb with another preposition states another fact.
    fn beside(&mut self, clause: &Clause, at: usize, first: &Cue, g: &VerbGroup, frame: &Frame) {
        let cues = self.cues;
        for cue in cues.verb(&g.lemma) {
            let [word] = cue.rest.as_slice() else { continue };
            let same = cue.relation == first.relation || first.rest.last() == Some(word);
            if same || cue.weak || cue.cannot || cue.effect != Effect::States || !preposition(word) {
                continue;
            }
            let reach = (at + 1..clause.end).take_while(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Verb(_)));
            let found = reach
                .into_iter()
                .find(|&c| self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is(word));
            let Some(c) = found else { continue };
            let rel = &cues.relations[cue.relation];
            for (object, end) in self.items(c + 1, clause, false) {
                let sure = object == Side::Speaker || rel.object_types.contains(&self.kind(object).0) && self.kind(object).1 >= WEAK;
                for &subject in frame.subjects.iter().filter(|_| sure) {
                    let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                    let span = self.span(frame.start, end);
                    self.state(cue, s, o, frame, 0.9, span);
                }
            }
        }
    }

    /// "X is used by Y": Y uses X.
    fn passive(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let Some(by) = (at + 1..clause.end)
            .take(4)
            .find(|&c| self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is("by"))
        else {
            return false;
        };
        let agents = self.items(by + 1, clause, false);
        let cues = self.cues;
        for cue in cues.verb(&g.lemma).iter().filter(|c| c.rest.is_empty() && !c.weak && !c.cannot) {
            let mut any = false;
            for &(agent, end) in &agents {
                for &patient in &frame.subjects {
                    let span = self.span(frame.start, end);
                    any |= self.state(cue, agent, patient, frame, 1.0, span);
                }
            }
            if any {
                return true;
            }
        }
        false
    }

    fn try_cue(&mut self, clause: &Clause, cue: &Cue, anchor: usize, g: &VerbGroup, frame: &Frame) -> bool {
        steps::count(1 + cue.rest.len());
        if cue.cannot != g.cannot || !self.is_over(cue, g) || self.passing_stay(cue, g, frame.limit) {
            return false;
        }
        let mut frame = frame.clone();
        if cue.cannot {
            frame.polarity = if frame.polarity == Polarity::Ended { Polarity::Ended } else { Polarity::Affirmed };
        }
        let Some((k, factor, between)) = self.walk(cue, anchor, g, clause, frame.limit) else { return false };
        // "I have no cats"
        if self.tokens.get(k).is_some_and(|t| t.is("no")) {
            if frame.polarity != Polarity::Affirmed {
                return false;
            }
            frame.polarity = Polarity::Negated;
        }
        if between.is_none() && self.not_ones_own(clause, cue, g, &frame, k) {
            return false;
        }
        let activities = self.cues.relations[cue.relation].activities;
        let items: Vec<Item> = match between {
            Some(item) => vec![item],
            None => {
                let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= k) else { return false };
                let items = self.items(c, clause, activities);
                if items.is_empty() { self.place_behind(c, clause, cue) } else { items }
            }
        };
        let mut any = false;
        let subjects = frame.subjects.clone();
        let last_end = items.last().map_or(k, |i| i.1);
        for &(object, end) in &items {
            for &subject in &subjects {
                let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                let span = self.span(frame.start, end);
                any |= self.state(cue, s, o, &frame, factor, span);
            }
        }
        if any && frame.polarity == Polarity::Affirmed && cue.effect == Effect::States {
            self.correction(clause, cue, &subjects, last_end, &frame);
            self.purpose(clause, cue, &items, last_end, &frame);
        }
        any
    }

    /// "I drove Tom's car", "I sold houses for a living", "I lost the game": nothing was owned.
    fn not_ones_own(&self, clause: &Clause, cue: &Cue, g: &VerbGroup, frame: &Frame, k: usize) -> bool {
        let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= k) else { return false };
        let ChunkKind::Noun(n) = self.phrases.chunks[c].kind else { return false };
        let (np, owns) = (&self.phrases.nouns[n], !self.cues.relations[cue.relation].possessed.is_empty());
        let other = matches!(np.owner, Owner::Phrase(_)) || np.owner == Owner::Third && frame.subjects == [Side::Speaker];
        let loose = cue.effect == Effect::Ends && lexicon().in_set("loose", &g.lemma);
        if owns {
            let bare = np.owner == Owner::Nobody && np.det.is_none() && self.tokens[np.head].pos == Pos::Noun && np.core == np.head;
            let trade = cue.effect == Effect::Ends && bare && self.tokens[np.head].norm != self.tokens[np.head].lemma;
            let lost = loose
                && (np.owner == Owner::Nobody || self.sides[n].is_none_or(|s| !self.possessed(&self.cues.relations[cue.relation], s)));
            return other && (cue.weak || cue.effect == Effect::Ends) || trade || lost;
        }
        let used = self.cues.relations[cue.relation].object_types.first() == Some(&EntityType::Tool);
        loose && used && self.sides[n].is_some_and(|s| self.kind(s).0 != EntityType::Tool && self.kind(s).1 >= WEAK)
    }

    /// "I was in Rome", "I'm in Rome for the weekend": no home.
    fn passing_stay(&self, cue: &Cue, g: &VerbGroup, limit: usize) -> bool {
        let rel = &self.cues.relations[cue.relation];
        if !(cue.weak && rel.functional && rel.object_types == [EntityType::Place]) {
            return false;
        }
        let tail = &self.tokens[g.end.min(limit)..limit];
        let short = |t: &Token| lexicon().in_set("time", &t.norm) || lexicon().in_set("occasions", &t.norm);
        let lasting = tail.iter().any(|t| t.is("years") || t.is("now"));
        g.past && !g.used_to
            || !lasting && (1..=3).any(|far| tail.windows(far + 1).any(|w| matches!(w[0].norm.as_str(), "for" | "on") && short(&w[far])))
    }

    /// "in a small town in Ohio": the place behind one that has no name.
    fn place_behind(&mut self, c: usize, clause: &Clause, cue: &Cue) -> Vec<Item> {
        let types = &self.cues.relations[cue.relation].object_types;
        // "back from a trip to Thailand"
        let trip = types.contains(&EntityType::Place)
            && self.phrases.chunks[c].end > 0
            && lexicon().in_set("occasions", &self.tokens[self.phrases.chunks[c].end - 1].norm);
        let nameless = (trip || *types == [EntityType::Place])
            && matches!(self.phrases.chunks[c].kind, ChunkKind::Noun(n) if self.sides[n].is_none() && !self.phrases.nouns[n].pronoun);
        let inside = nameless
            && c + 2 < clause.end
            && self.phrases.chunks[c + 1].kind == ChunkKind::Prep
            && matches!(self.tokens[self.phrases.chunks[c + 1].start].norm.as_str(), "in" | "of" | "to")
            && (trip || !self.tokens[self.phrases.chunks[c + 1].start].is("to"));
        if !inside {
            return Vec::new();
        }
        let items = self.items(c + 2, clause, false);
        items.into_iter().filter(|i| self.kind(i.0).0 == EntityType::Place).collect()
    }

    /// Whether something is over: "I sold it", not "I sell watches".
    fn is_over(&self, cue: &Cue, g: &VerbGroup) -> bool {
        if cue.effect != Effect::Ends {
            return true;
        }
        let present = matches!(self.tokens[g.main].form, Some(VerbForm::Base | VerbForm::Third)) && g.start == g.main;
        !present || matches!(g.lemma.as_str(), "quit" | "split" | "shut" | "be" | "cut")
    }

    fn state(&mut self, cue: &Cue, subject: Side, object: Side, frame: &Frame, factor: f64, span: Span) -> bool {
        let polarity = match (cue.effect, frame.polarity) {
            (Effect::States, p) => p,
            (Effect::Ends, Polarity::Affirmed) => Polarity::Ended,
            (Effect::Denies, Polarity::Affirmed) => Polarity::Negated,
            // "I haven't quit X" leaves everything as it was.
            _ => return false,
        };
        self.claim(Claim { relation: cue.relation, subject, object, polarity, confidence: frame.confidence * factor, weak: cue.weak, span })
    }

    /// "… in Frankfurt, not Dublin": what is denied beside what is said.
    fn correction(&mut self, clause: &Clause, cue: &Cue, subjects: &[Side], after: usize, frame: &Frame) {
        let Some(mut c) = (clause.at..self.phrases.chunks.len()).find(|&c| self.phrases.chunks[c].start >= after) else { return };
        let chunks = &self.phrases.chunks;
        if chunks[c].kind == ChunkKind::Comma {
            c += 1;
        }
        if chunks.get(c).is_some_and(|x| x.kind == ChunkKind::Conj && self.tokens[x.start].is("but")) {
            c += 1;
        }
        if !chunks.get(c).is_some_and(|x| x.kind == ChunkKind::Not) {
            return;
        }
        c += 1;
        if chunks.get(c).is_some_and(|x| x.kind == ChunkKind::Prep) {
            c += 1;
        }
        for (object, end) in self.items(c, clause, false) {
            for &subject in subjects {
                let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                let span = self.span(frame.start, end);
                self.claim(Claim {
                    relation: cue.relation,
                    subject: s,
                    object: o,
                    polarity: Polarity::Negated,
                    confidence: frame.confidence * 0.9,
                    weak: cue.weak,
                    span,
                });
            }
        }
    }

    /// "I use TypeScript for the Phoenix project": the project uses it too.
    fn purpose(&mut self, clause: &Clause, cue: &Cue, items: &[Item], after: usize, frame: &Frame) {
        let rel = &self.cues.relations[cue.relation];
        if cue.weak
            || !rel.subject_types.contains(&EntityType::Project)
            || !rel.subject_types.contains(&EntityType::Person)
            || !rel.object_types.contains(&EntityType::Tool)
        {
            return;
        }
        let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= after) else { return };
        let is_for = self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is("for");
        if !is_for {
            return;
        }
        for (project, end) in self.items(c + 1, clause, false) {
            let Side::Entity(p, _) = project else { continue };
            if self.kind(project).0 != EntityType::Project || self.kind(project).1 < 0.85 || !self.registry.kept[p] {
                continue;
            }
            for &(object, _) in items {
                let span = self.span(frame.start, end);
                self.claim(Claim {
                    relation: cue.relation,
                    subject: project,
                    object,
                    polarity: Polarity::Affirmed,
                    confidence: frame.confidence * 0.8,
                    weak: false,
                    span,
                });
            }
        }
    }

    /// The object of a relative clause stands before it: "Rust, which I love".
    fn moved_object(&mut self, clause: &Clause, frame: &Frame, object: Side) {
        let g = self.phrases.verbs[clause.verb].clone();
        if g.modal.is_some() || g.passive || g.almost {
            return;
        }
        let cues = self.cues;
        for cue in cues.verb(&g.lemma).iter().filter(|c| !c.weak && !c.cannot && !g.cannot) {
            let end = if cue.rest.is_empty() {
                Some(g.end)
            } else {
                let found = self.tokens.get(g.end).is_some_and(|t| cue.rest.len() == 1 && t.is(&cue.rest[0]));
                found.then_some(g.end + 1)
            };
            let Some(end) = end else { continue };
            let free = self.chunk_at(end).is_none_or(|c| match self.phrases.chunks[c].kind {
                ChunkKind::Noun(_) | ChunkKind::Verb(_) => false,
                // "who I met at PyCon"
                ChunkKind::Prep => {
                    cue.rest.is_empty() && matches!(self.tokens[end].norm.as_str(), "at" | "in" | "on" | "during" | "through")
                }
                _ => true,
            });
            if !free {
                continue;
            }
            let mut any = false;
            for &subject in &frame.subjects.clone() {
                let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                let span = self.span(frame.start, end);
                any |= self.state(cue, s, o, frame, 0.9, span);
            }
            if any {
                return;
            }
        }
    }
}
