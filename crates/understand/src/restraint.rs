//! When the words of a relation stand in a clause and still do not state it: "I drove Tom's car", "I was in Rome",
//! "I sell watches", "I haven't been there since".

use recall_domain::EntityType;

use super::clauses::Clause;
use super::cues::{Cue, Effect};
use super::lexicon::{VerbForm, lexicon};
use super::mentions::WEAK;
use super::phrases::{ChunkKind, Owner, VerbGroup};
use super::reader::{Reader, Side};
use super::tokens::{Pos, Token};
use super::verbal::Frame;

impl Reader<'_> {
    /// "I was in Rome", "I'm in Rome for the weekend": no home.
    pub(super) fn passing_stay(&self, cue: &Cue, g: &VerbGroup, limit: usize) -> bool {
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

    /// "I drove Tom's car", "I sold houses for a living", "I lost the game": nothing was owned.
    pub(super) fn not_ones_own(&self, clause: &Clause, cue: &Cue, g: &VerbGroup, frame: &Frame, k: usize) -> bool {
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

    pub(super) fn not_lately(&self, g: &VerbGroup, limit: usize) -> bool {
        let perfect = self.tokens[g.start].lemma == "have" && g.main > g.start;
        let tail = &self.tokens[g.end.min(limit)..limit];
        perfect
            && (tail.iter().any(|t| matches!(t.norm.as_str(), "since" | "yet" | "lately" | "recently"))
                || tail.windows(2).any(|t| (t[0].is("in") || t[0].is("for")) && lexicon().in_set("time", &t[1].norm))
                || tail.windows(3).any(|t| (t[0].is("in") || t[0].is("for")) && lexicon().in_set("time", &t[2].norm)))
    }

    /// Whether something is over: "I sold it", not "I sell watches".
    pub(super) fn is_over(&self, cue: &Cue, g: &VerbGroup) -> bool {
        if cue.effect != Effect::Ends {
            return true;
        }
        let present = matches!(self.tokens[g.main].form, Some(VerbForm::Base | VerbForm::Third)) && g.start == g.main;
        !present || matches!(g.lemma.as_str(), "quit" | "split" | "shut" | "be" | "cut")
    }
}
