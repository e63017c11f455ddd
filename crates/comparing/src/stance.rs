//! Reads what a sentence demands, permits or forbids, and on which side it stands between words that exclude each other.

/// What a sentence says must, may or must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    Required,
    Recommended,
    Allowed,
    Optional,
    Discouraged,
    Forbidden,
}

impl Stance {
    /// Whether both can be true of the same.
    pub(super) fn agrees(self, other: Self) -> bool {
        let group = |stance| match stance {
            Self::Optional => Self::Allowed,
            Self::Discouraged => Self::Forbidden,
            stance => stance,
        };
        group(self) == group(other)
    }

    fn denied(self) -> Self {
        match self {
            Self::Required => Self::Optional,
            Self::Recommended => Self::Discouraged,
            Self::Allowed => Self::Forbidden,
            Self::Optional => Self::Required,
            Self::Discouraged | Self::Forbidden => Self::Allowed,
        }
    }
}

/// How a cue stands in its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It is said of the subject: "cats are allowed".
    Predicate,
    /// It governs what the subject does: "tenants may keep cats".
    Modal,
    /// The subject does it to what follows: "the landlord allows cats".
    Active,
}

/// The words that give a sentence its stance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cue {
    pub(super) stance: Stance,
    pub(super) form: Form,
    /// As it is written, with its negation: "not allowed".
    pub(super) text: String,
    /// The place of the cue among the words.
    pub(super) at: usize,
}

/// Words that deny a sentence.
const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "nobody", "cannot", "neither", "nor", "without", "nothing", "nowhere", "non", "nicht", "kein", "keine",
    "keinen", "keiner", "keinem", "nie", "niemals",
];
/// Words that turn a refusal into a permission with a condition: "not allowed without consent".
const CONDITIONS: &[&str] = &["unless", "without", "except"];
/// Words behind "not" and "no" that make it a bound or an addition: "no later than", "not only".
const BOUNDS: &[&str] =
    &["more", "less", "fewer", "later", "earlier", "sooner", "longer", "shorter", "higher", "lower", "larger", "smaller"];
/// Verbs behind which "if" begins an indirect question.
const ASKING: &[&str] =
    &["ask", "asks", "asked", "asking", "wonder", "wondered", "know", "check", "clarify", "see", "tell", "enquire", "inquire"];
/// Words between such a verb and its "if", at most: "you asked me if".
const ASKED: usize = 2;
/// Phrases that begin an exception.
const EXCEPTIONS: &[&[&str]] = &[
    &["except"],
    &["unless"],
    &["excluding"],
    &["apart", "from"],
    &["with", "the", "exception", "of"],
    &["other", "than"],
    &["but", "not"],
    &["außer"],
];
/// Words of a condition, which may say in other words what an exception says.
const CONDITION_WORDS: &[&str] = &["if", "with", "only", "provided", "when", "subject", "once", "after"];
/// Words between a negation and its cue, at most.
const REACH: usize = 3;
/// The same for words that exclude others.
const SIDE_REACH: usize = 2;

const MODALS: &[(&str, Stance)] = &[
    ("must", Stance::Required),
    ("shall", Stance::Required),
    ("mustn't", Stance::Forbidden),
    ("shan't", Stance::Forbidden),
    ("should", Stance::Recommended),
    ("shouldn't", Stance::Discouraged),
    ("may", Stance::Allowed),
    ("can", Stance::Allowed),
    ("cannot", Stance::Forbidden),
    ("can't", Stance::Forbidden),
    ("needn't", Stance::Optional),
];
const PREDICATES: &[(&str, Stance)] = &[
    ("required", Stance::Required),
    ("mandatory", Stance::Required),
    ("obligatory", Stance::Required),
    ("compulsory", Stance::Required),
    ("necessary", Stance::Required),
    ("obliged", Stance::Required),
    ("recommended", Stance::Recommended),
    ("advised", Stance::Recommended),
    ("encouraged", Stance::Recommended),
    ("discouraged", Stance::Discouraged),
    ("allowed", Stance::Allowed),
    ("permitted", Stance::Allowed),
    ("permissible", Stance::Allowed),
    ("authorised", Stance::Allowed),
    ("authorized", Stance::Allowed),
    ("entitled", Stance::Allowed),
    ("welcome", Stance::Allowed),
    ("tolerated", Stance::Allowed),
    ("acceptable", Stance::Allowed),
    ("optional", Stance::Optional),
    ("voluntary", Stance::Optional),
    ("forbidden", Stance::Forbidden),
    ("prohibited", Stance::Forbidden),
    ("banned", Stance::Forbidden),
    ("disallowed", Stance::Forbidden),
    ("unacceptable", Stance::Forbidden),
];
const ACTIVES: &[(&str, Stance)] = &[
    ("requires", Stance::Required),
    ("require", Stance::Required),
    ("allow", Stance::Allowed),
    ("allows", Stance::Allowed),
    ("permit", Stance::Allowed),
    ("permits", Stance::Allowed),
    ("forbid", Stance::Forbidden),
    ("forbids", Stance::Forbidden),
    ("prohibit", Stance::Forbidden),
    ("prohibits", Stance::Forbidden),
    ("ban", Stance::Forbidden),
    ("bans", Stance::Forbidden),
];
/// Verbs that end the subject of a sentence.
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "do", "does", "did", "will", "would", "isn't", "aren't",
    "don't", "doesn't", "won't", "need", "needs", "includes", "include", "excludes", "exclude",
];

/// Words for anybody, which say nothing of a subject.
const ANYBODY: &[&str] = &["everybody", "everyone", "anybody", "anyone", "somebody", "someone", "any"];
/// Words before the verb of a rule: "they allow", "does not permit". Without one, "permit" and "ban" are nouns.
const BEFORE_VERB: &[&str] =
    &["to", "not", "never", "do", "does", "don't", "doesn't", "will", "would", "we", "they", "you", "i", "also", "may", "can"];
/// Words before a noun.
const BEFORE_NOUN: &[&str] = &["a", "an", "the", "this", "any", "no", "without", "of", "with", "your", "our", "their", "all"];

/// Words that exclude each other, as pairs of sides.
const AXES: &[(&[&str], &[&str])] = &[
    (&["included", "includes", "include", "inclusive"], &["excluded", "excludes", "exclude", "exclusive"]),
    (&["enabled", "enables", "activated", "active"], &["disabled", "disables", "deactivated", "inactive"]),
    (&["increase", "increases", "increased", "rise", "rises"], &["decrease", "decreases", "decreased", "reduced", "fall", "falls"]),
    (&["before"], &["after"]),
    (&["minimum", "least"], &["maximum", "most"]),
    (&["internal", "internally"], &["external", "externally"]),
    (&["accepted", "accepts", "accept"], &["rejected", "rejects", "refused", "refuses", "declined"]),
    (&["open", "opens", "opened"], &["closed", "closes"]),
    (&["always"], &["never"]),
    (&["above"], &["below"]),
    (&["inside", "indoors", "indoor"], &["outside", "outdoors", "outdoor"]),
    (&["online"], &["offline"]),
    (&["public", "publicly"], &["private", "privately"]),
    (&["temporary", "temporarily"], &["permanent", "permanently"]),
    (&["automatic", "automatically"], &["manual", "manually"]),
    (&["fixed"], &["variable"]),
    (&["gross"], &["net"]),
    (&["wired"], &["wireless"]),
    (&["all", "every", "each"], &["some"]),
    (&["yes"], &["no"]),
];

/// A word of [`AXES`] in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    axis: usize,
    is_first: bool,
    /// Whether its own negation has moved it to this side.
    pub(super) is_denied: bool,
    /// As it is written, with its negation.
    pub(super) text: String,
    /// The place of the word.
    pub(super) at: usize,
}

impl Side {
    /// Whether both are words of one axis.
    pub(super) fn concerns(&self, other: &Self) -> bool {
        self.axis == other.axis
    }

    /// Whether both stand on the same side of one axis.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.axis == other.axis && self.is_first == other.is_first
    }
}

fn word(words: &[String], at: usize) -> &str {
    words.get(at).map_or("", String::as_str)
}

/// Whether the word at a place denies something, and is no bound such as "no later than" or addition such as "not only".
pub(super) fn is_negation(words: &[String], at: usize) -> bool {
    let (this, next) = (word(words, at), word(words, at + 1));
    let is_bound = BOUNDS.contains(&next) && word(words, at + 2) == "than" || matches!(next, "only" | "just");
    (NEGATIONS.contains(&this) || this.ends_with("n't")) && !is_bound
}

/// Returns the cues of a sentence in their order. Words are in lower case, with plain apostrophes.
pub(super) fn cues(words: &[String]) -> Vec<Cue> {
    let find = |list: &[(&str, Stance)], word: &str| list.iter().find(|(cue, _)| *cue == word).map(|(_, stance)| *stance);
    let mut found = Vec::new();
    // What somebody asks is not said.
    let asked = question_start(words).unwrap_or(words.len());
    for (at, this) in words.iter().enumerate().take(asked) {
        let next = word(words, at + 1);
        let to = next == "to";
        let read = match this.as_str() {
            "have" | "has" | "had" | "need" | "needs" | "ought" if to => Some((Stance::Required, Form::Modal)),
            // "Smoking is not on": no cue.
            this => find(MODALS, this)
                .map(|stance| (stance, Form::Modal))
                .or_else(|| find(PREDICATES, this).map(|stance| (stance, if to { Form::Modal } else { Form::Predicate })))
                .or_else(|| find(ACTIVES, this).filter(|_| is_verb(words, at)).map(|stance| (stance, Form::Active))),
        };
        let Some((stance, form)) = read else { continue };
        // "Must be allowed" has one stance: what must be.
        let is_modal = find(MODALS, this).is_some();
        if !is_modal && found.last().is_some_and(|last: &Cue| last.form == Form::Modal && at - last.at <= 2) {
            continue;
        }
        let (denied, text) = denial(words, at, is_modal);
        let condition = words.iter().skip(at).find(|w| CONDITIONS.contains(&w.as_str())).filter(|_| denied && stance == Stance::Allowed);
        let text = condition.map_or(text.clone(), |condition| format!("{text} … {condition}"));
        let stance = match (denied && condition.is_none(), stance, is_modal) {
            // "Must not" forbids, "not required" leaves open.
            (true, Stance::Required, true) => Stance::Forbidden,
            (true, stance, _) => stance.denied(),
            (false, stance, _) => stance,
        };
        found.push(Cue { stance, form, text, at });
    }
    found
}

/// Returns the place of the indirect question: "you asked whether you may keep a cat".
fn question_start(words: &[String]) -> Option<usize> {
    let is_asked =
        |at: usize| words.get(at.saturating_sub(ASKED + 1)..at).unwrap_or_default().iter().any(|word| ASKING.contains(&word.as_str()));
    words.iter().enumerate().position(|(at, word)| word == "whether" || (word == "if" && is_asked(at)))
}

/// Whether a sentence only reports what somebody asked: "You asked whether you may keep a cat."
pub(super) fn reports_question(words: &[String]) -> bool {
    const ASKED_BEFORE: &[&str] = &["asked", "wondered", "enquired", "inquired"];
    question_start(words).is_some_and(|at| words.iter().take(at).any(|word| ASKED_BEFORE.contains(&word.as_str())))
}

/// Returns the place of the exception that a sentence makes, unless it gives a refusal its condition: "not allowed unless".
pub(super) fn exception_start(words: &[String], cues: &[Cue]) -> Option<usize> {
    let begins =
        |at: usize| EXCEPTIONS.iter().any(|phrase| phrase.iter().enumerate().all(|(n, expected)| word(words, at + n) == *expected));
    let is_condition = |at: usize| cues.iter().any(|cue| cue.text.contains('…') && cue.text.ends_with(word(words, at)));
    (0..words.len()).find(|at| begins(*at)).filter(|at| !is_condition(*at))
}

/// Whether a word belongs to the beginning of an exception.
pub(super) fn begins_exception(word: &str) -> bool {
    EXCEPTIONS.iter().any(|phrase| phrase.contains(&word))
}

/// Whether a sentence has a condition.
pub(super) fn is_conditional(words: &[String]) -> bool {
    words.iter().any(|word| CONDITION_WORDS.contains(&word.as_str()) || CONDITIONS.contains(&word.as_str()))
}

/// Whether "permit" at a place is a verb: "they permit", "the owner permits", but not "a permit".
fn is_verb(words: &[String], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| word(words, before));
    match word(words, at).ends_with('s') {
        true => !BEFORE_NOUN.contains(&before),
        false => BEFORE_VERB.contains(&before) || (before.ends_with('s') && !BEFORE_NOUN.contains(&before)),
    }
}

/// Whether a word names anybody.
pub(super) fn is_anybody(word: &str) -> bool {
    ANYBODY.contains(&word)
}

/// Whether the word at a place is denied: by a negation closely before it, behind a modal verb, or by "no" anywhere before it. Also returns
/// the word with its negation.
fn denial(words: &[String], at: usize, is_modal: bool) -> (bool, String) {
    let this = word(words, at);
    let joined = |from: usize, to: usize| words.get(from..=to).unwrap_or_default().join(" ");
    if is_modal && let Some(not) = (at + 1..=at + 2).find(|n| is_negation(words, *n) && !CONDITIONS.contains(&word(words, *n))) {
        return (true, joined(at, not));
    }
    let is_denying =
        |n: &usize| is_negation(words, *n) && !matches!(word(words, *n), "without" | "can't" | "cannot" | "mustn't" | "shan't");
    let near = (at.saturating_sub(REACH)..at).rev().find(is_denying).filter(|n| !is_modal || word(words, *n) != "not");
    if let Some(not) = near.filter(|not| !matches!(word(words, *not), "no" | "neither" | "nor" | "nobody" | "none")) {
        return (true, joined(not, at));
    }
    let subject = (0..at).rev().find(|n| is_negation(words, *n) && matches!(word(words, *n), "no" | "neither" | "nobody" | "none"));
    match subject {
        Some(no) => (true, format!("{} … {this}", word(words, no))),
        None => (false, this.to_owned()),
    }
}

/// Returns the words of a sentence that exclude others.
pub(super) fn sides(words: &[String]) -> Vec<Side> {
    let mut found = Vec::new();
    for (at, this) in words.iter().enumerate() {
        let this = this.as_str();
        // "Least" and "most" are bounds only behind "at", and "no" is an answer only at the end of a row.
        let is_other = matches!(this, "least" | "most") && at.checked_sub(1).is_none_or(|before| word(words, before) != "at");
        let is_part = matches!(this, "no" | "yes") && at + 1 < words.len();
        if is_other || is_part {
            continue;
        }
        let of = |(first, second): &(&[&str], &[&str])| first.contains(&this).then_some(true).or(second.contains(&this).then_some(false));
        let Some((axis, is_first)) = AXES.iter().enumerate().find_map(|(axis, words)| Some((axis, of(words)?))) else { continue };
        let not = (at.saturating_sub(SIDE_REACH)..at).rev().find(|n| is_negation(words, *n) && word(words, *n) != "without");
        let text = not.map_or_else(|| this.to_owned(), |not| words.get(not..=at).unwrap_or_default().join(" "));
        found.push(Side { axis, is_first: is_first != not.is_some(), is_denied: not.is_some(), text, at });
    }
    found
}

/// Returns the place of the first verb or cue: the subject is before it.
pub(super) fn predicate_start(words: &[String], cues: &[Cue]) -> Option<usize> {
    let verb = words.iter().position(|word| VERBS.contains(&word.as_str()));
    verb.into_iter().chain(cues.first().map(|cue| cue.at)).min()
}

/// Whether one word is the other with a negative prefix: "refundable" and "non-refundable".
pub(super) fn is_negated_form(word: &str, other: &str) -> bool {
    const PREFIXES: &[&str] = &["un", "in", "im", "il", "ir", "non", "dis"];
    const ENDINGS: &[&str] = &["able", "ible", "ed", "al", "ant", "ent", "ive", "ate", "ous", "ing", "ly", "id", "ect", "ete", "ite", "le"];
    let positive = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).map(|rest| rest.trim_start_matches('-'));
    positive == Some(other)
        && other.len() > 3
        && (word.starts_with("non") || ENDINGS.iter().any(|ending| other.ends_with(ending)) || other == "paid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.to_lowercase().split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn stances_are_read_with_their_negation() {
        use Stance::{Allowed, Discouraged, Forbidden, Optional, Recommended, Required};
        for (text, stance, said) in [
            ("Cats are allowed.", Allowed, "allowed"),
            ("Cats are not allowed.", Forbidden, "not allowed"),
            ("Cats are no longer permitted.", Forbidden, "no … permitted"),
            ("No cats are allowed.", Forbidden, "no … allowed"),
            ("Neither cats nor dogs may live here.", Forbidden, "neither … may"),
            ("Tenants may not keep cats.", Forbidden, "may not"),
            ("Tenants may keep cats.", Allowed, "may"),
            ("Tenants mustn't smoke.", Forbidden, "mustn't"),
            ("A deposit is required.", Required, "required"),
            ("A deposit is not required.", Optional, "not required"),
            ("You don't have to pay a deposit.", Optional, "don't have"),
            ("You have to pay a deposit.", Required, "have"),
            ("A signature isn't mandatory.", Optional, "isn't mandatory"),
            ("A signature should be given.", Recommended, "should"),
            ("Ties should not be worn.", Discouraged, "should not"),
            ("Ties are optional.", Optional, "optional"),
            ("Smoking is prohibited.", Forbidden, "prohibited"),
            ("Smoking is not prohibited.", Allowed, "not prohibited"),
            ("Pets are not allowed without consent.", Allowed, "not allowed … without"),
            ("Tenants may not keep pets unless the landlord agrees.", Allowed, "may not … unless"),
            ("The landlord does not allow cats.", Forbidden, "not allow"),
            ("No later than Friday the form must be sent.", Required, "must"),
            ("Tenants must be allowed to leave.", Required, "must"),
        ] {
            let found = cues(&words(text));
            assert_eq!(found.first().map(|c| (c.stance, c.text.as_str())), Some((stance, said)), "{text}");
        }
        assert!(cues(&words("The rent is 900 euros.")).is_empty());
        assert!(cues(&words("Drivers need a permit and a ban is possible.")).is_empty());
    }

    #[test]
    fn excluding_words_stand_on_sides() {
        let agree = |a: &str, b: &str| {
            let (a, b) = (sides(&words(a)), sides(&words(b)));
            a.iter().any(|a| b.iter().any(|b| a.agrees(b)))
        };
        assert!(agree("Heating is excluded.", "Heating is not included."));
        assert!(!agree("Heating is excluded.", "Heating is included."));
        assert!(!agree("The rent doesn't include heating.", "The rent includes heating."));
        assert!(!agree("Waterproof: yes", "Waterproof: no"));
        assert!(sides(&words("Most of them have no dog.")).is_empty());
    }

    #[test]
    fn negative_prefixes_deny_words() {
        assert!(
            is_negated_form("nonrefundable", "refundable") && is_negated_form("unlimited", "limited") && is_negated_form("unpaid", "paid")
        );
        for (word, other) in [("income", "come"), ("inform", "form"), ("unless", "less"), ("until", "til"), ("discount", "count")] {
            assert!(!is_negated_form(word, other), "{word}");
        }
    }
}
