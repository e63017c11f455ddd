//! Parses one verb group (auxiliaries, negation, adverbs, verb), and marks bare verbs in lists of infinitives.

use super::lexicon::{VerbForm, lexicon};
use super::phrases::{ChunkKind, Phrases, VerbGroup, VerbKind};
use super::tokens::{Pos, Token};

/// Returns the verb group that begins at token `i`, and the token after it.
pub(crate) fn parse_verb_group(tokens: &[Token], i: usize) -> Option<(VerbGroup, usize)> {
    let mut parser = Parser::new(tokens, i);
    while parser.apply_rule().is_some() {}
    parser.finish()
}

/// A verb group while it is parsed.
struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    group: VerbGroup,
    auxiliaries: Vec<usize>,
    main: Option<usize>,
    /// The group begins with "to".
    infinitive: bool,
}

/// Reads the next words if they belong to the group, and returns how many.
type Rule = fn(&mut Parser<'_>) -> Option<usize>;

/// The rules with their names. The first that applies wins; if none does, the group ends.
const RULES: &[(&str, Rule)] = &[
    ("no_longer", no_longer),
    ("negation", negation),
    ("adverb", adverb),
    ("to", to),
    ("auxiliary", auxiliary),
    ("used_to", used_to),
    ("going_to", going_to),
    ("passive_get", passive_get),
    ("main_verb", main_verb),
];

/// "no longer", "no more"
fn no_longer(p: &mut Parser<'_>) -> Option<usize> {
    let applies = p.token().is("no") && p.token_after().is_some_and(|t| t.is("longer") || t.is("more"));
    p.group.no_longer |= applies;
    applies.then_some(2)
}

/// "not"; "not only" and "not just" do not negate.
fn negation(p: &mut Parser<'_>) -> Option<usize> {
    if !p.token().is("not") {
        return None;
    }
    p.group.cannot |= p.next.checked_sub(1).is_some_and(|k| p.tokens[k].is("can") || p.tokens[k].is("could"));
    p.group.negated = !p.token_after().is_some_and(|t| t.is("only") || t.is("just"));
    Some(1)
}

/// An adverb that is not the particle of a verb ("go back").
fn adverb(p: &mut Parser<'_>) -> Option<usize> {
    let t = p.token();
    if t.pos != Pos::Adv || t.clitic || matches!(t.norm.as_str(), "back" | "away" | "together") {
        return None;
    }
    match t.norm.as_str() {
        "never" => (p.group.never, p.group.negated) = (true, true),
        "hardly" | "rarely" | "barely" | "almost" | "nearly" => p.group.almost = true,
        _ => {}
    }
    Some(1)
}

/// "to" at the start of an infinitive and in "have to".
fn to(p: &mut Parser<'_>) -> Option<usize> {
    if p.token().pos != Pos::Part || !p.token().is("to") {
        return None;
    }
    if p.next == p.group.start {
        p.infinitive = true;
    } else if p.last_auxiliary_is(&["have"]) {
        p.group.modal.get_or_insert_with(|| "have to".to_owned());
    } else {
        return None;
    }
    Some(1)
}

/// A modal or another auxiliary.
fn auxiliary(p: &mut Parser<'_>) -> Option<usize> {
    let t = p.token();
    // "the dog that my neighbor has is called Rex": two verbs.
    let second_verb = p.last_auxiliary_is(&["have", "be"]) && matches!(t.norm.as_str(), "is" | "are" | "was" | "were" | "am");
    if t.pos != Pos::Aux || second_verb {
        return None;
    }
    match t.norm.as_str() {
        "will" | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" => {
            // "'d" before a participle is "had".
            let participle = p.token_after().is_some_and(|n| n.is("been") || n.is("better"));
            if !(t.is("would") && t.clitic && participle) {
                p.group.modal = Some(t.norm.clone());
            }
        }
        "was" | "were" | "did" | "had" => p.group.past = true,
        _ => {}
    }
    if t.lemma == "be" {
        p.group.be = Some(p.next);
    }
    p.auxiliaries.push(p.next);
    Some(1)
}

/// "used to", but not "is used to".
fn used_to(p: &mut Parser<'_>) -> Option<usize> {
    let applies = p.is_verb_before_to("used") && !p.last_auxiliary_is(&["be"]);
    p.group.used_to |= applies;
    p.group.past |= applies;
    applies.then_some(2)
}

/// "going to" before a verb.
fn going_to(p: &mut Parser<'_>) -> Option<usize> {
    let applies = p.is_verb_before_to("going") && (p.last_auxiliary_is(&["be"]) || p.auxiliaries.is_empty());
    if applies {
        p.group.modal = Some("going to".to_owned());
    }
    applies.then_some(2)
}

/// "get" as the auxiliary of a passive: "got hired".
fn passive_get(p: &mut Parser<'_>) -> Option<usize> {
    let t = p.token();
    let participle = |n: &Token| n.pos == Pos::Verb && matches!(n.form, Some(VerbForm::Past | VerbForm::Participle)) && !n.is("got");
    if t.pos != Pos::Verb || t.lemma != "get" || !p.token_after().is_some_and(participle) {
        return None;
    }
    p.group.past |= t.form == Some(VerbForm::Past);
    p.group.be = Some(p.next);
    p.auxiliaries.push(p.next);
    Some(1)
}

/// The main verb, which ends the group.
fn main_verb(p: &mut Parser<'_>) -> Option<usize> {
    p.main = (p.token().pos == Pos::Verb).then_some(p.next);
    p.main.map(|_| 1)
}

impl<'a> Parser<'a> {
    fn new(tokens: &'a [Token], i: usize) -> Self {
        Self { tokens, next: i, group: VerbGroup::at(i), auxiliaries: Vec::new(), main: None, infinitive: false }
    }

    /// Applies the first rule that fits and returns its name; `None` at the end of the group.
    fn apply_rule(&mut self) -> Option<&'static str> {
        if self.main.is_some() || self.next >= self.tokens.len() {
            return None;
        }
        let (name, read) = RULES.iter().find_map(|(name, rule)| Some((*name, rule(self)?)))?;
        self.next += read;
        Some(name)
    }

    fn token(&self) -> &'a Token {
        &self.tokens[self.next]
    }

    fn token_after(&self) -> Option<&'a Token> {
        self.tokens.get(self.next + 1)
    }

    fn last_auxiliary_is(&self, lemmas: &[&str]) -> bool {
        self.auxiliaries.last().is_some_and(|&a| lemmas.contains(&self.tokens[a].lemma.as_str()))
    }

    /// Whether the next token is this verb, and the particle "to" follows.
    fn is_verb_before_to(&self, verb: &str) -> bool {
        self.token().pos == Pos::Verb && self.token().is(verb) && self.token_after().is_some_and(|n| n.is("to") && n.pos == Pos::Part)
    }

    /// Returns the group, with the properties that its words have together, and the token after it.
    fn finish(mut self) -> Option<(VerbGroup, usize)> {
        let stands_alone = !self.infinitive || self.last_auxiliary_is(&["be", "have", "do"]);
        let main = match self.main {
            Some(main) => main,
            None => self.auxiliaries.pop().filter(|_| stands_alone)?,
        };
        let verb = &self.tokens[main];
        let form = verb.form.unwrap_or(VerbForm::Base);
        let after_be = self.main.is_some() && self.auxiliaries.iter().any(|&a| matches!(self.tokens[a].lemma.as_str(), "be" | "get"));
        let mut g = self.group;
        // The participle of some verbs is the base form: "was put down".
        let invariant = matches!(verb.lemma.as_str(), "put" | "cut" | "hit" | "let" | "shut" | "hurt");
        g.passive = after_be && (matches!(form, VerbForm::Past | VerbForm::Participle) || invariant && form == VerbForm::Base);
        g.progressive = after_be && form == VerbForm::Gerund;
        g.past |= form == VerbForm::Past && self.auxiliaries.is_empty();
        // What had to be done was done, unless somebody only said, thought or dreamt so.
        let begins_sentence = |t: &&Token| !matches!(t.norm.as_str(), "." | "!" | "?" | ";");
        let mut before = self.tokens[..g.start].iter().rev().take_while(begins_sentence);
        if g.past && !g.negated && g.modal.as_deref() == Some("have to") && !before.any(|t| t.pos == Pos::Verb || t.is("dream")) {
            g.modal = None;
        }
        g.kind = if self.infinitive {
            VerbKind::Infinitive
        } else if self.auxiliaries.is_empty() && form == VerbForm::Gerund && g.modal.is_none() {
            VerbKind::Gerund
        } else {
            VerbKind::Finite
        };
        if self.main.is_none() && verb.lemma == "be" {
            g.be = Some(main);
        }
        g.lemma.clone_from(&verb.lemma);
        g.main = main;
        g.end = self.next;
        Some((g, self.next))
    }
}

/// Marks bare verbs of a list after "to" as infinitives: "to play soccer, hang out, and play games".
pub(crate) fn mark_listed_infinitives(tokens: &[Token], p: &mut Phrases) {
    let mut governed = false;
    for c in 0..p.chunks.len() {
        let ChunkKind::Verb(v) = p.chunks[c].kind else {
            if matches!(p.chunks[c].kind, ChunkKind::Mark | ChunkKind::Sub | ChunkKind::Rel) {
                governed = false;
            }
            continue;
        };
        let listed =
            c > 0 && matches!(p.chunks[c - 1].kind, ChunkKind::Conj | ChunkKind::Comma) && !tokens[p.chunks[c - 1].start].is("but");
        let g = &mut p.verbs[v];
        let bare = g.start == g.main && tokens[g.main].form == Some(VerbForm::Base) && !lexicon().in_set("stative", &g.lemma);
        match g.kind {
            VerbKind::Infinitive => governed = true,
            VerbKind::Finite if listed && bare && governed => g.kind = VerbKind::Infinitive,
            VerbKind::Finite => governed = false,
            VerbKind::Gerund => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::tagged;

    /// Returns the first verb group of a text and the rules that read it.
    fn parse(text: &str) -> (Vec<&'static str>, VerbGroup) {
        let tokens = tagged(text);
        let start = (0..tokens.len()).find(|&i| parse_verb_group(&tokens, i).is_some()).unwrap();
        let mut parser = Parser::new(&tokens, start);
        let rules = std::iter::from_fn(|| parser.apply_rule()).collect();
        (rules, parser.finish().unwrap().0)
    }

    #[test]
    fn rules_read_their_examples() {
        for (text, rules, lemma) in [
            ("I no longer use Vim", &["no_longer", "main_verb"][..], "use"),
            ("I do not like tea", &["auxiliary", "negation", "main_verb"], "like"),
            ("I really like tea", &["adverb", "main_verb"], "like"),
            ("to learn Rust", &["to", "main_verb"], "learn"),
            ("I have to learn Rust", &["auxiliary", "to", "main_verb"], "learn"),
            ("I have been there", &["auxiliary", "auxiliary"], "be"),
            ("I used to smoke", &["used_to", "main_verb"], "smoke"),
            ("I am going to move", &["auxiliary", "going_to", "main_verb"], "move"),
            ("I got hired", &["passive_get", "main_verb"], "hire"),
        ] {
            let found = parse(text);
            assert_eq!((found.0.as_slice(), found.1.lemma.as_str()), (rules, lemma), "{text}");
        }
    }

    #[test]
    fn words_set_the_properties_of_the_group() {
        let group = |text| parse(text).1;
        assert!(group("I no longer use Vim").no_longer && group("I used to smoke").used_to && group("I almost bought it").almost);
        assert!(group("I can not stand it").cannot && group("I never smoke").never && !group("I not only sing").negated);
        assert_eq!(group("I am going to move").modal.as_deref(), Some("going to"));
        assert_eq!(group("I have to move").modal.as_deref(), Some("have to"));
        assert_eq!([group("I had to move").modal, group("She would have had to move").modal], [None, Some("would".to_owned())]);
        assert_eq!(group("I did not have to move").modal.as_deref(), Some("have to"));
        assert!(group("Rollo had to be put down").passive && !group("I put it down").passive);
        assert!(group("I got hired").passive && group("I am using Vim").progressive && group("I went home").past);
        assert_eq!(group("to learn Rust").kind, VerbKind::Infinitive);
        assert_eq!(group("using Vim").kind, VerbKind::Gerund);
    }

    #[test]
    fn second_finite_verb_begins_another_group() {
        assert_eq!(parse("She has is called Rex").1.lemma, "have");
    }
}
