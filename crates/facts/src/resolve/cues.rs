//! Finds cues in the words around a name: "my boss John", "John from accounting", "another John", "I'm John", "Katherine, or Kate".
//!
//! Pure, and linear in the length of the text: only a few words on either side of a name are read.

use super::{name_score::edit_distance, roles::Role};
use recall_domain::{EntityType, FirstPerson, Mention, Span};

/// Characters read on either side of a name.
const REACH: usize = 80;

/// Endings of the words between a name and its other name: "Ingeborg, everyone calls her Inga".
const CALLING: [&str; 10] = [
    "calls her",
    "calls him",
    "calls it",
    "call her",
    "call him",
    "call it",
    "called her",
    "called him",
    "known to everyone as",
    "who goes by",
];

/// A text as code points.
pub(crate) struct Text(Vec<char>);

/// The owner of a role: in "my sister", the speaker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// "my sister"
    Speaker,
    /// "Anna's sister"
    Named(String),
    /// "her sister"
    Other,
}

/// The cues that distinguish entities with the same name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NameCues {
    /// "my boss John": owner and word of the role.
    pub(crate) role: Option<(Owner, String)>,
    /// "coach Max": a word that says which one, without an owner.
    pub(crate) qualifier: Option<String>,
    /// "John from accounting"
    pub(crate) from: Option<String>,
    /// "another John", "a guy called John"
    pub(crate) another: bool,
    /// "the other John"
    pub(crate) other: bool,
    /// "I'm John", "call me Jo"
    pub(crate) speaker: bool,
    /// "John is my colleague too"
    pub(crate) adds_role: bool,
}

impl NameCues {
    /// Returns the cues as a description: "boss", "friend from school", "Anna's brother".
    pub(crate) fn description(&self) -> Option<String> {
        let role = self.role.as_ref().and_then(|(owner, role)| match owner {
            Owner::Speaker => Some(role.clone()),
            Owner::Named(name) => Some(format!("{name}'s {role}")),
            Owner::Other => None,
        });
        // Only a role describes for good: "swim Max" says which one, but not what he is.
        let role = role.or_else(|| self.qualifier.clone().filter(|word| Role::of(word).is_some()));
        match (role, &self.from) {
            (Some(role), Some(from)) => Some(format!("{role} from {from}")),
            (role, from) => role.or_else(|| from.as_ref().map(|f| format!("from {f}"))),
        }
    }

    /// Parses a description made by [`NameCues::description`].
    pub(crate) fn from_description(description: Option<&str>) -> Self {
        let Some(text) = description else { return Self::default() };
        let (role, from) = match text.strip_prefix("from ") {
            Some(from) => ("", Some(from)),
            None => text.split_once(" from ").map_or((text, None), |(role, from)| (role, Some(from))),
        };
        let role = match role.split_once("'s ") {
            Some((name, role)) => Some((Owner::Named(name.to_owned()), role.to_owned())),
            None => (!role.is_empty()).then(|| (Owner::Speaker, role.to_owned())),
        };
        Self { role, from: from.map(str::to_owned), ..Self::default() }
    }

    /// Returns the role that the entity has for the speaker.
    pub(crate) fn own_role(&self) -> Option<Role> {
        self.role.as_ref().filter(|(owner, _)| *owner == Owner::Speaker).and_then(|(_, role)| Role::of(role))
    }
}

impl Text {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.chars().collect())
    }

    fn slice(&self, start: usize, end: usize) -> String {
        self.0.get(start.min(self.0.len())..end.min(self.0.len())).unwrap_or_default().iter().collect()
    }

    /// Returns the words before a position in its sentence, nearest first, in lower case. A comma counts as a word.
    fn before(&self, place: u32) -> Vec<String> {
        let end = place as usize;
        let text = self.slice(end.saturating_sub(REACH), end);
        let sentence = text.rsplit(['.', '!', '?', ':', ';', '\n']).next().unwrap_or_default().to_owned();
        let mut words = tokens(&sentence);
        words.reverse();
        words
    }

    /// Returns the words after a position in its sentence, in lower case.
    fn after(&self, place: u32) -> Vec<String> {
        let start = place as usize;
        let text = self.slice(start, start + REACH);
        tokens(text.split(['.', '!', '?', ':', ';', '\n']).next().unwrap_or_default())
    }

    /// Finds the cues around a mention. A mentioned role ("my sister") is read like a role before a name.
    pub(crate) fn cues(&self, m: &Mention) -> NameCues {
        let (before, after) = (self.before(m.span.start), self.after(m.span.end));
        let word = |i: usize| before.get(i).map_or("", String::as_str);
        let next = |i: usize| after.get(i).map_or("", String::as_str);
        let mut cues = NameCues { from: find_origin(&before, &after), speaker: is_introduction(&before, &after), ..NameCues::default() };
        let unnamed = Role::of(&m.name);
        cues.role = match (&m.description, unnamed) {
            (Some(role), _) => self.owner(m.span, role, &before, &after).map(|o| (o, role.to_lowercase())),
            (None, Some(role)) => {
                // "Mom called", or "my sister" with an adjective between: no other owner is named.
                let bare = before.first().is_none_or(|w| !matches!(w.as_str(), "a" | "an" | "the"));
                let owner = find_owner(&before).or_else(|| (bare && role.class == super::roles::RoleClass::Kin).then_some(Owner::Speaker));
                owner.map(|o| (o, m.name.to_lowercase()))
            }
            // "Elizabeth is my aunt."
            (None, None) if matches!(next(0), "is" | "was" | "'s" | "’s") && matches!(next(1), "my" | "our") => {
                let noun = after.iter().skip(2).take(3).cloned().collect::<Vec<_>>();
                (1..=noun.len()).rev().map(|n| noun[..n].join(" ")).find(|w| Role::of(w).is_some()).map(|w| (Owner::Speaker, w))
            }
            (None, None) => {
                let nouns = [word(0).to_owned(), format!("{} {}", word(1), word(0))];
                nouns.into_iter().rev().find(|w| Role::of(w).is_some()).and_then(|w| {
                    let skip = w.split(' ').count();
                    find_owner(before.get(skip..).unwrap_or_default()).map(|o| (o, w))
                })
            }
        };
        if cues.role.is_none() && m.entity_type == EntityType::Person && unnamed.is_none() {
            // "Marco the butcher,"
            let apposition = after.get(1).filter(|w| next(0) == "the" && is_noun(w) && matches!(next(2), "" | ","));
            cues.role = apposition.map(|noun| (Owner::Speaker, noun.clone()));
            cues.qualifier = before.first().filter(|w| cues.role.is_none() && is_noun(w) && self.is_written(w, m.span.start)).cloned();
        }
        let called = matches!(word(0), "called" | "named") && !matches!(word(1), "is" | "am" | "i" | "he" | "she" | "they" | "was");
        cues.another = word(0) == "another" || (matches!(word(0), "different" | "second" | "new") && matches!(word(1), "a" | "the"));
        cues.another |= called && before.iter().skip(1).take(5).any(|w| matches!(w.as_str(), "a" | "an" | "another" | "some"));
        // "He's also a Martin", "the landlord is also called Sam".
        cues.another |= matches!((word(1), word(0)), ("also", "a" | "called" | "named"));
        cues.other = word(0) == "other" && word(1) == "the";
        cues.adds_role = super::roles::is_added(&after);
        cues
    }

    /// Whether a word in lower case is written so before a position. A word at the start of a sentence may be anything.
    fn is_written(&self, word: &str, place: u32) -> bool {
        let end = place as usize;
        self.slice(end.saturating_sub(REACH), end).trim_end().ends_with(word)
    }

    /// Finds the owner of a role that stands before the name ("my boss John", "Anna's boss John") or after it ("John, my boss,").
    fn owner(&self, span: Span, role: &str, before: &[String], after: &[String]) -> Option<Owner> {
        let length = role.split_whitespace().count();
        let last = role.split_whitespace().last().unwrap_or_default().to_lowercase();
        if let Some(at) = before.iter().take(4).position(|w| *w == last) {
            let owner = find_owner(before.get(at + length..).unwrap_or_default());
            return match owner {
                Some(Owner::Named(_)) => self.possessor(span, &last).map(Owner::Named).or(Some(Owner::Other)),
                owner => owner,
            };
        }
        let at = after.iter().take(6).position(|w| *w == last)?;
        let owner: Vec<String> = after.get(..at.saturating_sub(length - 1)).unwrap_or_default().iter().rev().cloned().collect();
        find_owner(&owner)
    }

    /// Returns the name before "'s", as written.
    fn possessor(&self, span: Span, role: &str) -> Option<String> {
        let end = span.start as usize;
        let text = self.slice(end.saturating_sub(REACH), end).replace('’', "'");
        let (before, _) = text.rsplit_once(role).or_else(|| text.rsplit_once("'s"))?;
        let (name, _) = before.rsplit_once("'s").unwrap_or((before, ""));
        let name = name.split_whitespace().last()?;
        name.chars().next().is_some_and(char::is_uppercase).then(|| name.to_owned())
    }

    /// Whether the words between two mentions say that both name one entity.
    pub(crate) fn alias_statement(&self, a: &Mention, b: &Mention) -> AliasStatement {
        let (start, end) = (a.span.end as usize, b.span.start as usize);
        if end < start || end - start > REACH {
            return AliasStatement::None;
        }
        let between = self.slice(start, end).to_lowercase();
        let between = between.trim();
        let after = self.after(b.span.end);
        let closes = self.0.get(b.span.end as usize) == Some(&')');
        match between.trim_start_matches(['(', ',', ' ']) {
            "aka"
            | "a.k.a."
            | "also known as"
            | "also called"
            | "is short for"
            | "short for"
            | "nicknamed"
            | "is a nickname for"
            | "goes by"
            | "who goes by"
            | "formerly"
            | "formerly known as"
            | "stands for"
            | "is also known as"
            | "is nicknamed"
            | "was nicknamed"
            | "is the same as"
            | "prefers to be called"
            | "is now called"
            | "was renamed to"
            | "is really"
            | "is actually" => AliasStatement::Explicit,
            // "Nedu, that's Chinedu", "Nana = Efua"
            "that's" | "that is" | "thats" | "=" if a.entity_type == EntityType::Person && b.entity_type == EntityType::Person => {
                AliasStatement::Explicit
            }
            // "Pip is Philippa": a person is a person.
            "is" if a.entity_type == EntityType::Person && b.entity_type == EntityType::Person => AliasStatement::IfSimilar,
            // "Everyone calls my sister Katrien 'Trinny'."
            "'" | "\"" | "“" | "‘"
                if self.before(a.span.start).iter().take(4).any(|w| matches!(w.as_str(), "call" | "calls" | "called")) =>
            {
                AliasStatement::Explicit
            }
            // "My manager is Henrike. Everyone calls her Rike."
            words if words.rsplit_once(['.', '!']).is_some_and(|(before, said)| before.is_empty() && is_calling(said.trim())) => {
                AliasStatement::Explicit
            }
            words if CALLING.iter().any(|c| words.ends_with(c)) && !words.contains(['.', '!', '?']) => AliasStatement::Explicit,
            _ if after.first().is_some_and(|w| w == "for") && after.get(1).is_some_and(|w| w == "short") => AliasStatement::Explicit,
            "or" if after.first().is_some_and(|w| w == "for") && after.get(1).is_some_and(|w| w == "short") => AliasStatement::Explicit,
            "or" if between.starts_with(',') => AliasStatement::IfSimilar,
            "" if between.starts_with('(') && closes => AliasStatement::IfSimilar,
            // "He's called Marco. Marco Tan."
            words if is_repeated(&a.name, &b.name) && words.chars().all(|c| ".!?,:;-–—…".contains(c)) => AliasStatement::Explicit,
            _ => AliasStatement::None,
        }
    }

    /// Whether the words around two mentions correct the name of one person: "he's Desmond, not Derek".
    pub(crate) fn corrects_name(&self, right: &Mention, wrong: &Mention) -> bool {
        let (start, end) = (right.span.end as usize, wrong.span.start as usize);
        if end < start || end - start > 12 || right.entity_type != wrong.entity_type {
            return false;
        }
        let between = self.slice(start, end).to_lowercase();
        let between = between.trim_matches(|c: char| !c.is_alphabetic());
        let before = self.before(right.span.start);
        let word = |i: usize| before.get(i).map_or("", String::as_str);
        let person = matches!(word(0), "he's" | "she's" | "they're") || word(0) == "is" && matches!(word(1), "he" | "she" | "name");
        let spelled = || edit_distance(&right.name.to_lowercase(), &wrong.name.to_lowercase()) <= 2 && right.name.chars().count() > 3;
        between == "not" && (person || spelled() && matches!(word(0), "" | "," | "it's" | "is" | "as" | "spelled" | "with"))
    }

    /// Whether the text contains a word of the first person.
    pub(crate) fn first_person(&self) -> bool {
        let mut word = String::new();
        for c in self.0.iter().chain(&[' ']) {
            if c.is_alphabetic() {
                word.extend(c.to_lowercase());
            } else {
                if FirstPerson::of(&word).is_some() || word == "im" {
                    return true;
                }
                word.clear();
            }
        }
        false
    }
}

/// Whether a word may be a noun that tells two people apart.
fn is_noun(word: &str) -> bool {
    word.chars().count() > 2 && word.chars().all(char::is_lowercase) && !Role::of(word).is_some_and(Role::is_used_as_name)
}

/// Whether a longer name begins with the words of a name.
fn is_repeated(name: &str, full: &str) -> bool {
    full.to_lowercase().strip_prefix(&name.to_lowercase()).is_some_and(|rest| rest.starts_with(' '))
}

/// Whether a sentence begins with "everyone calls her" or "we call him".
fn is_calling(words: &str) -> bool {
    CALLING.iter().any(|c| words.strip_suffix(c).is_some_and(|who| who.split_whitespace().count() == 1))
}

/// What a text says about two names being aliases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AliasStatement {
    /// "Kate is short for Katherine."
    Explicit,
    /// "Katherine (Kate)": aliases if one name can be a form of the other.
    IfSimilar,
    None,
}

fn tokens(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('’', "'").replace(',', " , ");
    text.split_whitespace().map(|w| w.trim_matches(|c: char| "\"“”()*_".contains(c)).to_owned()).filter(|w| !w.is_empty()).collect()
}

/// Finds the owner in the words before something, nearest first. Adjectives may stand between.
fn find_owner(before: &[String]) -> Option<Owner> {
    for word in before.iter().take(3) {
        match word.as_str() {
            "my" | "our" => return Some(Owner::Speaker),
            "his" | "her" | "their" | "your" | "whose" => return Some(Owner::Other),
            "," | "a" | "an" | "the" | "and" | "is" | "was" | "of" | "with" => return None,
            w if w.ends_with("'s") && !matches!(w, "it's" | "he's" | "she's" | "that's" | "there's" | "here's") => {
                return Some(Owner::Named(w.trim_end_matches("'s").to_owned()));
            }
            _ => {}
        }
    }
    None
}

/// Returns the origin in "John from accounting". Verbs of moving and knowing exclude it: "I picked up Tom from school".
fn find_origin(before: &[String], after: &[String]) -> Option<String> {
    const EXCLUDING_VERBS: [&str; 27] = [
        "know",
        "knows",
        "knew",
        "met",
        "meet",
        "remember",
        "recognised",
        "pick",
        "picked",
        "fetch",
        "collect",
        "collected",
        "got",
        "get",
        "received",
        "brought",
        "bring",
        "took",
        "take",
        "moved",
        "drove",
        "borrowed",
        "bought",
        "hear",
        "heard",
        "back",
        "flew",
    ];
    if after.first().is_none_or(|w| w != "from") || before.iter().take(4).any(|w| EXCLUDING_VERBS.contains(&w.as_str())) {
        return None;
    }
    let mut rest = after.iter().skip(1).skip_while(|w| matches!(w.as_str(), "the" | "my" | "our" | "a"));
    let first = rest.next()?.trim_end_matches("'s");
    let second = rest.next().map_or("", String::as_str);
    let placed =
        matches!(second, "team" | "department" | "dept" | "office" | "school" | "university" | "club" | "class" | "church" | "floor");
    let names = first.chars().all(|c| c.is_alphanumeric() || c == '-');
    names.then(|| if placed { format!("{first} {second}") } else { first.to_owned() })
}

/// "I'm John", "my name is John", "call me Jo", "John here".
fn is_introduction(before: &[String], after: &[String]) -> bool {
    let word = |i: usize| before.get(i).map_or("", String::as_str);
    let next = after.first().map_or("", String::as_str);
    if before.iter().any(|w| matches!(w.as_str(), "don't" | "not" | "never" | "stop" | "if" | "wish")) || next.starts_with("'s") {
        return false;
    }
    // "My full name is", but neither "my boss's name is" nor "my dog name is".
    let own =
        word(2) == "my" || word(3) == "my" && matches!(word(2), "actual" | "first" | "full" | "given" | "last" | "middle" | "own" | "real");
    let known = (word(1), word(0)) == ("me", "as") && before.iter().take(4).any(|w| w == "my");
    let named = matches!((word(1), word(0)), ("name", "is") | ("name's", _)) && own || known;
    let called =
        matches!((word(1), word(0)), ("call" | "calls" | "called", "me")) || (word(2) == "i" && word(1) == "go" && word(0) == "by");
    let short = word(0) == "name's" && word(1) == "my";
    // "I'm John and", but neither "I'm John Smith's" nor "I am Spider fan".
    let said = matches!(word(0), "i'm" | "im") || (word(0) == "am" && word(1) == "i") || (word(0) == "called" && word(1) == "i'm");
    let ends = matches!(next, "" | "," | "and" | "from" | "but" | "by" | "here" | "btw" | "i" | "nice" | "-" | "–" | "—");
    let here = before.is_empty() && next == "here" && after.get(1).is_none_or(|w| w == ",");
    named || called || short || (said && ends) || here
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_domain::EntityType;

    fn mention(text: &str, name: &str, description: Option<&str>) -> Mention {
        let start = text[..text.find(name).unwrap_or_else(|| panic!("{name}"))].chars().count() as u32;
        let span = Span { start, end: start + name.chars().count() as u32 };
        Mention { name: name.into(), entity_type: EntityType::Person, span, confidence: 1.0, description: description.map(Into::into) }
    }

    fn cues(text: &str, name: &str, description: Option<&str>) -> NameCues {
        Text::of(text).cues(&mention(text, name, description))
    }

    #[test]
    fn roles_are_found_with_their_owner() {
        for (text, name, role, expected) in [
            ("My boss John hates meetings.", "John", Some("boss"), Some("boss")),
            ("John, my boss, hates meetings.", "John", Some("boss"), Some("boss")),
            ("I met Anna's brother John.", "John", Some("brother"), Some("Anna's brother")),
            ("She saw her brother John.", "John", Some("brother"), None),
            ("Elizabeth is my aunt.", "Elizabeth", None, Some("aunt")),
            ("My little sister Mia sings.", "Mia", Some("sister"), Some("sister")),
            ("my sister called", "sister", None, Some("sister")),
            ("Mom called", "Mom", None, Some("mom")),
            ("Tom from work likes football.", "Tom", None, Some("from work")),
            ("My friend Tom from university is here.", "Tom", Some("friend"), Some("friend from university")),
            ("Ana from the design team left.", "Ana", None, Some("from design team")),
            ("I picked up Tom from school.", "Tom", None, None),
            ("Anna knows Tom from school.", "Tom", None, None),
            ("John called.", "John", None, None),
            ("I asked John the butcher, of course.", "John", None, Some("butcher")),
            ("I told John the whole story.", "John", None, None),
        ] {
            let cues = cues(text, name, role);
            assert_eq!(cues.description().as_deref(), expected, "{text}");
            let again = NameCues::from_description(expected);
            assert_eq!((again.role, again.from), (cues.role.filter(|(o, _)| *o != Owner::Other), cues.from), "{text}");
        }
    }

    #[test]
    fn words_before_a_name_tell_people_apart_and_only_roles_describe() {
        for (text, qualifier, description) in [
            ("The house of coach John is big.", Some("coach"), Some("coach")),
            ("The house of bass John is big.", Some("bass"), None),
            ("Coach John called.", None, None),
            ("I told mum John is late.", None, None),
        ] {
            let cues = cues(text, "John", None);
            assert_eq!((cues.qualifier.as_deref(), cues.description().as_deref()), (qualifier, description), "{text}");
        }
    }

    #[test]
    fn introductions_of_the_speaker_are_found() {
        for (text, name, expected) in [
            ("I am John.", "John", true),
            ("Hi, I'm Kate from Utrecht.", "Kate", true),
            ("My name is John and I live in Ghent.", "John", true),
            ("my name's John", "John", true),
            ("Call me Jo.", "Jo", true),
            ("Everyone calls me Jo.", "Jo", true),
            ("John here, how are you?", "John", true),
            ("I'm John's brother.", "John", false),
            ("John called me.", "John", false),
            ("Don't call me John.", "John", false),
            ("I'm with John.", "John", false),
            ("His name is John.", "John", false),
            ("My boss's name is John.", "John", false),
            ("My dog name is John.", "John", false),
            ("My full name is John.", "John", true),
            ("I am sorry, John.", "John", false),
        ] {
            assert_eq!(cues(text, name, None).speaker, expected, "{text}");
        }
    }

    #[test]
    fn another_bearer_of_the_name_is_recognized() {
        assert!(cues("I met a different John at the gym.", "John", None).another);
        assert!(cues("A new hire named John started.", "John", None).another);
        assert!(!cues("My son is called John.", "John", None).another);
        assert!(cues("The other John called.", "John", None).other);
    }

    #[test]
    fn stated_aliases_are_recognized() {
        for (text, a, b, expected) in [
            ("Kate is short for Katherine.", "Kate", "Katherine", AliasStatement::Explicit),
            ("Katherine, or Kate as we call her, sings.", "Katherine", "Kate as", AliasStatement::IfSimilar),
            ("Robert (Bob) sings.", "Robert", "Bob", AliasStatement::IfSimilar),
            ("Robert and Bob sing.", "Robert", "Bob", AliasStatement::None),
            ("Robert or Bob can help.", "Robert", "Bob", AliasStatement::None),
            ("Anna, also known as Nan, sings.", "Anna", "Nan,", AliasStatement::Explicit),
            ("His name is Marco. Marco Tan.", "Marco", "Marco Tan", AliasStatement::Explicit),
            ("Our daughter Philomena, 14, who goes by Mena", "Philomena", "Mena", AliasStatement::Explicit),
            ("Marco left. Marco Tan stays.", "Marco", "Marco Tan", AliasStatement::None),
            ("My sister Katrien is nicknamed Trinny.", "Katrien", "Trinny", AliasStatement::Explicit),
            ("Everyone calls my sister Katrien 'Trinny'.", "Katrien", "Trinny", AliasStatement::Explicit),
            ("I met Katrien 'Trinny' there.", "Katrien", "Trinny", AliasStatement::None),
        ] {
            assert_eq!(Text::of(text).alias_statement(&mention(text, a, None), &mention(text, b, None)), expected, "{text}");
        }
    }

    #[test]
    fn first_person_words_are_recognized() {
        for (text, expected) in [("John called me.", true), ("I'm late", true), ("Anna likes tea.", false), ("Mexico", false)] {
            assert_eq!(Text::of(text).first_person(), expected, "{text}");
        }
    }
}
