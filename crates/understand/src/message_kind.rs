//! Classifies a message: statement, question, both, or neither.

use recall_domain::MessageKind;

use super::clauses::{Clause, Subject};
use super::lexicon::lexicon;
use super::phrases::{ChunkKind, Phrases, Possessor};
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
pub(crate) fn kind_of(acts: &[SpeechAct]) -> MessageKind {
    let is_question = acts.contains(&SpeechAct::Question);
    let tells_self = acts.contains(&SpeechAct::SelfStatement);
    if is_question {
        return if tells_self { MessageKind::Mixed } else { MessageKind::Question };
    }
    if tells_self || acts.contains(&SpeechAct::Statement) { MessageKind::Statement } else { MessageKind::Other }
}

/// Whether a sentence is a question, by its question mark or its word order.
pub(crate) fn is_question(sentence: &Sentence) -> bool {
    let words: Vec<&Token> = sentence.tokens.iter().filter(|t| !matches!(t.pos, Pos::Punct | Pos::Sym)).collect();
    if sentence.question_mark {
        return !(words.len() == 1 && lexicon().in_set("hollow_questions", &words[0].norm));
    }
    let content: Vec<&&Token> =
        words.iter().skip_while(|t| matches!(t.pos, Pos::Intj | Pos::Cconj) || t.is("so") || t.is("well")).collect();
    let (Some(a), Some(b)) = (content.first(), content.get(1)) else { return false };
    let pronoun = matches!(b.norm.as_str(), "you" | "i" | "we" | "they" | "he" | "she" | "it" | "there" | "anyone" | "your");
    let inverted = matches!(
        a.norm.as_str(),
        "do" | "does" | "did" | "is" | "are" | "was" | "were" | "can" | "could" | "would" | "will" | "should" | "have" | "has" | "am"
    ) && pronoun
        && sentence.tokens.last().is_none_or(|t| t.norm != "!");
    let wh = matches!(a.norm.as_str(), "what" | "where" | "who" | "why" | "how" | "when" | "which" | "whats" | "whose");
    inverted
        || is_request(&content.iter().map(|t| t.norm.as_str()).skip_while(|w| *w == "please").collect::<Vec<_>>())
        || wh
            && (b.pos == Pos::Aux
                || b.is("is")
                || content.get(2).is_some_and(|c| c.pos == Pos::Aux) && matches!(a.norm.as_str(), "how" | "what" | "which"))
            && !sentence.tokens.last().is_some_and(|t| t.norm.starts_with('!'))
}

/// Whether the words are a request that asks a question: "Tell me about Ada", "name all tools".
fn is_request(words: &[&str]) -> bool {
    match words {
        ["tell" | "give" | "show", "me" | "us", "about", "it" | "that" | "this", ..] => false,
        ["tell" | "remind" | "show" | "give", "me" | "us", _, ..] => true,
        ["list" | "name", "all" | "every" | "everything" | "everyone" | "the" | "my" | "our" | "some" | "two" | "three", ..] => true,
        ["describe", _, ..] => true,
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
    let first_person = tokens.iter().any(|t| matches!(t.norm.as_str(), "i" | "my" | "we" | "our" | "mine"));
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

fn clause_act(tokens: &[Token], p: &Phrases, clause: &Clause, you: bool) -> SpeechAct {
    let lex = lexicon();
    let g = &p.verbs[clause.verb];
    if clause.hedged.is_some() && clause.unasserted {
        // "I heard that Ken moved" is a statement about Ken, although an uncertain one.
        let heard = clause.hedged.as_deref() == Some("hear")
            && matches!(&clause.subject, Subject::Nouns(n) if n.first().is_some_and(|&n| tokens[p.nouns[n].head].pos == Pos::Propn));
        return if heard && !you { SpeechAct::Statement } else { SpeechAct::Filler };
    }
    let noun = match &clause.subject {
        Subject::Implied => return if you { SpeechAct::Filler } else { SpeechAct::SelfStatement },
        Subject::Unknown => return SpeechAct::Filler,
        Subject::Nouns(nouns) => match nouns.first() {
            Some(&n) => &p.nouns[n],
            None => return SpeechAct::Filler,
        },
    };
    let head = &tokens[noun.head];
    let subject_is_self = noun.pronoun && matches!(head.norm.as_str(), "i" | "we");
    let end = p.chunks[clause.end.max(1) - 1].end;
    let tail = &tokens[g.end.min(end)..end];
    if subject_is_self {
        // "Together we can make a difference"
        if g.lemma == "let" || head.is("we") && g.modal.as_deref().is_some_and(|m| matches!(m, "can" | "should" | "could" | "must")) {
            return SpeechAct::Filler;
        }
        let says_own = tail.iter().any(|t| matches!(t.norm.as_str(), "my" | "our"));
        // "I hope to visit", "I'm thinking of buying": an intention of the speaker.
        let intends = tail.first().is_some_and(|t| matches!(t.norm.as_str(), "to" | "of" | "about"))
            && !you
            && p.chunks[clause.at + 1..clause.end].iter().any(|c| matches!(c.kind, ChunkKind::Verb(_)));
        // "I saw a deer" is a statement, "I see" is not.
        let witnessed = !you
            && (g.past || g.progressive || g.negated || tokens[g.start].lemma == "have" && g.main > g.start)
            && matches!(g.lemma.as_str(), "see" | "hear" | "feel")
            && p.chunks.get(clause.at + 1).is_some_and(|c| matches!(c.kind, ChunkKind::Noun(n) if !p.nouns[n].pronoun));
        if lex.in_set("reaction_verbs", &g.lemma) && g.modal.is_none() && !intends && !witnessed {
            return SpeechAct::Filler;
        }
        if g.lemma == "be" || g.lemma == "feel" {
            let adjective = tail.iter().find(|t| {
                t.pos != Pos::Adv && t.pos != Pos::Det && !matches!(t.norm.as_str(), "not" | "bit" | "little" | "of" | "so" | "lot")
            });
            if adjective.is_some_and(|t| lex.in_set("reaction_adjectives", &t.norm))
                && !says_own
                && !g.negated
                && !tail.iter().any(|t| t.is("at"))
            {
                return SpeechAct::Filler;
            }
        }
        if you && !says_own {
            return SpeechAct::Filler;
        }
        // "I'll have to look into it", "I love it": the only content is a pronoun.
        let content = p.chunks[clause.at + 1..clause.end].iter().any(|c| match c.kind {
            ChunkKind::Noun(n) => !p.nouns[n].pronoun,
            ChunkKind::Adjective | ChunkKind::Sub => true,
            _ => false,
        });
        let pronoun_object = tail.iter().any(|t| matches!(t.norm.as_str(), "it" | "that" | "them" | "this" | "those"));
        if !content && pronoun_object && (!g.past || g.modal.is_some()) {
            return SpeechAct::Filler;
        }
        if !content
            && tail.iter().all(|t| matches!(t.pos, Pos::Adv | Pos::Punct))
            && matches!(g.lemma.as_str(), "do" | "have" | "will" | "can" | "be")
        {
            return SpeechAct::Filler;
        }
        return SpeechAct::SelfStatement;
    }
    if noun.pronoun || noun.possessor == Possessor::Addressee || you && noun.possessor != Possessor::Speaker && head.pos != Pos::Propn {
        return SpeechAct::Filler;
    }
    if noun.possessor == Possessor::Speaker {
        return SpeechAct::SelfStatement;
    }
    let is_demonstrative = noun.determiner.is_some_and(|d| matches!(tokens[d].norm.as_str(), "this" | "that" | "these" | "those" | "such"));
    if is_demonstrative || g.modal.is_some() {
        return SpeechAct::Filler;
    }
    let definite = noun.determiner.is_some() || head.pos == Pos::Propn;
    if head.pos == Pos::Propn || definite && (g.past || tokens[g.start].lemma == "have" && g.main > g.start || end - clause.start_token > 5)
    {
        return SpeechAct::Statement;
    }
    if end - clause.start_token > 6 && !g.negated { SpeechAct::Statement } else { SpeechAct::Filler }
}
