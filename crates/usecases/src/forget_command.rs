//! Reads a message as a command to forget. Pure.
//!
//! Precision comes first: a deletion by mistake costs more than a missed command. "Forget" is about the memory. Other verbs need an object that
//! the memory may have: "my address". Permissions such as "you can forget" need one that only the memory has: "what I said", or "from your memory".

use recall_domain::value::SpokenDate;

/// What a command wants forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant<'t> {
    /// What these words name.
    Words(&'t str),
    /// The fact that these words name. "Delete my photos" is not about a message that has the words.
    Fact(&'t str),
    /// What the user said last: "scratch that".
    LastMessage,
}

/// How sure the verb of a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// "Forget" is about the memory.
    Forget,
    /// "Delete" may be about files.
    Delete,
    /// "Don't remember" may leave out "I".
    KeepOut,
    /// "Scratch that" is a whole command.
    TakeBack,
}

/// Who is addressed by the words before the verb.
#[derive(Clone, Copy, Default)]
struct Lead {
    /// "Please", "I want you to"
    orders: bool,
    /// "You can", which may say that something is hopeless.
    permits: bool,
    /// "Can you", which may ask for an ability.
    asks: bool,
}

/// Words before the verb. A beginning before another one that it starts with comes later.
const OPENERS: &[&str] = &["ok", "okay", "oh", "so", "and", "also", "now", "actually", "sorry", "hey", "just", "go ahead and", "wait"];
const ORDERS: &[&str] =
    &["please", "pls", "kindly", "i want you to", "i'd like you to", "i would like you to", "i need you to", "i'd rather you"];
const PERMISSIONS: &[&str] = &["you can", "you could", "you may", "you should"];
const REQUESTS: &[&str] = &["can you", "could you", "would you"];
/// Verbs with what they are.
const VERBS: &[(&str, Verb)] = &[
    ("forget", Verb::Forget),
    ("stop remembering", Verb::Forget),
    ("i don't want you to remember", Verb::Forget),
    ("i do not want you to remember", Verb::Forget),
    ("delete", Verb::Delete),
    ("erase", Verb::Delete),
    ("remove", Verb::Delete),
    ("wipe", Verb::Delete),
    ("don't remember", Verb::KeepOut),
    ("do not remember", Verb::KeepOut),
    ("scratch that", Verb::TakeBack),
    ("strike that", Verb::TakeBack),
];
/// Ends of a command that say nothing about what is meant. A longer one that ends with another comes first.
const TAILS: &[&str] = &["thank you", "thanks", "please", "pls", "for good", "forever", "permanently", "completely", "again", "ok", "okay"];
/// Ends of a command that show that the memory is meant.
const FROM_MEMORY: &[&str] = &[
    "from memory",
    "from the memory",
    "from your memory",
    "from your memories",
    "from your records",
    "from your notes",
    "from your knowledge",
    "from your mind",
];
/// Objects that mean what the user said last, if somebody orders to forget them: "forget that" may mean "never mind", and "don't remember that"
/// may leave out "I".
const POINTED: &[&str] = &["that", "this"];
/// Objects that mean what the user said last.
const LAST_MESSAGE: &[&str] = &[
    "that message",
    "this message",
    "that last message",
    "my last message",
    "the last message",
    "my previous message",
    "the previous message",
    "what i just said",
    "what i just told you",
    "what i just wrote",
    "the last thing i said",
    "the last thing i told you",
];
/// Objects that no memory can find, or after which "forget" takes something back.
const NO_OBJECTS: &[&str] = &["it", "me", "about it", "about me", "about that", "about this"];
/// Objects of a question for an ability: "Can you forget things?"
const ABILITIES: &[&str] =
    &["things", "stuff", "something", "anything", "facts", "messages", "people", "names", "what i tell you", "what i say"];

/// Words that show that "forget" only changes the subject: "forget about Bob for now".
const ASIDES: &[&str] = &["for now", "for a moment", "for the moment", "for a second", "for a minute"];
/// Words after a comma that go on with what is meant: "Forget Bob, who was my landlord".
const LINKS: &[&str] = &["and", "or", "who", "whom", "whose", "which", "that", "where", "when"];
/// Most words of a name in a list.
const MAX_NAME_WORDS: usize = 3;

/// Returns what a message asks to forget, if it is nothing but that command.
pub(super) fn forget_command(text: &str) -> Option<Meant<'_>> {
    let closed = text.trim().trim_end_matches(['.', '!', '?']);
    if closed.contains(['\n', '?', '!']) || closed.contains(". ") {
        return None;
    }
    let (lead, verb, object) = split_command(closed)?;
    let (object, of_memory) = strip_tail(object);
    let plain = object.to_lowercase().replace('’', "'");
    if verb == Verb::TakeBack {
        return plain.is_empty().then_some(Meant::LastMessage);
    }
    if plain.is_empty() || NO_OBJECTS.contains(&plain.as_str()) || lead.asks && ABILITIES.contains(&plain.as_str()) {
        return None;
    }
    let is_pointed = POINTED.contains(&plain.as_str());
    if is_pointed || LAST_MESSAGE.contains(&plain.as_str()) {
        // "Delete that" may be about a text on the screen.
        let is_meant = verb != Verb::Delete && (!is_pointed || lead.orders);
        return (is_meant || of_memory).then_some(Meant::LastMessage);
    }
    let spoken = format!(" {} ", plain.replace(',', " "));
    let is_aside = plain.starts_with("about ") && ASIDES.iter().any(|aside| spoken.contains(&format!(" {aside} ")));
    if object.split(',').skip(1).any(|part| !goes_on(part)) || is_of_doing(&plain) {
        return None;
    }
    let is_meant = match verb {
        Verb::Forget => !lead.permits || of_memory || is_said(&plain),
        Verb::KeepOut => lead.orders || is_said(&plain),
        Verb::Delete | Verb::TakeBack => of_memory || is_of_memory(&plain) || is_owned(object),
    };
    let meant = if verb == Verb::Delete && !of_memory && is_owned(object) { Meant::Fact(object) } else { Meant::Words(object) };
    (is_meant && !is_aside).then_some(meant)
}

/// Whether what follows a comma belongs to what is meant. Anything else may be a new clause: "forget the car, we'll take the train".
fn goes_on(part: &str) -> bool {
    let words: Vec<&str> = part.split_whitespace().collect();
    let is_link = |word: &&str| LINKS.contains(&word.to_lowercase().as_str());
    let is_name =
        |word: &&str| word.starts_with(char::is_uppercase) && !matches!(*word, "I" | "I'm" | "I’m" | "I'll" | "I’ll" | "I'd" | "I’d");
    words.first().is_none_or(|first| is_link(first) || is_name(first) && words.len() <= MAX_NAME_WORDS)
}

/// Whether an object is something to do or to listen to, and nothing known: "forget about calling Hugo", "forget to call", "what my boss said".
fn is_of_doing(object: &str) -> bool {
    let object = object.strip_prefix("about ").unwrap_or(object);
    let words: Vec<&str> = object.split_whitespace().collect();
    match words.as_slice() {
        ["to", ..] => true,
        ["what", who, ..] => {
            !matches!(*who, "i" | "i'm" | "i've" | "we" | "my" | "our" | "you")
                || matches!(words.last(), Some(&"said" | &"says" | &"thinks")) && *who == "my"
        }
        [first, _, ..] => first.ends_with("ing") && !first.ends_with("thing"),
        _ => false,
    }
}

/// Removes the words of a command from a request, if it has them: "Forget my dog" and "my dog" mean the same.
pub(super) fn strip_command(request: &str) -> &str {
    let rest = request.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '!' | '?' | '"' | '“' | '”' | ','));
    split_command(rest).map_or(rest, |(_, _, object)| strip_tail(object).0)
}

/// Splits a command into what comes before its verb, the verb, and its object.
fn split_command(text: &str) -> Option<(Lead, Verb, &str)> {
    let (mut lead, mut rest) = (Lead::default(), text.trim());
    loop {
        if let Some((verb, object)) = VERBS.iter().find_map(|(words, verb)| Some((*verb, after(rest, words)?))) {
            return Some((lead, verb, object));
        }
        let of = |list: &[&str]| list.iter().find_map(|words| after(rest, words));
        rest = if let Some(next) = of(OPENERS) {
            next
        } else if let Some(next) = of(ORDERS) {
            lead.orders = true;
            next
        } else if let Some(next) = of(REQUESTS) {
            lead.asks = true;
            next
        } else {
            lead.permits = true;
            of(PERMISSIONS)?
        };
    }
}

/// Removes what an object ends with besides its own words. Returns the rest, and whether it was "from your memory".
fn strip_tail(object: &str) -> (&str, bool) {
    let (mut rest, mut of_memory) = (object.trim(), false);
    loop {
        rest = rest.trim_end_matches([',', ' ', '"', '”']);
        let without = |ends: &[&str]| ends.iter().find_map(|end| before(rest, end));
        let from_memory = without(FROM_MEMORY);
        of_memory |= from_memory.is_some();
        match from_memory.or_else(|| without(TAILS)) {
            Some(shorter) => rest = shorter,
            None => return (rest, of_memory),
        }
    }
}

/// Whether an object belongs to the user or to somebody with a name: "my weight", "Mira's birthday", but not "Monday's meeting" and "my emails on the
/// server".
fn is_owned(object: &str) -> bool {
    let words: Vec<&str> = object.split_whitespace().collect();
    let [first, _, ..] = words[..] else { return false };
    let is_person = |owner: &str| owner.starts_with(char::is_uppercase) && SpokenDate::parse(owner).is_none();
    let has_owner = matches!(first.to_lowercase().as_str(), "my" | "our")
        || first.strip_suffix("'s").or_else(|| first.strip_suffix("’s")).is_some_and(is_person);
    has_owner && !words.iter().any(|word| matches!(*word, "from" | "on" | "off" | "in" | "into" | "at" | "to"))
}

/// Whether an object is one that a memory has: everything about something, where something is, or what was said.
fn is_of_memory(object: &str) -> bool {
    let words: Vec<&str> = object.split_whitespace().collect();
    match words.as_slice() {
        ["everything" | "anything" | "all"] => true,
        ["everything" | "anything" | "all", next, ..] => matches!(*next, "about" | "you" | "i" | "we" | "that" | "mentions"),
        ["the", "fact", "that", ..] => true,
        ["what" | "where" | "when" | "who" | "how" | "which", "i" | "i'm" | "we" | "my" | "you" | "old", ..] => true,
        _ => is_said(object),
    }
}

/// Whether an object is what the user said: "that I have a dog", "what I told you about Ben".
fn is_said(object: &str) -> bool {
    let words: Vec<&str> = object.split_whitespace().filter(|word| *word != "just").collect();
    match words.as_slice() {
        ["that", "i" | "i'm" | "i've" | "we" | "my" | "our", _, ..] => true,
        ["what" | "everything" | "anything" | "all", "i" | "we", verb, ..] => matches!(*verb, "said" | "told" | "wrote" | "mentioned"),
        _ => false,
    }
}

/// Returns what follows a phrase at the beginning of a text. An apostrophe may be curly.
pub(super) fn after<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
    let mut rest = text.chars();
    for wanted in phrase.chars() {
        let is_same = rest.next().is_some_and(|c| c.eq_ignore_ascii_case(&wanted) || c == '’' && wanted == '\'');
        if !is_same {
            return None;
        }
    }
    let rest = rest.as_str();
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-'));
    ends.then(|| rest.trim_start_matches([' ', ',', ':', '\t', '\n']))
}

/// Returns what comes before a phrase at the end of a text.
pub(super) fn before<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
    let at = text.len().checked_sub(phrase.len())?;
    let (start, end) = (text.get(..at)?, text.get(at..)?);
    let begins = start.is_empty() || start.ends_with([' ', ',']);
    (begins && end.eq_ignore_ascii_case(phrase)).then(|| start.trim_end_matches([' ', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_forget_are_recognized() {
        for (text, words) in [
            ("Forget that I have a dog.", "that I have a dog"),
            ("Please forget everything about Oakwood!", "everything about Oakwood"),
            ("Can you forget my address?", "my address"),
            ("Delete everything about Tom", "everything about Tom"),
            ("Forget Bob, Ann and Carl, please.", "Bob, Ann and Carl"),
            ("Forget my plans for today.", "my plans for today"),
            ("Forget Bob, who was my landlord.", "Bob, who was my landlord"),
            ("I’d like you to forget my salary.", "my salary"),
            ("ok, you can forget what I told you about Mira", "what I told you about Mira"),
            ("Remove the tennis club from your memory", "the tennis club"),
            ("Please don't remember my blood type.", "my blood type"),
            ("Don’t remember that I smoke", "that I smoke"),
            ("I don't want you to remember where I work.", "where I work"),
            ("Erase the fact that I come from Spain", "the fact that I come from Spain"),
        ] {
            assert_eq!(forget_command(text), Some(Meant::Words(words)), "{text}");
        }
    }

    #[test]
    fn what_may_be_elsewhere_must_be_a_fact() {
        for (text, words) in [
            ("Delete my shoe size, thanks", "my shoe size"),
            ("please erase Mira's birthday", "Mira's birthday"),
            ("Delete my account", "my account"),
        ] {
            assert_eq!(forget_command(text), Some(Meant::Fact(words)), "{text}");
        }
        assert_eq!(forget_command("Delete my account from your memory"), Some(Meant::Words("my account")));
    }

    #[test]
    fn commands_about_the_last_message_are_recognized() {
        for text in [
            "Scratch that.",
            "Please don't remember that",
            "please forget this",
            "You can forget what I just said.",
            "Sorry, forget what I just said.",
            "Remove that from your memory",
        ] {
            assert_eq!(forget_command(text), Some(Meant::LastMessage), "{text}");
        }
    }

    #[test]
    fn other_messages_about_forgetting_are_no_commands() {
        for text in [
            "Forget it",
            "forget",
            "Forget that.",
            "You can forget that.",
            "Don't remember that.",
            "You can forget Tom's party",
            "You can forget my birthday",
            "Delete yesterday's photos",
            "Delete Monday's meeting",
            "Forget Rome, I'm going to Paris",
            "Forget the car, we'll take the train",
            "Forget my boat, yours is way bigger!",
            "Forget running, my knee hurts",
            "Forget about calling Hugo",
            "Forget living in Leeds",
            "Forget to call my mum and she gets mad",
            "Forget what my boss said",
            "Can you forget?",
            "Can you forget things?",
            "Forget about me",
            "Delete the last paragraph",
            "Delete that",
            "Delete the old drafts from the laptop",
            "Remove my name from the list",
            "Remove Mira from the team",
            "Forget what I said. That was my brother.",
            "I forget names",
            "I want to forget her",
            "I forgot my umbrella",
            "Don't forget that I have a dog",
            "Don't remember where I parked",
            "Don't remember my locker code",
            "You can forget about a raise",
            "You can forget Rome",
            "Forget about Bob for now, what about dinner?",
            "Forget Bob, let’s talk about Ann",
            "Scratch that, I live in Rome",
            "Remind me to delete my photos",
        ] {
            assert_eq!(forget_command(text), None, "{text}");
        }
    }

    #[test]
    fn command_is_stripped_from_a_request() {
        for (request, words) in [
            ("Forget everything about Oakwood!", "everything about Oakwood"),
            ("please, forget that I have a dog.", "that I have a dog"),
            ("delete Oakwood from your memory", "Oakwood"),
            ("my dog", "my dog"),
            ("Please Please Me", "Please Please Me"),
            ("forget", ""),
            ("Öffne", "Öffne"),
        ] {
            assert_eq!(strip_command(request), words, "{request}");
        }
    }
}
