//! Compares a yes-or-no question with the clauses of a sentence. Only a clause with the same subject, verb and objects in the same order is a yes or a no.
//!
//! "My dad has cancer" does not say whether I have it, "Jayden asked me" not whether I asked Jayden, and "Vera brought the salad and Ludo brought the
//! drinks" not whether Vera brought the drinks. Such a sentence may still be quoted.

use super::{
    assertion::{is_negation, is_qualifier},
    lexicon::{is_answered_by, is_function_word, is_particle, is_person_noun},
    question::{Question, QuestionKind},
    times::is_time,
    words::{Word, is_first_person_subject, is_past_form},
};

/// Words that begin another clause.
const CONJUNCTIONS: &[&str] = &["and", "but", "because", "so", "or", "although", "though", "however", "then"];
/// Words that begin a clause which is not stated as true by itself.
const SUBORDINATORS: &[&str] = &[
    "that", "if", "whether", "when", "while", "unless", "until", "than", "as", "before", "after", "who", "which", "where", "how", "why",
    "what", "like", "nor", "neither",
];
/// Words before a subject that say nothing about what follows. Words for times are others.
const OPENERS: &[&str] = &[
    "yes",
    "yeah",
    "well",
    "ok",
    "okay",
    "hi",
    "hey",
    "hello",
    "btw",
    "fyi",
    "now",
    "finally",
    "recently",
    "lately",
    "currently",
    "on",
    "in",
    "at",
    "this",
    "last",
    "next",
    "every",
    "week",
    "month",
    "year",
    "honestly",
    "luckily",
    "unfortunately",
    "sadly",
    "actually",
    "anyway",
];
/// Adverbs that may stand between a subject and its verb.
const ADVERBS: &[&str] =
    &["always", "usually", "often", "really", "just", "also", "finally", "now", "currently", "recently", "already", "even", "both"];
/// Words before a verb that say that it was so before and is no longer.
const ENDS: &[&[&str]] = &[&["used", "to"], &["no", "longer"], &["stopped"], &["quit"], &["gave", "up"], &["given", "up"]];
/// Words of what is done again, or has an end that is said elsewhere.
const RESUMED: &[&str] = &["again", "started", "restarted", "resumed", "back", "almost", "nearly", "if", "when", "didn't", "never", "not"];
/// Longest subject of a question, in words: "my little sister".
const MAX_SUBJECT: usize = 3;

/// The auxiliary of a question, which says what verb form answers it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Auxiliary {
    Do,
    Did,
    Is,
    Was,
    Has,
    Modal(usize),
}

/// Modal verbs, by what they ask for: what is possible, allowed or needed.
const MODALS: [&[&str]; 6] = [
    &["can", "can't", "cannot", "cant"],
    &["could", "couldn't", "couldnt"],
    &["may"],
    &["might"],
    &["must", "mustn't", "mustnt"],
    &["should", "shouldn't", "shouldnt"],
];

impl Auxiliary {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "do" | "does" | "don't" | "doesn't" => Self::Do,
            "did" | "didn't" => Self::Did,
            "am" | "is" | "are" | "isn't" | "aren't" => Self::Is,
            "was" | "were" | "wasn't" | "weren't" => Self::Was,
            "have" | "has" | "haven't" | "hasn't" => Self::Has,
            word => Self::Modal(modal(word)?),
        })
    }

    /// Whether the verb forms between a subject and its verb fit.
    fn fits(self, between: &[&str], verb: &str) -> bool {
        let has = |words: &[&str]| between.iter().any(|word| words.contains(word));
        let is_now = has(&["am", "is", "are", "'m", "'s", "'re", "isn't", "aren't", "ain't"]);
        let was = has(&["was", "were", "wasn't", "weren't", "been", "got"]);
        let has_done = has(&["have", "has", "had", "'ve", "haven't", "hasn't", "hadn't"]);
        let intends = has(&["will", "'ll", "'d", "would", "won't", "going", "gonna", "wouldn't", "should", "shall"]);
        let modal = between.iter().find_map(|word| modal(word));
        match self {
            Self::Do => !(is_now || was || has_done || intends || modal.is_some() || has(&["did", "didn't"]) || is_past_form(verb)),
            Self::Did => !(is_now || was || intends || modal.is_some()) && (is_past_form(verb) || has_done || has(&["didn't"])),
            Self::Is => is_now && !(was || has_done || intends || modal.is_some()),
            Self::Was => was && !(is_now || intends || modal.is_some()),
            Self::Has => !(is_now || intends || modal.is_some()) && (has_done || was || is_past_form(verb)),
            Self::Modal(group) => modal == Some(group),
        }
    }
}

fn modal(word: &str) -> Option<usize> {
    MODALS.iter().position(|group| group.contains(&word))
}

/// Returns whether a clause of the sentence says yes or no to a question; `None` if it says something else.
fn verdict(question: &Question, text: &str, sentence: &[Word]) -> Option<bool> {
    // "Is she still pregnant?": what was said may be over.
    if question.words.iter().any(|w| matches!(w.plain.as_str(), "still" | "yet" | "already" | "anymore" | "now" | "currently")) {
        return None;
    }
    let auxiliary = Auxiliary::of(&question.words.first()?.plain)?;
    decide(question, auxiliary, &clauses(text, sentence))
}

/// Returns the yes or the no of a sentence that is clear, and of another one a no if it tells that what is asked for is over.
pub(super) fn verdict_or_end(question: &Question, text: &str, sentence: &[Word], is_clear: bool) -> Option<bool> {
    match question.kind {
        QuestionKind::YesNo if is_clear => verdict(question, text, sentence),
        QuestionKind::YesNo => is_over(question, text, sentence).then_some(false),
        _ => None,
    }
}

/// Whether a clause of the sentence says that what a question asks for was so before: "I used to play tennis", "I've stopped smoking".
fn is_over(question: &Question, text: &str, sentence: &[Word]) -> bool {
    let auxiliary = question.words.first().and_then(|w| Auxiliary::of(&w.plain));
    let Some(auxiliary) = auxiliary.filter(|a| matches!(a, Auxiliary::Do | Auxiliary::Is)) else { return false };
    let plain = |i: usize| sentence.get(i).map_or("", |w| w.plain.as_str());
    let Some((at, length)) = (0..sentence.len()).find_map(|i| {
        let end = ENDS.iter().find(|end| end.iter().enumerate().all(|(k, word)| plain(i + k) == *word))?;
        Some((i, end.len()))
    }) else {
        return false;
    };
    // What was taken up again is not over.
    if sentence.iter().any(|w| RESUMED.contains(&w.plain.as_str())) {
        return false;
    }
    // Without the words of the end, the sentence says what was so.
    let mut was: Vec<Word> = sentence.to_vec();
    was.drain(at..at + length);
    if let Some(be) = was.get_mut(at).filter(|w| w.plain == "be") {
        "am".clone_into(&mut be.plain);
    }
    // "I've stopped smoking", "she has given up smoking"
    match at.checked_sub(1).and_then(|i| was.get_mut(i)) {
        Some(have) if matches!(have.plain.as_str(), "have" | "has") => drop(was.remove(at - 1)),
        Some(subject) if subject.plain.ends_with("'ve") => subject.plain.truncate(subject.plain.len() - "'ve".len()),
        _ => {}
    }
    // "I used to play chess but now I play go": only the clause with these words tells what is over.
    let Some(anchor) = was.get(at).map(|w| w.span) else { return false };
    // "I stopped playing chess with Tom" and "on Fridays": it may go on without.
    let is_asked = |w: &Word| question.words.iter().any(|own| own.plain == w.plain);
    let is_year_or_month = |w: Option<&Word>| w.is_some_and(|w| is_time(&w.plain) || w.plain.starts_with(|c: char| c.is_ascii_digit()));
    let limits = |clause: &[Word], i: usize| {
        let word = &clause[i];
        let is_end = matches!(word.plain.as_str(), "until" | "since" | "up") || word.plain == "in" && is_year_or_month(clause.get(i + 1));
        is_particle(&word.plain) && !is_asked(word) && !is_end
    };
    let is_ended = |clause: &&[Word]| clause.iter().any(|w| w.span == anchor) && !(0..clause.len()).any(|i| limits(clause, i));
    decide(question, auxiliary, &clauses(text, &was).into_iter().filter(is_ended).collect::<Vec<_>>()) == Some(true)
}

/// Returns what the first clause says that has subject, verb and objects of the question.
fn decide(question: &Question, auxiliary: Auxiliary, clauses: &[&[Word]]) -> Option<bool> {
    (1..=MAX_SUBJECT).find_map(|length| {
        let (subject, rest) = (question.words.get(1..=length)?, question.words.get(length + 1..)?);
        clauses.iter().find_map(|clause| compare(question, auxiliary, subject, rest, clause))
    })
}

/// Splits a sentence into the clauses that it states as true.
fn clauses<'s>(text: &str, sentence: &'s [Word]) -> Vec<&'s [Word]> {
    let (mut all, mut start, mut is_stated) = (Vec::new(), 0, true);
    for i in 0..=sentence.len() {
        let word = sentence.get(i).map(|w| w.plain.as_str());
        let is_after_mark = i > 0
            && sentence.get(i).is_some_and(|next| {
                let between = text.get(sentence[i - 1].span.1..next.span.0).unwrap_or_default();
                between.contains([',', ';', ':', '(', ')', '—', '–', '"', '“', '”', '\n']) || between.contains(" - ")
            });
        let is_conjunction = word.is_some_and(|w| CONJUNCTIONS.contains(&w));
        let is_subordinator = word.is_some_and(|w| SUBORDINATORS.contains(&w));
        if i == sentence.len() || is_after_mark || is_conjunction || is_subordinator {
            all.extend(sentence.get(start..i).filter(|clause| is_stated && !clause.is_empty()));
            (start, is_stated) = (i + usize::from(is_conjunction || is_subordinator), !is_subordinator);
        }
    }
    all
}

/// Compares a clause with a question, divided into subject and the rest.
fn compare(question: &Question, auxiliary: Auxiliary, subject: &[Word], rest: &[Word], clause: &[Word]) -> Option<bool> {
    let is_subject_at =
        |i: usize| subject.iter().enumerate().all(|(k, w)| clause.get(i + k).is_some_and(|c| is_same_word(w, c, auxiliary)));
    let at = (0..clause.len()).find(|&i| is_subject_at(i))?;
    let opens = |w: &Word| OPENERS.contains(&w.plain.as_str()) || is_time(&w.plain);
    let is_asked_modal = |w: &Word| modal(&w.plain).is_some_and(|group| auxiliary == Auxiliary::Modal(group));
    let weakens = |w: &Word| is_qualifier(&w.plain) && !is_asked_modal(w);
    if !clause.get(..at)?.iter().all(opens) || clause.iter().any(weakens) {
        return None;
    }
    let end = at + subject.len();
    let is_said = |w: &&Word| {
        !(is_function_word(w) || question.words.iter().position(|own| own.span == w.span).is_some_and(|i| question.in_period(i)))
            || w.stem == "have"
    };
    let wanted: Vec<&Word> = rest.iter().filter(is_said).collect();
    let first = (end..clause.len()).find(|&i| wanted.first().is_some_and(|w| answers(w, &clause[i])))?;
    let mut from = first + 1;
    for word in wanted.iter().skip(1) {
        from = (from..clause.len()).find(|&i| answers(word, &clause[i]))? + 1;
    }
    // Nothing but forms of verbs and adverbs stands between the subject and its verb, and adjectives before a noun: "a trained nurse".
    let (between, last) = (clause.get(end..first)?, clause.get(end - 1)?);
    let is_asked = |w: &Word| rest.iter().any(|own| own.plain == w.plain);
    let is_number = |w: &Word| w.plain.starts_with(|c: char| c.is_ascii_digit());
    let determiner = between.iter().position(|w| matches!(w.plain.as_str(), "a" | "an" | "the" | "my" | "our") || is_number(w));
    let is_adjective = |i: usize, w: &Word| {
        auxiliary == Auxiliary::Is
            && determiner.is_some_and(|d| d <= i)
            && !is_particle(&w.plain)
            && !w.possessive
            && !is_person_noun(&w.plain)
    };
    let is_between = |(i, w): (usize, &Word)| {
        (is_function_word(w) && (!is_particle(&w.plain) || is_asked(w)))
            || is_negation(&w.plain)
            || modal(&w.plain).is_some()
            || ADVERBS.contains(&w.plain.as_str())
            || is_adjective(i, w)
    };
    // "A dog allergy" is no dog.
    let closes = |w: &Word| {
        is_function_word(w) || is_particle(&w.plain) || opens(w) || ADVERBS.contains(&w.plain.as_str()) || w.plain.ends_with("ly")
    };
    let has_particle = |p: &Word| clause.iter().skip(end).any(|w| w.plain == p.plain);
    if !between.iter().enumerate().all(is_between)
        || !clause.get(from).is_none_or(closes)
        || !rest.iter().filter(|w| is_particle(&w.plain)).all(has_particle)
    {
        return None;
    }
    let is_contracted = last.possessive && !subject.last().is_some_and(|w| w.possessive);
    // "Ada's sister is pregnant" says nothing about Ada.
    if is_contracted && between.iter().any(|w| matches!(w.plain.as_str(), "is" | "has" | "was" | "had" | "been")) {
        return None;
    }
    let contracted = if is_contracted { Some("'s") } else { last.plain.find('\'').and_then(|i| last.plain.get(i..)) };
    let forms: Vec<&str> = between.iter().map(|w| w.plain.as_str()).chain(contracted).collect();
    let negations = clause.iter().filter(|w| is_negation(&w.plain)).count();
    let is_denied = between.iter().any(|w| is_negation(&w.plain));
    let fits = auxiliary.fits(&forms, &clause[first].plain);
    (fits && negations == usize::from(is_denied)).then_some(!is_denied)
}

/// Whether a word of a clause is that of the subject of a question: "I" is also "I'm" and "we".
fn is_same_word(asked: &Word, said: &Word, auxiliary: Auxiliary) -> bool {
    let bare = |w: &Word| w.plain.split('\'').next().unwrap_or_default().to_owned();
    let is_speaker = |w: &Word| is_first_person_subject(&w.plain);
    // "Ada's allergic" has the form of a possessive.
    let is_contraction = said.possessive && matches!(auxiliary, Auxiliary::Is | Auxiliary::Has);
    (is_speaker(asked) && is_speaker(said)) || (bare(asked) == bare(said) && (asked.possessive == said.possessive || is_contraction))
}

fn answers(asked: &Word, said: &Word) -> bool {
    asked.stem == said.stem || is_answered_by(&asked.plain, &said.plain)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use recall_domain::{Ontology, Timestamp};

    use super::*;
    use crate::{cues::CueIndex, words::words};

    fn said(text: &str, question: &str) -> Option<bool> {
        let cues = CueIndex::new(&Ontology::parse(crate::tests::ONTOLOGY).unwrap());
        verdict(&Question::read(question, Timestamp::default(), &[], &[], &cues), text, &words(text))
    }

    #[test]
    fn clause_with_the_same_subject_and_verb_is_a_yes_or_a_no() {
        for (text, question, expected) in [
            ("I take vitamin D every morning.", "Do I take vitamin D?", true),
            ("I can play the guitar.", "Can I play the guitar?", true),
            ("Ada can swim but she can't dive.", "Can Ada swim?", true),
            ("I'm 20 weeks pregnant.", "Am I pregnant?", true),
            ("Vera brought the salad and Ludo brought the drinks.", "Did Ludo bring the drinks?", true),
            ("I asked Jayden to prom.", "Did I ask Jayden to prom?", true),
            ("I've been vaccinated against rabies.", "Have I been vaccinated against rabies?", true),
            ("My boyfriend speaks Polish.", "Does my boyfriend speak Polish?", true),
            ("I should call my dentist.", "Should I call my dentist?", true),
            ("I don't smoke.", "Do I smoke?", false),
            ("I mustn't eat nuts.", "Must I eat nuts?", false),
            ("I'm a trained nurse.", "Am I a nurse?", true),
            ("Ada's allergic to nuts.", "Is Ada allergic to nuts?", true),
            ("We didn't sell the car.", "Did we sell the car?", false),
        ] {
            assert_eq!(said(text, question), Some(expected), "{text} {question}");
        }
    }

    #[test]
    fn what_used_to_be_so_is_over() {
        let is_over = |text: &str, question: &str| {
            let cues = CueIndex::new(&Ontology::parse(crate::tests::ONTOLOGY).unwrap());
            is_over(&Question::read(question, Timestamp::default(), &[], &[], &cues), text, &words(text))
        };
        for (text, question) in [
            ("I used to play tennis.", "Do I play tennis?"),
            ("I used to play tennis until 2019.", "Do I still play tennis?"),
            ("I've stopped smoking.", "Do I smoke?"),
            ("I gave up smoking in May.", "Do I smoke?"),
            ("My brother used to sing in a choir.", "Does my brother sing in a choir?"),
            ("I no longer sing in a choir.", "Do I sing in a choir?"),
        ] {
            assert!(is_over(text, question), "{text} {question}");
        }
        for (text, question) in [
            ("I used to play tennis.", "Do I play golf?"),
            ("I used to play tennis.", "Did I play tennis?"),
            ("I play tennis.", "Do I play tennis?"),
            ("My brother used to play tennis.", "Do I play tennis?"),
            ("I stopped smoking but started again.", "Do I smoke?"),
            ("I never stopped smoking.", "Do I smoke?"),
            ("I used to play chess but now I play go.", "Do I play go?"),
            ("I stopped playing chess with Tom.", "Do I play chess?"),
            ("I used to sing in a choir.", "Do I sing?"),
            ("I'm used to playing tennis.", "Do I play tennis?"),
            ("I quit Bosch.", "Do I work at Bosch?"),
        ] {
            assert!(!is_over(text, question), "{text} {question}");
        }
    }

    #[test]
    fn other_clauses_are_neither() {
        for (text, question) in [
            ("I'm allergic to penicillin.", "Can I take penicillin?"),
            ("My dad has cancer.", "Do I have cancer?"),
            ("My wife is pregnant.", "Am I pregnant?"),
            ("My boyfriend smokes.", "Do I smoke?"),
            ("Jayden asked me to prom.", "Did I ask Jayden to prom?"),
            ("Our cat was bitten by the neighbours' dog Brutus.", "Did our cat bite Brutus?"),
            ("Vera brought the salad and Ludo brought the drinks.", "Did Vera bring the drinks?"),
            ("I speak Polish, my boyfriend speaks only English.", "Does my boyfriend speak Polish?"),
            ("I can't come to Nele's party.", "Do I come to Nele's party?"),
            ("Neither Pia nor Jannik has been vaccinated against rabies.", "Has Jannik been vaccinated against rabies?"),
            ("Tarek is too ill to travel.", "Can Tarek travel?"),
            ("Last night I dreamed that I had won a gold medal.", "Did I win a gold medal?"),
            ("Imagine I was a pilot.", "Was I a pilot?"),
            ("Elif thinks that Murat stole the money.", "Did Murat steal the money?"),
            ("Jule moves out in February.", "Did Jule move out?"),
            ("I take vitamin D every morning.", "Should I take vitamin D?"),
            ("I'm married to a nurse.", "Am I a nurse?"),
            ("I'm dating a nurse.", "Am I a nurse?"),
            ("Ada's sister is pregnant.", "Is Ada pregnant?"),
            ("I have a dog allergy.", "Do I have a dog?"),
            ("I should take the pills.", "Must I take the pills?"),
            ("I might go to Rome.", "May I go to Rome?"),
            ("If I win, I buy a boat.", "Do I win?"),
            ("I smoked in my youth.", "Do I smoke?"),
            ("I'm 20 weeks pregnant.", "Am I still pregnant?"),
        ] {
            assert_eq!(said(text, question), None, "{text} {question}");
        }
    }
}
