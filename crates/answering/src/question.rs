//! Parses a question: names, relation, type of answer and period. Does not use facts.

use super::{
    answer_type::AnswerType,
    asking::asking_part,
    assertion::is_negation,
    class::{Class, attribute, find_class},
    cues::{CueIndex, CueMatch, Form},
    lexicon::{is_asking_word, is_function_word},
    names::{NameMention, extend_names, find_names},
    period::{self, PeriodMention},
    words::{Word, is_first_person, is_past_form, words},
};
use recall_domain::{Entity, EntityId, EntityType, FirstPerson, Timestamp};

/// The kind of question, by its question word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QuestionKind {
    Who,
    Where,
    What,
    When,
    /// Why, how and how much: only messages can answer these, not facts.
    Reason,
    /// "Does…", "Is…".
    YesNo,
}

/// The time that a question is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tense {
    /// The present, or any time.
    Open,
    /// Only the past.
    Past,
}

/// A parsed question.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) words: Vec<Word>,
    pub(super) kind: QuestionKind,
    pub(super) answer_type: AnswerType,
    pub(super) tense: Tense,
    pub(super) named: Vec<NameMention>,
    /// Entities that only specify the time: "before Ghent".
    pub(super) time_anchors: Vec<EntityId>,
    pub(super) cues: Vec<CueMatch>,
    /// Worse readings of the same words.
    pub(super) weaker_cues: Vec<CueMatch>,
    pub(super) class: Class,
    /// Position of what is asked of a thing: "what breed is the dog". An answer names it or one of its kind.
    pub(super) attribute: Option<usize>,
    /// The days that it is about.
    pub(super) period: Option<PeriodMention>,
    /// Whether it offers alternatives: "tea or coffee".
    pub(super) is_choice: bool,
    /// The names after "before", known or not: the stems of their words.
    pub(super) successor: Vec<String>,
    /// Whether its verb has a past form.
    pub(super) is_past: bool,
    /// Whether its verb is in the perfect, which includes what has ended: "who have I worked for".
    pub(super) is_perfect: bool,
    /// Whether it asks for what does not hold: "what don't I like".
    pub(super) asks_for_denials: bool,
    /// Whether no verb of it is compared: a claim, or "which Sam was our landlord".
    pub(super) ignores_verb: bool,
    /// Positions of further filler words: words of the question form, and alternatives.
    filler: Vec<usize>,
}

fn question_kind(words: &[Word], answer_type: &AnswerType) -> QuestionKind {
    match answer_type {
        AnswerType::Person => return QuestionKind::Who,
        AnswerType::Place => return QuestionKind::Where,
        AnswerType::Time => return QuestionKind::When,
        AnswerType::Count(_) | AnswerType::Name | AnswerType::Occupation => return QuestionKind::What,
        AnswerType::Amount | AnswerType::Age | AnswerType::Duration | AnswerType::Frequency | AnswerType::Reason | AnswerType::Manner => {
            return QuestionKind::Reason;
        }
        AnswerType::Any => {}
    }
    if words.iter().any(|w| matches!(w.plain.as_str(), "what" | "what's" | "which" | "whose")) {
        return QuestionKind::What;
    }
    match words.first().map(|w| w.plain.as_str()) {
        // "Do you know my name?" asks for the name, and "do you know that I moved" for a yes.
        Some("do" | "can" | "could") if asks_whether_known(words) => QuestionKind::What,
        Some("tell" | "show" | "list" | "name" | "describe" | "remind" | "give" | "summarise" | "summarize" | "recap") | None => {
            QuestionKind::What
        }
        Some(_) => QuestionKind::YesNo,
    }
}

/// Whether a question asks for what the addressee knows of something that belongs to somebody.
fn asks_whether_known(words: &[Word]) -> bool {
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    let knows = plain(1) == "you" && matches!(plain(2), "know" | "remember" | "recall" | "tell");
    let of = if plain(3) == "me" { 4 } else { 3 };
    knows && words.get(of).is_some_and(|w| FirstPerson::is_determiner(&w.plain) || w.possessive)
}

impl Question {
    /// Parses a question asked at `now`.
    ///
    /// `known` are the entities that it may name, including the viewer, each with a tier. Lower tiers match first. `texts` are the words
    /// of the messages that may have longer forms of their names.
    pub(super) fn read(text: &str, now: Timestamp, known: &[(u8, &Entity)], texts: &[Vec<Word>], cue_index: &CueIndex) -> Self {
        let words = words(&text[asking_part(text)]);
        let (answer_type, mut filler) = AnswerType::of(&words);
        let mut kind = question_kind(&words, &answer_type);
        let mut taken = vec![false; words.len()];
        let mut named = find_names(&words, known, &mut taken);
        extend_names(&words, texts, &mut named, &mut taken);
        // "June" is a month, unless there are facts about a person with this name.
        let has_facts = |n: &NameMention| known.iter().any(|(tier, e)| *tier == 0 && n.entities.contains(&e.id));
        let covers = |p: &PeriodMention, n: &NameMention| n.start < p.end && p.start < n.end;
        let period = period::find_in_question(&words, now).filter(|p| !named.iter().any(|n| covers(p, n) && has_facts(n)));
        named.retain(|n| !period.is_some_and(|p| covers(&p, n)));
        let viewer: Vec<EntityId> = known.iter().filter(|(_, e)| e.is_viewer).map(|(_, e)| e.id).collect();
        find_first_person(&words, &viewer, &mut named, &mut taken);
        named.sort_by_key(|n| n.start);
        if let Some(p) = &period {
            // "in March" is no object of the verb. "To" in "who did I report to this year" belongs to the verb.
            let of_time =
                |i: &usize| matches!(words[*i].plain.as_str(), "in" | "on" | "at" | "during" | "by" | "since" | "until" | "from" | "of");
            let before = words[..p.start].iter().rposition(|w| w.plain != "the").filter(of_time);
            taken[before.unwrap_or(p.start)..p.end].fill(true);
        }
        // A clause that only says when, and words that only say how to answer, name nothing that is asked for.
        let clause = temporal_clause(&words);
        named.retain(|n| !clause.contains(&n.start));
        let aside: Vec<usize> = clause.chain(manner_of_answer(&words)).collect();
        aside.iter().for_each(|i| taken[*i] = true);
        let (cues, _) = cue_index.find(&words, &taken, kind == QuestionKind::Where);
        let class = find_class(&words, &taken, &cues);
        if class.is_object(&words) {
            // "Which trade fairs did I go to": no word of the class is a verb.
            class.positions.iter().for_each(|i| taken[*i] = true);
        }
        if kind == QuestionKind::What && class.types == [EntityType::Place] {
            kind = QuestionKind::Where;
        }
        let (mut cues, weaker_cues) = cue_index.find(&words, &taken, kind == QuestionKind::Where);
        let asks_for_denials = kind != QuestionKind::YesNo && denies(&words, &cues);
        if kind != QuestionKind::YesNo {
            ask_for_endings(&words, &mut cues);
        }
        if asks_for_denials {
            ask_for_denials(&mut cues, cue_index);
        }

        let is_past = words.iter().take(3).any(|w| matches!(w.plain.as_str(), "did" | "was" | "were" | "had"));
        let tense = if asks_for_earlier(&words) { Tense::Past } else { Tense::Open };
        let is_perfect = kind != QuestionKind::YesNo && has_perfect(&words);
        let ignores_verb = named.iter().any(|n| is_choice_of_name(&words, n));
        let successor = successor(&words, &named);
        let attribute = attribute(&words);
        let time_anchors = take_time_anchors(&words, &mut named);

        // "tea or coffee": an answer need not contain both alternatives.
        let or = words.iter().position(|w| w.plain == "or").filter(|i| *i > 0 && i + 1 < words.len());
        let is_choice = or.is_some() && matches!(kind, QuestionKind::YesNo | QuestionKind::What);
        if let Some(or) = or.filter(|_| is_choice) {
            filler.extend([or - 1, or + 1]);
            kind = QuestionKind::What;
        }
        filler.extend(words.iter().enumerate().filter(|(_, w)| matches!(w.plain.as_str(), "previous" | "former")).map(|(i, _)| i));
        filler.extend(aside);
        // "List everything I like", "do you remember who".
        filler.extend((0..words.len()).take_while(|i| is_asking_word(&words[*i]) || (is_function_word(&words[*i]) && !taken[*i])));
        Self {
            words,
            kind,
            answer_type,
            tense,
            named,
            time_anchors,
            cues,
            weaker_cues,
            class,
            attribute,
            period,
            is_choice,
            successor,
            is_past,
            is_perfect,
            asks_for_denials,
            ignores_verb,
            filler,
        }
    }

    /// Whether it asks for what was: "before Ghent", "in March".
    pub(super) fn is_about_past(&self) -> bool {
        self.tense == Tense::Past || (self.is_past && self.period.is_some())
    }

    /// Whether a message has the name after "before": "Dr. Sandhu retired, so we have Dr. Haidar now" tells who came before Dr. Haidar.
    pub(super) fn has_successor<'w>(&self, message: impl Iterator<Item = &'w Word> + Clone) -> bool {
        !self.successor.is_empty() && self.successor.iter().all(|stem| message.clone().any(|w| w.stem == *stem))
    }

    /// Whether a word belongs to a name.
    pub(super) fn in_name(&self, position: usize) -> bool {
        self.named.iter().any(|n| n.start <= position && position < n.end)
    }

    /// Whether a word belongs to the period.
    pub(super) fn in_period(&self, position: usize) -> bool {
        self.period.is_some_and(|p| p.start <= position && position < p.end)
    }

    /// Whether a word does not restrict the answer.
    pub(super) fn is_filler(&self, position: usize) -> bool {
        self.filler.contains(&position) || self.words.get(position).is_none_or(is_function_word)
    }

    /// Returns the words that are not names, filler or part of the cue.
    ///
    /// The evidence must contain them, or it answers another question.
    pub(super) fn unexplained_words(&self, cue: Option<&CueMatch>) -> Vec<&Word> {
        let explained = |i: usize| self.in_name(i) || self.class.positions.contains(&i) || cue.is_some_and(|c| c.positions.contains(&i));
        // "before Ghent" is covered by its entity.
        let time_anchors =
            |i: usize| !self.time_anchors.is_empty() && i > 0 && matches!(self.words[i - 1].plain.as_str(), "before" | "after");
        let before = self.words.iter().position(|w| w.plain == "before");
        let succeeds = |i: usize, w: &Word| before.is_some_and(|at| at < i) && self.successor.contains(&w.stem);
        let filler = |i: usize, w: &Word| self.is_filler(i) || (cue.is_none() && is_asking_word(w)) || time_anchors(i) || succeeds(i, w);
        let rest = self.words.iter().enumerate().filter(|(i, w)| !(explained(*i) || filler(*i, w)));
        rest.map(|(_, w)| w).collect()
    }

    /// Whether it asks for everything about an entity: "who is John", "what do you know about me".
    pub(super) fn is_general(&self) -> bool {
        let [named] = self.named.as_slice() else { return false };
        if !matches!(self.kind, QuestionKind::Who | QuestionKind::What)
            || named.possessive
            || !self.unexplained_words(None).is_empty()
            || !self.class.types.is_empty()
        {
            return false;
        }
        let before = |n: usize| named.start.checked_sub(n).map_or("", |i| self.words[i].plain.as_str());
        let is = |w: &str| matches!(w, "is" | "are" | "was" | "were" | "am" | "who" | "who's" | "what's" | "what");
        let last = named.end == self.words.len();
        let about = before(1) == "about" || (before(1) == "the" && before(2) == "about") || matches!(before(1), "describe" | "of");
        let first_person = is_first_person(&self.words[named.start].plain);
        let who = last && named.start <= 3 && (is(before(1)) || is(before(2))) || (first_person && self.words.len() <= 3 && is(before(1)));
        (about && last) || who
    }
}

/// Adds the pronouns of the first person as names of the viewer.
fn find_first_person(words: &[Word], viewer: &[EntityId], named: &mut Vec<NameMention>, taken: &mut [bool]) {
    for (i, word) in words.iter().enumerate() {
        // "me" in "tell me" is the addressee and not the subject of the question.
        let addressee = i > 0 && matches!(words[i - 1].plain.as_str(), "tell" | "remind" | "give" | "show");
        if !taken[i] && is_first_person(&word.plain) && !addressee {
            let possessive = FirstPerson::is_determiner(&word.plain);
            named.push(NameMention { entities: viewer.to_vec(), start: i, end: i + 1, possessive });
            taken[i] = true;
        }
    }
}

/// Whether a question asks for what was earlier: "before", "my former boss", "what did I use to play".
fn asks_for_earlier(words: &[Word]) -> bool {
    let has = |w: &str| words.iter().any(|x| x.plain == w);
    let used_to = words.windows(2).any(|w| w[0].plain == "used" && w[1].plain == "to") && !has("is") && !has("are");
    let used_to = used_to || words.windows(2).any(|w| w[0].plain == "use" && w[1].plain == "to");
    ["before", "previously", "formerly", "earlier", "previous", "former"].into_iter().any(has) || used_to
}

/// Returns the stems of the names after "before", whether their entities are known or not.
fn successor(words: &[Word], named: &[NameMention]) -> Vec<String> {
    let Some(at) = words.iter().position(|w| w.plain == "before") else { return Vec::new() };
    let in_name = |i: usize| named.iter().any(|n| n.start <= i && i < n.end) && !is_first_person(&words[i].plain);
    let is_name = |i: &usize| words[*i].proper || in_name(*i);
    (at + 1..words.len().min(at + 7)).filter(is_name).map(|i| words[i].stem.clone()).collect()
}

/// Removes the names that only specify the time, "before Ghent" and "before he moved to Ghent", and returns their entities.
fn take_time_anchors(words: &[Word], named: &mut Vec<NameMention>) -> Vec<EntityId> {
    let is_clause = |i: usize| words[i].plain == "before" && words.get(i + 1).is_some_and(|w| is_subject_pronoun(&w.plain));
    let is_anchor = |n: &NameMention| {
        let directly = n.start > 0 && matches!(words[n.start - 1].plain.as_str(), "before" | "after");
        (directly || (n.start.saturating_sub(5)..n.start).any(is_clause)) && !is_first_person(&words[n.start].plain)
    };
    let anchors = named.iter().filter(|n| is_anchor(n)).flat_map(|n| n.entities.clone()).collect();
    named.retain(|n| !is_anchor(n));
    anchors
}

/// Whether the verb is in the perfect: "have I worked", "has Billie been".
fn has_perfect(words: &[Word]) -> bool {
    let after = |i: usize| words.get(i + 1..(i + 5).min(words.len())).unwrap_or_default();
    let participle = |w: &Word| (is_past_form(&w.plain) || w.plain == "used") && !matches!(w.plain.as_str(), "is" | "are" | "has");
    let full = |w: &Word| matches!(w.plain.as_str(), "have" | "has");
    let short = |w: &Word| matches!(w.plain.as_str(), "i've" | "we've" | "they've");
    let both = |pair: &[Word]| matches!(pair[0].plain.as_str(), "am" | "are" | "is") && pair[1].plain == "or";
    words
        .iter()
        .enumerate()
        .any(|(i, w)| (full(w) && after(i).iter().skip(1).any(participle)) || (short(w) && after(i).iter().any(participle)))
        || words.windows(2).any(both)
}

pub(super) fn is_subject_pronoun(word: &str) -> bool {
    matches!(word, "he" | "she" | "they" | "it" | "i" | "we")
}

/// Whether "which" stands before a name and a form of "be" with an article after it.
fn is_choice_of_name(words: &[Word], name: &NameMention) -> bool {
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    name.start > 0
        && plain(name.start - 1) == "which"
        && matches!(plain(name.end), "is" | "was" | "are" | "were")
        && matches!(plain(name.end + 1), "the" | "my" | "our" | "a" | "an" | "his" | "her" | "their")
}

/// Returns the positions of a clause at the end that only says in which time the answer lies: "since I started this diary", "in these 14
/// months", "before we changed our minds", "going by what I said last".
fn temporal_clause(words: &[Word]) -> std::ops::Range<usize> {
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    let starts = |i: usize| match plain(i) {
        "since" => matches!(plain(i + 1), "i" | "we" | "the" | "my"),
        "in" | "during" | "over" => {
            matches!(plain(i + 1), "these" | "the" | "those" | "this" | "all") && (i + 2..i + 5).any(|j| is_span_of_time(plain(j)))
        }
        "before" | "when" | "after" => {
            let is_named = words.get(i + 1..).is_some_and(|rest| rest.iter().any(|w| w.proper));
            is_subject_pronoun(plain(i + 1)) && !is_named
        }
        "so" => plain(i + 1) == "far",
        "going" => plain(i + 1) == "by",
        "according" => plain(i + 1) == "to",
        _ => false,
    };
    let from = (2..words.len()).find(|&i| starts(i)).unwrap_or(words.len());
    from..words.len()
}

/// Returns the positions of words that only say how to answer, or where as a matter of course: "by surname", "in full", "at home".
fn manner_of_answer(words: &[Word]) -> Vec<usize> {
    const PHRASES: [[&str; 2]; 6] = [["by", "surname"], ["by", "name"], ["in", "full"], ["at", "home"], ["besides", "me"], ["for", "sure"]];
    let is_phrase = |pair: &[Word]| PHRASES.iter().any(|p| pair[0].plain == p[0] && pair[1].plain == p[1]);
    words.windows(2).enumerate().filter(|(_, pair)| is_phrase(pair)).flat_map(|(i, _)| [i, i + 1]).collect()
}

/// Turns the cues of a question for what ended into cues of the end: "which product do they no longer use", "what did we stop using".
fn ask_for_endings(words: &[Word], cues: &mut [CueMatch]) {
    let plain = |i: usize| words.get(i).map_or("", |w| w.plain.as_str());
    let negated = words.iter().any(|w| w.plain == "not" || w.plain.ends_with("n't"));
    let longer = (0..words.len()).find(|i| plain(*i) == "no" && plain(i + 1) == "longer").map(|i| vec![i, i + 1]);
    let more = (0..words.len()).find(|i| plain(*i) == "anymore" || (plain(*i) == "any" && plain(i + 1) == "more"));
    let marker = longer.or_else(|| more.filter(|_| negated).map(|i| vec![i, i + 1]));
    for cue in cues.iter_mut().filter(|c| c.form == Form::Verb) {
        let stopped = cue.start.checked_sub(1).filter(|i| matches!(words[*i].stem.as_str(), "stop" | "quit"));
        if let Some(positions) = stopped.map(|i| vec![i]).or_else(|| marker.clone()) {
            cue.positions.extend(positions);
            cue.form = Form::Ending;
        }
    }
}

/// Whether the verb of a question is negated: "what don't I like", but not "what is the name of the friend who doesn't drink", nor "what can't I stand".
fn denies(words: &[Word], cues: &[CueMatch]) -> bool {
    const FARTHEST: usize = 5;
    let is_denial = |w: &Word| is_negation(&w.plain) && !matches!(w.plain.as_str(), "without" | "no" | "nobody" | "nothing");
    let at = words.iter().take(FARTHEST + 1).position(is_denial);
    let is_of_cue = |at: usize| cues.iter().any(|c| c.positions.contains(&at));
    at.is_some_and(|at| {
        !is_of_cue(at) && !words[1.min(at)..at].iter().any(|w| matches!(w.plain.as_str(), "who" | "that" | "which" | "said" | "told"))
    })
}

/// Turns the cues of a question for what does not hold into cues of denials, and of the opposite: who dislikes olives does not like them.
fn ask_for_denials(cues: &mut Vec<CueMatch>, cue_index: &CueIndex) {
    let mut opposites = Vec::new();
    for cue in cues.iter_mut().filter(|c| c.form == Form::Verb) {
        opposites.extend(cue_index.opposite(cue.relation).map(|relation| CueMatch { relation, ..cue.clone() }));
        cue.form = Form::Negating;
    }
    cues.extend(opposites);
}

fn is_span_of_time(word: &str) -> bool {
    matches!(word, "months" | "years" | "weeks" | "days" | "year" | "month" | "time" | "diary" | "while")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn last_question_of_a_message_is_read() {
        let part = |text: &'static str| &text[asking_part(text)];
        assert_eq!(part("I moved. Where does John live?"), " Where does John live");
        assert_eq!(part("tell me about Mary"), "tell me about Mary");
        assert_eq!(part("Who is he? Really?"), "Who is he? Really");
    }

    #[test]
    fn question_words_are_distinguished() {
        for (text, expected) in [
            ("Who does John like?", QuestionKind::Who),
            ("So where do I live?", QuestionKind::Where),
            ("Does John like Mary", QuestionKind::YesNo),
            ("How did it go?", QuestionKind::Reason),
            ("Tell me about Mary", QuestionKind::What),
            ("When did I visit Rome?", QuestionKind::When),
            ("Is my cat called Pixel?", QuestionKind::YesNo),
        ] {
            let words = words(text);
            assert_eq!(question_kind(&words, &AnswerType::of(&words).0), expected, "{text}");
        }
    }
}
