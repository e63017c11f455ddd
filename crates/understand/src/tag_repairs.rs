//! Corrects part-of-speech tags by the neighbours of a word. Each rule has an example of its mistake.

use super::closed_classes::closed_class;
use super::lexicon::{VerbForm, WordList, lexicon};
use super::tag_conditions::{
    agrees, clause_free, compound, determined, is_modal, like_is_verb, listed_infinitive, names_colour, noun_slot, object_follows,
    previous_content, subject_pronoun, takes_object, tool_slot,
};
use super::tokens::{Pos, Token, inside_unit};

/// Corrects the tags of a sentence. `known` has lemma and form of each word that can be a verb.
pub(crate) fn repair_tags(tokens: &mut [Token], known: &[Option<(String, VerbForm)>]) {
    for i in 0..tokens.len() {
        if tokens[i].unit > 0 || inside_unit(tokens, i) {
            continue;
        }
        let word = Word { tokens, known, i, before: previous_content(tokens, i) };
        let Some((_, new)) = first_rule(&word) else { continue };
        if new != tokens[i].pos {
            tokens[i].repaired = !matches!(new, Pos::Part | Pos::Adp | Pos::Pron | Pos::Aux) && !tokens[i].is("like");
            tokens[i].pos = new;
        }
    }
}

/// A word with the context that the rules read.
struct Word<'a> {
    tokens: &'a [Token],
    known: &'a [Option<(String, VerbForm)>],
    i: usize,
    /// The word before it, skipping adverbs and "not".
    before: Option<usize>,
}

impl Word<'_> {
    fn token(&self) -> &Token {
        &self.tokens[self.i]
    }

    fn pos(&self) -> Pos {
        self.token().pos
    }

    fn norm(&self) -> &str {
        &self.token().norm
    }

    fn is_one_of(&self, words: &[&str]) -> bool {
        words.contains(&self.norm())
    }

    /// The form if the word can be a verb.
    fn form(&self) -> Option<VerbForm> {
        self.known[self.i].as_ref().map(|(_, form)| *form)
    }

    fn next(&self) -> Option<&Token> {
        self.tokens.get(self.i + 1)
    }

    fn next_is(&self, pos: &[Pos]) -> bool {
        self.next().is_some_and(|t| pos.contains(&t.pos))
    }

    fn next_is_nominal(&self) -> bool {
        self.next_is(&[Pos::Noun, Pos::Propn, Pos::Adj])
    }

    /// The directly preceding word.
    fn previous(&self) -> Option<&Token> {
        self.i.checked_sub(1).map(|k| &self.tokens[k])
    }

    fn previous_is(&self, pos: Pos) -> bool {
        self.previous().is_some_and(|t| t.pos == pos)
    }

    /// The preceding word, skipping adverbs and "not".
    fn content_before(&self) -> Option<&Token> {
        self.before.map(|b| &self.tokens[b])
    }
}

/// A rule returns the tag of a word that it applies to. Returning the present tag keeps it and skips the later rules.
type Rule = fn(&Word<'_>) -> Option<Pos>;

/// The rules with their names. The first rule that applies decides.
const RULES: &[(&str, Rule)] = &[
    ("to", to),
    ("her", her),
    ("bare_determiner", bare_determiner),
    ("that", that),
    ("both", both),
    ("function_word", function_word),
    ("like", like),
    ("month_after_number", month_after_number),
    ("auxiliary", auxiliary),
    ("separated", separated),
    ("gerund_subject", gerund_subject),
    ("in_love", in_love),
    ("adjective_as_subject", adjective_as_subject),
    ("interjection_after_determiner", interjection_after_determiner),
    ("after_no_longer", after_no_longer),
    ("closed_class", keep_closed_class),
    ("verb_after_preposition", verb_after_preposition),
    ("colour_after_auxiliary", colour_after_auxiliary),
    ("adjective_in_noun_position", adjective_in_noun_position),
    ("verb_after_determiner", verb_after_determiner),
    ("end_of_compound", end_of_compound),
    ("gerund_without_subject", gerund_without_subject),
    ("tool", tool),
    ("verb_after_pronoun", verb_after_pronoun),
    ("verb_after_modal_or_to", verb_after_modal_or_to),
    ("verb_after_auxiliary", verb_after_auxiliary),
    ("gerund_after_verb", gerund_after_verb),
    ("gerund_with_object", gerund_with_object),
    ("verb_after_name", verb_after_name),
    ("verb_before_clause", verb_before_clause),
    ("coordinated_base_form", coordinated_base_form),
    ("coordinated_third_person", coordinated_third_person),
    ("noun_after_determiner", noun_after_determiner),
    ("participle_before_noun", participle_before_noun),
    ("infinitive_in_list", infinitive_in_list),
];

/// Returns the name and the tag of the first rule that applies.
fn first_rule(word: &Word<'_>) -> Option<(&'static str, Pos)> {
    RULES.iter().find_map(|&(name, rule)| rule(word).map(|pos| (name, pos)))
}

/// "to" is a particle before a base form, else a preposition.
fn to(w: &Word<'_>) -> Option<Pos> {
    let (tokens, i) = (w.tokens, w.i);
    let verb_next = (i + 1..tokens.len().min(i + 3)).find(|&k| tokens[k].pos != Pos::Adv).is_some_and(|k| {
        matches!(w.known[k], Some((_, VerbForm::Base))) && !matches!(tokens[k].pos, Pos::Propn | Pos::Det) || tokens[k].is("be")
    });
    (w.norm() == "to").then_some(if verb_next { Pos::Part } else { Pos::Adp })
}

/// "her" before a noun is a determiner, alone a pronoun.
fn her(w: &Word<'_>) -> Option<Pos> {
    (w.norm() == "her" && !w.next_is_nominal() && !w.next_is(&[Pos::Num])).then_some(Pos::Pron)
}

/// "this" and "some" without a noun are pronouns.
fn bare_determiner(w: &Word<'_>) -> Option<Pos> {
    let determiner = w.is_one_of(&["this", "these", "those", "all", "both", "some", "any", "each", "either"]);
    (determiner && !w.next_is_nominal() && !w.next_is(&[Pos::Num, Pos::Det, Pos::Verb])).then_some(Pos::Pron)
}

/// "that" is a determiner before a noun, and a pronoun at the start or the end of a clause.
fn that(w: &Word<'_>) -> Option<Pos> {
    if w.norm() != "that" {
        return None;
    }
    if w.content_before().is_some_and(|b| matches!(b.pos, Pos::Adp | Pos::Verb)) && w.next_is_nominal() {
        return Some(Pos::Det);
    }
    if w.i == 0 || w.before.is_some_and(|b| w.tokens[b].pos == Pos::Punct && b + 1 == w.i) {
        return Some(if w.next_is_nominal() { Pos::Det } else { Pos::Pron });
    }
    w.next().is_none_or(|n| n.pos == Pos::Punct).then_some(Pos::Pron)
}

/// "both love and hate"
fn both(w: &Word<'_>) -> Option<Pos> {
    let base_next = matches!(w.known.get(w.i + 1), Some(Some((_, VerbForm::Base))));
    let verb_next = w.next_is(&[Pos::Verb]) || w.content_before().is_some_and(subject_pronoun) && base_next;
    (w.norm() == "both" && verb_next).then_some(Pos::Adv)
}

/// Function words whose tag depends on the next word: "so good", "since 2019", "over 20", "No, …".
fn function_word(w: &Word<'_>) -> Option<Pos> {
    match w.norm() {
        "so" if w.next_is(&[Pos::Adj, Pos::Adv]) => Some(Pos::Adv),
        "since" | "until" | "till" | "before" | "after" | "as" | "than" if clause_free(w.tokens, w.i) => Some(Pos::Adp),
        "around" | "over" if w.next_is(&[Pos::Num]) => Some(Pos::Adv),
        "no" if w.i == 0 && w.next().is_none_or(|n| matches!(n.pos, Pos::Punct | Pos::Intj)) => Some(Pos::Intj),
        _ => None,
    }
}

/// "like" is a verb after a subject, else a preposition.
fn like(w: &Word<'_>) -> Option<Pos> {
    (w.norm() == "like").then(|| if like_is_verb(w.tokens, w.before) { Pos::Verb } else { Pos::Adp })
}

/// "3 may"
fn month_after_number(w: &Word<'_>) -> Option<Pos> {
    let is_date = w.previous().is_some_and(|p| p.pos == Pos::Num) && !w.next_is(&[Pos::Verb]);
    (w.norm() == "may" && is_date).then_some(Pos::Noun)
}

/// "Ben and Ida divorced in May"
fn separated(w: &Word<'_>) -> Option<Pos> {
    let is_of_people = w.previous().is_some_and(|p| p.pos == Pos::Propn || p.is("i") || p.is("parents"));
    let is_last = w.next().is_none_or(|n| matches!(n.pos, Pos::Punct | Pos::Adp | Pos::Adv | Pos::Cconj));
    (w.is_one_of(&["divorced", "separated"]) && w.pos() == Pos::Adj && is_of_people && is_last).then_some(Pos::Verb)
}

/// The forms of "have", "do" and "be" are auxiliaries.
fn auxiliary(w: &Word<'_>) -> Option<Pos> {
    w.is_one_of(&["have", "has", "had", "do", "does", "did", "is", "are", "am", "was", "were", "be", "been"]).then_some(Pos::Aux)
}

/// "Cooking is my passion"
fn gerund_subject(w: &Word<'_>) -> Option<Pos> {
    let gerund = w.form() == Some(VerbForm::Gerund) && w.pos() == Pos::Verb;
    let first = w.tokens[..w.i].iter().all(|t| matches!(t.pos, Pos::Punct | Pos::Intj));
    (gerund && first && w.next().is_some_and(|n| n.is("is") || n.is("was"))).then_some(Pos::Noun)
}

/// "fell in love with"
fn in_love(w: &Word<'_>) -> Option<Pos> {
    (w.norm() == "love" && w.previous().is_some_and(|p| p.is("in"))).then_some(Pos::Noun)
}

/// "Anna's favorite is chess"
fn adjective_as_subject(w: &Word<'_>) -> Option<Pos> {
    let determined = w.previous().is_some_and(|p| p.is("'s") || p.pos == Pos::Det);
    (w.pos() == Pos::Adj && determined && w.next_is(&[Pos::Aux])).then_some(Pos::Noun)
}

/// "my bro"
fn interjection_after_determiner(w: &Word<'_>) -> Option<Pos> {
    (w.pos() == Pos::Intj && w.previous_is(Pos::Det)).then_some(Pos::Noun)
}

/// "I no longer work there"
fn after_no_longer(w: &Word<'_>) -> Option<Pos> {
    let no_longer = w.i > 1 && w.tokens[w.i - 1].is("longer") && w.tokens[w.i - 2].is("no");
    (w.form().is_some() && no_longer).then_some(Pos::Verb)
}

/// Keeps the tags of closed classes, numbers and symbols.
fn keep_closed_class(w: &Word<'_>) -> Option<Pos> {
    let closed = matches!(
        w.pos(),
        Pos::Aux | Pos::Punct | Pos::Sym | Pos::Pron | Pos::Cconj | Pos::Part | Pos::Intj | Pos::Num | Pos::Sconj | Pos::Det
    );
    (closed && (w.pos() != Pos::Det || closed_class(w.norm()).is_some())).then_some(w.pos())
}

/// "listen to music", "to podcasts": a preposition does not precede a verb.
fn verb_after_preposition(w: &Word<'_>) -> Option<Pos> {
    let particles = ["up", "out", "off", "down", "over", "around", "in", "on"];
    let preposition = w.previous().is_some_and(|p| p.pos == Pos::Adp && !particles.contains(&p.norm.as_str()));
    let form = matches!(w.form(), None | Some(VerbForm::Base | VerbForm::ThirdPerson));
    (w.pos() == Pos::Verb && preposition && form).then_some(Pos::Noun)
}

/// "my favourite colour is blue"
fn colour_after_auxiliary(w: &Word<'_>) -> Option<Pos> {
    // "it's green", but not "Anna's green bike"
    let after = w.previous_is(Pos::Aux) || w.previous().is_some_and(|t| t.is("'s")) && !w.next_is_nominal();
    let colour = w.pos() == Pos::Adj && after && lexicon().has(WordList::Concept, w.norm());
    (colour && names_colour(w.tokens)).then_some(Pos::Noun)
}

/// "I collect vinyl", "three goldfish": no noun follows that the adjective could modify.
fn adjective_in_noun_position(w: &Word<'_>) -> Option<Pos> {
    (w.pos() == Pos::Adj && noun_slot(w.tokens, w.i, w.form())).then_some(Pos::Noun)
}

/// "in a spike": a noun follows an article.
fn verb_after_determiner(w: &Word<'_>) -> Option<Pos> {
    let pronouns = ["all", "both", "that", "this", "these", "those", "some", "any"];
    let article =
        w.previous().is_some_and(|p| p.pos == Pos::Det && closed_class(&p.norm).is_some() && !pronouns.contains(&p.norm.as_str()));
    (w.pos() == Pos::Verb && article && !w.next_is_nominal()).then_some(Pos::Noun)
}

/// "the billing rewrite": a base form does not agree with a singular noun.
fn end_of_compound(w: &Word<'_>) -> Option<Pos> {
    (w.pos() == Pos::Verb && w.form() == Some(VerbForm::Base) && compound(w.tokens, w.i)).then_some(Pos::Noun)
}

/// "Still loving it"
fn gerund_without_subject(w: &Word<'_>) -> Option<Pos> {
    let gerund = w.pos() == Pos::Adj && w.form() == Some(VerbForm::Gerund);
    let first = w.i > 0 && w.tokens[..w.i].iter().all(|t| t.pos == Pos::Adv);
    (gerund && first && w.next_is_nominal()).then_some(Pos::Verb)
}

/// "we use slack": the position requires a tool.
fn tool(w: &Word<'_>) -> Option<Pos> {
    (!w.token().capital && w.pos() != Pos::Propn && tool_slot(w.tokens, w.i)).then_some(Pos::Noun)
}

/// "i love", "she works": a verb form agrees with its subject.
fn verb_after_pronoun(w: &Word<'_>) -> Option<Pos> {
    let (form, subject) = (w.form()?, w.content_before()?);
    (subject_pronoun(subject) && agrees(&subject.norm, form) && w.pos() != Pos::Adp).then_some(Pos::Verb)
}

/// "will work", "to work"
fn verb_after_modal_or_to(w: &Word<'_>) -> Option<Pos> {
    let before = w.content_before()?;
    let infinitive = before.pos == Pos::Part && before.is("to") && w.pos() != Pos::Propn;
    (w.form() == Some(VerbForm::Base) && (is_modal(&before.norm) || infinitive)).then_some(Pos::Verb)
}

/// "was using", "has moved"
fn verb_after_auxiliary(w: &Word<'_>) -> Option<Pos> {
    let form = matches!(w.form(), Some(VerbForm::Past | VerbForm::Participle | VerbForm::Gerund));
    let auxiliary = w.content_before()?.pos == Pos::Aux;
    (form && auxiliary && !determined(w.tokens, w.i) && w.pos() != Pos::Propn).then_some(Pos::Verb)
}

/// "been using", "keep using"
fn gerund_after_verb(w: &Word<'_>) -> Option<Pos> {
    let gerund = w.form() == Some(VerbForm::Gerund) && w.pos() == Pos::Noun;
    let object = w.next_is(&[Pos::Det, Pos::Propn, Pos::Noun, Pos::Adj, Pos::Pron]);
    (gerund && w.content_before()?.pos == Pos::Verb && object).then_some(Pos::Verb)
}

/// "meeting new people", "visiting the zoo"
fn gerund_with_object(w: &Word<'_>) -> Option<Pos> {
    let gerund = w.form() == Some(VerbForm::Gerund) && w.pos() == Pos::Noun;
    (gerund && !determined(w.tokens, w.i) && takes_object(w.tokens, w.i)).then_some(Pos::Verb)
}

/// "Sam handles the app", "Joao swears by it": a verb after a name, before its object.
fn verb_after_name(w: &Word<'_>) -> Option<Pos> {
    let candidate = w.form() == Some(VerbForm::ThirdPerson) && matches!(w.pos(), Pos::Noun | Pos::Propn) && !w.token().capital;
    (candidate && w.previous_is(Pos::Propn) && object_follows(w.tokens, w.i)).then_some(Pos::Verb)
}

/// "My boss hopes Anna joins us": a verb of saying or hoping between a noun and a clause.
fn verb_before_clause(w: &Word<'_>) -> Option<Pos> {
    let (lemma, form) = w.known[w.i].as_ref()?;
    let candidate =
        *form == VerbForm::ThirdPerson && w.pos() == Pos::Noun && w.previous_is(Pos::Noun) && w.next_is(&[Pos::Propn, Pos::Pron]);
    let after = (w.i + 1..w.tokens.len()).find(|&k| !matches!(w.tokens[k].pos, Pos::Propn | Pos::Pron))?;
    let is_clause = w.tokens[after].pos == Pos::Aux || matches!(w.known[after], Some((_, VerbForm::ThirdPerson | VerbForm::Past)));
    let is_of_clause = ["say", "doubt"].iter().any(|set| lexicon().in_set(set, lemma));
    (candidate && is_clause && is_of_clause).then_some(Pos::Verb)
}

/// "I work at X and report to Y"
fn coordinated_base_form(w: &Word<'_>) -> Option<Pos> {
    let earlier = &w.tokens[..w.before?];
    let conjoined = w.form() == Some(VerbForm::Base) && w.pos() == Pos::Noun && w.content_before()?.pos == Pos::Cconj;
    let clause = earlier.iter().any(|t| t.pos == Pos::Verb) && earlier.iter().any(|t| matches!(t.norm.as_str(), "i" | "we" | "they"));
    (conjoined && object_follows(w.tokens, w.i) && clause && !lexicon().has(WordList::Food, w.norm())).then_some(Pos::Verb)
}

/// "Wei leads the team and reports to Jo"
fn coordinated_third_person(w: &Word<'_>) -> Option<Pos> {
    let conjunction = w.before.filter(|&b| w.tokens[b].pos == Pos::Cconj && b + 1 == w.i)?;
    let candidate = w.form() == Some(VerbForm::ThirdPerson) && w.pos() == Pos::Noun && object_follows(w.tokens, w.i);
    let last_verb = w.tokens[..conjunction].iter().rev().find(|t| t.pos == Pos::Verb);
    (candidate && last_verb.is_some_and(|t| t.norm.ends_with('s')) && lexicon().get(w.norm()).is_empty()).then_some(Pos::Verb)
}

/// "my work", "the love", "the cooking": a noun after its determiner.
fn noun_after_determiner(w: &Word<'_>) -> Option<Pos> {
    let form = matches!(w.form(), Some(VerbForm::Base | VerbForm::ThirdPerson | VerbForm::Gerund));
    (form && w.pos() == Pos::Verb && determined(w.tokens, w.i)).then_some(Pos::Noun)
}

/// "a used car"
fn participle_before_noun(w: &Word<'_>) -> Option<Pos> {
    let form = matches!(w.form(), Some(VerbForm::Past | VerbForm::Participle));
    (form && w.pos() == Pos::Verb && determined(w.tokens, w.i) && w.next_is_nominal()).then_some(Pos::Adj)
}

/// "to cook, travel, and eat": bare verbs of a list that began with "to".
fn infinitive_in_list(w: &Word<'_>) -> Option<Pos> {
    let base = w.form() == Some(VerbForm::Base) && w.pos() != Pos::Propn;
    (base && listed_infinitive(w.tokens, w.i, w.before?)).then_some(Pos::Verb)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    /// Applies one rule to a word of a tagged sentence.
    fn apply(rule: &str, tagged: &[(&str, Pos)], at: usize) -> Option<Pos> {
        let tokens = crate::fixture::tagged_as(tagged);
        let known: Vec<_> = tokens.iter().map(|t| crate::lemma::known_verb(&t.norm, &|_| false)).collect();
        let word = Word { tokens: &tokens, known: &known, i: at, before: previous_content(&tokens, at) };
        RULES.iter().find(|(name, _)| *name == rule).unwrap().1(&word)
    }

    #[test]
    fn rules_retag_their_examples() {
        use Pos::{Adj, Adp, Adv, Aux, Cconj, Det, Intj, Noun, Part, Pron, Propn, Verb};
        for (rule, tagged, at, pos) in [
            ("to", &[("to", Adp), ("cook", Verb)][..], 0, Part),
            ("to", &[("to", Part), ("Rome", Propn)], 0, Adp),
            ("her", &[("met", Verb), ("her", Det)], 1, Pron),
            ("bare_determiner", &[("like", Verb), ("this", Det)], 1, Pron),
            ("that", &[("that", Det), ("is", Aux)], 0, Pron),
            ("both", &[("both", Det), ("love", Verb)], 0, Adv),
            ("function_word", &[("so", Adp), ("good", Adj)], 0, Adv),
            ("like", &[("i", Pron), ("like", Adp)], 1, Verb),
            ("auxiliary", &[("has", Verb)], 0, Aux),
            ("gerund_subject", &[("cooking", Verb), ("is", Aux)], 0, Noun),
            ("verb_before_clause", &[("boss", Noun), ("hopes", Noun), ("Anna", Propn), ("joins", Verb)], 1, Verb),
            ("in_love", &[("in", Adp), ("love", Verb)], 1, Noun),
            ("adjective_as_subject", &[("my", Det), ("favorite", Adj), ("is", Aux)], 1, Noun),
            ("interjection_after_determiner", &[("my", Det), ("bro", Intj)], 1, Noun),
            ("after_no_longer", &[("no", Det), ("longer", Adv), ("work", Noun)], 2, Verb),
            ("verb_after_preposition", &[("to", Adp), ("dance", Verb)], 1, Noun),
            ("verb_after_determiner", &[("a", Det), ("swim", Verb)], 1, Noun),
            ("end_of_compound", &[("the", Det), ("billing", Noun), ("visit", Verb)], 2, Noun),
            ("gerund_without_subject", &[("still", Adv), ("loving", Adj), ("Rome", Propn)], 1, Verb),
            ("tool", &[("use", Verb), ("slack", Adj)], 1, Noun),
            ("verb_after_pronoun", &[("she", Pron), ("works", Noun)], 1, Verb),
            ("verb_after_modal_or_to", &[("will", Aux), ("work", Noun)], 1, Verb),
            ("verb_after_auxiliary", &[("was", Aux), ("using", Noun)], 1, Verb),
            ("gerund_after_verb", &[("keep", Verb), ("using", Noun), ("Rust", Propn)], 1, Verb),
            ("gerund_with_object", &[("visiting", Noun), ("the", Det), ("zoo", Noun)], 0, Verb),
            ("verb_after_name", &[("Sam", Propn), ("works", Noun), ("the", Det)], 1, Verb),
            ("coordinated_base_form", &[("i", Pron), ("sing", Verb), ("and", Cconj), ("work", Noun), ("at", Adp)], 3, Verb),
            ("noun_after_determiner", &[("my", Det), ("work", Verb)], 1, Noun),
            ("participle_before_noun", &[("a", Det), ("used", Verb), ("car", Noun)], 1, Adj),
        ] {
            assert_eq!(apply(rule, tagged, at), Some(pos), "{rule}: {tagged:?}");
        }
    }

    #[test]
    fn closed_classes_keep_their_tag() {
        assert_eq!(apply("closed_class", &[("and", Pos::Cconj)], 0), Some(Pos::Cconj));
        assert_eq!(apply("closed_class", &[("work", Pos::Noun)], 0), None);
    }
}
