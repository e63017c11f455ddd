//! Words that leave a new fact open, which the network does not see: who has an interview has no job yet, and who almost sold the car has it.

use recall_domain::{
    Polarity,
    time_words::{has_day_to_come, is_of_some_days, is_weekday_or_month},
};

/// Words of somebody who does not work somewhere yet.
const APPLICATIONS: &[&str] =
    &["interview", "interviews", "interviewed", "interviewing", "applied", "applying", "application", "applications", "shortlisted"];
/// Words of what is still to come.
const PLANS: &[&str] =
    &["will", "'ll", "going to", "gonna", "plan to", "planning to", "at the end of", "by the end of", "next", "tomorrow", "soon"];
/// Words before the verb of an end that did not happen: "almost sold", "haven't sold".
const DENIALS: &[&str] =
    &["almost", "nearly", "haven't", "hasn't", "hadn't", "have not", "has not", "had not", "has never", "have never", "didn't", "did not"];
/// Forms of verbs that end something.
const ENDING_VERBS: &[&str] = &[
    "sold", "sell", "quit", "left", "leave", "moved", "move", "broken", "broke", "break", "given", "gave", "give", "lost", "lose",
    "retired", "retire", "stopped", "stop",
];
/// Verbs before "used to" that tell of a habit and not of the past.
const ACCUSTOMED: &[&str] = &["am", "'m", "is", "'s", "are", "'re", "was", "were", "be", "get", "got", "getting"];
/// Words of a wish, a dream, a short absence, or another sense of a verb.
const NO_ENDS: &[&str] = &[
    "wish",
    "dreamt",
    "dreamed",
    "had a dream",
    "stopped by",
    "broke up a",
    "broke up the",
    "broke up with laughter",
    "for the weekend",
    "my shift",
    "turned up again",
    "came back",
    "got it back",
    "got him back",
    "got her back",
    "got them back",
    "found it",
    "found him",
    "found her",
    "found them",
];
/// Words of what the speaker thought before, and of what is only told.
const MISTAKES: &[&str] = &[
    "i thought",
    "i always thought",
    "we thought",
    "used to think",
    "i assumed",
    "i always assumed",
    "used to believe",
    "in my dream",
    "in my novel",
    "in my story",
    "in my game",
    "feel like i 'm",
    "feels like i 'm",
    "had a dream",
    "had this dream",
    "weird dream",
    "nightmare",
];
/// Remarks that take back what was said.
const RETRACTIONS: &[&str] = &[
    "yeah right",
    "yea right",
    "just kidding",
    "only kidding",
    "obviously joking",
    "clearly joking",
    "only joking",
    "just joking",
    "is joking",
    "was joking",
    "'s joking",
    "'s a joke",
    "is a joke",
    "was a joke",
    "total lie",
    "complete lie",
    "'s a lie",
    "is a lie",
    "was a lie",
    "not true",
    "isn't true",
    "wasn't true",
    "made it up",
    "making it up",
    "jk",
];
/// Words of somebody who does not work for a while, or still works until the end of the notice.
const ABSENCES: &[&str] = &[
    "notice",
    "maternity leave",
    "paternity leave",
    "parental leave",
    "sick leave",
    "garden leave",
    "gardening leave",
    "unpaid leave",
    "annual leave",
    "on leave",
    "sabbatical",
    "furlough",
    "secondment",
    "on holiday",
    "career break",
    "off sick",
];
/// Verbs of trips that did not happen.
const CANCELLED: &[&str] = &[
    "cancelled",
    "canceled",
    "cancel",
    "called off",
    "call off",
    "postponed",
    "fell through",
    "missed my",
    "missed our",
    "missed the",
    "missed his",
    "missed her",
    "couldn't go",
    "couldn't make it",
    "can't make it",
    "didn't happen",
    "never happened",
    "never went",
    "never made it",
];
/// Past forms of irregular verbs that tell of a trip.
const PAST_FORMS: &[&str] = &[
    "was", "were", "went", "had", "did", "been", "got", "came", "took", "saw", "spent", "flew", "drove", "rode", "ran", "met", "made",
    "ate", "swam", "slept", "left", "found", "brought", "back", "caught", "loved", "won", "lost", "sang", "gave", "bought",
];
/// Words of a stay with a limit.
const STAYS: &[&str] = &[
    "this week",
    "this weekend",
    "this month",
    "this morning",
    "this afternoon",
    "this evening",
    "next week",
    "until",
    "till",
    "today",
    "tonight",
    "tomorrow",
    "for the weekend",
    "at the weekend",
    "over the weekend",
    "for the week",
    "for a week",
    "for a few days",
    "for the day",
    "for work",
    "on business",
    "on holiday",
    "on vacation",
];
/// Words of a home.
const HOMES: &[&str] = &["live", "lives", "living", "lived", "moved", "moving", "home", "based", "rent", "renting", "flat", "settled"];
/// Words of an order that is still to come.
const DELIVERIES: &[&str] = &[
    "arrives",
    "arriving",
    "arrive",
    "comes",
    "coming",
    "ships",
    "shipping",
    "due",
    "waiting for",
    "its way",
    "the way",
    "delivery",
    "will",
    "should",
    "hasn't",
    "haven't",
    "not arrived",
];
/// What people do together in their free time, before "with".
const PASTIMES: &[&str] = &[
    "run",
    "ran",
    "running",
    "jog",
    "jogging",
    "jogged",
    "swim",
    "swam",
    "swimming",
    "climb",
    "climbed",
    "climbing",
    "hike",
    "hiked",
    "hiking",
    "cycle",
    "cycled",
    "cycling",
    "ride",
    "rode",
    "riding",
    "ski",
    "skiing",
    "dance",
    "danced",
    "dancing",
    "sing",
    "sang",
    "singing",
    "walk",
    "walked",
    "walking",
    "play",
    "played",
    "playing",
    "train",
    "trained",
    "training",
    "box",
    "boxing",
    "surf",
    "surfing",
    "sail",
    "sailing",
    "row",
    "rowing",
    "game",
    "gaming",
    "cook",
    "cooked",
    "cooking",
    "drink",
    "drinking",
    "lunch",
    "dinner",
    "travel",
    "travelled",
    "gym",
    "yoga",
    "tennis",
    "football",
    "chess",
    "squash",
    "golf",
    "live",
    "living",
    "lived",
];
/// Verbs that change where somebody works or lives, as plans in the progressive: "I'm starting there in March".
const CHANGES: &[&str] = &["starting", "joining", "leaving", "quitting", "moving", "retiring", "relocating"];
/// Forms of "be" in the present.
const BE: &[&str] = &["am", "'m", "is", "'s", "are", "'re"];
/// The same verbs in the present tense.
const CHANGES_TO_COME: &[&str] = &["start", "starts", "join", "joins", "leave", "leaves", "move", "moves", "begin", "begins"];
/// Words that say where somebody works, which may be another place than the home.
const WORKING: &[&str] = &["work in", "works in", "worked in", "working in", "studied in", "study in"];
const LIVING_AND_WORKING: &[&str] = &["live and work", "lives and works", "lived and worked", "living and working"];
/// Words of somebody who has not been at an event yet.
const TICKETS: &[&str] = &["ticket for", "tickets for", "ticket to", "tickets to"];
/// Whether a text begins with a short sentence that takes back what was said before it: "Just kidding.", "That's a lie."
pub(crate) fn is_taken_back(after: &str) -> bool {
    let plain = after.to_lowercase().replace('’', "'").replace("'s", " 's");
    let first = plain.split(['.', '!', '?', '\n']).map(str::trim).find(|sentence| !sentence.is_empty());
    let words: Vec<&str> = first.into_iter().flat_map(str::split_whitespace).collect();
    let spoken = format!(" {} ", words.join(" "));
    words.len() <= 5 && RETRACTIONS.iter().any(|remark| spoken.contains(&format!(" {remark} ")))
}

/// Whether the words of a sentence leave a fact of a relation open.
pub(crate) fn is_unsettled(sentence: &str, relation: &str, polarity: Polarity) -> bool {
    let mut plain = sentence.to_lowercase().replace('’', "'");
    for verb in ["'ll", "'m", "'s", "'re"] {
        plain = plain.replace(verb, &format!(" {verb}"));
    }
    let words: Vec<&str> = plain.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).collect();
    let spoken = format!(" {} ", words.join(" "));
    let has = |phrase: &str| spoken.contains(&format!(" {phrase} "));
    let has_one = |phrases: &[&str]| phrases.iter().any(|phrase| has(phrase));
    let has_pair = |firsts: &[&str], seconds: &[&str]| firsts.iter().any(|a| seconds.iter().any(|b| has(&format!("{a} {b}"))));
    let is_of_life = matches!(relation, "WORKS_FOR" | "LIVES_IN");
    let is_planned = || {
        let is_change_to_come = || has_one(CHANGES_TO_COME) && has_day_to_come(&words, is_weekday_or_month);
        is_of_life && (has_pair(BE, CHANGES) || is_change_to_come())
    };
    // "My trip to Oslo is in May" has no past verb.
    let is_trip_to_come = || {
        let is_past = |w: &&str| PAST_FORMS.contains(w) || w.ends_with("ed") && w.len() > 4;
        !words.iter().any(is_past) && has_day_to_come(&words, is_weekday_or_month)
    };
    match polarity {
        Polarity::Affirmed if has_one(MISTAKES) || has_one(RETRACTIONS) || spoken.ends_with(" as if ") => true,
        // Where somebody was born, and where somebody stays this week, is no home.
        Polarity::Affirmed if relation == "LIVES_IN" && (has("born") && !has("raised") || has_one(STAYS)) && !has_one(HOMES) => true,
        Polarity::Affirmed if relation == "VISITED" && (has_one(CANCELLED) || is_trip_to_come()) => true,
        Polarity::Affirmed if relation == "OWNS" && (has("ordered") || has("preordered")) && has_one(DELIVERIES) => true,
        Polarity::Affirmed if relation == "WORKS_WITH" && has_pair(PASTIMES, &["with"]) => true,
        // "I live in Reading but work in London"
        Polarity::Affirmed if relation == "LIVES_IN" && has_one(WORKING) && !has_one(LIVING_AND_WORKING) => true,
        Polarity::Affirmed if relation == "VISITED" && has_one(TICKETS) => true,
        // "Two sisters and no brothers", "a bike but no car"
        Polarity::Affirmed if matches!(relation, "OWNS" | "FAMILY_OF") && has_pair(&["and", "but"], &["no"]) => true,
        Polarity::Affirmed => relation == "WORKS_FOR" && has_one(APPLICATIONS) || is_planned(),
        // What crashed can be repaired.
        Polarity::Ended if relation == "OWNS" && has_one(&["crashed"]) => true,
        Polarity::Ended if relation == "WORKS_FOR" && has_one(ABSENCES) => true,
        Polarity::Ended if relation == "WORKS_FOR" && has("left") && has_one(&["without the", "without my"]) => true,
        Polarity::Ended if has_one(&["pages", "chapters", "episodes"]) => true,
        Polarity::Ended if is_planned() => true,
        // What breaks is still there. The rules read that an animal died.
        Polarity::Ended if relation == "OWNS" && has("died") => true,
        Polarity::Ended => {
            is_of_some_days(&words)
                || has_one(PLANS)
                || has_one(NO_ENDS)
                || has_pair(DENIALS, ENDING_VERBS)
                || has_pair(ACCUSTOMED, &["used to"])
        }
        Polarity::Negated => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_and_plans_are_no_facts() {
        for (text, relation) in [
            ("I always thought we lived in Kent", "LIVES_IN"),
            ("In my dream I had a tiger", "OWNS"),
            ("I'm starting at Ikea in March", "WORKS_FOR"),
            ("I start my new job at Deloitte on Monday", "WORKS_FOR"),
            ("Tomorrow I move into my new flat in Salford", "LIVES_IN"),
            ("I live in Reading but work in London", "LIVES_IN"),
            ("tickets for Glastonbury are £360", "VISITED"),
            ("I have three sisters and no brothers", "FAMILY_OF"),
            ("I had a dream I lived in Kent", "LIVES_IN"),
            ("apparently Ed works for the CIA, yeah right", "WORKS_FOR"),
            ("Steve says he owns a yacht but that's a joke", "OWNS"),
            ("Steve says he lives in Monaco, as if!", "LIVES_IN"),
            ("Kim is in Paris this week", "LIVES_IN"),
            ("My dad's in Hull until Friday", "LIVES_IN"),
            ("We stay in Leeds at the weekend", "LIVES_IN"),
            ("I was born in Norwich", "LIVES_IN"),
            ("Our trip to Oslo got cancelled", "VISITED"),
            ("My trip to Oslo is in May", "VISITED"),
            ("Missed my trip to Kiel because I was ill", "VISITED"),
            ("Staying at Hotel Mundial for 4 nights in May", "VISITED"),
            ("Ordered a bike, arrives next week", "OWNS"),
            ("I run with Aisha every Sunday morning", "WORKS_WITH"),
        ] {
            assert!(is_unsettled(text, relation, Polarity::Affirmed), "{text}");
        }
        for (text, relation) in [
            ("I think we live in Kent", "LIVES_IN"),
            ("I started at Ikea in March", "WORKS_FOR"),
            ("I moved to Leeds on Friday", "LIVES_IN"),
            ("I live and work in London", "LIVES_IN"),
            ("I have a dog and no time", "LIKES"),
        ] {
            assert!(!is_unsettled(text, relation, Polarity::Affirmed), "{text}");
        }
        for text in ["I'm leaving Ikea in March", "I leave Ikea on Friday", "I left Tesco without the milk"] {
            assert!(is_unsettled(text, "WORKS_FOR", Polarity::Ended), "{text}");
        }
        assert!(is_unsettled("I crashed my bike", "OWNS", Polarity::Ended));
    }

    #[test]
    fn next_sentence_takes_back_what_was_said() {
        for (text, expected) in [
            (" Just kidding.", true),
            (" That's a lie!", true),
            ("... yeah right", true),
            (" My boss is a joke and so is Ed.", false),
            (" It's true.", false),
        ] {
            assert_eq!(is_taken_back(text), expected, "{text}");
        }
    }

    #[test]
    fn trips_and_stays_that_are_told_are_facts() {
        for (text, relation) in [
            ("I went to Oslo in May", "VISITED"),
            ("We stayed at Hotel Mundial for 4 nights in May", "VISITED"),
            ("I live in Paris until Friday", "LIVES_IN"),
            ("I was born and raised in Leeds", "LIVES_IN"),
            ("I ordered a bike and love it", "OWNS"),
            ("I work with Aisha", "WORKS_WITH"),
        ] {
            assert!(!is_unsettled(text, relation, Polarity::Affirmed), "{text}");
        }
        for text in ["Jo is on maternity leave from Siemens", "I handed in my notice at Tesco today"] {
            assert!(is_unsettled(text, "WORKS_FOR", Polarity::Ended), "{text}");
        }
    }

    #[test]
    fn ends_that_did_not_happen_are_left_open() {
        for text in [
            "I almost sold the car.",
            "I haven't sold the car yet.",
            "My sister hasn’t quit Asos.",
            "I wish I had sold the car.",
            "I'm used to Slack by now.",
            "I got used to Figma quickly.",
            "I stopped by Deloitte on Saturday.",
            "Karl and I broke up a fight at the pub.",
            "I'll sell the car.",
            "I lost the car keys but found them.",
            "I no longer drive the car on Fridays.",
            "My car died this morning.",
        ] {
            assert!(is_unsettled(text, "OWNS", Polarity::Ended), "{text}");
        }
        for text in
            ["I sold the car.", "I don't work at Acme any more.", "Left Bradford in 2020, haven't looked back.", "I used to use Slack."]
        {
            assert!(!is_unsettled(text, "OWNS", Polarity::Ended), "{text}");
        }
    }
}
