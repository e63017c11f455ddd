//! Finds what was said after the statement that an answer rests on: corrections, and newer statements of the same.
//!
//! The memory keeps both. The newer one is the answer, also where only the words of the message say so.

use std::collections::HashSet;

use super::{
    assertion,
    changes::{changes, changes_it, is_bare_change},
    evidence::is_told_by,
    excerpts::shorten,
    lexicon::is_function_word,
    quotes::{MAX_QUOTES, Quote},
    words::{Word, is_first_person, words},
};
use recall_domain::{
    Entity, EntityType, Evidence, FactStatus, Message, MessageId, MessageKind, Role, Stance,
    context::{Context, RankedFact, RankedMessage},
    number_word,
};

/// Share of the question's content words that a newer statement must contain.
const COVERAGE: f32 = 0.8;
/// Most words of a text that calls something off at its beginning.
const SHORT: usize = 16;
/// Messages after which a correction is taken for one of what was said just before.
const NEAR: u64 = 3;
/// Words with which people correct what they said.
const MARKERS: [&str; 11] =
    ["correction", "corrected", "sorry", "actually", "wrong", "wait", "mistake", "mistaken", "mixed", "meant", "misheard"];
/// Words between "not" and what is corrected: "not at the Conservatorium", "not Mr. Birch".
const BETWEEN: [&str; 15] = ["a", "an", "at", "dr", "for", "from", "in", "mr", "mrs", "ms", "of", "on", "the", "university", "with"];
/// Words of what is done again.
const RESUMPTIONS: [&str; 7] = ["again", "back", "now", "started", "restarted", "resumed", "resuming"];
/// Verbs before a "not" that denies a sentence. After another word it denies a name: "Maleny, not Montville".
const AUXILIARIES: &str = "am are be been can could did do does had has have i'm is may might must she's should was we're were will would \
    he's it's they're you're";

/// A message that takes back a statement of another one: "No, I meant Tuesday". Its words seldom find it.
pub(super) struct TakenBack {
    statement: MessageId,
    correction: Message,
}

/// Returns the messages that take back statements of these messages, or end all facts that one states: "I'm now a planner at DHL".
pub(super) fn taken_back(context: &Context, ranked: &[RankedMessage]) -> Vec<TakenBack> {
    let message = |id: MessageId| ranked.iter().map(|r| &r.message).find(|m| m.id == id);
    let withdrawn = context.withdrawn.iter().filter_map(|w| {
        let (e, m) = (&w.correction, message(w.message)?);
        // A correction that was found too says what it means: "[The dentist is on] Tuesday".
        let (text, sent_at) = (message(e.message).map_or(&e.excerpt, |found| &found.text).clone(), e.created_at);
        let correction = Message { id: e.message, session: e.session, text, sent_at, position: m.position + 1, ..m.clone() };
        Some(TakenBack { statement: m.id, correction })
    });
    let ended = ended(context, ranked).into_iter().filter_map(|(statement, end)| {
        let (said, correction) = (message(statement)?, message(end)?);
        let is_same = said.speaker == correction.speaker && said.role == correction.role;
        is_same.then(|| TakenBack { statement, correction: correction.clone() })
    });
    withdrawn.chain(ended).collect()
}

/// Returns the messages of which another one ends every fact of the context, each with the latest that does.
fn ended(context: &Context, ranked: &[RankedMessage]) -> Vec<(MessageId, MessageId)> {
    let end_of = |message: MessageId| {
        let supports = |f: &&RankedFact| f.evidence.iter().any(|e| e.message == message && e.stance == Stance::Supports);
        let stated: Vec<&RankedFact> = context.facts.iter().filter(supports).collect();
        let is_end = |e: &&Evidence| e.stance == Stance::Ends && e.message != message;
        let is_over = |f: &&RankedFact| f.fact.status == FactStatus::Ended;
        let latest = stated
            .iter()
            .filter_map(|f| f.evidence.iter().filter(|e| is_end(e)).max_by_key(|e| e.created_at))
            .max_by_key(|e| e.created_at)?;
        stated.iter().all(is_over).then_some((message, latest.message))
    };
    ranked.iter().filter_map(|r| end_of(r.message.id)).collect()
}

/// Puts before each quote the messages that correct it.
pub(super) fn with_corrections<'m>(quotes: Vec<Quote<'m>>, ranked: &'m [RankedMessage], taken_back: &'m [TakenBack]) -> Vec<Quote<'m>> {
    let mut all: Vec<Quote<'m>> = Vec::new();
    for quote in quotes {
        // The quote itself stays, however many say that it has changed.
        let mut corrections = corrections(quote.message, ranked);
        corrections.truncate(MAX_QUOTES - 1);
        let of_quote = taken_back.iter().filter(|t| t.statement == quote.message.id).map(|t| quote_all(&t.correction));
        corrections.extend(of_quote.filter(|q| q.message.id != quote.message.id));
        corrections.dedup_by_key(|c| c.message.id);
        let is_corrected = !corrections.is_empty();
        let known: HashSet<_> = all.iter().map(|q| q.message.id).collect();
        all.extend(corrections.into_iter().filter(|c| !known.contains(&c.message.id)));
        if !all.iter().any(|q| q.message.id == quote.message.id) {
            // What was corrected is no yes and no no.
            all.push(Quote { verdict: quote.verdict.filter(|_| !is_corrected), ..quote });
        }
    }
    all.truncate(MAX_QUOTES);
    all
}

/// Takes the yes or no from quotes if a later message negates or weakens something of them: "The trip to Lisbon is cancelled."
///
/// The name of a person is not enough: "Anna didn't come" says nothing about what Anna likes.
pub(super) fn drop_retracted_verdicts(
    quotes: &mut [Quote<'_>],
    ranked: &[RankedMessage],
    entities: &[Entity],
    is_about: impl Fn(&Word) -> bool,
) {
    let time = |m: &Message| (m.sent_at, m.position);
    let people = entities.iter().filter(|e| e.entity_type == EntityType::Person).flat_map(|e| words(&e.name));
    let people: HashSet<String> = people.map(|w| w.stem).collect();
    for quote in quotes.iter_mut().filter(|q| q.verdict.is_some()) {
        let said = ranked.iter().map(|r| &r.message).filter(|m| m.role == Role::User && time(m) > time(quote.message));
        let retracts = said.map(|m| words(m.text.as_str())).any(|said| {
            let is_plain = assertion::is_plain(&said) && !assertion::is_negated(&said, None);
            // "I've started playing tennis again" after "I used to play tennis".
            let resumes = quote.verdict == Some(false) && said.iter().any(|w| RESUMPTIONS.contains(&w.plain.as_str()));
            (!is_plain || resumes) && said.iter().any(|w| !people.contains(&w.stem) && is_about(w))
        });
        quote.verdict = quote.verdict.filter(|_| !retracts);
    }
}

/// Returns what was said after the evidence of facts: corrections of it, or else the newest of `quotes` that is newer.
///
/// If there is none, and if the facts are uncertain or `needs_words`, the words of the evidence.
pub(super) fn after_facts<'m>(
    facts: &[&RankedFact],
    needs_words: bool,
    quotes: Vec<Quote<'m>>,
    ranked: &'m [RankedMessage],
) -> Option<Quote<'m>> {
    let is_evidence = |message: &Message| facts.iter().any(|f| is_told_by(f, message.id));
    let evidence = ranked.iter().map(|r| &r.message).filter(|m| is_evidence(m));
    // "The Opening is in Vlissingen, not in Rotterdam" corrects no fact about Havenlab.
    let of_side = |c: &Quote<'_>| {
        let text = words(c.message.text.as_str());
        let mut sides = facts.iter().flat_map(|f| [&f.subject, &f.object]).filter(|e| !e.is_viewer);
        let denied = sides.any(|e| denied_name(&text, &words(&e.name)).is_some());
        let of_viewer = || text.iter().any(|w| is_first_person(&w.plain) || MARKERS.contains(&w.plain.as_str()));
        let names = |e: &Entity| words(&e.name).iter().any(|n| text.iter().any(|w| w.stem == n.stem));
        denied && facts.iter().any(|f| if f.subject.is_viewer { of_viewer() } else { names(&f.subject) })
    };
    let said: Vec<Vec<Word>> = evidence.clone().map(|m| words(m.text.as_str())).collect();
    let is_change = |c: &Quote<'_>| said.iter().any(|said| changes(&words(c.message.text.as_str()), said, false));
    let corrected = evidence.flat_map(|m| corrections(m, ranked)).filter(|c| of_side(c) || is_change(c)).find(|c| !is_evidence(c.message));
    let told = facts.iter().flat_map(|f| &f.evidence).map(|e| e.created_at).max();
    let is_newer = |q: &Quote<'_>| q.coverage >= COVERAGE && told.is_some_and(|told| q.message.sent_at > told) && !is_evidence(q.message);
    let newer = corrected.or_else(|| quotes.into_iter().filter(is_newer).max_by_key(|q| q.message.sent_at));
    // Where the facts are not certain, their words say more.
    let is_wanted = || needs_words || (!facts.is_empty() && facts.iter().all(|f| f.fact.flagged));
    let newest = || ranked.iter().map(|r| &r.message).filter(|m| is_evidence(m)).max_by_key(|m| m.sent_at);
    newer.or_else(|| newest().filter(|_| is_wanted()).map(quote_all))
}

fn names_favourite(message: &Message) -> bool {
    words(message.text.as_str()).iter().any(|w| w.stem == "favorit")
}

/// Drops favourites that the message of another one replaces: "My favourite colour is green now" replaces red.
pub(super) fn drop_replaced(facts: &mut Vec<&RankedFact>, ranked: &[RankedMessage]) {
    let messages = |f: &RankedFact| -> Vec<&Message> {
        let is_evidence = |m: &&Message| is_told_by(f, m.id);
        ranked.iter().map(|r| &r.message).filter(is_evidence).collect()
    };
    let is_replaced = |old: &RankedFact, new: &RankedFact| {
        let is_other = old.fact.subject == new.fact.subject && old.fact.relation == new.fact.relation && old.fact.id != new.fact.id;
        let replaces = |after: &Message, before: &Message| {
            (after.sent_at, after.position) > (before.sent_at, before.position)
                && after.speaker == before.speaker
                && names_favourite(after)
                && names_favourite(before)
                && changes(&words(after.text.as_str()), &words(before.text.as_str()), false)
        };
        let told = messages(old);
        is_other && !told.is_empty() && told.iter().all(|before| messages(new).iter().any(|after| replaces(after, before)))
    };
    // Other facts of the same message may still hold: "I sold the car" leaves the bike.
    let all = facts.clone();
    facts.retain(|old| !all.iter().any(|new| is_replaced(old, new)));
}

/// Returns the messages that correct an earlier one: they deny a name of it and say another instead, or call off or change what it is about.
fn corrections<'m>(earlier: &Message, ranked: &'m [RankedMessage]) -> Vec<Quote<'m>> {
    let said = words(earlier.text.as_str());
    let is_statement = |m: &Message| m.role == Role::User && m.kind != Some(MessageKind::Question);
    let is_later = |m: &&Message| {
        is_statement(m)
            && m.speaker == earlier.speaker
            && m.id != earlier.id
            && m.sent_at >= earlier.sent_at
            && (m.session != earlier.session || m.position > earlier.position)
    };
    let has_nearer = |m: &Message, text: &[Word]| {
        let is_between = |o: &&Message| {
            is_statement(o) && o.session == m.session && o.speaker == m.speaker && o.position > earlier.position && o.position < m.position
        };
        // An earlier move of the same thing is no other thing.
        let can_be_meant = |o: &[Word]| !is_bare_change(o) && changes(text, o, true);
        changes_it(text) && ranked.iter().map(|r| &r.message).filter(is_between).any(|o| can_be_meant(&words(o.text.as_str())))
    };
    let corrects = |m: &&Message| {
        let text = words(m.text.as_str());
        // It follows at once, or it speaks of the same. "It got moved" is about the last thing that can be moved.
        let is_next = m.session == earlier.session && m.position - earlier.position <= NEAR && !has_nearer(m, &text);
        denied_name(&text, &said).is_some_and(|denied| is_next || shares_word(&text, &said, denied))
            || calls_off(&text, &said)
            || changes(&text, &said, is_next)
            || is_next && replaces_number(&text, &said)
    };
    let mut found: Vec<&Message> = ranked.iter().map(|r| &r.message).filter(is_later).filter(corrects).collect();
    found.sort_by_key(|m| std::cmp::Reverse((m.sent_at, m.position)));
    found.into_iter().map(quote_all).collect()
}

/// Whether a text says that something of an earlier one does not take place: "The wedding is off", "the trip got cancelled".
fn calls_off(text: &[Word], earlier: &[Word]) -> bool {
    const ENDS: [&str; 6] = ["off", "cancelled", "canceled", "postponed", "scrapped", "through"];
    const VERBS: [&str; 10] = ["is", "was", "are", "were", "has", "have", "been", "got", "called", "fell"];
    (1..text.len()).filter(|i| ENDS.contains(&text[*i].plain.as_str())).any(|end| {
        let verbs = text[..end].iter().rev().take_while(|w| VERBS.contains(&w.plain.as_str())).count();
        let Some(noun) = (end - verbs).checked_sub(1).and_then(|i| text.get(i)) else { return false };
        // "The wedding's off" has its verb in the noun, and only plans fall through.
        let is_verbal = if text[end].plain == "through" { text[end - 1].plain == "fell" } else { verbs > 0 || noun.possessive };
        // A reason may follow a name at the beginning: "Lisbon is off, flights were too expensive".
        let is_last = text.len() <= end + 3 || (end == verbs + 1 && text.len() <= SHORT);
        is_verbal && is_last && !noun.proper && !is_function_word(noun) && earlier.iter().any(|w| w.stem == noun.stem)
    })
}

/// Whether a text says at its beginning which number is right instead of the only one of an earlier text: "Make that four, we adopted another one".
fn replaces_number(text: &[Word], earlier: &[Word]) -> bool {
    const TURNS: [&str; 8] = ["actually", "sorry", "no", "oh", "wait", "oops", "well", "ah"];
    const BEGINNINGS: [&[&str]; 4] = [&["make", "that"], &["make", "it"], &["i", "mean"], &["i", "meant"]];
    let turns = text.iter().take_while(|w| TURNS.contains(&w.plain.as_str())).count();
    let rest = &text[turns..];
    let number = |w: &Word| number_word(&w.plain).or_else(|| w.plain.parse().ok());
    let begins = |words: &[&str]| words.iter().enumerate().all(|(i, word)| rest.get(i).is_some_and(|w| w.plain == *word));
    let denies = text[..turns].iter().any(|w| matches!(w.plain.as_str(), "sorry" | "no" | "oops"));
    let after = BEGINNINGS.iter().find(|words| begins(words)).map(|words| words.len()).or(denies.then_some(0));
    let right = after.and_then(|after| rest.get(after)).and_then(number);
    let mut said = earlier.iter().filter_map(number);
    let wrong = said.next().filter(|_| said.next().is_none());
    right.zip(wrong).is_some_and(|(right, wrong)| right != wrong)
}

fn quote_all(message: &Message) -> Quote<'_> {
    Quote { message, excerpt: shorten(message.text.as_str()), sentence: None, verdict: None, coverage: 1.0 }
}

/// Whether two texts share a name or another long word, except for one.
fn shares_word(text: &[Word], earlier: &[Word], except: &str) -> bool {
    let telling = |w: &Word| w.stem != except && !is_function_word(w) && (w.capital || w.plain.len() > 5);
    text.iter().filter(|w| telling(w)).any(|w| earlier.iter().any(|e| e.stem == w.stem && !is_function_word(e)))
}

/// Returns the stem of a name of an earlier text that a text denies, as people do who correct themselves.
fn denied_name<'t>(text: &'t [Word], earlier: &[Word]) -> Option<&'t str> {
    let marked = text.iter().any(|w| MARKERS.contains(&w.plain.as_str()));
    (0..text.len()).find_map(|i| {
        let is_not = text[i].plain == "not" || text[i].plain.ends_with("n't");
        let denied = (i + 1..text.len().min(i + 7)).find(|j| !BETWEEN.contains(&text[*j].plain.as_str()));
        let denied = denied.and_then(|j| text.get(j)).filter(|_| is_not)?;
        let of_name = i > 0 && text[i].plain == "not" && !AUXILIARIES.split_whitespace().any(|verb| verb == text[i - 1].plain);
        let is_name = |w: &Word| w.stem == denied.stem && (w.capital || denied.capital) && !is_function_word(w);
        ((marked || of_name) && earlier.iter().any(is_name)).then_some(denied.stem.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_off_does_not_take_place() {
        for (text, earlier, expected) in [
            ("The wedding's off.", "The wedding is on 3 June", true),
            ("Our trip got cancelled", "The trip to Faro starts on Monday", true),
            ("The sale fell through", "I signed the sale of the flat", true),
            ("The concert has been called off.", "The concert begins at 8", true),
            ("lisbon is off, flights were too expensive", "we're planning to go to Lisbon in june", true),
            ("The wedding was lovely", "The wedding is on 3 June", false),
            ("We set off for the wedding", "The wedding is on 3 June", false),
            ("The oven is off", "The wedding is on 3 June", false),
            ("my phone was off, so I missed the call", "My phone is a Pixel 8", false),
            ("The train took off from the wedding venue in the end", "The train is late", false),
        ] {
            assert_eq!(calls_off(&words(text), &words(earlier)), expected, "{text}");
        }
    }

    #[test]
    fn number_at_the_beginning_replaces_the_only_one() {
        for (text, earlier, expected) in [
            ("Make that four, we adopted another one", "We have three cats", true),
            ("sorry, 4", "We have 3 cats", true),
            ("Actually make that three", "I have two rabbits", true),
            ("Well, four of us came", "We have three cats", false),
            ("Make that four", "We have three cats and two dogs", false),
            ("Make that three", "We have three cats", false),
            ("I mean cats", "We have three cats", false),
            ("Four of us came", "We have three cats", false),
        ] {
            assert_eq!(replaces_number(&words(text), &words(earlier)), expected, "{text}");
        }
    }

    #[test]
    fn corrections_deny_a_name_of_the_earlier_text() {
        for (text, earlier, expected) in [
            ("sorry, it's Dr. AOKI, not Okada", "the vet there, Dr. Okada", true),
            ("it's Mr. BURKE not Mr. Birch.", "his teacher is Mr. Birch", true),
            ("Galina works at the Academy, not the Conservatorium.", "she works at the Conservatorium", true),
            ("I was wrong. Pri is not at the University of Dundee", "Pri is at the University of Dundee", true),
            ("I'm not in Leeds any more", "I live in Leeds", false),
            ("He is a vet, not a doctor of mine", "Leo lives in Graz", false),
        ] {
            assert_eq!(denied_name(&words(text), &words(earlier)).is_some(), expected, "{text}");
        }
    }
}
