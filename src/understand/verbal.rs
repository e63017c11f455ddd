//! Facts from clauses: the ontology's verb cues, with negation, aspect, modality and complements.

use crate::domain::{EntityType, Polarity, Span};

use super::clauses::{Clause, Subject};
use super::cues::{Cue, Effect};
use super::lemma;
use super::lexicon::{Group, VerbForm, lexicon};
use super::mentions::{self, Named};
use super::phrases::{ChunkKind, Owner, VerbGroup, VerbKind};
use super::reader::{Claim, Reader, Side};
use super::tokens::Pos;

/// Changes that, in the progressive, are only planned ("I'm moving to Oslo").
const PLANS: &[&str] = &[
    "move", "relocate", "go", "travel", "fly", "visit", "attend", "join", "leave", "buy", "get", "sell", "adopt", "marry", "come", "switch", "migrate",
    "meet", "quit", "drive", "start", "head", "try", "return", "take", "replace",
];

/// How a clause is put: who, whether it holds, how sure.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    subjects: Vec<Side>,
    polarity: Polarity,
    confidence: f64,
    start: usize,
    limit: usize,
}

/// One object of a verb, with the end of its words.
type Item = (Side, usize);

impl Reader<'_> {
    /// Reads one clause.
    pub(crate) fn clause(&mut self, clause: &Clause) {
        if clause.doubtful {
            return;
        }
        let subjects: Vec<Side> = match &clause.subject {
            Subject::Nouns(nouns) => nouns.iter().filter_map(|&n| self.sides[n]).collect(),
            Subject::Implied => vec![Side::Speaker],
            Subject::Unknown => return,
        };
        if subjects.is_empty() {
            return;
        }
        let group = &self.phrases.verbs[clause.verb];
        let mut confidence = if clause.subject == Subject::Implied { 0.85 } else { 1.0 };
        if clause.distant {
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
        if self.tokens[clause.start_token.saturating_sub(2)..limit].iter().any(|t| matches!(t.norm.as_str(), "maybe" | "perhaps" | "apparently" | "supposedly" | "allegedly")) {
            return;
        }
        if self.tokens[clause.start_token..limit].iter().any(|t| matches!(t.norm.as_str(), "probably" | "possibly")) {
            confidence *= 0.7;
        }
        let mut polarity = self.polarity(group, limit);
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
        let previously = g.past && self.tokens.iter().any(|t| matches!(t.norm.as_str(), "previously" | "formerly")) || g.past && self.tokens.windows(2).any(|t| t[0].is("before") && t[1].is("that"));
        let until = g.past && !g.negated && tail.iter().any(|t| matches!(t.norm.as_str(), "until" | "till"))
            || g.past && !g.negated && self.tokens[limit..].iter().take(2).any(|t| matches!(t.norm.as_str(), "until" | "till"));
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
        let g = self.phrases.verbs[v].clone();
        let lex = lexicon();
        if g.almost || depth > 4 {
            return false;
        }
        let unreal = g.modal.as_deref().is_some_and(|m| !(matches!(m, "can" | "could") && g.cannot));
        if unreal || (g.progressive && PLANS.contains(&g.lemma.as_str())) {
            return false;
        }
        if self.switch(clause, at, &g, frame) {
            return true;
        }
        if self.cues_at(clause, at, &g, frame) {
            return true;
        }
        // What hangs on it: "started using", "stopped using", "want to use".
        let next = (at + 1..clause.end).find(|&c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Adverb));
        let next = match next.map(|c| (c, self.phrases.chunks[c].kind)) {
            Some((c, ChunkKind::Verb(n))) if self.phrases.verbs[n].kind != VerbKind::Finite => c,
            // "spend my weekends hiking"
            Some((c, ChunkKind::Noun(_))) if g.lemma == "spend" && matches!(self.phrases.chunks.get(c + 1).map(|c| c.kind), Some(ChunkKind::Verb(_))) => c + 1,
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

    /// "switched from X to Y".
    fn switch(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let cues = self.cues;
        let Some(relations) = cues.switches.get(&g.lemma) else { return false };
        if frame.polarity != Polarity::Affirmed {
            return false;
        }
        let mut from: Vec<Item> = Vec::new();
        let mut to: Vec<Item> = Vec::new();
        for c in at + 1..clause.end {
            if self.phrases.chunks[c].kind != ChunkKind::Prep {
                continue;
            }
            match self.tokens[self.phrases.chunks[c].start].norm.as_str() {
                "from" if from.is_empty() => from = self.items(c + 1, clause, false),
                "to" | "into" | "over" if to.is_empty() => to = self.items(c + 1, clause, false),
                _ => {}
            }
        }
        if from.is_empty() || to.is_empty() {
            return false;
        }
        let direct = matches!(self.phrases.chunks.get(at + 1).map(|c| c.kind), Some(ChunkKind::Noun(_)));
        for &relation in relations {
            let rel = &cues.relations[relation];
            let place = rel.object_types.contains(&EntityType::Place);
            if place && direct {
                continue;
            }
            // Both sides must fit, or neither does: "from vim to zed" is about tools even where one is unknown.
            let fits = |side: Side| self.fit(side, &rel.object_types).is_some();
            if !from.iter().chain(&to).all(|i| fits(i.0)) {
                continue;
            }
            let mut any = false;
            for (items, polarity) in [(&from, Polarity::Ended), (&to, Polarity::Affirmed)] {
                for &(object, end) in items {
                    // An unknown name after "moved to" may be a place or a tool: leave it to a relation that is sure.
                    if rel.object_types.len() == 1 && !rel.object_types.contains(&self.kind(object).0) {
                        continue;
                    }
                    for &subject in &frame.subjects {
                        let span = self.span(frame.start, end);
                        any |= self.claim(Claim { relation, subject, object, polarity, confidence: frame.confidence, weak: false, span });
                    }
                }
            }
            if any {
                return true;
            }
        }
        false
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

    /// "X is used by Y": Y uses X.
    fn passive(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let Some(by) = (at + 1..clause.end).take(4).find(|&c| self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is("by")) else {
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
        if cue.cannot != g.cannot || !self.is_over(cue, g) {
            return false;
        }
        let mut frame = frame.clone();
        if cue.cannot {
            frame.polarity = if frame.polarity == Polarity::Ended { Polarity::Ended } else { Polarity::Affirmed };
        }
        let Some((k, factor, between)) = self.walk(cue, anchor, g, clause, frame.limit) else { return false };
        let activities = self.cues.relations[cue.relation].activities;
        let items: Vec<Item> = match between {
            Some(item) => vec![item],
            None => {
                let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= k) else { return false };
                self.items(c, clause, activities)
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
                self.claim(Claim { relation: cue.relation, subject: s, object: o, polarity: Polarity::Negated, confidence: frame.confidence * 0.9, weak: cue.weak, span });
            }
        }
    }

    /// "I use TypeScript for the Phoenix project": the project uses it too.
    fn purpose(&mut self, clause: &Clause, cue: &Cue, items: &[Item], after: usize, frame: &Frame) {
        let rel = &self.cues.relations[cue.relation];
        if cue.weak || !rel.subject_types.contains(&EntityType::Project) || !rel.subject_types.contains(&EntityType::Person) || !rel.object_types.contains(&EntityType::Tool) {
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
                self.claim(Claim { relation: cue.relation, subject: project, object, polarity: Polarity::Affirmed, confidence: frame.confidence * 0.8, weak: false, span });
            }
        }
    }

    /// Follows the words of a cue after its verb: the position after them, a factor of confidence, and an object that stood between.
    fn walk(&self, cue: &Cue, anchor: usize, g: &VerbGroup, clause: &Clause, limit: usize) -> Option<(usize, f64, Option<Item>)> {
        let tokens = self.tokens;
        let mut k = anchor + 1;
        let mut factor = 1.0;
        if cue.rest.is_empty() {
            return (anchor == g.main).then_some((g.end, 1.0, None));
        }
        for (n, w) in cue.rest.iter().enumerate() {
            let is = |k: usize| tokens[k].norm == *w || tokens[k].lemma == *w;
            let start = k;
            let mut jumps = 0;
            loop {
                if k >= limit {
                    return None;
                }
                if is(k) {
                    break;
                }
                let t = &tokens[k];
                if matches!(t.pos, Pos::Adv | Pos::Det | Pos::Adj | Pos::Num) && k < start + 5 || t.is("not") {
                    k += 1;
                    continue;
                }
                // "put the bike away", "gave it up"
                let particle = matches!(w.as_str(), "away" | "up" | "off" | "out" | "down" | "back" | "over" | "home");
                if let Some(c) = self.chunk_at(k) {
                    let chunk = self.phrases.chunks[c];
                    if particle
                        && n + 1 == cue.rest.len()
                        && let ChunkKind::Noun(np) = chunk.kind
                        && tokens.get(chunk.end).is_some_and(|t| t.is(w))
                        && let Some(side) = self.sides[np]
                    {
                        return Some((chunk.end + 1, 1.0, Some((side, chunk.end + 1))));
                    }
                    // "work as a nurse at", "spent four years at", "live with my wife in"
                    let preposition = super::verbal::preposition(w);
                    if preposition && jumps < 2 && c < clause.end {
                        // "I do my mockups in Figma": only where the other side is surely a tool.
                        let rel = &self.cues.relations[cue.relation];
                        let across = rel.object_types.first() == Some(&EntityType::Tool) && !cue.weak && self.tool_after(chunk.end, w, limit);
                        if let ChunkKind::Noun(np) = chunk.kind
                            && (self.passing(np) || g.lemma == "spend" || across)
                        {
                            k = chunk.end;
                            jumps += 1;
                            factor *= 0.95;
                            continue;
                        }
                        if chunk.kind == ChunkKind::Prep
                            && !matches!(tokens[chunk.start].norm.as_str(), "to" | "from" | "in" | "at" | "on" | "for")
                            && let Some(ChunkKind::Noun(_)) = self.phrases.chunks.get(c + 1).map(|c| c.kind)
                        {
                            k = self.phrases.chunks[c + 1].end;
                            jumps += 1;
                            factor *= 0.9;
                            continue;
                        }
                    }
                }
                return None;
            }
            k += 1;
        }
        Some((k, factor, None))
    }

    /// Whether the word `w` at `k` is followed by a tool.
    fn tool_after(&self, k: usize, w: &str, limit: usize) -> bool {
        if k + 1 >= limit || !self.tokens[k].is(w) {
            return false;
        }
        let Some(c) = self.chunk_at(k + 1) else { return false };
        let ChunkKind::Noun(n) = self.phrases.chunks[c].kind else { return false };
        self.sides[n].is_some_and(|s| self.kind(s).0 == EntityType::Tool)
    }

    fn chunk_at(&self, token: usize) -> Option<usize> {
        let at = self.phrases.chunks.partition_point(|c| c.end <= token);
        self.phrases.chunks.get(at).filter(|c| c.start <= token).map(|_| at)
    }

    /// A noun phrase that may stand between a verb and its preposition: a time, an occupation.
    fn passing(&self, np: usize) -> bool {
        let n = &self.phrases.nouns[np];
        let head = &self.tokens[n.head];
        mentions::time_expression(self.tokens, n) || lexicon().has(Group::Person, &head.lemma) && n.owner == Owner::Nobody && head.pos == Pos::Noun
    }

    /// The coordinated objects that begin at a chunk.
    pub(crate) fn items(&mut self, from: usize, clause: &Clause, activities: bool) -> Vec<Item> {
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
                    // "my cats" after "love": whose they are is said elsewhere; "your dog" is the addressee's.
                    if let Some(side) = self.sides[n].filter(|_| np.owner != Owner::Addressee) {
                        out.push((side, chunk.end));
                    }
                    c += 1;
                }
                ChunkKind::Verb(v) if activities && self.phrases.verbs[v].kind != VerbKind::Finite => {
                    c = self.activity(c, clause, &mut out);
                }
                _ => break,
            }
            // On to the next member: "X, Y and Z", "on X and on Y".
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
            // A comma joins only when an "and" closes the list.
            let closes = conj || (k..end).any(|x| self.phrases.chunks[x].kind == ChunkKind::Conj && !self.tokens[self.phrases.chunks[x].start].is("but") && list_like(self, k, x));
            if !closes {
                break;
            }
            while k < end && matches!(self.phrases.chunks[k].kind, ChunkKind::Prep | ChunkKind::Adverb) && conj {
                k += 1;
            }
            c = k;
        }
        out
    }

    /// "to play soccer", "hiking", "going to concerts": the activity by its noun or its -ing form. Returns the chunk after it.
    fn activity(&mut self, at: usize, clause: &Clause, out: &mut Vec<Item>) -> usize {
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
            return if matches!(g.lemma.as_str(), "go" | "learn" | "try" | "get" | "start" | "do" | "come") { self.activity(c, clause, out) } else { c + 1 };
        }
        // "working out"
        let verb_end = self.phrases.chunks[at].end;
        if let Some(t) = self.tokens.get(g.main + 1)
            && lex.has(Group::Activity, &format!("{} {}", lemma::gerund(&g.lemma), t.norm))
        {
            let named = self.gerund(&format!("{} {}", lemma::gerund(&g.lemma), t.norm), g.main, g.main + 2);
            if let Some(side) = self.register(&named) {
                out.push((side, g.main + 2));
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
        if generic && about && object.is_some() && !(g.lemma == "work" || g.lemma == "go" && preposition.as_deref() == Some("with") || g.lemma == "hang") {
            let n = object.unwrap_or_default();
            let np = &self.phrases.nouns[n];
            let own = np.owner == Owner::Speaker;
            if own {
                return self.skip_objects(k, end);
            }
            let chunk_end = self.phrases.chunks[k].end;
            let on_instrument = g.lemma == "play" && self.phrases.chunks.get(k + 1).is_some_and(|c| self.tokens[c.start].is("on"));
            if let Some(side) = self.sides[n].filter(|_| !on_instrument) {
                out.push((side, chunk_end));
            } else {
                // "playing different songs on the piano"
                if let (Some(ChunkKind::Prep), Some(ChunkKind::Noun(m))) = (self.phrases.chunks.get(k + 1).map(|c| c.kind), self.phrases.chunks.get(k + 2).map(|c| c.kind))
                    && k + 2 < end
                    && let Some(side) = self.sides[m]
                {
                    out.push((side, self.phrases.chunks[k + 2].end));
                    return k + 3;
                }
            }
            return self.skip_pp(k + 1, end);
        }
        if !hollow && !g.passive {
            let named = self.gerund(&lemma::gerund(&g.lemma), g.main, g.main + 1);
            if let Some(side) = self.register(&named) {
                out.push((side, verb_end));
            }
        }
        self.skip_objects(c, end)
    }

    fn gerund(&self, name: &str, start: usize, end: usize) -> Named {
        let named_as_listed = lexicon().has(Group::Activity, name);
        Named {
            name: name.to_owned(),
            ty: EntityType::Concept,
            strength: if named_as_listed { 1.0 } else { 0.85 },
            proper: false,
            group: Some(Group::Activity),
            role: None,
            span: self.span(start, end),
        }
    }

    /// Past an object and its prepositional phrases.
    fn skip_objects(&self, from: usize, end: usize) -> usize {
        let mut k = from;
        while k < end && matches!(self.phrases.chunks[k].kind, ChunkKind::Prep | ChunkKind::Noun(_) | ChunkKind::Adverb | ChunkKind::Adjective) {
            k += 1;
        }
        k
    }

    fn skip_pp(&self, from: usize, end: usize) -> usize {
        let mut k = from;
        while k + 1 < end && self.phrases.chunks[k].kind == ChunkKind::Prep && matches!(self.phrases.chunks[k + 1].kind, ChunkKind::Noun(_)) {
            k += 2;
        }
        k
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
            let free = self.chunk_at(end).is_none_or(|c| !matches!(self.phrases.chunks[c].kind, ChunkKind::Noun(_) | ChunkKind::Verb(_) | ChunkKind::Prep));
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

fn list_like(r: &Reader<'_>, from: usize, conj: usize) -> bool {
    (from..conj).all(|c| match r.phrases.chunks[c].kind {
        ChunkKind::Noun(_) | ChunkKind::Comma | ChunkKind::Prep | ChunkKind::Adverb | ChunkKind::Conj => true,
        ChunkKind::Verb(v) => r.phrases.verbs[v].kind != VerbKind::Finite,
        _ => false,
    })
}

pub(crate) fn preposition(word: &str) -> bool {
    matches!(word, "in" | "at" | "on" | "for" | "with" | "to" | "of" | "from" | "by" | "as" | "into" | "near" | "about" | "over" | "between" | "under")
}
