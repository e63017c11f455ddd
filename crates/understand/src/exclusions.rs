//! Rules for clauses that match a cue but do not state its relation: "I drove Tom's car", "I was in Rome",
//! "I sell watches", "I haven't been there since".

use recall_domain::EntityType;

use super::clauses::Clause;
use super::cues::{Cue, Effect};
use super::lexicon::{VerbForm, lexicon};
use super::mentions::WEAK;
use super::phrases::{ChunkKind, Possessor, VerbGroup};
use super::reader::{Reader, Referent};
use super::tokens::{Pos, Token};
use super::verbal::Frame;

impl Reader<'_> {
    /// Whether a stay is temporary: "I was in Rome", "I'm in Rome for the weekend".
    pub(super) fn is_temporary_stay(&self, cue: &Cue, g: &VerbGroup, limit: usize) -> bool {
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
            let lost = loose
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

    /// Whether an ending verb says that something has ended: "I sold it", not "I sell watches".
    pub(super) fn is_completed(&self, cue: &Cue, g: &VerbGroup) -> bool {
        if cue.effect != Effect::Ends {
            return true;
        }
        let present = matches!(self.tokens[g.main].form, Some(VerbForm::Base | VerbForm::ThirdPerson)) && g.start == g.main;
        !present || matches!(g.lemma.as_str(), "quit" | "split" | "shut" | "be" | "cut")
    }
}
