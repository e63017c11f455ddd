//! Adds to a model's extraction what the local extractor knows about the same words.

use super::candidates::sort_by_position;
use recall_domain::{CandidateFact, CandidateValue, EntityKey, Extraction, Party, belief::FLAG_BELOW};

/// Confidence of a fact that both found.
const AGREED: f64 = 0.95;

/// Merges two extractions of the same message. `shown` is the number of code points that the model saw.
///
/// The model decides about the kind, the entities and the facts. A fact that both found gets more confidence. What the local extractor
/// found out about the names of these entities is added: their roles and other names. The local facts of the part that the model did not
/// see stay, and those with values, which the model does not state. A note stays only if the model found no fact either.
pub(super) fn merge(local: Extraction, model: Extraction, shown: u32) -> Extraction {
    let mut all = model;
    let places: Vec<Option<usize>> = local.mentions.iter().map(|m| place(&all, &m.name)).collect();
    for (m, i) in local.mentions.iter().zip(&places) {
        if let Some(known) = i.and_then(|i| all.mentions.get_mut(i)) {
            known.confidence = known.confidence.max(m.confidence);
            if known.description.is_none() {
                known.description.clone_from(&m.description);
            }
        }
    }
    let side = |p: Party| match p {
        Party::Speaker => Some(Party::Speaker),
        Party::Mention(i) => places.get(i).copied().flatten().map(Party::Mention),
    };
    for n in local.names.iter().filter_map(|n| n.moved(side)) {
        if !all.names.iter().any(|known| known.name == n.name) {
            all.names.push(n);
        }
    }
    all.possible_ends.extend(local.possible_ends.iter().filter_map(|e| e.moved(side)));
    let is_told = !all.facts.is_empty();
    for f in local.facts {
        if is_told && f.span.start < shown && matches!(f.value, Some(CandidateValue::Note(_))) {
            continue;
        }
        let both = side(f.subject).zip(side(f.object));
        let same = all
            .facts
            .iter_mut()
            .find(|t| both == Some((t.subject, t.object)) && t.relation == f.relation && t.value == f.value && t.polarity == f.polarity);
        if let Some(same) = same {
            // What the speaker only heard stays as unsure as it is.
            same.confidence = if same.confidence < FLAG_BELOW { same.confidence } else { AGREED.max(f.confidence) };
        } else if f.span.start >= shown || f.value.is_some() {
            let mut added = |p: Party| match p {
                Party::Speaker => Some(Party::Speaker),
                Party::Mention(i) => {
                    let m = local.mentions.get(i)?;
                    let known = place(&all, &m.name);
                    if known.is_none() {
                        all.mentions.push(m.clone());
                    }
                    Some(Party::Mention(known.unwrap_or(all.mentions.len() - 1)))
                }
            };
            if let (Some(subject), Some(object)) = (added(f.subject), added(f.object)) {
                all.facts.push(CandidateFact { subject, object, ..f });
            }
        }
    }
    sort_by_position(all)
}

/// Returns the mention with a name.
fn place(extraction: &Extraction, name: &str) -> Option<usize> {
    let key = EntityKey::of(name)?;
    extraction.mentions.iter().position(|m| EntityKey::of(&m.name).as_ref() == Some(&key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use recall_domain::{EntityType, Mention, MessageKind, Polarity, Span, Word};

    type Line = (&'static str, &'static str, &'static str, Polarity, f64);

    /// An extraction of facts "subject relation object" about "I" and names of one letter.
    fn extraction(kind: MessageKind, facts: &[Line]) -> Extraction {
        let mut mentions: Vec<Mention> = Vec::new();
        let mut candidates = Vec::new();
        for (subject, relation, object, polarity, confidence) in facts {
            let mut party = |name: &str| {
                if name == "I" {
                    return Party::Speaker;
                }
                let at = u32::from(name.bytes().next().unwrap());
                let known = mentions.iter().position(|m| m.name == name);
                Party::Mention(known.unwrap_or_else(|| {
                    let span = Span { start: at, end: at + 1 };
                    let entity_type = EntityType::Thing;
                    mentions.push(Mention { name: name.to_owned(), entity_type, span, confidence: 0.5, description: None });
                    mentions.len() - 1
                }))
            };
            let (subject, object) = (party(subject), party(object));
            let span = Span { start: 90, end: 91 };
            candidates.push(CandidateFact {
                subject,
                relation: (*relation).to_owned(),
                object,
                value: None,
                polarity: *polarity,
                confidence: *confidence,
                span,
            });
        }
        Extraction { mentions, facts: candidates, ..Extraction::empty(kind) }
    }

    fn fact_lines(e: &Extraction) -> Vec<String> {
        let name = |p: Party| if let Party::Mention(i) = p { e.mentions[i].name.clone() } else { "I".to_owned() };
        let line =
            |f: &CandidateFact| format!("{} {} {} {} {}", name(f.subject), f.relation, name(f.object), f.polarity.word(), f.confidence);
        let mut fact_lines: Vec<String> = e.facts.iter().map(line).collect();
        fact_lines.sort();
        fact_lines
    }

    #[test]
    fn model_decides_and_agreement_adds_confidence() {
        use Polarity::{Affirmed, Negated};
        let local = extraction(
            MessageKind::Statement,
            &[("I", "LIKES", "c", Affirmed, 1.0), ("I", "USES", "b", Affirmed, 0.6), ("d", "USES", "a", Affirmed, 0.6)],
        );
        let model = extraction(
            MessageKind::Mixed,
            &[("I", "LIKES", "c", Negated, 0.8), ("d", "USES", "a", Affirmed, 0.8), ("a", "KNOWS", "d", Affirmed, 0.6)],
        );
        let all = merge(local.clone(), model.clone(), 1_000);
        assert_eq!(fact_lines(&all), ["I LIKES c negated 0.8", "a KNOWS d affirmed 0.6", "d USES a affirmed 0.95"]);
        assert_eq!((all.kind, all.mentions.len()), (MessageKind::Mixed, 3));
        assert!(all.mentions.is_sorted_by_key(|m| m.span));
        // The model saw only the start of the message.
        let all = merge(local, model, 50);
        assert_eq!(
            fact_lines(&all),
            ["I LIKES c affirmed 1", "I LIKES c negated 0.8", "I USES b affirmed 0.6", "a KNOWS d affirmed 0.6", "d USES a affirmed 0.95"]
        );
    }

    proptest! {
        #[test]
        fn nothing_that_the_model_found_is_lost(
            local in prop::collection::vec((0usize..4, 0usize..3, 0usize..4, 0usize..3), 0..8),
            model in prop::collection::vec((0usize..4, 0usize..3, 0usize..4, 0usize..3), 0..8),
            shown in 0u32..200,
        ) {
            let of = |facts: &[(usize, usize, usize, usize)], confidence: f64| {
                let polarities = [Polarity::Affirmed, Polarity::Negated, Polarity::Ended];
                let lines: Vec<Line> = facts
                    .iter()
                    .filter(|(s, _, o, _)| s != o)
                    .map(|(s, r, o, p)| (["I", "a", "b", "c"][*s], ["LIKES", "USES", "KNOWS"][*r], ["I", "a", "b", "c"][*o], polarities[*p], confidence))
                    .collect();
                extraction(MessageKind::Statement, &lines)
            };
            let (local, model) = (of(&local, 1.0), of(&model, 0.8));
            let merged = merge(local, model.clone(), shown);
            let names = |e: &Extraction| e.mentions.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
            prop_assert!(names(&model).iter().all(|n| names(&merged).contains(n)));
            let bare = |e: &Extraction| fact_lines(e).iter().map(|l| l.rsplit_once(' ').unwrap().0.to_owned()).collect::<Vec<_>>();
            prop_assert!(bare(&model).iter().all(|f| bare(&merged).contains(f)));
        }
    }
}
