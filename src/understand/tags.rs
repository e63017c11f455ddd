//! Parts of speech: the Brill tagger's word tags, closed classes by table, then repairs that use the neighbours.
//!
//! The tagger was trained on edited text; chat has lower-case names, missing words and "like" as a verb. Each repair
//! names the mistake it undoes.

use harper_brill::{Tagger, UPOS};

use super::lemma;
use super::lexicon::{Group, VerbForm, lexicon};
use super::sentences::Sentence;
use super::tokens::{Pos, Token};

/// Verbs that only the ontology names.
pub(crate) type ExtraVerb<'a> = &'a dyn Fn(&str) -> bool;

pub(crate) fn tag(sentence: &mut Sentence, extra: ExtraVerb<'_>) {
    let tokens = &mut sentence.tokens;
    base(tokens);
    units(tokens);
    capitals(tokens);
    let known: Vec<Option<(String, VerbForm)>> =
        tokens.iter().map(|t| if t.pos == Pos::Punct { None } else { lemma::known_verb(&t.norm, extra) }).collect();
    repair(tokens, &known);
    missing_verb(tokens, &known);
    clitic_s(tokens);
    lemmas(tokens, extra);
}

/// Closed classes by table; the tagger for the rest.
fn base(tokens: &mut [Token]) {
    // The tagger knows "don't" as one word.
    let mut words: Vec<String> = Vec::with_capacity(tokens.len());
    let mut index = Vec::with_capacity(tokens.len());
    for t in tokens.iter() {
        if t.clitic && t.norm == "not" && t.text.to_lowercase() == "n't" && let Some(last) = words.last_mut() {
            last.push_str("n't");
        } else {
            words.push(t.norm.clone());
        }
        index.push(words.len() - 1);
    }
    let tags = harper_brill::brill_tagger().tag_sentence(&words);
    for (t, i) in tokens.iter_mut().zip(index) {
        if matches!(t.pos, Pos::Punct | Pos::Sym) {
            continue;
        }
        let tag = tags.get(i).copied().flatten();
        t.unknown = tag.is_none_or(|t| t == UPOS::PROPN);
        t.pos = closed(&t.norm).unwrap_or_else(|| tag.map_or_else(|| guess(&t.norm), from_upos));
        if t.pos == Pos::Punct {
            t.pos = Pos::Noun;
        }
    }
}

fn from_upos(tag: UPOS) -> Pos {
    match tag {
        UPOS::ADJ => Pos::Adj,
        UPOS::ADP => Pos::Adp,
        UPOS::ADV => Pos::Adv,
        UPOS::AUX => Pos::Verb,
        UPOS::CCONJ => Pos::Cconj,
        UPOS::DET => Pos::Det,
        UPOS::INTJ => Pos::Intj,
        UPOS::NOUN => Pos::Noun,
        UPOS::NUM => Pos::Num,
        UPOS::PART => Pos::Part,
        UPOS::PRON => Pos::Pron,
        UPOS::PROPN => Pos::Propn,
        UPOS::PUNCT => Pos::Punct,
        UPOS::SCONJ => Pos::Sconj,
        UPOS::SYM => Pos::Sym,
        UPOS::VERB => Pos::Verb,
    }
}

fn guess(word: &str) -> Pos {
    if word.chars().next().is_some_and(char::is_numeric) {
        Pos::Num
    } else if word.ends_with("ing") && word.len() > 5 {
        Pos::Verb
    } else if word.ends_with("ly") {
        Pos::Adv
    } else if word.ends_with("ed") && word.len() > 4 {
        Pos::Verb
    } else if word.ends_with("ful") || word.ends_with("ous") || word.ends_with("ish") {
        Pos::Adj
    } else {
        Pos::Noun
    }
}

fn closed(word: &str) -> Option<Pos> {
    Some(match word {
        "i" | "me" | "myself" | "we" | "us" | "ourselves" | "you" | "yourself" | "he" | "him" | "himself" | "she" | "herself" | "it"
        | "itself" | "they" | "them" | "themselves" | "who" | "whom" | "what" | "someone" | "somebody" | "everyone" | "everybody"
        | "anyone" | "anybody" | "nobody" | "something" | "nothing" | "everything" | "anything" | "mine" | "yours" | "hers" | "ours"
        | "theirs" | "none" | "there" => Pos::Pron,
        "a" | "an" | "the" | "my" | "your" | "his" | "its" | "our" | "their" | "whose" | "every" | "each" | "another" | "some" | "any"
        | "no" | "these" | "those" | "this" | "both" | "either" | "neither" | "her" | "all" => Pos::Det,
        "am" | "is" | "are" | "was" | "were" | "be" | "been" | "being" | "have" | "has" | "had" | "do" | "does" | "did" | "will"
        | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" | "having" => Pos::Aux,
        "in" | "on" | "at" | "by" | "for" | "from" | "with" | "about" | "of" | "into" | "onto" | "under" | "during" | "without"
        | "through" | "against" | "between" | "among" | "per" | "via" | "near" | "towards" | "toward" | "up" | "out" | "off" | "down"
        | "around" | "across" | "along" | "over" | "within" | "behind" | "beyond" | "despite" | "besides" | "minus" => Pos::Adp,
        "and" | "or" | "but" | "nor" | "plus" => Pos::Cconj,
        "because" | "if" | "while" | "although" | "though" | "unless" | "whether" | "whereas" | "when" | "whenever" | "once" | "that"
        | "which" | "where" | "since" | "until" | "till" | "before" | "after" | "as" | "than" | "how" | "why" | "so" => Pos::Sconj,
        "not" | "to" => Pos::Part,
        "very" | "really" | "just" | "also" | "too" | "always" | "never" | "still" | "already" | "now" | "currently" | "actually"
        | "probably" | "maybe" | "perhaps" | "definitely" | "only" | "even" | "often" | "sometimes" | "usually" | "recently"
        | "lately" | "again" | "anymore" | "ever" | "yet" | "almost" | "nearly" | "here" | "then" | "currenty" | "honestly"
        | "mostly" | "mainly" | "basically" | "finally" | "totally" | "absolutely" | "kinda" | "pretty" | "quite" | "rather"
        | "somewhat" | "soon" | "later" | "instead" | "together" | "ago" | "away" | "back" | "well" | "else" | "tho" | "well-" => {
            Pos::Adv
        }
        "yeah" | "yes" | "yep" | "yup" | "nope" | "wow" | "oh" | "hey" | "hi" | "hello" | "thanks" | "ok" | "okay" | "lol" | "haha"
        | "ugh" | "hmm" | "cheers" | "yay" | "please" | "bye" | "omg" | "tbh" | "btw" | "fyi" | "imo" | "congrats" | "whoa" | "aww"
        | "aw" | "ah" | "yo" | "sorry" | "nah" | "welcome" | "lmao" | "hm" | "um" | "uh" | "yikes" | "ooh" | "gosh" | "damn" => {
            Pos::Intj
        }
        _ => return None,
    })
}

/// Listed names of several words stand as one; so do listed nouns of several words.
fn units(tokens: &mut [Token]) {
    let lex = lexicon();
    let mut i = 0;
    while i < tokens.len() {
        if matches!(tokens[i].pos, Pos::Punct | Pos::Sym) {
            i += 1;
            continue;
        }
        let reach = tokens[i..].iter().take(6).take_while(|t| t.pos != Pos::Sym && !matches!(t.norm.as_str(), "," | "." | "!" | "?" | ";")).count();
        let found = {
            let words: Vec<&str> = tokens[i..i + reach].iter().map(|t| t.norm.as_str()).collect();
            lex.longest(&words, 2).map(|n| (n, words[..n].join(" ")))
        };
        // "working group", "team lead": a listed head of two words.
        if found.is_none() && reach >= 2 && lex.head(&format!("{} {}", tokens[i].norm, tokens[i + 1].norm)).is_some() {
            for t in &mut tokens[i..i + 2] {
                t.pos = Pos::Noun;
            }
            tokens[i].unit = 2;
            i += 2;
            continue;
        }
        if let Some((n, phrase)) = found {
            let named = lex.get(&phrase).iter().any(|e| !e.common) && n > 1;
            let capitals = tokens[i..i + n].iter().filter(|t| t.capital).count();
            // "The Office" is a name, "the office" is not: names that begin with an article need their capitals.
            let article = matches!(tokens[i].norm.as_str(), "the" | "a");
            if named && (!article || capitals >= 2) || !named && !article {
                for t in &mut tokens[i..i + n] {
                    t.pos = if named { Pos::Propn } else { Pos::Noun };
                }
                tokens[i].unit = n;
                i += n;
                continue;
            }
        }
        i += 1;
    }
}

/// Capitals and listed names make proper nouns; a tagger's proper noun in small letters does not.
fn capitals(tokens: &mut [Token]) {
    let lex = lexicon();
    for i in 0..tokens.len() {
        if tokens[i].unit > 0 || matches!(tokens[i].pos, Pos::Punct | Pos::Sym) || (i > 0 && inside_unit(tokens, i)) {
            continue;
        }
        let first = tokens[..i].iter().all(|t| t.pos == Pos::Punct || t.is("\""));
        let t = &tokens[i];
        let entries = lex.get(&t.norm);
        let clear_name = entries.iter().any(|e| !e.common && !e.ambiguous && e.group != Group::Given);
        let a_name = entries.iter().any(|e| !e.common);
        let is_closed = closed(&t.norm).is_some();
        let next_capital = tokens.get(i + 1).is_some_and(|n| n.capital && !n.is("i") && n.nominal_or_unknown());
        // "Setbacks are …": an unknown plural at the start is a common noun.
        let generic_plural = t.norm.ends_with('s') && tokens.get(i + 1).is_some_and(|n| n.is("are") || n.is("were"));
        let new = if t.capital && !first && !is_closed && t.norm != "i" {
            Pos::Propn
        } else if t.capital && first && !is_closed {
            let plain_word = lemma::known_verb(&t.norm, &|_| false).is_some() || matches!(t.pos, Pos::Adv | Pos::Intj | Pos::Adj | Pos::Num);
            if entries.iter().any(|e| !e.common && !e.ambiguous)
                || (a_name && (t.unknown || t.pos == Pos::Propn))
                || (a_name && tokens.get(i + 1).is_some_and(|n| matches!(n.norm.as_str(), "and" | "is" | "has" | "'s" | "was")))
                || (t.unknown && !plain_word && !generic_plural)
                || (next_capital && !plain_word && (t.pos == Pos::Noun || a_name))
            {
                Pos::Propn
            } else {
                continue;
            }
        } else if !t.capital && clear_name && !is_closed && t.norm.len() > 1 {
            Pos::Propn
        } else if !t.capital && t.pos == Pos::Propn {
            if lex.has(Group::Given, &t.norm) && !a_plain_word(&t.norm) { Pos::Propn } else { Pos::Noun }
        } else {
            continue;
        };
        tokens[i].pos = new;
    }
}

fn a_plain_word(word: &str) -> bool {
    lexicon().get(word).iter().any(|e| e.ambiguous || e.common) || lemma::known_verb(word, &|_| false).is_some()
}

fn inside_unit(tokens: &[Token], i: usize) -> bool {
    (1..6).any(|back| i >= back && tokens[i - back].unit > back)
}

impl Token {
    fn nominal_or_unknown(&self) -> bool {
        self.nominal() || self.unknown
    }
}

fn repair(tokens: &mut [Token], known: &[Option<(String, VerbForm)>]) {
    for i in 0..tokens.len() {
        if tokens[i].unit > 0 || inside_unit(tokens, i) {
            continue;
        }
        let before = previous_content(tokens, i);
        let next = tokens.get(i + 1).map(|t| (t.pos, t.norm.clone()));
        let norm = tokens[i].norm.clone();
        let pos = tokens[i].pos;
        let verbish = known[i].as_ref().map(|(_, f)| *f);
        let next_nominal = next.as_ref().is_some_and(|(p, _)| matches!(p, Pos::Noun | Pos::Propn | Pos::Adj));
        let new = match norm.as_str() {
            "to" => {
                let verb_next = (i + 1..tokens.len().min(i + 3))
                    .find(|&k| tokens[k].pos != Pos::Adv)
                    .is_some_and(|k| matches!(known[k], Some((_, VerbForm::Base))) && !matches!(tokens[k].pos, Pos::Propn | Pos::Det) || tokens[k].is("be"));
                if verb_next { Pos::Part } else { Pos::Adp }
            }
            // "her" with a noun owns it; alone it is a person.
            "her" if !next_nominal && !next.as_ref().is_some_and(|(p, _)| *p == Pos::Num) => Pos::Pron,
            "this" | "these" | "those" | "all" | "both" | "some" | "any" | "each" | "either" if !next_nominal && !matches!(next.as_ref().map(|n| n.0), Some(Pos::Num | Pos::Det | Pos::Verb)) => {
                Pos::Pron
            }
            "that" if before.is_some_and(|b| matches!(tokens[b].pos, Pos::Adp | Pos::Verb)) && next_nominal => Pos::Det,
            "that" if i == 0 || before.is_some_and(|b| tokens[b].pos == Pos::Punct && b + 1 == i) => {
                if next_nominal { Pos::Det } else { Pos::Pron }
            }
            "that" if next.as_ref().is_none_or(|(p, _)| *p == Pos::Punct) => Pos::Pron,
            "so" if next.as_ref().is_some_and(|(p, _)| matches!(p, Pos::Adj | Pos::Adv)) => Pos::Adv,
            "since" | "until" | "till" | "before" | "after" | "as" | "than" if clause_free(tokens, i) => Pos::Adp,
            "around" | "over" if next.as_ref().is_some_and(|(p, _)| *p == Pos::Num) => Pos::Adv,
            "no" if i == 0 && next.as_ref().is_none_or(|(p, _)| *p == Pos::Punct || *p == Pos::Intj) => Pos::Intj,
            "like" if like_is_verb(tokens, i, before) => Pos::Verb,
            "like" => Pos::Adp,
            "have" | "has" | "had" | "do" | "does" | "did" | "is" | "are" | "am" | "was" | "were" | "be" | "been" => Pos::Aux,
            // "my bro"
            _ if pos == Pos::Intj && i > 0 && tokens[i - 1].pos == Pos::Det => Pos::Noun,
            _ if verbish.is_some() && i > 1 && tokens[i - 1].is("longer") && tokens[i - 2].is("no") => Pos::Verb,
            _ if matches!(pos, Pos::Aux | Pos::Punct | Pos::Sym | Pos::Pron | Pos::Cconj | Pos::Part | Pos::Intj | Pos::Num | Pos::Sconj | Pos::Det) => continue,
            // "we use slack": a tool by its place.
            _ if !tokens[i].capital && pos != Pos::Propn && tool_slot(tokens, i) => Pos::Noun,
            _ => match (verbish, before) {
                // "i love", "she works": a verb form after its subject.
                (Some(form), Some(b)) if subject_pronoun(&tokens[b]) && agrees(&tokens[b].norm, form) && pos != Pos::Adp => Pos::Verb,
                (Some(VerbForm::Base), Some(b)) if (tokens[b].pos == Pos::Aux && is_modal(&tokens[b].norm)) || (tokens[b].pos == Pos::Part && tokens[b].is("to")) && pos != Pos::Propn => {
                    Pos::Verb
                }
                (Some(VerbForm::Base), Some(b)) if is_modal(&tokens[b].norm) => Pos::Verb,
                (Some(VerbForm::Past | VerbForm::Participle | VerbForm::Gerund), Some(b)) if tokens[b].pos == Pos::Aux && !determined(tokens, i) && pos != Pos::Propn => Pos::Verb,
                // "been using", "keep using"
                (Some(VerbForm::Gerund), Some(b)) if tokens[b].pos == Pos::Verb && pos == Pos::Noun && next.as_ref().is_some_and(|(p, _)| matches!(p, Pos::Det | Pos::Propn | Pos::Noun | Pos::Adj | Pos::Pron)) => Pos::Verb,
                // "meeting new people", "visiting the zoo"
                (Some(VerbForm::Gerund), _) if pos == Pos::Noun && !determined(tokens, i) && takes_object(tokens, i) => Pos::Verb,
                // "Sam handles the app", "Joao swears by it": a verb after a name, before its object.
                (Some(VerbForm::Third), _) if matches!(pos, Pos::Noun | Pos::Propn) && !tokens[i].capital && i > 0 && tokens[i - 1].pos == Pos::Propn && object_follows(tokens, i) => Pos::Verb,
                // "I work at X and report to Y"
                (Some(VerbForm::Base), Some(b)) if pos == Pos::Noun && tokens[b].pos == Pos::Cconj && object_follows(tokens, i) && tokens[..b].iter().any(|t| t.pos == Pos::Verb) && tokens[..b].iter().any(|t| matches!(t.norm.as_str(), "i" | "we" | "they")) && !lexicon().has(Group::Food, &norm) => Pos::Verb,
                // "my work", "the love": a noun after its determiner.
                (Some(VerbForm::Base | VerbForm::Third), _) if pos == Pos::Verb && determined(tokens, i) => Pos::Noun,
                (Some(VerbForm::Gerund), _) if pos == Pos::Verb && determined(tokens, i) => Pos::Noun,
                (Some(VerbForm::Past | VerbForm::Participle), _) if pos == Pos::Verb && determined(tokens, i) && next_nominal => Pos::Adj,
                // "to cook, travel, and eat": bare verbs of a list that began with "to".
                (Some(VerbForm::Base), Some(b)) if pos != Pos::Propn && listed_infinitive(tokens, i, b) => Pos::Verb,
                _ => continue,
            },
        };
        if new != pos {
            tokens[i].repaired = !matches!(new, Pos::Part | Pos::Adp | Pos::Pron | Pos::Aux) && norm != "like";
            tokens[i].pos = new;
        }
    }
}

fn takes_object(tokens: &[Token], i: usize) -> bool {
    let Some(next) = tokens.get(i + 1) else { return false };
    match next.pos {
        Pos::Det => !matches!(next.norm.as_str(), "this" | "that"),
        Pos::Adj => tokens.get(i + 2).is_some_and(Token::nominal),
        _ => false,
    }
}

fn object_follows(tokens: &[Token], i: usize) -> bool {
    tokens.get(i + 1).is_some_and(|n| matches!(n.pos, Pos::Det | Pos::Propn | Pos::Adp | Pos::Part | Pos::Pron) || n.is("to"))
        && !tokens.get(i + 1).is_some_and(|n| n.is("'s") || matches!(n.norm.as_str(), "i" | "we" | "he" | "she" | "they"))
}

/// The word before `i` without adverbs and "not".
fn previous_content(tokens: &[Token], i: usize) -> Option<usize> {
    (0..i).rev().take(4).find(|&k| tokens[k].pos != Pos::Adv && !tokens[k].is("not"))
}

fn subject_pronoun(t: &Token) -> bool {
    matches!(t.norm.as_str(), "i" | "we" | "you" | "they" | "he" | "she" | "it" | "who")
}

fn agrees(pronoun: &str, form: VerbForm) -> bool {
    match form {
        VerbForm::Base => matches!(pronoun, "i" | "we" | "you" | "they" | "who"),
        VerbForm::Third => matches!(pronoun, "he" | "she" | "it" | "who"),
        VerbForm::Past => true,
        VerbForm::Participle | VerbForm::Gerund => false,
    }
}

fn is_modal(word: &str) -> bool {
    matches!(word, "will" | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" | "do" | "does" | "did")
}

/// Whether a determiner, a possessive or an adjective after one stands right before `i`.
fn determined(tokens: &[Token], i: usize) -> bool {
    let Some(b) = i.checked_sub(1) else { return false };
    match tokens[b].pos {
        Pos::Det => true,
        Pos::Adj | Pos::Noun => (b.saturating_sub(2)..b).rev().any(|k| tokens[k].pos == Pos::Det) && tokens[b].pos == Pos::Adj,
        _ => tokens[b].is("'s") && i >= 2 && tokens[i - 2].pos != Pos::Pron && !tokens[i - 2].is("there"),
    }
}

fn like_is_verb(tokens: &[Token], i: usize, before: Option<usize>) -> bool {
    let Some(b) = before else { return tokens.get(i + 1).is_some_and(|t| t.nominal()) && false };
    let t = &tokens[b];
    subject_pronoun(t)
        || is_modal(&t.norm)
        || t.is("to") && tokens[b].pos == Pos::Part
        || t.is("to")
        || t.pos == Pos::Cconj && tokens[..b].iter().any(|t| t.is("like") || t.pos == Pos::Verb)
        || (t.nominal() && !tokens[..=b].iter().any(|t| matches!(t.pos, Pos::Verb | Pos::Aux)))
}

/// Whether no finite clause follows: "since 2019", "before lunch".
fn clause_free(tokens: &[Token], i: usize) -> bool {
    let rest = &tokens[i + 1..];
    let end = rest.iter().position(|t| t.pos == Pos::Punct || t.pos == Pos::Cconj).unwrap_or(rest.len()).min(5);
    !rest[..end].iter().enumerate().any(|(k, t)| t.pos == Pos::Aux || (k > 0 && subject_pronoun(&rest[k - 1]) && t.pos != Pos::Punct) || subject_pronoun(t) || (k > 0 && t.pos == Pos::Verb))
}

/// Whether a small word that is also a tool stands where a tool would: after "use", or after the preposition of a switch.
fn tool_slot(tokens: &[Token], i: usize) -> bool {
    let Some(before) = i.checked_sub(1).map(|b| &tokens[b]) else { return false };
    let listed = lexicon().get(&tokens[i].norm).iter().any(|e| e.group == Group::Tool && e.ambiguous);
    let free = tokens.get(i + 1).is_none_or(|n| !n.nominal());
    let using = matches!(before.norm.as_str(), "use" | "using" | "used" | "uses");
    let switched = matches!(before.norm.as_str(), "to" | "from") && tokens[..i].iter().any(|t| t.norm.starts_with("switch") || t.norm.starts_with("migrat"));
    listed && free && (using || switched)
}

fn listed_infinitive(tokens: &[Token], i: usize, b: usize) -> bool {
    if !(tokens[b].pos == Pos::Cconj || tokens[b].is(",")) || matches!(tokens[i].pos, Pos::Adj | Pos::Adp) {
        return false;
    }
    let from = i.saturating_sub(14);
    let governed = (from + 1..i).any(|k| tokens[k].pos == Pos::Verb && (tokens[k - 1].is("to") && tokens[k - 1].pos == Pos::Part));
    let broken = tokens[from..i].iter().any(|t| matches!(t.norm.as_str(), ";" | "." | "—"));
    governed && !broken && !lexicon().has(Group::Activity, &tokens[i].norm) && !lexicon().has(Group::Food, &tokens[i].norm)
}

/// A sentence with a subject and no verb hides one in a noun: "Anna mentors Ben".
fn missing_verb(tokens: &mut [Token], known: &[Option<(String, VerbForm)>]) {
    let mut start = 0;
    for end in 0..=tokens.len() {
        let boundary = end == tokens.len() || tokens[end].is(";") || (tokens[end].pos == Pos::Cconj && end > start + 2) || tokens[end].pos == Pos::Sconj || matches!(tokens[end].norm.as_str(), "—" | ":" | "(" | ")");
        if !boundary {
            continue;
        }
        let finite = (start..end).any(|k| matches!(tokens[k].pos, Pos::Aux) || tokens[k].pos == Pos::Verb && !(k > 0 && tokens[k - 1].is("to")));
        if !finite && end > start {
            let candidate = (start + 1..end).find(|&k| {
                let before = &tokens[k - 1];
                matches!(tokens[k].pos, Pos::Noun | Pos::Adj)
                    && tokens[k].unit == 0
                    && matches!(known[k], Some((_, VerbForm::Third | VerbForm::Past | VerbForm::Base)))
                    && (before.nominal() || before.pos == Pos::Adv && k >= 2 && tokens[k - 2].nominal())
                    && (before.pos == Pos::Propn || !matches!(known[k], Some((_, VerbForm::Base))) || plural(before))
                    && tokens.get(k + 1).is_none_or(|n| matches!(n.pos, Pos::Det | Pos::Noun | Pos::Propn | Pos::Adp | Pos::Pron | Pos::Adj | Pos::Num | Pos::Part | Pos::Adv | Pos::Verb))
                    && k + 1 < end
            });
            if let Some(k) = candidate {
                tokens[k].pos = Pos::Verb;
                tokens[k].repaired = tokens[k - 1].pos != Pos::Propn;
            }
        }
        start = end + 1;
    }
}

fn plural(t: &Token) -> bool {
    t.norm.ends_with('s') || matches!(t.norm.as_str(), "people" | "kids" | "children")
}

/// "'s" is a possessive, "is" or "has".
fn clitic_s(tokens: &mut [Token]) {
    for i in 0..tokens.len() {
        if !tokens[i].is("'s") {
            // "its fine", "its Marcus": the pronoun with a verb left out.
            if tokens[i].is("its") && tokens.get(i + 1).is_some_and(|t| matches!(t.pos, Pos::Adj | Pos::Det | Pos::Adv | Pos::Propn) || t.is("been")) && (i == 0 || !matches!(tokens[i - 1].pos, Pos::Verb | Pos::Adp | Pos::Aux))
                && !tokens.get(i + 2).is_some_and(Token::nominal)
            {
                tokens[i].pos = Pos::Pron;
                "it".clone_into(&mut tokens[i].norm);
            }
            continue;
        }
        let before = i.checked_sub(1).map(|k| (tokens[k].pos, tokens[k].norm.clone()));
        let next = tokens.get(i + 1);
        let pronoun = before.as_ref().is_some_and(|(p, w)| matches!(p, Pos::Pron | Pos::Sconj | Pos::Adv) || matches!(w.as_str(), "that" | "this" | "here"));
        let noun_follows = next.is_some_and(|t| {
            t.nominal() && !(t.pos == Pos::Propn && before.as_ref().is_some_and(|b| b.0 != Pos::Propn))
                || t.pos == Pos::Num
                || t.pos == Pos::Adj && tokens.get(i + 2).is_some_and(Token::nominal)
        });
        if pronoun || !noun_follows {
            let participle = next.is_some_and(|t| matches!(t.norm.as_str(), "been" | "got") || t.is("had"));
            (if participle { "has" } else { "is" }).clone_into(&mut tokens[i].norm);
            tokens[i].pos = Pos::Aux;
            if let Some(t) = tokens.get_mut(i + 1)
                && t.norm.ends_with("ing")
                && t.pos == Pos::Noun
                && lemma::known_verb(&t.norm, &|_| false).is_some()
            {
                t.pos = Pos::Verb;
            }
        } else {
            tokens[i].pos = Pos::Part;
        }
    }
}

fn lemmas(tokens: &mut [Token], extra: ExtraVerb<'_>) {
    for t in tokens {
        match t.pos {
            Pos::Verb | Pos::Aux => {
                let (lemma, form) = lemma::verb(&t.norm, extra);
                t.lemma = lemma;
                t.form = Some(form);
            }
            Pos::Noun | Pos::Propn => t.lemma = lemma::noun(&t.norm),
            _ => t.lemma.clone_from(&t.norm),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::understand::{normalise::clean, sentences, tokens::tokenise};

    fn pos_of(text: &str, word: &str) -> Pos {
        let mut all = sentences::split(tokenise(&clean(text)));
        tag(&mut all[0], &|w| w == "blorp");
        all[0].tokens.iter().find(|t| t.norm == word || t.text == word).unwrap().pos
    }

    #[test]
    fn verbs_and_nouns_are_told_apart() {
        for (text, word, pos) in [
            ("i love my work", "love", Pos::Verb),
            ("i love my work", "work", Pos::Noun),
            ("We like hiking.", "like", Pos::Verb),
            ("It looks like rain.", "like", Pos::Adp),
            ("Anna mentors Ben.", "mentors", Pos::Verb),
            ("Anna blorps Ben.", "blorps", Pos::Verb),
            ("Project Apollo uses PostgreSQL", "uses", Pos::Verb),
            ("I like to cook, draw, and eat food.", "draw", Pos::Verb),
            ("i switched from vim to zed", "to", Pos::Adp),
            ("John's boss left.", "'s", Pos::Part),
            ("Kat's into bouldering.", "is", Pos::Aux),
            ("my sister lives in munich", "munich", Pos::Propn),
        ] {
            assert_eq!(pos_of(text, word), pos, "{word} in {text}");
        }
    }
}
