//! Adds facts from copula clauses: "Katherine is my boss", "my favourite band is X", "Priya and I are colleagues".

use recall_domain::{EntityType, Polarity};

use super::clauses::{Clause, Subject};
use super::cues::{NounCue, Rel};
use super::lexicon::lexicon;
use super::mentions::{Named, text_of};
use super::naming::describe;
use super::objects::Object;
use super::phrases::{ChunkKind, NounPhrase, Possessor, VerbGroup};
use super::reader::{FactDraft, Reader, Referent, is_personal};
use super::time_limits::is_over;
use super::tokens::Pos;

/// What people live in.
const HOMES: &[&str] = &["home", "flat", "apartment", "house", "place", "studio", "bedsit"];
/// Words before a home that say that nobody lives there now.
const OTHER_HOMES: &[&str] = &["holiday", "summer", "weekend", "second", "old", "former", "childhood", "dream", "vacation", "rental"];

/// A copula clause with what holds for all its facts.
struct Copula<'a> {
    clause: &'a Clause,
    subjects: &'a [usize],
    /// The chunk after the verb.
    at: usize,
    polarity: Polarity,
    confidence: f64,
    /// First token of the subject, and one past the last token of the predicate.
    words: (usize, usize),
}

impl Reader<'_> {
    /// Adds the facts of a copula clause: "X is my boss", "my boss is X", "X and Y are friends".
    pub(crate) fn read_copula(&mut self, clause: &Clause) {
        let g = &self.phrases.verbs[clause.verb];
        let Subject::Nouns(subjects) = &clause.subject else { return };
        if clause.unasserted {
            return self.cover_unasserted(clause);
        }
        if g.modal.is_some() {
            return;
        }
        if g.progressive && !g.negated {
            self.read_favourite_activity(clause, subjects);
        }
        if !matches!(g.lemma.as_str(), "be" | "become" | "remain" | "include") || g.passive || g.progressive {
            return;
        }
        self.read_home(clause, subjects);
        self.read_predecessor(clause);
        let Some(at) = self.complement(clause) else { return };
        let chunk = self.phrases.chunks[at];
        let polarity = self.polarity_of_copula(clause, g);
        let confidence = if clause.hedged.is_some() { 0.75 } else { 1.0 };
        let copula = Copula { clause, subjects, at, polarity, confidence, words: (clause.start_token, chunk.end) };
        if self.read_name_of_subject(&copula) || self.read_described_subject(&copula) || g.lemma == "include" {
            return;
        }
        let ChunkKind::Noun(predicate) = chunk.kind else { return };
        if polarity == Polarity::Affirmed {
            self.read_model_of_subject(subjects, predicate, clause.start_token);
        }
        if self.read_owned_subject(&copula, predicate) {
            return;
        }
        if !self.read_fan(&copula, predicate) && !self.read_possessed_predicate(&copula, predicate) {
            self.read_mutual_predicate(&copula, predicate);
        }
        // "my manager and my friend", "neither my manager nor my colleague"
        for c in (at + 2..clause.end).step_by(2) {
            let (ChunkKind::Conj, ChunkKind::Noun(n)) = (self.phrases.chunks[c - 1].kind, self.phrases.chunks[c].kind) else { break };
            // "My dad is 70 and my mum 68"
            if matches!(self.phrases.chunks.get(c + 1).map(|next| next.kind), Some(ChunkKind::Noun(_))) {
                break;
            }
            if self.phrases.nouns[n].possessor == Possessor::Unmarked || self.phrases.nouns[n].proper_name.is_some() {
                break;
            }
            self.read_possessed_predicate(&copula, n);
        }
    }

    /// Keeps the possessive predicate of a copula that states nothing from stating a relation: "I thought Leo was my cousin".
    fn cover_unasserted(&mut self, clause: &Clause) {
        let predicate = self.complement(clause).and_then(|c| match self.phrases.chunks[c].kind {
            ChunkKind::Noun(n) => Some(n),
            _ => None,
        });
        let is_copula = self.phrases.verbs[clause.verb].lemma == "be";
        let Some(predicate) = predicate.filter(|_| is_copula && clause.hedged.is_some()) else { return };
        let np = &self.phrases.nouns[predicate];
        self.covered[predicate] |= np.proper_name.is_none() && self.find_noun_cue(np).is_some();
    }

    /// Adds the home of a person by where it is: "My new flat is in Braga".
    fn read_home(&mut self, clause: &Clause, subjects: &[usize]) {
        let g = &self.phrases.verbs[clause.verb];
        let [home] = *subjects else { return };
        let np = &self.phrases.nouns[home];
        let is_home = HOMES.contains(&self.tokens[np.head].norm.as_str());
        let is_other = self.tokens[np.start..np.head].iter().any(|t| OTHER_HOMES.contains(&t.norm.as_str()));
        if !is_home || is_other || g.past || g.lemma != "be" || self.polarity_of_copula(clause, g) != Polarity::Affirmed {
            return;
        }
        let chunk = |k: usize| self.phrases.chunks.get(clause.at + k).map(|c| (c.kind, c.start, c.end));
        let (Some((ChunkKind::Prep, prep, _)), Some((ChunkKind::Noun(place), _, end))) = (chunk(1), chunk(2)) else { return };
        let is_of_home = |r: &Rel| r.functional && r.subject_types == [EntityType::Person] && r.object_types == [EntityType::Place];
        let relation = self.cues.relations.iter().position(is_of_home).filter(|_| self.tokens[prep].is("in"));
        let (Some(relation), Some(subject), Some(object)) = (relation, self.possessor(home), self.referents[place]) else { return };
        let span = self.span(clause.start_token, end);
        self.add_fact(FactDraft { relation, subject, object, polarity: Polarity::Affirmed, confidence: 0.9, weak: false, span });
    }

    fn polarity_of_copula(&self, clause: &Clause, g: &VerbGroup) -> Polarity {
        let limit = self.phrases.chunks[clause.end - 1].end.max(g.end);
        let (tail, after) = (&self.tokens[g.end..limit], &self.tokens[limit..]);
        let until = g.past && !g.negated && self.has_end(&self.tokens[g.end..(limit + 2).min(self.tokens.len())]);
        let negated = g.negated || clause.denied || tail.iter().any(|t| t.is("neither"));
        if g.used_to || g.no_longer || until || clause.is_over || negated && is_over(tail, after) {
            Polarity::Ended
        } else if negated {
            Polarity::Negated
        } else {
            Polarity::Affirmed
        }
    }

    /// "My old boss was Greta" tells what is over, whatever the tense of its verb.
    fn polarity_of_role(&self, copula: &Copula<'_>, np: &NounPhrase, cue: NounCue, k: usize) -> Polarity {
        let is_over = copula.polarity == Polarity::Affirmed && self.is_former(np, cue, k);
        if is_over { Polarity::Ended } else { copula.polarity }
    }

    /// Reads the name of the subject: "my name is Ann", "our dog is Rex". Returns whether it is one.
    fn read_name_of_subject(&mut self, copula: &Copula<'_>) -> bool {
        let [subject] = copula.subjects[..] else { return false };
        let ChunkKind::Noun(name) = self.phrases.chunks[copula.at].kind else { return false };
        if copula.polarity != Polarity::Affirmed {
            return false;
        }
        let is_described = self.read_named_description(subject, name);
        if is_described {
            self.read_further_names(subject, name, copula.clause);
        }
        is_described || self.read_name_statement(subject, name)
    }

    /// Adds the facts of a subject that is a cue: "My favourite band is X", "my boss is Dave". Returns whether nothing else is read.
    fn read_described_subject(&mut self, copula: &Copula<'_>) -> bool {
        let [s] = copula.subjects[..] else { return false };
        let subject = &self.phrases.nouns[s];
        if subject.proper_name.is_some() || self.tokens[subject.head].pos == Pos::Propn {
            return false;
        }
        let Some((cue, k)) = self.find_noun_cue(subject) else { return false };
        let Some(possessor) = self.possessor(s) else { return false };
        let polarity = self.polarity_of_role(copula, subject, cue, k);
        let personal = is_personal(self.cues, cue.relation, cue.inverse);
        // "My roommate is a DJ" gives an occupation, not a name.
        if personal && self.is_indefinite(copula.at) {
            return true;
        }
        let mut any = false;
        let mut items = self.read_objects(copula.at, copula.clause, !personal);
        items.extend(self.coordinated_adjective(copula).filter(|_| !personal));
        for (item, end) in items {
            let fits = !personal || matches!(item, Referent::Entity(i, _) if self.registry.kept[i]);
            let added = fits && self.add_noun_fact(cue, possessor, item, polarity, copula.confidence, (copula.words.0, end));
            // "My mother is Viorica": the role of a name.
            if let (Referent::Entity(i, _), true) = (item, added && personal && polarity == Polarity::Affirmed) {
                let role = &self.tokens[self.phrases.nouns[s].head].lemma;
                self.registry.mentions[i].description.get_or_insert_with(|| role.clone());
            }
            any |= added;
        }
        self.covered[s] |= any;
        any
    }

    /// Returns an adjective that is joined to a noun, and so is the name of something too: "red and blue".
    fn coordinated_adjective(&mut self, copula: &Copula<'_>) -> Option<Object> {
        let chunks = &self.phrases.chunks;
        let is_joined = |c: &usize| {
            let (before, and, adjective) = (chunks[c - 2], chunks[c - 1], chunks[*c]);
            let noun = match before.kind {
                ChunkKind::Noun(n) => self.referents[n],
                _ => None,
            };
            let is_concept = noun.is_some_and(|noun| self.type_of(noun).0 == EntityType::Concept);
            let is_and = and.kind == ChunkKind::Conj && self.tokens[and.start].is("and");
            is_concept && is_and && adjective.kind == ChunkKind::Adjective && adjective.end == adjective.start + 1
        };
        let adjective = chunks[(copula.at + 2..copula.clause.end).find(is_joined)?];
        let named = Named {
            name: text_of(self.tokens, adjective.start, adjective.end),
            ty: EntityType::Concept,
            strength: 0.85,
            proper: false,
            group: None,
            role: None,
            plural: false,
            span: self.span(adjective.start, adjective.end),
        };
        Some((self.register(&named)?, adjective.end))
    }

    /// Whether a chunk is a noun with "a" or "an" and without a name.
    fn is_indefinite(&self, chunk: usize) -> bool {
        let ChunkKind::Noun(n) = self.phrases.chunks[chunk].kind else { return false };
        let np = &self.phrases.nouns[n];
        np.proper_name.is_none() && np.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "a" | "an"))
    }

    /// Adds the facts of a predicate with a possessor: "X is my boss". Returns whether it is one.
    fn read_possessed_predicate(&mut self, copula: &Copula<'_>, predicate: usize) -> bool {
        let np = &self.phrases.nouns[predicate];
        let Some((cue, k)) = self.find_noun_cue(np) else { return false };
        let possessor = self.possessor(predicate).or_else(|| self.owner_of_new_role(np, cue));
        let Some(possessor) = possessor else { return false };
        let polarity = self.polarity_of_role(copula, np, cue, k);
        for &s in copula.subjects {
            // "She's not my sister": without an antecedent the sentence names nobody.
            self.covered[predicate] |= self.phrases.nouns[s].pronoun || polarity != Polarity::Affirmed;
            if let Some(referent) = self.referents[s] {
                let added = self.add_noun_fact(cue, possessor, referent, polarity, copula.confidence, copula.words);
                self.covered[predicate] |= added;
                // "Anna is my sister-in-law": the role of a name.
                let is_role = added && polarity == Polarity::Affirmed && is_personal(self.cues, cue.relation, cue.inverse);
                if let (Referent::Entity(i, _), true) = (referent, is_role && possessor == Referent::Speaker) {
                    let role = &self.tokens[self.phrases.nouns[predicate].head].lemma;
                    self.registry.mentions[i].description.get_or_insert_with(|| role.clone());
                }
            }
        }
        true
    }

    /// Adds the owner of the subject: "the canoe is mine", "the cat is Ahmed's". Returns whether the predicate is one.
    fn read_owned_subject(&mut self, copula: &Copula<'_>, predicate: usize) -> bool {
        let np = &self.phrases.nouns[predicate];
        let after = self.tokens.get(np.end);
        let owner = if matches!(self.tokens[np.head].norm.as_str(), "mine" | "ours") {
            Referent::Speaker
        } else if after.is_some_and(|t| t.is("'s")) && self.tokens[np.head].pos == Pos::Propn {
            match self.referents[predicate] {
                Some(owner) if self.type_of(owner).0 == EntityType::Person => owner,
                _ => return false,
            }
        } else {
            return false;
        };
        let span = self.span(copula.words.0, copula.words.1);
        for &s in copula.subjects {
            let Some(object) = self.referents[s] else { continue };
            let own = self.cues.relations.iter().position(|r| !r.possessed.is_empty() && self.is_possession(r, object));
            if let Some(relation) = own {
                let (polarity, confidence) = (copula.polarity, 0.9);
                self.add_fact(FactDraft { relation, subject: owner, object, polarity, confidence, weak: false, span });
            }
        }
        true
    }

    /// Adds the facts between the subjects: "Priya and I are colleagues".
    fn read_mutual_predicate(&mut self, copula: &Copula<'_>, predicate: usize) {
        let np = &self.phrases.nouns[predicate];
        let Some((cue, _)) = self.find_noun_cue(np) else { return };
        if !self.cues.relations[cue.relation].symmetric || copula.subjects.len() < 2 || np.possessor != Possessor::Unmarked {
            return;
        }
        let referents: Vec<Referent> = copula.subjects.iter().filter_map(|&s| self.referents[s]).collect();
        for (i, &a) in referents.iter().enumerate() {
            for &b in &referents[i + 1..] {
                let (a, b) = if b == Referent::Speaker { (b, a) } else { (a, b) };
                self.add_noun_fact(cue, a, b, copula.polarity, copula.confidence, copula.words);
            }
        }
    }

    /// Adds what the subjects are fans of: "I'm a big Elvis fan", "my sister is a history buff".
    fn read_fan(&mut self, copula: &Copula<'_>, predicate: usize) -> bool {
        let predicate = &self.phrases.nouns[predicate];
        if !lexicon().in_set("fans", &self.tokens[predicate.head].lemma) {
            return false;
        }
        if let Some((relation, object)) = self.liked_by_fan(predicate) {
            for &s in copula.subjects {
                if let Some(subject) = self.referents[s] {
                    let span = self.span(copula.words.0, copula.words.1);
                    let polarity = copula.polarity;
                    self.add_fact(FactDraft { relation, subject, object, polarity, confidence: 0.9, weak: false, span });
                }
            }
        }
        true
    }

    /// Returns the relation of a fan, and the referent of the words before "fan".
    fn liked_by_fan(&mut self, predicate: &NounPhrase) -> Option<(usize, Referent)> {
        let cue = self.cues.verb_cues("be").iter().find(|c| c.rest.first().is_some_and(|w| w == "fan"))?;
        let head = predicate.head.checked_sub(1).filter(|&h| h >= predicate.core && self.tokens[h].nominal())?;
        let liked = NounPhrase { end: head + 1, head, determiner: None, possessor: Possessor::Unmarked, ..predicate.clone() };
        let named = describe(self.tokens, &liked, &|_| false)?;
        Some((cue.relation, self.register(&named)?))
    }

    /// Adds the activity of "My hobby is painting", which the tagger takes for a progressive.
    fn read_favourite_activity(&mut self, clause: &Clause, subjects: &[usize]) {
        let [s] = subjects[..] else { return };
        let Some((cue, _)) = self.find_noun_cue(&self.phrases.nouns[s]) else { return };
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
}
