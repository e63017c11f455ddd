//! Splits plain text into words and punctuation.
//!
//! Contractions are split ("don't" to do, n't), so that negations and auxiliaries are tokens of their own.

use recall_domain::FirstPerson;

use super::lexicon::{VerbForm, lexicon};
use super::normalise::{Clean, OPAQUE, SOFT_BREAK};
use super::steps;

/// What people say of their kin: "my dads number".
const OWNED: &[&str] = &[
    "name", "age", "birthday", "number", "phone", "mobile", "email", "address", "job", "boss", "house", "flat", "place", "car", "dog",
    "cat", "sister", "brother",
];

/// Part of speech; a subset of the Universal Dependencies tags, with additions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pos {
    Noun,
    Propn,
    Verb,
    Aux,
    Adj,
    Adv,
    Det,
    Pron,
    Adp,
    Cconj,
    Sconj,
    Part,
    Num,
    Intj,
    Punct,
    /// A symbol, or the place of text that [`super::normalise`] removed.
    Sym,
    /// A line break or an emoji.
    Break,
}

/// A word or a punctuation mark.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// As written.
    pub(crate) text: String,
    /// In lower case, with contractions and chat spellings expanded.
    pub(crate) norm: String,
    pub(crate) lemma: String,
    pub(crate) pos: Pos,
    pub(crate) form: Option<VerbForm>,
    /// Position in the original, in code points; `end` is exclusive.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) space_before: bool,
    /// Begins with a capital; false in a sentence of capitals.
    pub(crate) capital: bool,
    /// The second part of a contraction.
    pub(crate) clitic: bool,
    /// Not in the dictionary of the tagger.
    pub(crate) unknown: bool,
    /// Length in tokens of the listed name that begins here; 0 if none does.
    pub(crate) unit: usize,
    /// A rule that may be wrong changed the tag; facts get less confidence.
    pub(crate) repaired: bool,
}

impl Token {
    pub(crate) fn is(&self, norm: &str) -> bool {
        self.norm == norm
    }

    pub(crate) fn nominal(&self) -> bool {
        matches!(self.pos, Pos::Noun | Pos::Propn)
    }
}

/// Whether a token is inside a listed name, but not its first word.
pub(crate) fn inside_unit(tokens: &[Token], i: usize) -> bool {
    (1..6).any(|back| i >= back && tokens[i - back].unit > back)
}

/// Full words for contractions without an apostrophe and for chat spellings. Each part has the span of the whole.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("dont", &["do", "not"]),
    ("doesnt", &["does", "not"]),
    ("didnt", &["did", "not"]),
    ("cant", &["can", "not"]),
    ("cannot", &["can", "not"]),
    ("wont", &["will", "not"]),
    ("isnt", &["is", "not"]),
    ("arent", &["are", "not"]),
    ("wasnt", &["was", "not"]),
    ("werent", &["were", "not"]),
    ("havent", &["have", "not"]),
    ("hasnt", &["has", "not"]),
    ("hadnt", &["had", "not"]),
    ("wouldnt", &["would", "not"]),
    ("couldnt", &["could", "not"]),
    ("shouldnt", &["should", "not"]),
    ("aint", &["is", "not"]),
    ("im", &["i", "am"]),
    ("ive", &["i", "have"]),
    ("youre", &["you", "are"]),
    ("youve", &["you", "have"]),
    ("theyre", &["they", "are"]),
    ("theyve", &["they", "have"]),
    ("weve", &["we", "have"]),
    ("hes", &["he", "is"]),
    ("shes", &["she", "is"]),
    ("thats", &["that", "is"]),
    ("whats", &["what", "is"]),
    ("wheres", &["where", "is"]),
    ("whos", &["who", "is"]),
    ("theres", &["there", "is"]),
    ("lets", &["let", "us"]),
    ("gonna", &["going", "to"]),
    ("wanna", &["want", "to"]),
    ("gotta", &["got", "to"]),
    ("kinda", &["kind", "of"]),
    ("u", &["you"]),
    ("ur", &["your"]),
    ("r", &["are"]),
    ("n", &["and"]),
    ("b/c", &["because"]),
    ("bc", &["because"]),
    ("cuz", &["because"]),
    ("cos", &["because"]),
    ("tho", &["though"]),
    ("luv", &["love"]),
    ("w/", &["with"]),
    ("&", &["and"]),
    ("ppl", &["people"]),
    ("rn", &["now"]),
    ("abt", &["about"]),
    ("nite", &["night"]),
    ("thx", &["thanks"]),
    ("pls", &["please"]),
    ("plz", &["please"]),
    ("ya", &["you"]),
    ("yall", &["you"]),
    ("y'all", &["you"]),
    ("alot", &["lots"]),
    ("finaly", &["finally"]),
    ("realy", &["really"]),
    ("definately", &["definitely"]),
    ("tryna", &["trying", "to"]),
    ("'em", &["them"]),
    ("everyday", &["everyday"]),
];

const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "e.g", "i.e", "u.s", "u.k", "d.c", "p.m", "a.m", "inc", "ltd", "co",
    "approx", "dept",
];

/// Splits a text into tokens.
pub(crate) fn tokenise(text: &Clean) -> Vec<Token> {
    let chars = &text.chars;
    let mut out: Vec<Token> = Vec::with_capacity(chars.len() / 5 + 4);
    let mut space = true;
    let mut i = 0;
    while i < chars.len() {
        steps::count(1);
        let c = chars[i];
        if c == '\n' || c == SOFT_BREAK {
            if out.last().is_some_and(|t| t.pos != Pos::Break) {
                out.push(mark(text, i, i + 1, true, Pos::Break));
            }
            if c == '\n'
                && let Some(last) = out.last_mut()
            {
                last.norm = "\n".to_owned();
            }
            space = true;
            i += 1;
        } else if c.is_whitespace() {
            space = true;
            i += 1;
        } else if c.is_alphanumeric()
            || (c == '\'' && starts_clipped(chars, i))
            || (c == '@' && chars.get(i + 1).is_some_and(|c| c.is_alphabetic()))
        {
            let end = word_end(chars, i);
            steps::count(end - i);
            push_word(text, i, end, space, &mut out);
            space = false;
            i = end;
        } else {
            let mut end = i + 1;
            while end < chars.len() && chars[end] == c && ".!?-—…".contains(c) {
                end += 1;
            }
            if "!?".contains(c) {
                while end < chars.len() && "!?".contains(chars[end]) {
                    end += 1;
                }
            }
            let pos = if c == OPAQUE || "$%€£=<>^|\\{}+*".contains(c) { Pos::Sym } else { Pos::Punct };
            out.push(mark(text, i, end, space, pos));
            space = false;
            i = end;
        }
    }
    split_owners(out)
}

/// Restores the apostrophe of an owner: "my dads number" is "my dad's number". Only of kin of whom people have one, because "my sisters" are several.
fn split_owners(tokens: Vec<Token>) -> Vec<Token> {
    let is_owned = |t: &Token| OWNED.contains(&t.norm.as_str());
    let is_owner = |norm: &str| norm.strip_suffix('s').is_some_and(|kin| lexicon().in_set("bare_kin", kin));
    let is_determiner = |t: &Token| FirstPerson::is_determiner(&t.norm) || matches!(t.norm.as_str(), "his" | "her" | "their" | "your");
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(mut t) = rest.next() {
        let is_split = is_owner(&t.norm) && rest.peek().is_some_and(is_owned) && out.last().is_some_and(is_determiner);
        let ending = is_split.then(|| {
            t.text.pop();
            t.norm.pop();
            t.end -= 1;
            Token {
                text: "s".to_owned(),
                norm: "'s".to_owned(),
                start: t.end,
                end: t.end + 1,
                space_before: false,
                clitic: true,
                ..t.clone()
            }
        });
        out.push(t);
        out.extend(ending);
    }
    out
}

/// Whether a clipped word begins here: "'em", "'cause".
fn starts_clipped(chars: &[char], i: usize) -> bool {
    let rest: String = chars[i..].iter().take(6).collect::<String>().to_lowercase();
    rest.starts_with("'em ") || rest.starts_with("'cause")
}

fn word_end(chars: &[char], i: usize) -> usize {
    let mut k = i + 1;
    while k < chars.len() {
        let c = chars[k];
        if c.is_alphanumeric() || c == '_' {
            k += 1;
            continue;
        }
        let next = chars.get(k + 1);
        let joins = match c {
            '\'' | '-' | '@' => next.is_some_and(|n| n.is_alphanumeric()),
            // "w/ Jenny"
            '/' => next.is_some_and(|n| n.is_alphanumeric()) || k == i + 1 && chars[i] == 'w' && next.is_some_and(|n| n.is_whitespace()),
            '&' => next.is_some_and(|n| n.is_uppercase()) && chars[k - 1].is_uppercase(),
            // "Node.js" and "3.5", but not "done.Then".
            '.' => next.is_some_and(|n| {
                n.is_numeric()
                    || (n.is_lowercase() && !chars[i..k].iter().all(|c| c.is_lowercase()))
                    || (n.is_lowercase() && short_suffix(chars, k + 1))
                    || (n.is_uppercase() && k == i + 1)
            }),
            '+' => next == Some(&'+') || chars[k - 1] == '+',
            '#' => k == i + 1,
            ',' => chars[k - 1].is_numeric() && next.is_some_and(|n| n.is_numeric()),
            _ => false,
        };
        if !joins {
            break;
        }
        k += 1;
    }
    if chars.get(k) == Some(&'.') {
        let word: String = chars[i..k].iter().collect::<String>().to_lowercase();
        let initial = k == i + 1 && chars[i].is_uppercase() && chars[i] != 'I' && chars.get(k + 1).is_some_and(|c| *c == ' ');
        if (ABBREVIATIONS.contains(&word.as_str()) && chars.get(k + 1).is_some_and(|c| !c.is_alphanumeric())) || initial {
            k += 1;
        }
    }
    k
}

/// Whether a suffix that can follow a dot inside a name begins here: "js", "io".
fn short_suffix(chars: &[char], i: usize) -> bool {
    let end = chars[i..].iter().position(|c| !c.is_alphanumeric()).map_or(chars.len(), |n| i + n);
    let suffix: String = chars[i..end].iter().collect();
    matches!(
        suffix.as_str(),
        "js" | "io" | "com" | "org" | "net" | "ai" | "rs" | "py" | "dev" | "app" | "ts" | "g" | "e" | "m" | "eu" | "de" | "uk" | "co"
    )
}

/// Makes a token of the characters from `i` to `end`.
fn mark(text: &Clean, i: usize, end: usize, space: bool, pos: Pos) -> Token {
    let s: String = text.chars[i..end].iter().collect();
    Token {
        norm: s.clone(),
        lemma: s.clone(),
        text: s,
        pos,
        form: None,
        start: text.at[i],
        end: text.at[end - 1].saturating_add(1),
        space_before: space,
        capital: false,
        clitic: false,
        unknown: false,
        unit: 0,
        repaired: false,
    }
}

fn push_word(text: &Clean, i: usize, end: usize, space: bool, out: &mut Vec<Token>) {
    let lower: String = text.chars[i..end].iter().collect::<String>().to_lowercase();
    if let Some((_, parts)) = SPELLINGS.iter().find(|(w, _)| *w == lower)
        && !(lower.chars().count() == 1 && text.chars[i].is_uppercase())
    {
        for (k, part) in parts.iter().enumerate() {
            let mut t = mark(text, i, end, space && k == 0, Pos::Noun);
            (*part).clone_into(&mut t.norm);
            t.clitic = k > 0;
            t.capital = k == 0 && text.chars[i].is_uppercase();
            out.push(t);
        }
        return;
    }
    let chars: Vec<char> = text.chars[i..end].iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let cut = |tail: &str| {
        let n = tail.chars().count();
        (chars.len() > n && chars[chars.len() - n..].iter().collect::<String>() == tail).then(|| end - n)
    };
    let clitics = [("n't", "not"), ("'m", "am"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"), ("'s", "'s")];
    for (tail, full) in clitics {
        let Some(at) = cut(tail) else { continue };
        let mut head = word(text, i, at, space);
        if tail == "n't" {
            match head.norm.as_str() {
                "ca" => "can".clone_into(&mut head.norm),
                "wo" => "will".clone_into(&mut head.norm),
                "ai" => "is".clone_into(&mut head.norm),
                _ => {}
            }
        }
        out.push(head);
        let mut t = word(text, at, end, false);
        full.clone_into(&mut t.norm);
        t.clitic = true;
        t.capital = false;
        out.push(t);
        return;
    }
    out.push(word(text, i, end, space));
}

fn word(text: &Clean, i: usize, end: usize, space: bool) -> Token {
    let mut t = mark(text, i, end, space, Pos::Noun);
    t.norm = t.text.to_lowercase();
    t.capital = text.chars[i].is_uppercase();
    t
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::normalise::clean;

    fn norms(s: &str) -> Vec<String> {
        tokenise(&clean(s)).into_iter().map(|t| t.norm).collect()
    }

    #[test]
    fn contractions_are_split() {
        assert_eq!(norms("I don't, can't; won't."), ["i", "do", "not", ",", "can", "not", ";", "will", "not", "."]);
        assert_eq!(norms("im using Dave's C++ n Node.js 3.5"), ["i", "am", "using", "dave", "'s", "c++", "and", "node.js", "3.5"]);
        assert_eq!(norms("Dr. Who met J. Smith."), ["dr.", "who", "met", "j.", "smith", "."]);
        assert_eq!(norms("done.Then go"), ["done", ".", "then", "go"]);
        assert_eq!(norms("wow!!! really?!"), ["wow", "!!!", "really", "?!"]);
    }

    #[test]
    fn missing_apostrophe_is_restored() {
        assert_eq!(norms("My dads number is 7"), ["my", "dad", "'s", "number", "is", "7"]);
        assert_eq!(norms("my dads live here"), ["my", "dads", "live", "here"]);
        assert_eq!(norms("two dads number five"), ["two", "dads", "number", "five"]);
    }

    #[test]
    fn spans_are_code_points_of_the_original() {
        let s = "Zoë doesn’t 😀 like **Bob**";
        let original: Vec<char> = s.chars().collect();
        for t in tokenise(&clean(s)).iter().filter(|t| t.text.chars().all(char::is_alphabetic)) {
            let cut: String = original[t.start as usize..t.end as usize].iter().collect();
            assert_eq!(cut, t.text);
        }
    }
}
