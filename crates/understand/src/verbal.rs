//! Adds facts from clauses by the verb cues of the ontology, with negation, aspect, modality and complements.

use recall_domain::{Polarity, Span};

use super::clauses::{Clause, Subject};
use super::cue_matching::CueMatch;
use super::cues::{Cue, Effect};
use super::lexicon::lexicon;
use super::objects::Object;
use super::past_times::is_of_past_time;
use super::phrases::{ChunkKind, VerbGroup, VerbKind};
use super::reader::{FactDraft, Reader, Referent};
use super::steps;
use super::time_limits::{has_limit, is_of_some_days, is_over, is_to_come, is_until};
use super::tokens::Token;

/// Verbs of change; in the progressive they are plans ("I'm moving to Oslo").
const PLANS: &[&str] = &[
    "bring", "move", "relocate", "go", "travel", "fly", "visit", "attend", "join", "leave", "buy", "get", "sell", "adopt", "marry", "come",
    "switch", "migrate", "meet", "quit", "drive", "start", "head", "try", "return", "take", "replace",
];

/// What holds for the whole clause: subjects, polarity, confidence and extent.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(super) subjects: Vec<Referent>,
    pub(super) polarity: Polarity,
    pub(super) confidence: f64,
    pub(super) start: usize,
    pub(super) limit: usize,
}

impl Reader<'_> {
    /// Adds the facts of one clause.
    pub(crate) fn read_clause(&mut self, clause: &Clause) {
        if clause.unasserted {
            return;
        }
        let subjects = self.subjects_of(clause);
        if subjects.is_empty() {
            self.read_theft(clause);
            return;
        }
        let group = &self.phrases.verbs[clause.verb];
        let mut confidence = self.certainty_of_subject(clause);
        let pronoun = matches!(&clause.subject, Subject::Nouns(n) if n.iter().any(|&n| self.phrases.nouns[n].pronoun));
        if clause.distant || pronoun && !subjects.contains(&Referent::Speaker) {
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
        // "I don't work at Bosch on Fridays"
        if polarity != Polarity::Affirmed && is_of_some_days(&self.tokens[group.end.min(limit)..limit]) {
            return;
        }
        let frame = Frame { subjects, polarity, confidence, start: clause.start_token, limit };
        if let Some(noun) = clause.gap
            && let Some(object) = self.referents[noun]
        {
            self.read_moved_object(clause, &frame, object);
        }
        self.read_verb(clause, clause.at, &frame, 0);
    }

    /// Returns whether a verb group affirms, negates or ends.
    fn polarity(&self, g: &VerbGroup, limit: usize) -> Polarity {
        let tail = &self.tokens[g.end.min(limit)..limit];
        let anymore = is_over(tail, &self.tokens[limit..]);
        let previously = g.past
            && (self.tokens.iter().any(|t| matches!(t.norm.as_str(), "previously" | "formerly"))
                || self.tokens.windows(2).any(|t| t[0].is("before") && t[1].is("that")));
        let until = g.past && !g.negated && self.has_end(&self.tokens[g.end.min(limit)..(limit + 2).min(self.tokens.len())]);
        let of_past = is_of_past_time(self.tokens, g) || self.was_partner(g);
        if g.used_to && !g.negated || g.no_longer || g.negated && anymore || until || previously || of_past {
            Polarity::Ended
        } else if g.negated {
            Polarity::Negated
        } else {
            Polarity::Affirmed
        }
    }

    /// Whether somebody was a partner: "I was engaged to Rob". "We were married in May" tells of the day.
    fn was_partner(&self, g: &VerbGroup) -> bool {
        let is_past = g.be.is_some_and(|be| be == g.start && matches!(self.tokens[be].norm.as_str(), "was" | "were"));
        let is_tie = matches!(self.tokens[g.main].norm.as_str(), "married" | "engaged");
        is_past && is_tie && self.tokens.get(g.end).is_some_and(|t| t.is("to"))
    }

    /// Whether "until" gives the end of the clause: "I worked there until May", "Until May I worked there".
    pub(super) fn has_end(&self, words: &[Token]) -> bool {
        has_limit(words) || self.tokens.first().is_some_and(is_until)
    }

    /// Adds the facts of the verb at a chunk, or of the non-finite verb that depends on it.
    fn read_verb(&mut self, clause: &Clause, at: usize, frame: &Frame, depth: usize) -> bool {
        let ChunkKind::Verb(v) = self.phrases.chunks[at].kind else { return false };
        let mut g = self.phrases.verbs[v].clone();
        let lex = lexicon();
        if g.almost || depth > 4 {
            return false;
        }
        if let Some(end) = clause.shares.filter(|_| at == clause.at) {
            g.end = end;
        }
        // "I haven't been to Spain since 2009" only says that a visit is long ago; "I haven't liked it since" ends a state.
        let mut frame = frame.clone();
        if g.negated && self.is_recent_absence(&g, frame.limit) {
            if !self.is_state(&g, frame.limit) {
                return false;
            }
            frame.polarity = Polarity::Ended;
        }
        let frame = &frame;
        let unreal = g.modal.as_deref().is_some_and(|m| !(matches!(m, "can" | "could") && g.cannot));
        if unreal || (g.progressive && PLANS.contains(&g.lemma.as_str())) || is_to_come(self.tokens, &g) {
            return false;
        }
        if self.read_switch(clause, at, &g, frame) || self.read_gift(clause, at, &g, frame) || self.read_new_partner(clause, &g, frame) {
            return true;
        }
        if self.match_verb_cues(clause, at, &g, frame)
            || self.read_reciprocal(clause, at, &g, frame)
            || self.read_naming_verb(clause, at, &g)
            || self.read_possible_end(clause, at, &g, frame)
            || self.read_return(clause, at, &g, frame)
            || self.read_loss(clause, &g, frame)
        {
            return true;
        }
        // The dependent non-finite verb: "started using", "stopped using", "want to use".
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
            return self.read_verb(clause, next, &inner, depth + 1);
        }
        if lex.in_set("carry", &g.lemma) && !g.negated {
            return self.read_verb(clause, next, &inner, depth + 1);
        }
        false
    }

    /// Applies the cues of the verb; returns whether one of them added a fact.
    fn match_verb_cues(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let cues = self.cues;
        if let Some(be) = g.be {
            for cue in cues.verb_cues("be") {
                if self.apply_cue(clause, cue, be, g, frame) {
                    if g.progressive {
                        self.read_other_prepositions(clause, at, cue, g, frame);
                    }
                    return true;
                }
            }
        }
        if matches!(g.lemma.as_str(), "become" | "feel" | "seem" | "get" | "grow" | "stay" | "remain") {
            for cue in cues.verb_cues("be").iter().filter(|c| c.rest.len() > 1 && !c.weak) {
                if self.apply_cue(clause, cue, g.main, g, frame) {
                    return true;
                }
            }
        }
        if g.passive {
            return self.read_passive(clause, at, g, frame);
        }
        if g.lemma != "be" {
            for cue in cues.verb_cues(&g.lemma) {
                if self.apply_cue(clause, cue, g.main, g, frame) {
                    self.read_other_prepositions(clause, at, cue, g, frame);
                    return true;
                }
            }
        }
        // "got hired": cues that begin with "get".
        if let Some(be) = g.be.filter(|&b| self.tokens[b].lemma == "get") {
            for cue in cues.verb_cues("get") {
                if self.apply_cue(clause, cue, be, g, frame) {
                    return true;
                }
            }
        }
        false
    }

    /// Adds the facts of a passive with an agent: "X is used by Y".
    fn read_passive(&mut self, clause: &Clause, at: usize, g: &VerbGroup, frame: &Frame) -> bool {
        let Some(by) = (at + 1..clause.end)
            .take(4)
            .find(|&c| self.phrases.chunks[c].kind == ChunkKind::Prep && self.tokens[self.phrases.chunks[c].start].is("by"))
        else {
            return false;
        };
        let agents = self.read_objects(by + 1, clause, false);
        let cues = self.cues;
        for cue in cues.verb_cues(&g.lemma).iter().filter(|c| c.rest.is_empty() && !c.weak && !c.cannot) {
            let mut any = false;
            for &(agent, end) in &agents {
                for &patient in &frame.subjects {
                    let span = self.span(frame.start, end);
                    any |= self.add_cue_fact(cue, agent, patient, frame, 1.0, span);
                }
            }
            if any {
                return true;
            }
        }
        false
    }

    /// Adds the facts of one cue; returns whether it added any.
    fn apply_cue(&mut self, clause: &Clause, cue: &Cue, anchor: usize, g: &VerbGroup, frame: &Frame) -> bool {
        steps::count(1 + cue.rest.len());
        if cue.cannot != g.cannot
            || !self.is_completed(cue, g)
            || self.is_temporary_stay(cue, g, frame.limit)
            || self.is_planned_trip(cue, g)
            || self.is_birth_or_order(cue, g)
        {
            return false;
        }
        let mut frame = frame.clone();
        if self.is_finished_study(cue, g) && frame.polarity == Polarity::Affirmed {
            frame.polarity = Polarity::Ended;
        }
        if cue.cannot {
            frame.polarity = if frame.polarity == Polarity::Ended { Polarity::Ended } else { Polarity::Affirmed };
        }
        let Some(CueMatch { next: k, factor, object: between }) = self.match_cue(cue, anchor, g, clause, frame.limit) else { return false };
        // "I have no cats"
        if self.tokens.get(k).is_some_and(|t| t.is("no")) {
            if frame.polarity != Polarity::Affirmed {
                return false;
            }
            frame.polarity = Polarity::Negated;
        }
        if let Some((Referent::Entity(i, _), end)) = between
            && self.tokens[end - 1].is("there")
        {
            let span = self.span(end - 1, end);
            self.registry.mention_again(i, span);
        }
        if between.is_none() && self.is_not_own_thing(clause, cue, g, &frame, k) {
            return self.read_renouncement(clause, cue, g, &frame);
        }
        let activities = self.cues.relations[cue.relation].activities;
        let items: Vec<Object> = match between {
            Some(item) => vec![item],
            None => {
                let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= k) else { return false };
                let items = self.read_objects(c, clause, activities);
                let enclosing = self.enclosing_places(c, clause, cue);
                if enclosing.is_empty() { items } else { enclosing }
            }
        };
        let items = self.replace_by_members(cue, items);
        if self.read_team_mates(clause, cue, &frame, k) {
            return true;
        }
        let mut any = false;
        let subjects = frame.subjects.clone();
        let last_end = items.last().map_or(k, |i| i.1);
        for &(object, end) in &items {
            if self.is_other_reading(cue, g, object) {
                continue;
            }
            let is_next_employer = g.lemma == "join" && self.is_name(Some(object)) && self.has_left_employer();
            let sure = is_next_employer || self.is_name_after_preposition(cue, g, object) || self.is_regular_work(cue, g, object);
            let weak = cue.weak && !sure;
            for &subject in &subjects {
                let (s, o) = if cue.inverse { (object, subject) } else { (subject, object) };
                let span = self.span(frame.start, end);
                any |= self.add_cue_fact(&Cue { weak, ..cue.clone() }, s, o, &frame, factor, span);
            }
        }
        if any && frame.polarity == Polarity::Ended && cue.effect == Effect::States && !cue.inverse {
            self.read_replacement(clause, cue, last_end, &frame);
        }
        if any && frame.polarity == Polarity::Affirmed && cue.effect == Effect::Ends {
            self.read_next_step(clause, g, &frame);
        }
        if any && frame.polarity == Polarity::Affirmed && cue.effect == Effect::States {
            self.read_correction(clause, cue, &items, last_end, &frame);
            self.read_gapped(clause, cue, last_end, &frame);
            self.read_purpose(clause, cue, &items, last_end, &frame);
            self.read_model_after(cue, last_end, &frame);
        }
        any
    }

    /// Adds what somebody left for: "left Google to join Fernly".
    fn read_next_step(&mut self, clause: &Clause, g: &VerbGroup, frame: &Frame) {
        let joins = |c: &usize| match self.phrases.chunks[*c].kind {
            ChunkKind::Verb(v) => self.phrases.verbs[v].kind == VerbKind::Infinitive && self.phrases.verbs[v].lemma == "join",
            _ => false,
        };
        if let Some(next) = (clause.at + 1..clause.end).find(joins).filter(|_| g.past) {
            self.read_verb(clause, next, frame, 1);
        }
    }

    /// Adds a fact with the polarity that cue and clause give together.
    pub(super) fn add_cue_fact(&mut self, cue: &Cue, subject: Referent, object: Referent, frame: &Frame, factor: f64, span: Span) -> bool {
        let polarity = match (cue.effect, frame.polarity) {
            (Effect::States, p) => p,
            (Effect::Ends, Polarity::Affirmed) => Polarity::Ended,
            (Effect::Denies, Polarity::Affirmed) => Polarity::Negated,
            // "I haven't quit X" changes nothing.
            _ => return false,
        };
        self.add_fact(FactDraft {
            relation: cue.relation,
            subject,
            object,
            polarity,
            confidence: frame.confidence * factor,
            weak: cue.weak,
            span,
        })
    }

    /// Adds the facts of a relative clause whose object is its antecedent: "Rust, which I love".
    fn read_moved_object(&mut self, clause: &Clause, frame: &Frame, object: Referent) {
        let g = self.phrases.verbs[clause.verb].clone();
        if g.modal.is_some() || g.passive || g.almost {
            return;
        }
        let cues = self.cues;
        for cue in cues.verb_cues(&g.lemma).iter().filter(|c| !c.weak && !c.cannot && !g.cannot) {
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
                any |= self.add_cue_fact(cue, s, o, frame, 0.9, span);
            }
            if any {
                return;
            }
        }
    }
}
