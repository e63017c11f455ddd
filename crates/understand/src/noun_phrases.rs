//! Parses one noun phrase: determiners, possessor, modifiers, head, and the name after "named".

use recall_domain::FirstPerson;

use super::lexicon::{VerbForm, WordList, lexicon};
use super::phrases::{NounPhrase, Phrases, Possessor, is_title};
use super::tokens::{Pos, Token};

/// Returns the noun phrase that begins at token `i`, and the token after it. Adds the phrases of possessors to `p`.
pub(crate) fn parse_noun_phrase(tokens: &[Token], i: usize, p: &mut Phrases) -> Option<(NounPhrase, usize)> {
    let core = partitive(tokens, i);
    if tokens[i].pos == Pos::Sym {
        return Some((NounPhrase { opaque: true, ..NounPhrase::at(i) }, i + 1));
    }
    if tokens[i].pos == Pos::Pron && core.is_none() {
        return Some((NounPhrase { pronoun: true, ..NounPhrase::at(i) }, i + 1));
    }
    let mut parser = Parser::new(tokens, i, core, p);
    parser.read_determiners();
    while parser.apply_rule().is_some() {}
    parser.finish()
}

/// A noun phrase while it is parsed.
struct Parser<'a> {
    tokens: &'a [Token],
    phrases: &'a mut Phrases,
    next: usize,
    phrase: NounPhrase,
    /// The last noun so far.
    head: Option<usize>,
    /// A determiner, a partitive or a possessor opens the phrase.
    determined: bool,
    has_adjective: bool,
}

/// Reads the next tokens if they belong to the phrase, and returns how many.
type Rule = fn(&mut Parser<'_>, &Token) -> Option<usize>;

/// The rules with their names. The first that applies wins; if none does, the phrase ends.
const RULES: &[(&str, Rule)] = &[
    ("noun", noun),
    ("number", number),
    ("adjective", adjective),
    ("adjective_in_name", adjective_in_name),
    ("colour", colour),
    ("adverb_before_adjective", adverb_before_adjective),
    ("participle_before_noun", participle_before_noun),
    ("name_after_of", name_after_of),
    ("institution", institution),
    ("possessive", possessive),
];

/// A noun, or all words of a listed name.
fn noun(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let applies = (t.unit > 0 || t.nominal()) && !p.head.is_some_and(|head| breaks(&p.tokens[head], t));
    let words = t.unit.max(1);
    p.head = if applies { Some(p.next + words - 1) } else { p.head };
    applies.then_some(words)
}

fn number(_: &mut Parser<'_>, t: &Token) -> Option<usize> {
    (t.pos == Pos::Num).then_some(1)
}

/// An adjective before the noun.
fn adjective(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let applies = t.pos == Pos::Adj && p.head.is_none();
    p.has_adjective |= applies;
    applies.then_some(1)
}

/// A capitalised adjective after a noun: "Visual Studio Professional".
fn adjective_in_name(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let applies = t.pos == Pos::Adj && t.capital && p.head.is_some();
    p.head = if applies { Some(p.next) } else { p.head };
    applies.then_some(1)
}

/// "the color green": the head is "green".
fn colour(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let after_noun = p.head.is_some_and(|head| head + 1 == p.next && matches!(p.tokens[head].norm.as_str(), "color" | "colour"));
    let applies = t.pos == Pos::Adj && after_noun && lexicon().has(WordList::Concept, &t.norm);
    if applies {
        p.phrase.core = p.next;
        p.head = Some(p.next);
    }
    applies.then_some(1)
}

/// "a very old house"
fn adverb_before_adjective(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let inside = p.head.is_none() && (p.determined || p.next > p.phrase.core);
    (t.pos == Pos::Adv && inside && p.token_after().is_some_and(|n| matches!(n.pos, Pos::Adj | Pos::Adv))).then_some(1)
}

/// "my broken phone", "a working group"
fn participle_before_noun(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let participle = t.pos == Pos::Verb && matches!(t.form, Some(VerbForm::Gerund | VerbForm::Past | VerbForm::Participle));
    (participle && p.head.is_none() && p.determined && p.token_after().is_some_and(Token::nominal)).then_some(1)
}

/// "of" inside a name: "Lord of the Rings", "University of Ghent".
fn name_after_of(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let is_name = |t: &Token| t.pos == Pos::Propn && t.capital;
    let after_name = p.head.is_some_and(|head| head + 1 == p.next && is_name(&p.tokens[head]));
    let words = if p.token_after().is_some_and(|n| n.is("the")) { 2 } else { 1 };
    let before_name = p.tokens.get(p.next + words).is_some_and(is_name);
    (t.pos == Pos::Adp && t.is("of") && after_name && before_name).then_some(words)
}

/// The "'s" of "St. Mary's Hospital".
fn institution(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let after_name = p.head.is_some_and(|head| p.tokens[head].pos == Pos::Propn);
    let before_head = p.token_after().is_some_and(|n| n.capital && lexicon().head(&n.norm).is_some());
    (t.pos == Pos::Part && t.is("'s") && after_name && before_head).then_some(1)
}

/// Any other "'s": the phrase so far is the possessor of the phrase that follows.
fn possessive(p: &mut Parser<'_>, t: &Token) -> Option<usize> {
    let head = p.head.filter(|_| t.pos == Pos::Part && t.is("'s"))?;
    p.phrases.nouns.push(NounPhrase { end: p.next, head, ..p.phrase.clone() });
    p.phrase.possessor = Possessor::Phrase(p.phrases.nouns.len() - 1);
    p.phrase.determiner = None;
    p.phrase.core = p.next + 1;
    p.head = None;
    p.determined = true;
    Some(1)
}

impl<'a> Parser<'a> {
    /// Makes a parser at token `i`. `core` is the token after a partitive.
    fn new(tokens: &'a [Token], i: usize, core: Option<usize>, phrases: &'a mut Phrases) -> Self {
        let (next, phrase) = (core.unwrap_or(i), NounPhrase::at(i));
        Self { tokens, phrases, next, phrase, head: None, determined: core.is_some(), has_adjective: false }
    }

    /// Reads the determiners at the start, and those of the partitive: "my favorite type of music" keeps the possessor.
    fn read_determiners(&mut self) {
        if let Some(d) = (self.phrase.start..self.next).find(|&d| possessor_of(&self.tokens[d].norm) != Possessor::Unmarked) {
            self.phrase.determiner = Some(d);
            self.phrase.possessor = possessor_of(&self.tokens[d].norm);
        }
        while let Some(t) = self.tokens.get(self.next).filter(|t| t.pos == Pos::Det) {
            self.phrase.determiner = Some(self.next);
            if possessor_of(&t.norm) != Possessor::Unmarked {
                self.phrase.possessor = possessor_of(&t.norm);
            }
            self.determined = true;
            self.next += 1;
        }
        self.phrase.core = self.next;
    }

    /// Applies the first rule that fits and returns its name; `None` at the end of the phrase.
    fn apply_rule(&mut self) -> Option<&'static str> {
        let token = self.tokens.get(self.next)?;
        let (name, read) = RULES.iter().find_map(|(name, rule)| Some((*name, rule(self, token)?)))?;
        self.next += read;
        Some(name)
    }

    fn token_after(&self) -> Option<&'a Token> {
        self.tokens.get(self.next + 1)
    }

    /// Returns the phrase and the token after it; `None` if the tokens make no phrase.
    fn finish(self) -> Option<(NounPhrase, usize)> {
        let Self { tokens, mut phrase, .. } = self;
        let first = &tokens[phrase.start];
        if let Some(head) = self.head {
            phrase.head = head;
            phrase.end = head + 1;
            named(tokens, &mut phrase);
        } else if let Possessor::Phrase(n) = phrase.possessor {
            // "at Dave's": the possessor alone.
            return Some((self.phrases.nouns[n].clone(), phrase.core));
        } else if self.determined && phrase.core > phrase.start || first.pos == Pos::Num {
            phrase.end = self.next.max(phrase.start + 1);
            phrase.head = phrase.end - 1;
            phrase.pronoun = !self.has_adjective && first.pos == Pos::Det;
        } else {
            return None;
        }
        let end = phrase.end;
        Some((phrase, end))
    }
}

/// Whether a noun phrase ends between two adjacent nouns: "last week Sarah", "I told mum Berlin".
fn breaks(before: &Token, next: &Token) -> bool {
    let lex = lexicon();
    if matches!(next.norm.as_str(), "yesterday" | "today" | "tomorrow" | "tonight") {
        return true;
    }
    if lex.in_set("time", &before.norm) && next.pos == Pos::Propn {
        return true;
    }
    if before.pos == Pos::Noun && next.pos == Pos::Propn {
        return !is_title(&before.lemma);
    }
    // A time noun after a name starts an adverbial: "Kyoto one day", "Sarah last week".
    before.pos == Pos::Propn && next.pos == Pos::Noun && lex.in_set("time", &next.norm)
}

/// Adds the name after "named" or "called": "a lab named Trooper", "a dog called Rex".
fn named(tokens: &[Token], np: &mut NounPhrase) {
    let mut k = np.end;
    if tokens.get(k).is_some_and(|t| t.is(",")) {
        k += 1;
    }
    let named = tokens.get(k).is_some_and(|t| matches!(t.norm.as_str(), "named" | "called" | "nicknamed"));
    // "a greyhound, name of Noodle"
    let name_of = tokens.get(k).is_some_and(|t| t.is("name")) && tokens.get(k + 1).is_some_and(|t| t.is("of"));
    if !named && !name_of {
        return;
    }
    let start = k + 1 + usize::from(name_of);
    let mut end = start;
    while tokens.get(end).is_some_and(|t| t.pos == Pos::Propn || (t.capital && t.pos != Pos::Punct)) {
        end += 1;
    }
    if end == start && tokens.get(start).is_some_and(Token::nominal) {
        end += 1;
    }
    if end > start {
        np.proper_name = Some((start, end));
        np.end = end;
    }
}

const PARTITIVES: &[&str] = &[
    "lot",
    "lots",
    "couple",
    "bunch",
    "few",
    "pair",
    "ton",
    "tons",
    "number",
    "kind",
    "kinds",
    "sort",
    "bit",
    "piece",
    "type",
    "types",
    "one",
    "some",
    "all",
    "most",
    "many",
    "half",
    "each",
    "both",
    "plenty",
    "loads",
    "rest",
    "variety",
    "cup",
    "glass",
    "slice",
    "set",
    "any",
    "collection",
];

/// Returns the token after a partitive: "a lot of", "one of".
fn partitive(tokens: &[Token], i: usize) -> Option<usize> {
    for skip in 0..3 {
        let t = tokens.get(i + skip)?;
        if PARTITIVES.contains(&t.norm.as_str()) && tokens.get(i + skip + 1).is_some_and(|n| n.is("of")) {
            return tokens
                .get(i + skip + 2)
                .is_some_and(|n| {
                    !matches!(n.pos, Pos::Punct | Pos::Pron) && (n.pos != Pos::Verb || tokens.get(i + skip + 3).is_some_and(Token::nominal))
                })
                .then_some(i + skip + 2);
        }
        if !matches!(t.pos, Pos::Det | Pos::Adj | Pos::Adv) {
            return None;
        }
    }
    None
}

fn possessor_of(word: &str) -> Possessor {
    match word {
        _ if FirstPerson::is_determiner(word) => Possessor::Speaker,
        "your" => Possessor::Addressee,
        "his" | "her" | "its" | "their" | "whose" => Possessor::ThirdPerson,
        _ => Possessor::Unmarked,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::{tagged, tagged_as};

    /// Returns the first noun phrase of a text, the rules that read it, and its head word.
    fn parse(text: &str) -> (NounPhrase, Vec<&'static str>, String) {
        parse_tokens(&tagged(text))
    }

    fn parse_tokens(tokens: &[Token]) -> (NounPhrase, Vec<&'static str>, String) {
        let mut phrases = Phrases::default();
        let mut parser = Parser::new(tokens, 0, partitive(tokens, 0), &mut phrases);
        parser.read_determiners();
        let rules = std::iter::from_fn(|| parser.apply_rule()).collect();
        let (phrase, _) = parser.finish().unwrap();
        let head = tokens[phrase.head].text.clone();
        (phrase, rules, head)
    }

    #[test]
    fn rules_read_their_examples() {
        for (text, rules, head) in [
            ("my boss lives here", &["noun"][..], "boss"),
            ("two cats", &["number", "noun"], "cats"),
            ("my old car", &["adjective", "noun"], "car"),
            ("a very old house", &["adverb_before_adjective", "adjective", "noun"], "house"),
            ("the University of Ghent", &["noun", "name_after_of", "noun"], "Ghent"),
            ("Mary's Hospital", &["noun", "institution", "noun"], "Hospital"),
            ("Dave's boss", &["noun", "possessive", "noun"], "boss"),
        ] {
            let found = parse(text);
            assert_eq!((found.1.as_slice(), found.2.as_str()), (rules, head), "{text}");
        }
    }

    #[test]
    fn possessor_is_found() {
        for (text, possessor) in [
            ("my favorite type of music", Possessor::Speaker),
            ("your brother", Possessor::Addressee),
            ("their dog", Possessor::ThirdPerson),
            ("Dave's boss", Possessor::Phrase(0)),
            ("the boss", Possessor::Unmarked),
        ] {
            assert_eq!(parse(text).0.possessor, possessor, "{text}");
        }
    }

    #[test]
    fn colour_is_the_head() {
        let (_, rules, head) = parse_tokens(&tagged_as(&[("color", Pos::Noun), ("green", Pos::Adj)]));
        assert_eq!((rules, head.as_str()), (vec!["noun", "colour"], "green"));
    }

    #[test]
    fn participle_precedes_the_noun() {
        let mut tokens = tagged_as(&[("my", Pos::Det), ("growing", Pos::Verb), ("team", Pos::Noun)]);
        tokens[1].form = Some(VerbForm::Gerund);
        assert_eq!(parse_tokens(&tokens).1, ["participle_before_noun", "noun"]);
    }

    #[test]
    fn adjective_with_a_capital_ends_a_name() {
        let (_, rules, head) = parse_tokens(&tagged_as(&[("Studio", Pos::Propn), ("Professional", Pos::Adj)]));
        assert_eq!((rules, head.as_str()), (vec!["noun", "adjective_in_name"], "Professional"));
    }

    #[test]
    fn phrase_without_a_noun_is_a_pronoun_or_the_possessor() {
        assert!(parse_tokens(&tagged_as(&[("this", Pos::Det)])).0.pronoun);
        assert_eq!(parse_tokens(&tagged_as(&[("Dave", Pos::Propn), ("'s", Pos::Part)])).2, "Dave");
    }

    #[test]
    fn name_after_named_belongs_to_the_phrase() {
        assert_eq!(parse("a dog named Rex").0.proper_name, Some((3, 4)));
    }
}
