//! Order and identity of the candidates of one message.

use recall_domain::{CandidateFact, Extraction, Party};

/// Sorts mentions and facts by their position, as the port requires.
pub(super) fn sort_by_position(extraction: Extraction) -> Extraction {
    let Extraction { kind, mentions, mut facts, possible_ends, names } = extraction;
    let mut order: Vec<usize> = (0..mentions.len()).collect();
    order.sort_by_key(|&i| mentions.get(i).map(|m| m.span));
    let mut place = vec![0; mentions.len()];
    for (new, &old) in order.iter().enumerate() {
        if let Some(p) = place.get_mut(old) {
            *p = new;
        }
    }
    let moved = |party: Party| match party {
        Party::Mention(i) => Party::Mention(place.get(i).copied().unwrap_or(i)),
        Party::Speaker => Party::Speaker,
    };
    for f in &mut facts {
        (f.subject, f.object) = (moved(f.subject), moved(f.object));
    }
    facts.sort_by_key(|f| f.span.start);
    let possible_ends = possible_ends.iter().filter_map(|e| e.moved(|p| Some(moved(p)))).collect();
    let names = names.into_iter().filter_map(|n| n.moved(|p| Some(moved(p)))).collect();
    Extraction { kind, mentions: order.into_iter().filter_map(|i| mentions.get(i).cloned()).collect(), facts, possible_ends, names }
}

/// Whether two facts have the same subject, relation and object.
pub(super) fn states_same(a: &CandidateFact, b: &CandidateFact) -> bool {
    (a.subject, &a.relation, a.object) == (b.subject, &b.relation, b.object)
}
