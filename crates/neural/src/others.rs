//! Finds new facts of the network that the rules state of somebody else.

use recall_domain::{CandidateFact, Party, Polarity};

use crate::coordination::{are_coordinated, is_coordinated_with_speaker};
use crate::marks::RELATIONS;
use crate::names::Names;
use crate::reading::{NewFact, Range, SPEAKER, SYMMETRIC, span_of};

/// Whether the rules say of what somebody has what a new fact says of the owner: "Rita married Sam's brother" is not about Sam.
pub(crate) fn is_said_of_owned(names: &Names<'_>, ranges: &[Range], new: &NewFact, facts: &[CandidateFact]) -> bool {
    let follows = |range: Range| names.text.chars().skip(span_of(names.tokens, range).end as usize).take(2).collect::<String>();
    let is_owner = |place: usize| place > 0 && matches!(follows(ranges[place]).as_str(), "'s" | "’s");
    let is_party = |party: Party, place: usize| match party {
        Party::Speaker => place == 0,
        Party::Mention(i) => place > 0 && names.mentions.get(i).is_some_and(|m| m.span == span_of(names.tokens, ranges[place])),
    };
    let is_stated_of = |other: usize| {
        let sides = |f: &CandidateFact| is_party(f.subject, other) || is_party(f.object, other);
        facts.iter().any(|f| f.relation == RELATIONS[new.relation] && sides(f))
    };
    is_owner(new.object) && is_stated_of(new.subject) || is_owner(new.subject) && is_stated_of(new.object)
}

/// Whether the rules say of somebody else that the same ended: "Kim knows a guy who quit Ford."
pub(crate) fn ends_for_another(names: &Names<'_>, ranges: &[Range], new: &NewFact) -> bool {
    let place_of = |party: Party| match party {
        Party::Speaker => Some(SPEAKER),
        Party::Mention(i) => names.of_rules[i],
    };
    let span = |place: Range| span_of(names.tokens, place);
    let is_another = |place: Range| {
        place != ranges[new.subject]
            && match (place == SPEAKER, ranges[new.subject] == SPEAKER) {
                (false, false) => !are_coordinated(names.text, span(place), span(ranges[new.subject])),
                (true, _) => !is_coordinated_with_speaker(names.text, span(ranges[new.subject])),
                (_, true) => !is_coordinated_with_speaker(names.text, span(place)),
            }
    };
    names.rules.facts.iter().any(|f| {
        f.polarity == Polarity::Ended
            && f.relation == RELATIONS[new.relation]
            && place_of(f.object) == Some(ranges[new.object])
            && place_of(f.subject).is_some_and(is_another)
    })
}

/// Whether the rules name other pairs in a separation: "Tess and I broke up, I'm with Lena now" ends and states nothing between Tess and Lena.
pub(crate) fn is_between_others(names: &Names<'_>, ranges: &[Range], new: &NewFact, polarity: Polarity) -> bool {
    let relation = RELATIONS[new.relation];
    let place_of = |party: Party| match party {
        Party::Speaker => Some(SPEAKER),
        Party::Mention(i) => names.of_rules[i],
    };
    let pair = [ranges[new.subject], ranges[new.object]];
    let is_shared = |party: &Party| place_of(*party).is_some_and(|place| pair.contains(&place));
    let has_pair = |of: Polarity| {
        let mut facts = names.rules.facts.iter().filter(|f| f.polarity == of && f.relation == relation);
        facts.any(|f| [f.subject, f.object].iter().filter(|p| is_shared(p)).count() == 1)
    };
    SYMMETRIC.contains(&relation) && has_pair(Polarity::Ended) && (polarity == Polarity::Ended || has_pair(Polarity::Affirmed))
}
