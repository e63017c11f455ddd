//! Recognises what people note for themselves without "my": "booking reference is QX7781", "the meeting is at 3pm on Thursday".

use recall_domain::EntityType;

use super::clauses::{Clause, Subject};
use super::corrections::has_value;
use super::lexicon::lexicon;
use super::mentions::phrase;
use super::phrases::{Phrases, Possessor};
use super::tokens::Token;

/// Nouns for what is noted as letters and digits.
const CODES: &[&str] = &["code", "id", "number", "passcode", "password", "pin", "ref", "reference", "username"];
/// Words between "is" and the time of an appointment.
const LEADS: &[&str] = &["at", "on", "from", "this", "next", "today", "tomorrow", "tonight"];

/// Whether a clause gives the code of something, or the time of an appointment. A general statement names whose it is, or has a plural.
pub(crate) fn is_record(tokens: &[Token], p: &Phrases, clause: &Clause) -> bool {
    let Subject::Nouns(nouns) = &clause.subject else { return false };
    let [n] = nouns.as_slice() else { return false };
    let (np, g) = (&p.nouns[*n], &p.verbs[clause.verb]);
    let is_plain = np.possessor == Possessor::Unmarked && !np.pronoun && np.proper_name.is_none();
    let is_own = np.determiner.is_none_or(|d| tokens[d].is("the"));
    let is_stated = g.lemma == "be" && !g.past && !g.negated && g.modal.is_none() && !clause.unasserted;
    // "The atomic number of iron is 26": the verb follows the noun.
    if !is_plain || !is_own || !is_stated || np.end != g.start {
        return false;
    }
    let (head, end) = (&tokens[np.head], p.chunks[clause.end.max(1) - 1].end);
    let said = &tokens[g.end.min(end)..end];
    let is_named = np.head > np.core || matches!(head.norm.as_str(), "password" | "passcode" | "pin" | "username");
    let is_code = |t: &Token| t.text.chars().any(|c| c.is_ascii_digit()) && t.text.chars().count() > 3;
    let gives_code = CODES.contains(&head.norm.as_str()) && is_named && said.first().is_some_and(is_code);
    let is_appointment = head.norm == head.lemma && lexicon().head(&head.lemma) == Some(EntityType::Event) || head.is("appointment");
    let gives_time = || said.first().is_some_and(|t| LEADS.contains(&t.norm.as_str())) && has_value(&phrase(said, 0, said.len()));
    gives_code || is_appointment && gives_time()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{chunker::chunk, clause_finder::find_clauses, fixture::tagged};

    #[test]
    fn codes_and_appointments_are_records() {
        for (text, expected) in [
            ("hotel confirmation number is QX7781", true),
            ("booking reference is QX7781", true),
            ("the wifi password is hunter22", true),
            ("the meeting is at 3pm on Thursday", true),
            ("the atomic number of iron is 1026", false),
            ("the number is 1026", false),
            ("his locker code is 4481", false),
            ("the meeting was at 3pm", false),
            ("meetings are at 3pm", false),
            ("the meeting is at the office", false),
        ] {
            let tokens = tagged(text);
            let phrases = chunk(&tokens);
            let clauses = find_clauses(&tokens, &phrases);
            assert_eq!(clauses.iter().any(|c| is_record(&tokens, &phrases, c)), expected, "{text}");
        }
    }
}
