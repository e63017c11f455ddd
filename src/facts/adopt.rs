//! What an account knows and what a visitor had said become one knowledge: whom of the account a visitor's entity is, and what the
//! facts of the two say against each other. Pure.

use std::collections::HashSet;

use super::resolve::{close, names};
use super::weigh::{half_life, is_rival, reweigh};
use crate::domain::{Entity, Evidence, Fact, FactId, FactStatus, MessageId, Ontology, Stance};

/// The one among `known` that a visitor's entity is: of the same name and sort, and the only one. `beside` are the visitor's other
/// entities; who could be confused with one of them is left alone, as are two who were described in different words.
pub fn twin<'e>(entity: &Entity, known: &'e [Entity], beside: &[Entity]) -> Option<&'e Entity> {
    let alike = |other: &&Entity| other.id != entity.id && !other.is_viewer && close(entity.entity_type, other.entity_type) && same(entity, other);
    let mut found = known.iter().filter(alike);
    let twin = found.next().filter(|_| found.next().is_none())?;
    let described_alike = match (&entity.description, &twin.description) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    let alone = !beside.iter().any(|other| alike(&other) && other.id != twin.id);
    (described_alike && alone).then_some(twin)
}

/// Whether two go by one name; another spelling of it is none, for what is undone less easily than said.
fn same(a: &Entity, b: &Entity) -> bool {
    let of = |e: &'_ Entity| std::iter::once(e.name.clone()).chain(e.aliases.iter().cloned()).collect::<Vec<_>>();
    let ours = of(a);
    of(b).iter().any(|theirs| ours.iter().any(|name| names::fit(name, theirs, a.entity_type) == Some(names::Fit::Same)))
}

/// Facts that come to stand beside others: what supports one speaks against its rivals, both ways, as if each had been said where the
/// other was known. Returns the facts weighed anew and the evidence that this adds. `evidence` is all of theirs.
pub(super) fn oppose(moved: &[Fact], staying: &[Fact], evidence: &[Evidence], ontology: &Ontology) -> (Vec<Fact>, Vec<Evidence>) {
    let mut facts: Vec<Fact> = moved.iter().chain(staying).cloned().collect();
    let of = |fact: FactId| evidence.iter().filter(move |e| e.fact == fact);
    let mut added: Vec<Evidence> = Vec::new();
    for a in moved {
        for b in staying.iter().filter(|b| holds(a) && holds(b) && is_rival(a, b, ontology)) {
            for (from, to) in [(a.id, b.id), (b.id, a.id)] {
                let mut known: HashSet<MessageId> = of(to).filter(|e| e.stance == Stance::Opposes).map(|e| e.message).collect();
                known.extend(added.iter().filter(|e| e.fact == to).map(|e| e.message));
                let supports = of(from).filter(|e| e.stance == Stance::Supports && known.insert(e.message));
                added.extend(supports.map(|e| Evidence { fact: to, stance: Stance::Opposes, span: None, ..e.clone() }).collect::<Vec<_>>());
            }
        }
    }
    facts.retain(|f| added.iter().any(|e| e.fact == f.id));
    let weighed = facts.iter().filter_map(|f| {
        let all: Vec<Evidence> = of(f.id).chain(added.iter().filter(|e| e.fact == f.id)).cloned().collect();
        reweigh(f, &all, half_life(ontology.get(&f.relation)))
    });
    (weighed.collect(), added)
}

fn holds(fact: &Fact) -> bool {
    fact.status == FactStatus::Active
}
