//! Classifies a message: statement, question, both, or neither.

use recall_domain::{FirstPerson, MessageKind};

use super::clauses::{Clause, Subject};
use super::lexicon::lexicon;
use super::phrases::{Chunk, ChunkKind, NounPhrase, Phrases, Possessor, VerbGroup};
use super::records::is_record;
use super::requests;
use super::sentences::Sentence;
use super::tokens::{Pos, Token};

/// The speech act of one sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpeechAct {
    Question,
    /// A statement about the speaker; together with a question it makes the message mixed.
    SelfStatement,
    /// A statement about something else.
    Statement,
    /// A reaction, a greeting, an encouragement.
    Filler,
    /// A hypothesis, which is not a statement.
    Hypothetical,
}

/// Returns the kind of a message from the speech acts of its sentences.
pub(crate) fn kind_of(acts: &[SpeechAct], substance: &Substance) -> MessageKind {
    let is_question = acts.contains(&SpeechAct::Question);
    let tells_self = acts.contains(&SpeechAct::SelfStatement);
    let tells = tells_self || acts.contains(&SpeechAct::Statement) || substance.tells();
    match (is_question, tells) {
        (true, true) => MessageKind::Mixed,
        (true, false) => MessageKind::Question,
        (false, true) => MessageKind::Statement,
        (false, false) => MessageKind::Other,
    }
}

/// What the sentences of a message contain that are no questions, whatever their grammar: notes, lists, fragments.
#[derive(Default)]
pub(crate) struct Substance {
    words: usize,
    /// A name or a number after the first word.
    is_specific: bool,
    /// Addresses somebody, reacts to something, or supposes something.
    is_reply: bool,
}

impl Substance {
    /// Adds a sentence.
    pub(crate) fn add(&mut self, tokens: &[Token]) {
        let words: Vec<&Token> = tokens.iter().filter(|t| !matches!(t.pos, Pos::Punct | Pos::Sym)).collect();
        let Some(first) = words.first() else { return };
        let reaction = self.words == 0 && (first.pos == Pos::Intj || lexicon().in_set("reply_openers", &first.norm));
        let supposes = matches!(first.norm.as_str(), "if" | "imagine" | "suppose" | "would" | "someone" | "anyone" | "maybe");
        let you = words.iter().any(|t| matches!(t.norm.as_str(), "you" | "your" | "yours" | "yourself"));
        self.is_reply |= reaction || supposes || you;
        self.is_specific |= words.iter().skip(1).any(|t| t.pos == Pos::Propn && t.capital || t.pos == Pos::Num);
        self.words += words.len();
    }

    /// Whether this is something to remember.
    fn tells(&self) -> bool {
        self.words >= 6 && self.is_specific && !self.is_reply
    }
}

/// Whether a sentence is a question, by its question mark or its word order.
pub(crate) fn is_question(sentence: &Sentence) -> bool {
    let words: Vec<&Token> = sentence.tokens.iter().filter(|t| !matches!(t.pos, Pos::Punct | Pos::Sym)).collect();
    if sentence.question_mark {
        return !(words.len() == 1 && lexicon().in_set("hollow_questions", &words[0].norm));
    }
    let content: Vec<&Token> = words
        .iter()
        .copied()
        .skip_while(|t| matches!(t.pos, Pos::Intj | Pos::Cconj) || matches!(t.norm.as_str(), "so" | "well" | "wait" | "quick"))
        .collect();
    let (Some(a), Some(b)) = (content.first(), content.get(1)) else { return false };
    let exclaims = sentence.tokens.last().is_some_and(|t| t.norm.starts_with('!'));
    let wh = matches!(a.norm.as_str(), "what" | "where" | "who" | "why" | "how" | "when" | "which" | "whats" | "whose");
    requests::is_inverted(&content, exclaims)
        || requests::is_request(&content.iter().map(|t| t.norm.as_str()).skip_while(|w| *w == "please").collect::<Vec<_>>())
        || wh
            && (b.pos == Pos::Aux
                || b.is("is")
                || content.get(2).is_some_and(|c| c.pos == Pos::Aux) && matches!(a.norm.as_str(), "how" | "what" | "which"))
            && !exclaims
        || !exclaims && asks_for_noun(&content)
}

/// Whether a question word stands before a noun: "which article weighs 13 kg", "what person lives there". "What people like is jazz" tells.
fn asks_for_noun(content: &[&Token]) -> bool {
    let [word, rest @ ..] = content else { return false };
    let modifiers = rest.iter().take_while(|t| matches!(t.pos, Pos::Adj | Pos::Num)).count();
    let has_noun = rest.get(modifiers).is_some_and(|t| !t.capital && matches!(t.pos, Pos::Noun | Pos::Propn));
    let after = rest.get(modifiers + 1..).unwrap_or_default();
    has_noun
        && match word.norm.as_str() {
            "which" | "whose" => true,
            "what" => after.first().is_some_and(|t| t.pos == Pos::Verb) && !after.iter().any(|t| t.lemma == "be" || t.is("'s")),
            _ => false,
        }
}

/// Returns the speech act of a sentence. `facts` is the number of facts found in it.
pub(crate) fn sentence_act(sentence: &Sentence, p: &Phrases, clauses: &[Clause], facts: usize) -> SpeechAct {
    if is_question(sentence) {
        return SpeechAct::Question;
    }
    let tokens = &sentence.tokens;
    if tokens.iter().any(|t| t.text.starts_with('[')) || has_placeholder(tokens) {
        return SpeechAct::Filler;
    }
    if facts > 0 {
        return SpeechAct::SelfStatement;
    }
    let has = |w: &str| tokens.iter().any(|t| t.is(w));
    let first_person = tokens.iter().any(|t| FirstPerson::of(&t.norm).is_some_and(FirstPerson::acts_or_owns));
    // "I'm not sure if" is not a hypothesis.
    let unsure =
        |k: usize| k > 0 && matches!(tokens[k - 1].norm.as_str(), "sure" | "know" | "wonder" | "ask" | "asked" | "see" | "care" | "check");
    if (0..tokens.len()).any(|k| tokens[k].is("if") && !unsure(k)) || has("imagine") || has("unless") {
        return SpeechAct::Hypothetical;
    }
    let you = tokens.iter().any(|t| matches!(t.norm.as_str(), "you" | "your" | "yours" | "yourself"));
    let mut act = SpeechAct::Filler;
    for clause in clauses {
        let found = clause_act(tokens, p, clause, you);
        act = match (act, found) {
            (_, SpeechAct::SelfStatement) | (SpeechAct::SelfStatement, _) => SpeechAct::SelfStatement,
            (_, SpeechAct::Statement) | (SpeechAct::Statement, _) => SpeechAct::Statement,
            _ => SpeechAct::Filler,
        };
    }
    if clauses.is_empty() {
        // "Not much of a talker, me." and "My day at the office." are statements; "Great work!" is not.
        let owned = p.nouns.iter().any(|n| n.possessor == Possessor::Speaker);
        let introduces = first_person && !you && p.nouns.len() > 1;
        if owned || introduces {
            act = SpeechAct::SelfStatement;
        }
    }
    act
}

fn has_placeholder(tokens: &[Token]) -> bool {
    tokens.windows(2).any(|t| t[0].is("user") && t[1].pos == Pos::Num) || tokens.iter().any(|t| t.is("["))
}

/// Returns the speech act of a clause. `you` says whether the sentence addresses somebody.
fn clause_act(tokens: &[Token], p: &Phrases, clause: &Clause, you: bool) -> SpeechAct {
    if clause.hedged.is_some() && clause.unasserted {
        return if !you && is_hearsay_of_name(tokens, p, clause) { SpeechAct::Statement } else { SpeechAct::Filler };
    }
    let subject = match &clause.subject {
        Subject::Implied => return if you { SpeechAct::Filler } else { SpeechAct::SelfStatement },
        Subject::Omitted | Subject::Unknown => return SpeechAct::Filler,
        Subject::Nouns(nouns) => match nouns.first() {
            Some(&n) => &p.nouns[n],
            None => return SpeechAct::Filler,
        },
    };
    let end = p.chunks[clause.end.max(1) - 1].end;
    let g = &p.verbs[clause.verb];
    let act = ClauseAct { tokens, p, clause, g, subject, end, tail: &tokens[g.end.min(end)..end], you };
    if act.is_about_speaker() {
        let filler = FILLER_RULES.iter().any(|(_, rule)| rule(&act));
        return if filler { SpeechAct::Filler } else { SpeechAct::SelfStatement };
    }
    act.of_other_subject()
}

/// "I heard that Ken moved" is a statement about Ken, although an uncertain one.
fn is_hearsay_of_name(tokens: &[Token], p: &Phrases, clause: &Clause) -> bool {
    clause.hedged.as_deref() == Some("hear")
        && matches!(&clause.subject, Subject::Nouns(n) if n.first().is_some_and(|&n| tokens[p.nouns[n].head].pos == Pos::Propn))
}

/// A clause with what the rules read.
struct ClauseAct<'a> {
    tokens: &'a [Token],
    p: &'a Phrases,
    clause: &'a Clause,
    g: &'a VerbGroup,
    subject: &'a NounPhrase,
    /// One past the last token.
    end: usize,
    /// The tokens after the verb.
    tail: &'a [Token],
    /// The sentence addresses somebody.
    you: bool,
}

type FillerRule = fn(&ClauseAct<'_>) -> bool;

/// The rules by which a clause about the speaker says nothing of the speaker ("I see", "I love it").
const FILLER_RULES: &[(&str, FillerRule)] = &[
    ("appeal", appeal),
    ("reaction_verb", reaction_verb),
    ("reaction_adjective", reaction_adjective),
    ("about_addressee", about_addressee),
    ("pronoun_object", pronoun_object),
    ("lone_auxiliary", lone_auxiliary),
];

/// "Let me think", "Together we can make a difference"
fn appeal(c: &ClauseAct<'_>) -> bool {
    c.g.lemma == "let" || c.head().is("we") && c.g.modal.as_deref().is_some_and(|m| matches!(m, "can" | "should" | "could" | "must"))
}

/// "I see", "I hope so"
fn reaction_verb(c: &ClauseAct<'_>) -> bool {
    lexicon().in_set("reaction_verbs", &c.g.lemma) && c.g.modal.is_none() && !c.states_intention() && !c.states_observation()
}

/// "I'm so happy for you"
fn reaction_adjective(c: &ClauseAct<'_>) -> bool {
    let modifier = |t: &Token| matches!(t.norm.as_str(), "not" | "bit" | "little" | "of" | "so" | "lot");
    let content = c.tail.iter().find(|t| !matches!(t.pos, Pos::Adv | Pos::Det) && !modifier(t));
    matches!(c.g.lemma.as_str(), "be" | "feel")
        && content.is_some_and(|t| lexicon().in_set("reaction_adjectives", &t.norm))
        && !c.mentions_own()
        && !c.g.negated
        && !c.tail.iter().any(|t| t.is("at"))
}

/// "I trust you"
fn about_addressee(c: &ClauseAct<'_>) -> bool {
    c.you && !c.mentions_own()
}

/// "I'll have to look into it", "I love it": the only content is a pronoun.
fn pronoun_object(c: &ClauseAct<'_>) -> bool {
    let pronoun = c.tail.iter().any(|t| matches!(t.norm.as_str(), "it" | "that" | "them" | "this" | "those"));
    pronoun && !c.has_content() && (!c.g.past || c.g.modal.is_some())
}

/// "I do", "I really am"
fn lone_auxiliary(c: &ClauseAct<'_>) -> bool {
    !c.has_content()
        && c.tail.iter().all(|t| matches!(t.pos, Pos::Adv | Pos::Punct))
        && matches!(c.g.lemma.as_str(), "do" | "have" | "will" | "can" | "be")
}

impl ClauseAct<'_> {
    fn head(&self) -> &Token {
        &self.tokens[self.subject.head]
    }

    fn is_about_speaker(&self) -> bool {
        self.subject.pronoun && FirstPerson::is_subject(&self.head().norm)
    }

    /// The chunks after the verb.
    fn complements(&self) -> &[Chunk] {
        &self.p.chunks[self.clause.at + 1..self.clause.end]
    }

    /// Whether the verb is a perfect: "has moved".
    fn is_perfect(&self) -> bool {
        self.tokens[self.g.start].lemma == "have" && self.g.main > self.g.start
    }

    /// "my", "our" after the verb.
    fn mentions_own(&self) -> bool {
        self.tail.iter().any(|t| FirstPerson::is_determiner(&t.norm))
    }

    /// "I hope to visit", "I'm thinking of buying".
    fn states_intention(&self) -> bool {
        !self.you
            && self.tail.first().is_some_and(|t| matches!(t.norm.as_str(), "to" | "of" | "about"))
            && self.complements().iter().any(|c| matches!(c.kind, ChunkKind::Verb(_)))
    }

    /// "I saw a deer", but not "I see".
    fn states_observation(&self) -> bool {
        !self.you
            && (self.g.past || self.g.progressive || self.g.negated || self.is_perfect())
            && matches!(self.g.lemma.as_str(), "see" | "hear" | "feel")
            && self.p.chunks.get(self.clause.at + 1).is_some_and(|c| matches!(c.kind, ChunkKind::Noun(n) if !self.p.nouns[n].pronoun))
    }

    /// Whether something besides pronouns follows the verb.
    fn has_content(&self) -> bool {
        self.complements().iter().any(|c| match c.kind {
            ChunkKind::Noun(n) => !self.p.nouns[n].pronoun,
            ChunkKind::Adjective | ChunkKind::Sub => true,
            _ => false,
        })
    }

    /// Returns the speech act of a clause about somebody or something else than the speaker.
    fn of_other_subject(&self) -> SpeechAct {
        let (subject, g) = (self.subject, self.g);
        let name = self.head().pos == Pos::Propn;
        if subject.possessor == Possessor::Speaker && !subject.pronoun || is_record(self.tokens, self.p, self.clause) {
            return SpeechAct::SelfStatement;
        }
        let demonstrative =
            subject.determiner.is_some_and(|d| matches!(self.tokens[d].norm.as_str(), "this" | "that" | "these" | "those" | "such"));
        let addresses = subject.possessor == Possessor::Addressee || self.you && !name;
        if subject.pronoun || addresses || demonstrative || g.modal.is_some() {
            return SpeechAct::Filler;
        }
        let length = self.end - self.clause.start_token;
        let definite = subject.determiner.is_some() && (g.past || self.is_perfect() || length > 5);
        if name || definite || length > 6 && !g.negated { SpeechAct::Statement } else { SpeechAct::Filler }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chunker::chunk, clause_finder::find_clauses, fixture::tagged};

    /// Returns the rules by which the first clause is filler, and its speech act.
    fn read(text: &str) -> (Vec<&'static str>, SpeechAct) {
        let tokens = tagged(text);
        let p = chunk(&tokens);
        let clause = &find_clauses(&tokens, &p)[0];
        let g = &p.verbs[clause.verb];
        let end = p.chunks[clause.end - 1].end;
        let you = tokens.iter().any(|t| t.is("you"));
        let subject = match &clause.subject {
            Subject::Nouns(nouns) => p.nouns[nouns[0]].clone(),
            _ => NounPhrase::at(0),
        };
        let act = ClauseAct { tokens: &tokens, p: &p, clause, g, subject: &subject, end, tail: &tokens[g.end..end], you };
        let rules = FILLER_RULES.iter().filter(|(_, rule)| act.is_about_speaker() && rule(&act)).map(|(name, _)| *name).collect();
        (rules, clause_act(&tokens, &p, clause, you))
    }

    #[test]
    fn rules_find_fillers() {
        for (text, rule) in [
            ("We can make a difference", "appeal"),
            ("I see", "reaction_verb"),
            ("I am so happy", "reaction_adjective"),
            ("I trust you", "about_addressee"),
            ("I will take it", "pronoun_object"),
            ("I really do", "lone_auxiliary"),
        ] {
            let (rules, act) = read(text);
            assert!(rules.contains(&rule) && act == SpeechAct::Filler, "{text}: {rules:?} {act:?}");
        }
    }

    #[test]
    fn question_words_before_nouns_ask() {
        for (text, expected) in [
            ("which parcel weighs 7 kg", true),
            ("which python version do i need", true),
            ("which hotel in Rome", true),
            ("what bike belongs to me", true),
            ("may i bring my own laptop", true),
            ("who runs the choir", true),
            ("What people like is jazz", false),
            ("Which reminds me of Al", false),
            ("When I was in Rome I met Al", false),
            ("May I introduce Ann, she lives in Rome", false),
            ("Which great news!", false),
        ] {
            let sentence = Sentence { tokens: tagged(text), question_mark: false, to_remember: false };
            assert_eq!(is_question(&sentence), expected, "{text}");
        }
    }

    #[test]
    fn statements_are_no_fillers() {
        for (text, expected) in [
            ("I saw a deer", SpeechAct::SelfStatement),
            ("I hope to visit Rome", SpeechAct::SelfStatement),
            ("My sister sings", SpeechAct::SelfStatement),
            ("Sold the bike", SpeechAct::SelfStatement),
            ("Anna sings", SpeechAct::Statement),
            ("The bus was late", SpeechAct::Statement),
            ("This is great", SpeechAct::Filler),
            ("Your brother sings", SpeechAct::Filler),
        ] {
            assert_eq!(read(text).1, expected, "{text}");
        }
    }
}
