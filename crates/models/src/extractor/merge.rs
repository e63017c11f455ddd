//! Merges the extractions of the local extractor and the model.

use super::{candidates::sort_by_position, policy::Policy};
use recall_domain::{CandidateFact, CandidateValue, EntityKey, Extraction, Mention, MessageKind, Party, belief::FLAG_BELOW};

/// Confidence of a fact that both found.
const AGREED: f64 = 0.95;

/// Merges two extractions of the same message.
///
/// Under [`Policy::Hybrid`], sure local facts stay, unsure ones stay if the model agrees, and the model adds new facts.
/// Under [`Policy::Model`], the model's facts count, and facts that both found get more confidence.
pub(super) fn merge(policy: Policy, local: Extraction, model: Extraction) -> Extraction {
    let kind = match policy {
        Policy::Model => model.kind,
        Policy::Hybrid if local.kind == MessageKind::Other && !model.facts.is_empty() => MessageKind::Statement,
        Policy::Hybrid => local.kind,
    };
    let mut all = Merged::default();
    for m in &model.mentions {
        all.mention(m);
    }
    for m in &local.mentions {
        all.mention(m);
    }
    let theirs: Vec<CandidateFact> = model.facts.iter().filter_map(|f| all.moved(f, &model)).collect();
    let ours: Vec<CandidateFact> = local.facts.iter().filter_map(|f| all.moved(f, &local)).collect();
    let mut facts: Vec<CandidateFact> = Vec::new();
    for mut f in ours {
        let agrees = theirs.iter().any(|t| pair(t) == pair(&f) && t.polarity == f.polarity);
        if agrees {
            f.confidence = f.confidence.max(AGREED);
        }
        // The model states no values.
        if agrees || f.value.is_some() || (policy == Policy::Hybrid && f.confidence >= FLAG_BELOW) {
            facts.push(f);
        }
    }
    for t in theirs {
        if !facts.iter().any(|f| pair(f) == pair(&t)) {
            facts.push(t);
        }
    }
    sort_by_position(kind, all.mentions, facts)
}

fn pair(f: &CandidateFact) -> (Party, &str, Party, Option<&CandidateValue>) {
    (f.subject, f.relation.as_str(), f.object, f.value.as_ref())
}

#[derive(Default)]
struct Merged {
    mentions: Vec<Mention>,
}

impl Merged {
    /// Returns the index of a mention and adds it if its name is new.
    fn mention(&mut self, m: &Mention) -> Option<usize> {
        let key = EntityKey::of(&m.name)?;
        let known = self.mentions.iter().position(|k| EntityKey::of(&k.name).as_ref() == Some(&key));
        if let Some(k) = known.and_then(|i| self.mentions.get_mut(i)) {
            k.confidence = k.confidence.max(m.confidence);
            if k.description.is_none() {
                k.description.clone_from(&m.description);
            }
            return known;
        }
        self.mentions.push(m.clone());
        Some(self.mentions.len() - 1)
    }

    /// A fact of one extraction with its sides among all mentions.
    fn moved(&mut self, f: &CandidateFact, of: &Extraction) -> Option<CandidateFact> {
        let mut side = |p: Party| match p {
            Party::Speaker => Some(Party::Speaker),
            Party::Mention(i) => of.mentions.get(i).and_then(|m| self.mention(m)).map(Party::Mention),
        };
        let (subject, object) = (side(f.subject)?, side(f.object)?);
        Some(CandidateFact { subject, object, ..f.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recall_domain::{EntityType, Polarity, Span, Word};

    /// An extraction of facts "subject relation object" about "I" and names of one letter.
    fn extraction(kind: MessageKind, facts: &[(&str, &str, &str, Polarity, f64)]) -> Extraction {
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
                    mentions.push(Mention {
                        name: name.to_owned(),
                        entity_type: EntityType::Thing,
                        span,
                        confidence: 0.5,
                        description: None,
                    });
                    mentions.len() - 1
                }))
            };
            let (subject, object) = (party(subject), party(object));
            let span = Span { start: 0, end: 1 };
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
        Extraction { kind, mentions, facts: candidates }
    }

    fn fact_lines(e: &Extraction) -> Vec<String> {
        let name = |p: Party| if let Party::Mention(i) = p { e.mentions[i].name.clone() } else { "I".to_owned() };
        let mut fact_lines: Vec<String> = e
            .facts
            .iter()
            .map(|f| format!("{} {} {} {} {}", name(f.subject), f.relation, name(f.object), f.polarity.word(), f.confidence))
            .collect();
        fact_lines.sort();
        fact_lines
    }

    #[test]
    fn sure_facts_stay_and_unsure_ones_need_agreement() {
        use Polarity::{Affirmed, Negated};
        let local = extraction(
            MessageKind::Statement,
            &[("I", "LIKES", "c", Affirmed, 1.0), ("I", "USES", "b", Affirmed, 0.6), ("d", "USES", "a", Affirmed, 0.6)],
        );
        let model = extraction(
            MessageKind::Mixed,
            &[("I", "LIKES", "c", Negated, 0.8), ("d", "USES", "a", Affirmed, 0.8), ("a", "KNOWS", "b", Affirmed, 0.8)],
        );
        let hybrid = merge(Policy::Hybrid, local.clone(), model.clone());
        assert_eq!(fact_lines(&hybrid), ["I LIKES c affirmed 1", "a KNOWS b affirmed 0.8", "d USES a affirmed 0.95"]);
        assert_eq!(hybrid.kind, MessageKind::Statement);
        assert!(hybrid.mentions.is_sorted_by_key(|m| m.span));
        let all = merge(Policy::Model, local, model);
        assert_eq!(fact_lines(&all), ["I LIKES c negated 0.8", "a KNOWS b affirmed 0.8", "d USES a affirmed 0.95"]);
        assert_eq!(all.kind, MessageKind::Mixed);
    }
}
