//! Finds the subject of a clause: nouns before the verb, a subject shared with the clause before, or an omitted one.
//! The referent of an omitted subject is found in `topic`.

use super::clauses::{Clause, Subject};
use super::lexicon::{VerbForm, lexicon};
use super::phrases::{Chunk, ChunkKind, Phrases, VerbGroup, VerbKind};
use super::tokens::{Pos, Token};

/// Sets the subject of a clause and returns the chunk where the clause begins. `before` are the clauses before it.
pub(super) fn find_subject(tokens: &[Token], p: &Phrases, before: &[Clause], clause: &mut Clause) -> usize {
    let search = Search { tokens, p, before };
    let adverbs = p.chunks[..clause.at].iter().rev().take_while(|c| c.kind == ChunkKind::Adverb).count();
    let begin = clause.at - adverbs;
    let Some(last) = begin.checked_sub(1) else {
        clause.subject = search.omitted_subject(clause);
        return begin;
    };
    match p.chunks[last].kind {
        ChunkKind::Noun(_) => search.nouns_before_verb(clause, last),
        ChunkKind::Verb(v) if p.verbs[v].kind == VerbKind::Infinitive && last > 0 && search.opens_with_be(clause) => {
            search.noun_before_infinitive(clause, last)
        }
        ChunkKind::Verb(_) => {
            search.moved_object(clause, last);
            begin
        }
        ChunkKind::Rel => search.relative_pronoun(clause, last),
        ChunkKind::Conj | ChunkKind::Comma | ChunkKind::Mark => search.after_separator(clause, last),
        ChunkKind::Other => {
            // "Thanks, got it", "lol love it"
            clause.subject = search.omitted_subject(clause);
            begin
        }
        _ => begin,
    }
}

/// What the search for a subject reads.
struct Search<'a> {
    tokens: &'a [Token],
    p: &'a Phrases,
    before: &'a [Clause],
}

impl<'a> Search<'a> {
    fn verb(&self, clause: &Clause) -> &'a VerbGroup {
        &self.p.verbs[clause.verb]
    }

    fn kind(&self, chunk: usize) -> ChunkKind {
        self.p.chunks[chunk].kind
    }

    /// Nouns directly before the verb: "John and Mary like sushi".
    fn nouns_before_verb(&self, clause: &mut Clause, last: usize) -> usize {
        if let Some(host) = self.relative_clause_host(last) {
            clause.start_token = self.p.nouns[host].start;
            clause.subject = Subject::Nouns(vec![host]);
            return last + 1;
        }
        let verb = self.verb(clause);
        let (first, group) = self.coordinated_nouns(last);
        let earlier = first.checked_sub(1).map(|k| &self.p.chunks[k]);
        // "Not a single person likes it", "not everyone"
        if earlier.is_some_and(|c| c.kind == ChunkKind::Not) || self.disagrees(verb, first, &group) {
            return first;
        }
        if let Some(earlier) = earlier {
            // The moved object of a relative clause: "the book that I love".
            if earlier.kind == ChunkKind::Rel {
                clause.gap = self.antecedent(first - 1);
            }
            // "when I go", "next time I go": the present tense of what is to come.
            clause.unasserted |= !verb.past
                && self.tokens[earlier.start..earlier.end]
                    .iter()
                    .any(|t| matches!(t.norm.as_str(), "when" | "whenever" | "once" | "until" | "next" | "wherever"));
        }
        clause.start_token = self.p.chunks[first].start;
        clause.subject = Subject::Nouns(group);
        first
    }

    /// Whether the verb is the "be" of the first clause.
    fn opens_with_be(&self, clause: &Clause) -> bool {
        self.verb(clause).lemma == "be" && self.before.is_empty()
    }

    /// The noun before an infinitive: "My favorite thing to eat is pizza".
    fn noun_before_infinitive(&self, clause: &mut Clause, last: usize) -> usize {
        if let ChunkKind::Noun(n) = self.kind(last - 1) {
            clause.start_token = self.p.chunks[last - 1].start;
            clause.subject = Subject::Nouns(vec![n]);
        }
        last - 1
    }

    /// The moved object of the relative clause whose verb is at `last`: "the dog that my neighbor has is called Rex".
    fn moved_object(&self, clause: &mut Clause, last: usize) {
        if let Some(noun) = self.before.last().filter(|c| c.at == last).and_then(|c| c.gap) {
            clause.subject = Subject::Nouns(vec![noun]);
        }
    }

    /// The noun before a relative pronoun: "my boss, who lives in Oslo".
    fn relative_pronoun(&self, clause: &mut Clause, last: usize) -> usize {
        if let Some(noun) = self.antecedent(last) {
            clause.subject = Subject::Nouns(vec![noun]);
            // "a novel about two sisters who own a lighthouse": told, not so.
            let start = self.p.nouns[noun].start;
            clause.unasserted |= start > 0 && self.tokens[start - 1].is("about");
        }
        last
    }

    /// The subject of a verb after a conjunction, a comma or a mark.
    fn after_separator(&self, clause: &mut Clause, last: usize) -> usize {
        match self.before.last().filter(|_| self.kind(last) != ChunkKind::Mark) {
            Some(previous) => self.share_subject(clause, previous, last),
            None => self.after_first_phrase(clause, last),
        }
        let separators = self.p.chunks[..last].iter().rev().take_while(|c| matches!(c.kind, ChunkKind::Comma | ChunkKind::Conj)).count();
        last - separators
    }

    /// The subject of the clause before: "Felix likes trains and hates broccoli".
    fn share_subject(&self, clause: &mut Clause, previous: &Clause, last: usize) {
        let conj = self.kind(last) == ChunkKind::Conj;
        let verb = self.verb(clause);
        clause.subject = previous.subject.clone();
        // "I love it, try it": a bare verb after a mere comma is an order.
        let bare = self.tokens[verb.main].form == Some(VerbForm::Base) && verb.start == verb.main && self.tokens[verb.main].lemma != "be";
        if bare && !conj && !self.p.chunks[clause.at..].iter().any(|c| c.kind == ChunkKind::Conj) {
            clause.subject = Subject::Unknown;
        }
        // "Sara, who I met there, works …": "I" does not go with "works".
        if self.tokens[verb.start].form == Some(VerbForm::ThirdPerson) && self.is_other_person(&clause.subject) {
            clause.subject = previous.gap.map_or(Subject::Unknown, |n| Subject::Nouns(vec![n]));
        }
        // "Handed in her badge, starts at Deltares in May."
        if clause.subject == Subject::Implied && self.is_third_person(verb) {
            clause.subject = Subject::Omitted;
        }
        if matches!(clause.subject, Subject::Nouns(_)) {
            clause.distant = previous.at > 0 && self.kind(previous.at - 1) == ChunkKind::Rel;
        }
        clause.gap = if conj { previous.gap } else { None };
    }

    /// Whether a subject is a pronoun that does not go with a verb in the third person singular.
    fn is_other_person(&self, subject: &Subject) -> bool {
        let Subject::Nouns(nouns) = subject else { return false };
        let [n] = nouns[..] else { return false };
        let np = &self.p.nouns[n];
        np.pronoun && matches!(self.tokens[np.head].norm.as_str(), "i" | "we" | "you" | "they")
    }

    /// The subject of the first verb after a separator: a noun with its description, or an omitted one.
    fn after_first_phrase(&self, clause: &mut Clause, last: usize) {
        let kind = self.kind(last);
        let comma = kind == ChunkKind::Comma || last > 0 && self.kind(last - 1) == ChunkKind::Comma;
        // "Anya, our CTO, picked …": somebody was named, and more than called.
        let described = match self.p.chunks[..last] {
            [Chunk { kind: ChunkKind::Noun(n), .. }, Chunk { kind: ChunkKind::Comma, .. }, Chunk { kind: ChunkKind::Noun(_), .. }] => {
                Some(n)
            }
            _ => None,
        };
        // "Pascal: prefers trains, hates calls."
        let heading = match self.p.chunks[..last] {
            [Chunk { kind: ChunkKind::Noun(n), .. }] if kind == ChunkKind::Mark && self.is_third_person(self.verb(clause)) => Some(n),
            _ => None,
        };
        let noun_before = self.p.chunks[..last].iter().any(|c| matches!(c.kind, ChunkKind::Noun(_)));
        if let Some(n) = heading {
            clause.subject = Subject::Nouns(vec![n]);
        } else if let Some(n) = described.filter(|_| comma && kind != ChunkKind::Conj) {
            clause.subject = Subject::Nouns(vec![n]);
        } else if !noun_before || kind == ChunkKind::Mark || comma {
            clause.subject = self.omitted_subject(clause);
        }
    }

    /// Returns the noun that a relative clause before the verb modifies, if that noun has no verb yet.
    ///
    /// "The team that maintains the parser is in Oslo": the noun before "is" is the object of the relative clause.
    fn relative_clause_host(&self, last: usize) -> Option<usize> {
        let [relative] = self.before else { return None };
        let rel = relative.at.checked_sub(1)?;
        let plain =
            (relative.at + 1..=last).all(|k| matches!(self.p.chunks[k].kind, ChunkKind::Noun(_) | ChunkKind::Prep | ChunkKind::Adverb));
        (matches!(self.p.chunks[rel].kind, ChunkKind::Rel) && plain && last > relative.at).then(|| self.antecedent(rel)).flatten()
    }

    /// Whether a base form cannot have a singular name as its subject: "I saw Coldplay live in Denver".
    fn disagrees(&self, verb: &VerbGroup, first: usize, group: &[usize]) -> bool {
        let [n] = group else { return false };
        let np = &self.p.nouns[*n];
        let bare =
            verb.start == verb.main && self.tokens[verb.main].form == Some(VerbForm::Base) && self.tokens[verb.main].pos == Pos::Verb;
        let one = self.tokens[np.head].pos == Pos::Propn && !self.tokens[np.head].norm.ends_with('s');
        bare && one && self.before.last().is_some_and(|c| c.at + 1 == first)
    }

    /// Returns the noun before a relative pronoun.
    fn antecedent(&self, rel: usize) -> Option<usize> {
        self.p.chunks[..rel].iter().rev().find_map(|c| match c.kind {
            ChunkKind::Noun(n) => Some(n),
            _ => None,
        })
    }

    /// Returns the first chunk and the nouns of the coordinated subject that ends at chunk `last`.
    fn coordinated_nouns(&self, last: usize) -> (usize, Vec<usize>) {
        let chunks = &self.p.chunks;
        let noun = |k: usize| match chunks[k].kind {
            ChunkKind::Noun(n) => Some(n),
            _ => None,
        };
        let mut first = last;
        // "the book about Buddhism is": the subject is the book.
        while first >= 2 && chunks[first - 1].kind == ChunkKind::Prep && noun(first - 2).is_some() {
            let earlier = chunks[first - 2];
            let taken = self.before.last().is_some_and(|c| c.at < first - 2 && !self.is_reporting(c));
            if taken || lexicon().in_set("time", &self.tokens[earlier.end - 1].norm) && first != last {
                break;
            }
            first -= 2;
        }
        let mut group: Vec<usize> = noun(first).into_iter().collect();
        // After a verb only the last conjunct is the subject: "I met Tom and Mary likes sushi".
        let verb_before = self.before.last().is_some_and(|c| c.at < first);
        let open = !verb_before
            || self.before.last().is_some_and(|c| {
                self.is_reporting(c)
                    && (c.at + 1..first).all(|k| !matches!(chunks[k].kind, ChunkKind::Verb(_)))
                    && self.is_complement_subject(c, first)
            });
        if open {
            let mut k = first;
            let mut joined = false;
            loop {
                let mut s = k;
                let mut conj = false;
                while s > 0 && matches!(chunks[s - 1].kind, ChunkKind::Conj | ChunkKind::Comma) {
                    conj |= chunks[s - 1].kind == ChunkKind::Conj && !self.tokens[chunks[s - 1].start].is("but");
                    s -= 1;
                }
                if s == k || s == 0 || !(conj || joined) {
                    break;
                }
                let Some(n) = noun(s - 1) else { break };
                joined = true;
                k = s - 1;
                group.insert(0, n);
            }
            if joined {
                first = k;
            }
        }
        (first, group)
    }

    fn is_reporting(&self, c: &Clause) -> bool {
        lexicon().in_set("say", &self.p.verbs[c.verb].lemma)
    }

    fn is_complement_subject(&self, c: &Clause, first: usize) -> bool {
        // "I think John and Mary …": nothing but nouns between.
        (c.at + 1..first).all(|k| {
            matches!(self.p.chunks[k].kind, ChunkKind::Noun(_) | ChunkKind::Conj | ChunkKind::Comma | ChunkKind::Sub | ChunkKind::Adverb)
        })
    }

    /// Whether the first word of a verb group is a form of the third person singular: "lives", "has moved", "doesn't like".
    fn is_third_person(&self, verb: &VerbGroup) -> bool {
        let first = &self.tokens[verb.start];
        let form = first.form == Some(VerbForm::ThirdPerson) && first.pos == Pos::Verb;
        verb.modal.is_none() && (form || matches!(first.norm.as_str(), "is" | "has" | "does"))
    }

    /// Returns the subject of a verb without one: the speaker for past forms and verbs of liking, somebody else for the third person, none
    /// for imperatives.
    fn omitted_subject(&self, clause: &Clause) -> Subject {
        let verb = &self.p.verbs[clause.verb];
        let main = &self.tokens[verb.main];
        let first_word = &self.tokens[verb.start];
        if self.before.iter().any(|c| c.subject == Subject::Unknown) {
            return Subject::Unknown;
        }
        let has_object = self
            .p
            .chunks
            .get(clause.at + 1)
            .is_some_and(|c| matches!(c.kind, ChunkKind::Noun(_) | ChunkKind::Verb(_) | ChunkKind::Prep | ChunkKind::Adverb));
        let speaks = first_word.is("not")
            || verb.progressive && verb.no_longer
            || verb.progressive && (first_word.pos == Pos::Adv || first_word.form == Some(VerbForm::Gerund))
            || verb.past && main.lemma != "be" && first_word.pos != Pos::Aux
            || (lexicon().in_set("stative", &verb.lemma) || matches!(verb.lemma.as_str(), "want" | "need" | "miss" | "wish"))
                && verb.modal.is_none()
                && has_object
                && main.form == Some(VerbForm::Base)
                && !verb.negated
            || (first_word.is("been") || first_word.is("have") || first_word.is("am")) && verb.main > verb.start
            || first_word.is("can") && verb.cannot
            || first_word.is("do") && verb.negated && lexicon().in_set("stative", &verb.lemma)
            || verb.never && main.form != Some(VerbForm::Base);
        let predicate = || self.p.chunks.get(clause.at + 1).is_some_and(|c| c.kind == ChunkKind::Adjective);
        match has_object {
            true if speaks => Subject::Implied,
            _ if self.is_third_person(verb) && (has_object || predicate()) => Subject::Omitted,
            _ => Subject::Unknown,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::{chunker::chunk, clause_finder::find_clauses, fixture::tagged};

    /// "subject words / verb lemma" of each clause.
    fn parse(text: &str) -> Vec<String> {
        let tokens = tagged(text);
        let p = chunk(&tokens);
        find_clauses(&tokens, &p)
            .iter()
            .map(|c| {
                let subject = match &c.subject {
                    Subject::Nouns(n) => n.iter().map(|&n| tokens[p.nouns[n].head].text.clone()).collect::<Vec<_>>().join("+"),
                    other => format!("{other:?}"),
                };
                format!("{subject}/{}", p.verbs[c.verb].lemma)
            })
            .collect()
    }

    #[test]
    fn clauses_find_their_subjects() {
        for (text, expected) in [
            ("John likes Mary.", vec!["John/like"]),
            ("I like hiking and John hates swimming.", vec!["I/like", "John/hate"]),
            ("John and Mary like sushi.", vec!["John+Mary/like"]),
            ("I think John likes Mary.", vec!["I/think", "John/like"]),
            ("My boss Ingrid, who lives in Oslo, loves chess.", vec!["Ingrid/live", "Ingrid/love"]),
            ("My nephew Felix likes trains and hates broccoli.", vec!["Felix/like", "Felix/hate"]),
            ("The book about Buddhism is great.", vec!["book/be"]),
            ("Sold the bike last week.", vec!["Implied/sell"]),
            ("Use Vim for that.", vec!["Unknown/use"]),
            ("Lives in Oslo and has a dog.", vec!["Omitted/live", "Omitted/have"]),
            ("Handed in her badge, starts at Deltares in May.", vec!["Implied/hand", "Omitted/start"]),
            ("Pascal: owns a dog.", vec!["Pascal/own"]),
            ("Not a single person likes it.", vec!["Unknown/like"]),
            ("My favorite thing to eat is pizza.", vec!["thing/be"]),
            ("The dog that my neighbor has is called Rex.", vec!["neighbor/have", "dog/call"]),
            ("The team that maintains the parser is in Oslo.", vec!["team/maintain", "team/be"]),
            ("I love it, try it.", vec!["I/love", "Unknown/try"]),
            ("Sara, who I met there, works at Airbus.", vec!["I/meet", "Sara/work"]),
            ("Anya, our CTO, picked Rust.", vec!["Anya/pick"]),
            ("Thanks, got it.", vec!["Implied/get"]),
            ("I saw Coldplay live in Denver.", vec!["I/see", "Unknown/live"]),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
