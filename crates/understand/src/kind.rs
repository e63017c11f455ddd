//! What a message does: tells, asks, both, or neither.

use recall_domain::MessageKind;

use super::clauses::{Clause, Subject};
use super::lexicon::lexicon;
use super::phrases::{ChunkKind, Owner, Phrases};
use super::sentences::Sentence;
use super::tokens::{Pos, Token};

/// What one sentence does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    Asks,
    /// Tells something of the speaker: enough to make a question message a mixed one.
    TellsSelf,
    /// Tells something of the world.
    Tells,
    /// Reacts, greets, encourages, supposes.
    Fills,
    /// Supposes: what a message supposes it does not tell, whatever else stands in it.
    Supposes,
}

/// The kind of a message from what its sentences do.
pub(crate) fn of_message(acts: &[Act]) -> MessageKind {
    let asks = acts.contains(&Act::Asks);
    let tells_self = acts.contains(&Act::TellsSelf);
    if asks {
        return if tells_self { MessageKind::Mixed } else { MessageKind::Question };
    }
    if tells_self || acts.contains(&Act::Tells) { MessageKind::Statement } else { MessageKind::Other }
}

/// Whether a sentence is a question, by its mark or its word order.
pub(crate) fn asks(sentence: &Sentence) -> bool {
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
        || requests(&content.iter().map(|t| t.norm.as_str()).skip_while(|w| *w == "please").collect::<Vec<_>>())
        || wh
            && (b.pos == Pos::Aux
                || b.is("is")
                || content.get(2).is_some_and(|c| c.pos == Pos::Aux) && matches!(a.norm.as_str(), "how" | "what" | "which"))
            && !sentence.tokens.last().is_some_and(|t| t.norm.starts_with('!'))
}

/// "Tell me about Ada", "name all tools": a question in the form of a request.
fn requests(words: &[&str]) -> bool {
    match words {
        ["tell" | "give" | "show", "me" | "us", "about", "it" | "that" | "this", ..] => false,
        ["tell" | "remind" | "show" | "give", "me" | "us", _, ..] => true,
        ["list" | "name", "all" | "every" | "everything" | "everyone" | "the" | "my" | "our" | "some" | "two" | "three", ..] => true,
        ["describe", _, ..] => true,
        _ => false,
    }
}

/// What a sentence does. `facts` counts the facts found in it.
pub(crate) fn of_sentence(sentence: &Sentence, p: &Phrases, clauses: &[Clause], facts: usize) -> Act {
    if asks(sentence) {
        return Act::Asks;
    }
    let tokens = &sentence.tokens;
    if tokens.iter().any(|t| t.text.starts_with('[')) || placeholder(tokens) {
        return Act::Fills;
    }
    if facts > 0 {
        return Act::TellsSelf;
    }
    let has = |w: &str| tokens.iter().any(|t| t.is(w));
    let first_person = tokens.iter().any(|t| matches!(t.norm.as_str(), "i" | "my" | "we" | "our" | "mine"));
    // "I'm not sure if" supposes nothing.
    let unsure =
        |k: usize| k > 0 && matches!(tokens[k - 1].norm.as_str(), "sure" | "know" | "wonder" | "ask" | "asked" | "see" | "care" | "check");
    if (0..tokens.len()).any(|k| tokens[k].is("if") && !unsure(k)) || has("imagine") || has("unless") {
        return Act::Supposes;
    }
    let you = tokens.iter().any(|t| matches!(t.norm.as_str(), "you" | "your" | "yours" | "yourself"));
    let mut act = Act::Fills;
    for clause in clauses {
        let found = of_clause(tokens, p, clause, you);
        act = match (act, found) {
            (_, Act::TellsSelf) | (Act::TellsSelf, _) => Act::TellsSelf,
            (_, Act::Tells) | (Act::Tells, _) => Act::Tells,
            _ => Act::Fills,
        };
    }
    if clauses.is_empty() {
        // "Not much of a talker, me." and "Long day at the office." tell; "Great work!" does not.
        let owned = p.nouns.iter().any(|n| n.owner == Owner::Speaker);
        let introduces = first_person && !you && p.nouns.len() > 1;
        if owned || introduces {
            act = Act::TellsSelf;
        }
    }
    act
}

fn placeholder(tokens: &[Token]) -> bool {
    tokens.windows(2).any(|t| t[0].is("user") && t[1].pos == Pos::Num) || tokens.iter().any(|t| t.is("["))
}

fn of_clause(tokens: &[Token], p: &Phrases, clause: &Clause, you: bool) -> Act {
    let lex = lexicon();
    let g = &p.verbs[clause.verb];
    if clause.hedged.is_some() && clause.doubtful {
        // "I heard that Ken moved" tells of Ken, though not as sure.
        let heard = clause.hedged.as_deref() == Some("hear")
            && matches!(&clause.subject, Subject::Nouns(n) if n.first().is_some_and(|&n| tokens[p.nouns[n].head].pos == Pos::Propn));
        return if heard && !you { Act::Tells } else { Act::Fills };
    }
    let noun = match &clause.subject {
        Subject::Implied => return if you { Act::Fills } else { Act::TellsSelf },
        Subject::Unknown => return Act::Fills,
        Subject::Nouns(nouns) => match nouns.first() {
            Some(&n) => &p.nouns[n],
            None => return Act::Fills,
        },
    };
    let head = &tokens[noun.head];
    let subject_is_self = noun.pronoun && matches!(head.norm.as_str(), "i" | "we");
    let end = p.chunks[clause.end.max(1) - 1].end;
    let tail = &tokens[g.end.min(end)..end];
    if subject_is_self {
        // "Together we can make a difference"
        if g.lemma == "let" || head.is("we") && g.modal.as_deref().is_some_and(|m| matches!(m, "can" | "should" | "could" | "must")) {
            return Act::Fills;
        }
        let says_own = tail.iter().any(|t| matches!(t.norm.as_str(), "my" | "our"));
        // "I hope to visit", "I'm thinking of buying": what the speaker is about to do.
        let intends = tail.first().is_some_and(|t| matches!(t.norm.as_str(), "to" | "of" | "about"))
            && !you
            && p.chunks[clause.at + 1..clause.end].iter().any(|c| matches!(c.kind, ChunkKind::Verb(_)));
        // "I saw a deer" tells, "I see" does not.
        let witnessed = !you
            && (g.past || g.progressive || g.negated || tokens[g.start].lemma == "have" && g.main > g.start)
            && matches!(g.lemma.as_str(), "see" | "hear" | "feel")
            && p.chunks.get(clause.at + 1).is_some_and(|c| matches!(c.kind, ChunkKind::Noun(n) if !p.nouns[n].pronoun));
        if lex.in_set("reaction_verbs", &g.lemma) && g.modal.is_none() && !intends && !witnessed {
            return Act::Fills;
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
                return Act::Fills;
            }
        }
        if you && !says_own {
            return Act::Fills;
        }
        // "I'll have to look into it", "I love it": only a pronoun to go on.
        let content = p.chunks[clause.at + 1..clause.end].iter().any(|c| match c.kind {
            ChunkKind::Noun(n) => !p.nouns[n].pronoun,
            ChunkKind::Adjective | ChunkKind::Sub => true,
            _ => false,
        });
        let pronoun_object = tail.iter().any(|t| matches!(t.norm.as_str(), "it" | "that" | "them" | "this" | "those"));
        if !content && pronoun_object && (!g.past || g.modal.is_some()) {
            return Act::Fills;
        }
        if !content
            && tail.iter().all(|t| matches!(t.pos, Pos::Adv | Pos::Punct))
            && matches!(g.lemma.as_str(), "do" | "have" | "will" | "can" | "be")
        {
            return Act::Fills;
        }
        return Act::TellsSelf;
    }
    if noun.pronoun || noun.owner == Owner::Addressee || you && noun.owner != Owner::Speaker && head.pos != Pos::Propn {
        return Act::Fills;
    }
    if noun.owner == Owner::Speaker {
        return Act::TellsSelf;
    }
    let demonstrative = noun.det.is_some_and(|d| matches!(tokens[d].norm.as_str(), "this" | "that" | "these" | "those" | "such"));
    if demonstrative || g.modal.is_some() {
        return Act::Fills;
    }
    let definite = noun.det.is_some() || head.pos == Pos::Propn;
    if head.pos == Pos::Propn || definite && (g.past || tokens[g.start].lemma == "have" && g.main > g.start || end - clause.start_token > 5)
    {
        return Act::Tells;
    }
    if end - clause.start_token > 6 && !g.negated { Act::Tells } else { Act::Fills }
}
