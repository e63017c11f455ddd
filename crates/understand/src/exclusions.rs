//! Rules for clauses that match a cue but do not state its relation: "I drove Tom's car", "I was in Rome",
//! "I sell watches", "I haven't been there since".

use recall_domain::{CandidateFact, EntityType, Polarity, number_word};

use super::clauses::Clause;
use super::cues::{Cue, Effect, Rel};
use super::lexicon::{VerbForm, WordList, lexicon};
use super::mentions::WEAK;
use super::phrases::{ChunkKind, Possessor, VerbGroup};
use super::reader::{Reader, Referent};
use super::singular::singular;
use super::time_limits::{is_awaited, is_of_limited_time};
use super::tokens::{Pos, Token};
use super::verbal::Frame;

/// Words between a verb and the preposition of its cue that are looked at.
const MAX_OBJECT_WORDS: usize = 5;

impl Reader<'_> {
    /// Whether a stay is temporary: "I was in Rome", "I'm in Rome for the weekend", "she's staying in Rome until Friday".
    pub(super) fn is_temporary_stay(&self, cue: &Cue, g: &VerbGroup, limit: usize) -> bool {
        let rel = &self.cues.relations[cue.relation];
        let is_of_homes = rel.functional && rel.object_types == [EntityType::Place];
        if !(is_of_homes && (cue.weak || g.lemma == "stay")) {
            return false;
        }
        let tail = &self.tokens[g.end.min(limit)..(limit + 2).min(self.tokens.len())];
        let begins = self.phrases.verbs.first().is_some_and(|first| first.start == g.start);
        if !g.used_to && (is_of_limited_time(tail) || begins && is_of_limited_time(&self.tokens[..g.start.min(3)])) {
            return true;
        }
        let tail = &self.tokens[g.end.min(limit)..limit];
        let short = |t: &Token| lexicon().in_set("time", &t.norm) || lexicon().in_set("occasions", &t.norm);
        let lasting = tail.iter().any(|t| t.is("years") || t.is("now"));
        cue.weak && g.past && !g.used_to
            || !lasting && (1..=3).any(|far| tail.windows(far + 1).any(|w| matches!(w[0].norm.as_str(), "for" | "on") && short(&w[far])))
    }

    /// Whether a cue tells no home and no possession: where somebody was born, and what was ordered and is not there yet.
    pub(super) fn is_birth_or_order(&self, cue: &Cue, g: &VerbGroup) -> bool {
        let rel = &self.cues.relations[cue.relation];
        let is_birth = rel.functional && cue.rest.iter().any(|w| w == "born");
        let is_order = !rel.possessed.is_empty() && g.lemma == "order" && cue.effect == Effect::States;
        is_birth || is_order && is_awaited(self.tokens.get(g.end..).unwrap_or_default())
    }

    /// Whether the present tense of a verb of motion tells a plan: "We fly to Tbilisi in May".
    pub(super) fn is_planned_trip(&self, cue: &Cue, g: &VerbGroup) -> bool {
        let types = &self.cues.relations[cue.relation].object_types;
        let trip = types.first() == Some(&EntityType::Place) && types.contains(&EntityType::Event);
        let motion =
            matches!(g.lemma.as_str(), "fly" | "go" | "travel" | "drive" | "head" | "come" | "return" | "sail" | "take" | "pop" | "nip");
        let perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        // "I'm in Rome" is no visit that is over.
        if trip && g.lemma == "be" && cue.rest == ["in"] {
            return !g.past || g.used_to;
        }
        trip && motion && cue.effect == Effect::States && !g.past && !perfect && !g.negated
    }

    /// Whether the object shows that the verb means another relation: one leaves a club as a member, not as an employee.
    pub(super) fn is_other_reading(&self, cue: &Cue, g: &VerbGroup, object: Referent) -> bool {
        let rel = &self.cues.relations[cue.relation];
        let (ty, strength) = self.type_of(object);
        // "went with my mother"
        if g.lemma == "go" && cue.rest == ["with"] && rel.object_types.is_empty() {
            return object == Referent::Speaker || ty == EntityType::Person && strength >= WEAK;
        }
        // "joined a choir, Morski Glas"
        let employer = rel.object_types == [EntityType::Organization] && rel.subject_types == [EntityType::Person];
        if employer && cue.weak && self.is_membership(object) {
            return true;
        }
        // "left Nokia and joined Apple" is about jobs.
        if !employer && g.lemma == "join" && !self.is_membership(object) && self.has_left_employer() {
            return true;
        }
        // Who puts a laptop to sleep keeps it.
        if cue.effect == Effect::Ends && cue.rest.last().is_some_and(|word| word == "sleep") {
            return !matches!(object, Referent::Entity(i, _) if self.registry.named[i] || self.registry.traits[i].animal);
        }
        let leaves = cue.effect == Effect::Ends && matches!(g.lemma.as_str(), "leave" | "quit" | "drop" | "resign" | "retire");
        if !leaves {
            return false;
        }
        // "I left Tom a note", "Tom left me a note"
        let gives =
            g.lemma == "leave" && self.tokens.get(g.main + 2).is_some_and(|t| matches!(t.norm.as_str(), "a" | "an" | "some" | "my"));
        let kin = rel.object_types == [EntityType::Person] && rel.symmetric;
        let Referent::Entity(i, _) = object else { return kin && gives };
        let name = self.registry.mentions[i].name.to_lowercase();
        let head = name.rsplit(' ').next().unwrap_or_default();
        let group = lexicon().in_set("memberships", head) || lexicon().in_set("memberships", &singular(head)) || self.is_membership(object);
        // "quit Twitter", but not "quit smoking"
        let tool = lexicon().get(&name).iter().any(|e| e.group == WordList::Tool);
        let uses = rel.object_types.first() == Some(&EntityType::Tool);
        // "I left him with Marco while we were away"
        let entrusts = g.lemma == "leave" && self.tokens.iter().skip(g.main + 2).take(3).any(|t| t.is("with"));
        // "quit sugar", but "left school"
        let is_bare = |n: usize| {
            let np = &self.phrases.nouns[n];
            self.referents[n] == Some(object) && np.determiner.is_none() && np.possessor == Possessor::Unmarked
        };
        let is_habit =
            g.lemma == "quit" && !self.registry.named[i] && ty != EntityType::Organization && (0..self.referents.len()).any(is_bare);
        is_habit && !rel.activities
            || employer && (group || tool)
            || uses && (group || ty == EntityType::Concept || !tool && !self.registry.named[i])
            || kin && (entrusts || gives || g.lemma != "leave" || ty != EntityType::Person || strength < WEAK)
    }

    /// Whether the sentence has said that somebody left an employer.
    pub(super) fn has_left_employer(&self) -> bool {
        let is_employer = |r: &Rel| r.successive && r.subject_types == [EntityType::Person] && r.object_types == [EntityType::Organization];
        let begin = self.span(0, 1).start;
        let has_ended = |rel: &Rel| {
            let is_end = |f: &CandidateFact| f.relation == rel.name && f.polarity == Polarity::Ended && f.span.start >= begin;
            is_employer(rel) && self.facts.facts.iter().any(is_end)
        };
        self.cues.relations.iter().any(has_ended)
    }

    /// Whether a phrase of the sentence calls a name a club, a band or another group with members.
    fn is_membership(&self, object: Referent) -> bool {
        (0..self.referents.len()).any(|n| {
            let head = &self.tokens[self.phrases.nouns[n].head];
            self.referents[n] == Some(object) && self.phrases.nouns[n].proper_name.is_some() && lexicon().in_set("memberships", &head.lemma)
        })
    }

    /// Whether an unknown name has the type that a common verb with its preposition asks for: "went to Wacken", "is at Quillbase now".
    pub(super) fn is_name_after_preposition(&self, cue: &Cue, g: &VerbGroup, object: Referent) -> bool {
        let Referent::Entity(i, _) = object else { return false };
        let (_, strength) = self.type_of(object);
        if !self.registry.named[i] || strength >= WEAK {
            return false;
        }
        let rel = &self.cues.relations[cue.relation];
        let first = rel.object_types.first();
        let perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        match cue.rest.last().map(String::as_str) {
            // "was at" may be a visit as well as a job.
            Some("at" | "with") => {
                first == Some(&EntityType::Organization) && rel.subject_types == [EntityType::Person] && (!g.past || perfect)
            }
            Some("to") => first == Some(&EntityType::Place) && rel.object_types.contains(&EntityType::Event) && (g.past || perfect),
            // Groups have an article, places rarely: "in the Meath Ramblers".
            Some("in") if self.has_article(object) => rel.object_types.first() == Some(&EntityType::Organization) && !g.past,
            Some("in") => *rel.object_types == [EntityType::Place] && (!g.past || perfect),
            _ => false,
        }
    }

    fn has_article(&self, object: Referent) -> bool {
        (0..self.referents.len())
            .any(|n| self.referents[n] == Some(object) && self.phrases.nouns[n].determiner.is_some_and(|d| self.tokens[d].is("the")))
    }

    /// Whether a common verb in the present tense names somebody's work: "He does the glazes", "Naledi handles the seed catalogue".
    pub(super) fn is_regular_work(&self, cue: &Cue, g: &VerbGroup, object: Referent) -> bool {
        let rel = &self.cues.relations[cue.relation];
        let work = rel.object_types.first() == Some(&EntityType::Project) && rel.subject_types == [EntityType::Person];
        let verb = matches!(g.lemma.as_str(), "handle" | "do" | "design" | "build" | "write" | "maintain" | "run");
        if !work || !verb || g.past || !cue.rest.is_empty() {
            return false;
        }
        let Some(n) = (0..self.referents.len()).find(|&n| self.referents[n] == Some(object) && self.phrases.nouns[n].start >= g.end) else {
            return false;
        };
        let np = &self.phrases.nouns[n];
        let head = &self.tokens[np.head];
        let definite = np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "the" | "our" | "all"));
        let compound = np.determiner.is_none() && np.head > np.core;
        let chore = lexicon().in_set("chores", &head.norm) || lexicon().in_set("chores", &head.lemma);
        (definite || compound && g.lemma == "handle") && !chore && np.start <= g.end + 1 && head.pos == Pos::Noun
    }

    /// Whether the object is not the subject's own: "I drove Tom's car", "I sold houses for a living", "I lost the game".
    pub(super) fn is_not_own_thing(&self, clause: &Clause, cue: &Cue, g: &VerbGroup, frame: &Frame, k: usize) -> bool {
        let Some(c) = (clause.at..clause.end).find(|&c| self.phrases.chunks[c].start >= k) else { return false };
        let ChunkKind::Noun(n) = self.phrases.chunks[c].kind else { return false };
        let (np, owns) = (&self.phrases.nouns[n], !self.cues.relations[cue.relation].possessed.is_empty());
        let other =
            matches!(np.possessor, Possessor::Phrase(_)) || np.possessor == Possessor::ThirdPerson && frame.subjects == [Referent::Speaker];
        let loose = cue.effect == Effect::Ends && lexicon().in_set("loose", &g.lemma);
        if owns {
            let bare = np.possessor == Possessor::Unmarked
                && np.determiner.is_none()
                && self.tokens[np.head].pos == Pos::Noun
                && np.core == np.head;
            let trade = cue.effect == Effect::Ends && bare && self.tokens[np.head].norm != self.tokens[np.head].lemma;
            let lost = (loose || cue.effect == Effect::Ends && self.is_of_class("renouncing", g))
                && (np.possessor == Possessor::Unmarked
                    || self.referents[n].is_none_or(|s| !self.is_possession(&self.cues.relations[cue.relation], s)));
            return other && (cue.weak || cue.effect == Effect::Ends) || trade || lost;
        }
        let used = self.cues.relations[cue.relation].object_types.first() == Some(&EntityType::Tool);
        loose && used && self.referents[n].is_some_and(|s| self.type_of(s).0 != EntityType::Tool && self.type_of(s).1 >= WEAK)
    }

    /// Whether a negated perfect only says that something is long ago: "I haven't been there since".
    pub(super) fn is_recent_absence(&self, g: &VerbGroup, limit: usize) -> bool {
        let perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        let tail = &self.tokens[g.end.min(limit)..limit];
        perfect
            && (tail.iter().any(|t| matches!(t.norm.as_str(), "since" | "yet" | "lately" | "recently"))
                || tail.windows(2).any(|t| (t[0].is("in") || t[0].is("for")) && lexicon().in_set("time", &t[1].norm))
                || tail.windows(3).any(|t| (t[0].is("in") || t[0].is("for")) && lexicon().in_set("time", &t[2].norm)))
    }

    /// Whether a negated perfect with "since" ends a state: "haven't liked meat since", but not "haven't seen her since".
    pub(super) fn is_state(&self, g: &VerbGroup, limit: usize) -> bool {
        let since = self.tokens[g.end.min(limit)..limit].iter().any(|t| t.is("since"));
        let event = matches!(g.lemma.as_str(), "go" | "see" | "visit" | "meet" | "hear" | "speak" | "talk" | "eat" | "come");
        let visit = g.lemma == "be" && self.tokens.get(g.end).is_some_and(|t| t.is("to") || t.is("back"));
        since && !event && !visit
    }

    /// Whether an ending verb says that something has ended: "I sold it", not "I sell watches".
    pub(super) fn is_completed(&self, cue: &Cue, g: &VerbGroup) -> bool {
        if cue.effect != Effect::Ends {
            return true;
        }
        let present = matches!(self.tokens[g.main].form, Some(VerbForm::Base | VerbForm::ThirdPerson)) && g.start == g.main;
        let has_form = !present || matches!(g.lemma.as_str(), "quit" | "split" | "shut" | "be" | "cut");
        let is_had_again = !self.cues.relations[cue.relation].possessed.is_empty() && self.is_found_again(g);
        // Who has handed in the notice still works there.
        let is_notice = cue.rest.iter().any(|w| w == "notice");
        has_form && !is_notice && !is_had_again && !self.is_for_a_while(g) && !self.is_end_of_shift(cue, g)
    }

    /// Whether the past tense tells of studies, which are over: "I studied at Oxford", "she went to school at St Anne's".
    pub(super) fn is_finished_study(&self, cue: &Cue, g: &VerbGroup) -> bool {
        let rel = &self.cues.relations[cue.relation];
        let is_of_study = |w: &str| {
            matches!(
                w,
                "study" | "attend" | "major" | "school" | "college" | "uni" | "masters" | "master's" | "phd" | "bachelor" | "student"
            )
        };
        let is_perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        rel.subject_types == [EntityType::Person]
            && rel.object_types == [EntityType::Organization]
            && cue.effect == Effect::States
            && g.past
            && !is_perfect
            && !g.progressive
            && (is_of_study(&g.lemma) || cue.rest.iter().any(|w| is_of_study(w)))
    }

    /// Whether what was lost is there again: "lost Rex but found him", "they stole my bike, but I got it back".
    pub(super) fn is_found_again(&self, g: &VerbGroup) -> bool {
        let tail = self.tokens.get(g.end..).unwrap_or_default();
        let is_loss = g.lemma == "lose" || self.is_of_class("stealing", g) || self.is_of_class("straying", g);
        let is_pronoun = |t: Option<&Token>| t.is_some_and(|t| matches!(t.norm.as_str(), "it" | "him" | "her" | "them"));
        (0..tail.len()).any(|i| match tail[i].norm.as_str() {
            "found" | "retrieved" | "recovered" | "caught" => is_pronoun(tail.get(i + 1)),
            "got" | "bought" | "had" | "gave" | "brought" | "handed" | "sent" => {
                is_pronoun(tail.get(i + 1)) && tail.get(i + 2).is_some_and(|t| t.is("back"))
            }
            "turned" | "came" if !is_loss => false,
            "turned" => tail.get(i + 1).is_some_and(|t| t.is("up")),
            "came" => tail.get(i + 1).is_some_and(|t| t.is("back") || t.is("home")),
            _ => false,
        })
    }

    /// Whether the working day ends, and not the work: "finished my shift at Deloitte".
    fn is_end_of_shift(&self, cue: &Cue, g: &VerbGroup) -> bool {
        let of_day = |t: &Token| matches!(t.norm.as_str(), "shift" | "shifts" | "day" | "class" | "lesson" | "lecture" | "meeting");
        let words = self.tokens.iter().skip(g.end).take_while(|t| cue.rest.last().is_some_and(|last| !t.is(last)));
        g.lemma == "finish" && words.take(MAX_OBJECT_WORDS).any(of_day)
    }

    /// Whether what a verb ends comes back: "gave up the car for a week", "had to leave early today", "left at six".
    fn is_for_a_while(&self, g: &VerbGroup) -> bool {
        // The next verb has its own times: "sold the car and travelled for a year".
        let is_other = |t: &Token| t.pos == Pos::Verb || matches!(t.norm.as_str(), "." | "!" | "?" | ";");
        let tail = self.tokens.get(g.end..).unwrap_or_default();
        let tail = &tail[..tail.iter().position(is_other).unwrap_or(tail.len())];
        let is_time = |t: &Token| lexicon().in_set("time", &t.norm);
        let is_hour = |t: &Token| t.norm.starts_with(|c: char| c.is_ascii_digit()) || number_word(&t.norm).is_some();
        let is_short = tail.windows(3).any(|t| t[0].is("for") && (is_time(&t[1]) || is_time(&t[2])));
        let is_for_the_day = || {
            let early = tail.iter().position(|t| t.is("early"));
            tail.windows(2).any(|t| t[0].is("at") && is_hour(&t[1])) || early.is_some_and(|at| tail.get(at + 1).is_none_or(is_time))
        };
        // "Left Tesco without the milk" tells of a shop, "left Bosch without a plan" of a job.
        let is_of_visit = || tail.windows(2).any(|t| t[0].is("without") && matches!(t[1].norm.as_str(), "the" | "my" | "our"));
        is_short || g.lemma == "leave" && (is_for_the_day() || is_of_visit())
    }
}
