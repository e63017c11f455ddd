//! Answers "How do you know that …?" with the messages that say so.

use super::{
    assertion::is_negated,
    citations::CitationList,
    cues::CueIndex,
    facts::{find_answer, holds, names_all},
    grammar::day,
    names::NameMention,
    phrasing::best_evidence,
    question::Question,
};
use recall_domain::{
    Citation, EntityId, Evidence, FactStatus, Stance,
    context::{Context, RankedFact},
};
use recall_embedding::LocalEmbedder;

/// Beginnings of questions about the source of a claim. One that begins another comes later.
const BEGINNINGS: &[&str] = &[
    "how do you know that",
    "how do you know",
    "how come you know that",
    "how come you know",
    "how can you tell that",
    "how can you tell",
    "how are you so sure that",
    "why do you think that",
    "why do you think",
    "why do you believe that",
    "why do you say that",
    "what makes you think that",
    "what makes you think",
    "where do you have it from that",
];
/// Most messages named in one answer.
const MAX_SOURCES: usize = 3;

/// Returns the claim that a question asks the source of.
pub(super) fn claim_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let found = BEGINNINGS.iter().find(|b| {
        let (start, rest) = (text.get(..b.len()), text.get(b.len()..));
        start.is_some_and(|s| s.eq_ignore_ascii_case(b)) && rest.is_some_and(|r| r.starts_with(' '))
    })?;
    text.get(found.len()..).map(str::trim).filter(|claim| !claim.is_empty())
}

/// Returns the sentences that name the sources of the facts that the claim is about.
pub(super) fn write_sources(
    claim: &Question,
    context: &Context,
    cue_index: &CueIndex,
    embedder: &LocalEmbedder,
    cited: &mut CitationList<'_>,
) -> Vec<String> {
    // "That I no longer live in Rome" is told by the message that ended it, not by the one before.
    let denies = is_negated(&claim.words, None);
    let fits = |f: &&RankedFact| holds(f) != denies;
    let known = || context.facts.iter().filter(|f| f.fact.status != FactStatus::Retracted);
    let mut facts: Vec<&RankedFact> = known().filter(|f| names_both(claim, f)).filter(fits).collect();
    if facts.is_empty() {
        facts = find_answer(claim, context, cue_index, embedder).facts.into_iter().filter(|f| fits(f)).collect();
    }
    if facts.is_empty() && claim.named.iter().any(|n| n.entities != claim.named[0].entities) {
        facts = known().filter(|f| names_all(claim, f)).collect();
    }
    let mut sentences = Vec::new();
    for fact in facts {
        let message_of = |e: &Evidence| context.messages.iter().map(|m| &m.message).find(|m| m.id == e.message);
        let rank = |e: &&Evidence| (message_of(e).is_some(), e.stance == Stance::Ends, e.created_at);
        let told = fact.evidence.iter().filter(|e| (e.stance == Stance::Supports) != denies).max_by_key(rank);
        let Some(evidence) = told.or_else(|| best_evidence(fact)) else { continue };
        let message = message_of(evidence);
        let words = message.map_or(&evidence.excerpt, |m| &m.text);
        let known = cited.citations.iter().any(|c| c.message_id == Some(evidence.message));
        // A mere name tells nothing.
        let says_little = words.as_str().split_whitespace().count() < 3;
        if known || says_little || sentences.len() == MAX_SOURCES {
            continue;
        }
        let who = message.and_then(|m| m.speaker.as_deref()).unwrap_or("you");
        let citation = Citation {
            index: 0,
            message_id: Some(evidence.message),
            fact_id: Some(fact.fact.id),
            chunk: None,
            excerpt: words.clone(),
            shared: false,
        };
        let mark = cited.cite(citation);
        sentences.push(format!("On {} {who} said: “{}” {mark}.", day(evidence.created_at), words.as_str()));
    }
    sentences
}

/// Whether the claim names two sides, and these are the sides of the fact. "My" only says whose mother it is.
fn names_both(claim: &Question, f: &RankedFact) -> bool {
    let is_owner = |n: &NameMention| n.possessive && claim.named.iter().any(|m| m.start >= n.end);
    let named: Vec<&NameMention> = claim.named.iter().filter(|n| !is_owner(n)).collect();
    let on_side = |id: EntityId| named.iter().any(|n| n.entities.contains(&id));
    named.len() == 2
        && on_side(f.fact.subject)
        && on_side(f.fact.object)
        && named.iter().all(|n| n.entities.contains(&f.fact.subject) || n.entities.contains(&f.fact.object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_found_in_questions_about_their_source() {
        for (text, expected) in [
            ("How do you know that I live in Rome?", Some("I live in Rome?")),
            ("how do you know where I live", Some("where I live")),
            ("How do you know", None),
            ("How do you make tea?", None),
        ] {
            assert_eq!(claim_of(text), expected, "{text}");
        }
    }
}
