//! Tests that restoring a fact undoes its retraction by hand.

use super::*;
use crate::edit::{EditContext, EditedFact, NotRestorable, restore, retract};

/// Retracted or restored on the day.
type Edit = Result<KnowledgeCommit, NotRestorable>;

impl TestMemory {
    fn edit(&mut self, id: FactId, on: i64, plan: impl Fn(&EditContext<'_>, &EditedFact<'_>, &mut dyn FnMut() -> Uuid) -> Edit) -> Edit {
        let ontology = ontology();
        let (fact, rivals): (Vec<Fact>, Vec<Fact>) = self.facts.values().cloned().partition(|f| f.id == id);
        let sides: Vec<Entity> = self.entities.values().cloned().collect();
        let at = EditContext { version: 0, session: SessionId(Uuid::nil()), ontology: &ontology, now: day(on) };
        let input = EditedFact { fact: &fact[0], rivals: &rivals, evidence: &self.evidence, sides: &sides };
        let plan = plan(&at, &input, &mut || Uuid::nil())?;
        self.facts.extend(plan.facts.iter().map(|f| (f.id, f.clone())));
        self.evidence.extend(plan.evidence.iter().cloned());
        self.evidence.retain(|e| !plan.dropped_evidence.contains(&(e.fact, e.message, e.stance)));
        Ok(plan)
    }

    fn retract(&mut self, id: FactId, on: i64) {
        self.edit(id, on, |at, input, ids| Ok(retract(at, input, ids))).unwrap();
    }

    fn restore(&mut self, id: FactId, on: i64) -> Edit {
        self.edit(id, on, restore)
    }

    /// Returns the facts, without the time of their last change, and the evidence. The flag of a fact that was denied first is
    /// another one after any re-weighing.
    fn contents(&self) -> (Vec<String>, Vec<String>) {
        let round = |x: f64| (x * 1e9).round() as i64;
        let fact = |f: &Fact| {
            let numbers = [round(f.support), round(f.opposition), f.weighed_at.timestamp()];
            format!("{} {:?} {numbers:?} {:?} {:?} {:?}", f.id, f.status, f.valid_from, f.valid_to, f.last_support)
        };
        let evidence = |e: &Evidence| format!("{} {} {:?} {} {:?} {}", e.fact, e.message, e.stance, e.confidence, e.span, e.created_at);
        let mut rows: (Vec<_>, Vec<_>) = (self.facts.values().map(fact).collect(), self.evidence.iter().map(evidence).collect());
        rows.0.sort();
        rows.1.sort();
        rows
    }
}

fn ordered_history() -> impl Strategy<Value = Vec<StatedFact>> {
    let polarity = prop_oneof![4 => Just(Polarity::Affirmed), 1 => Just(Polarity::Negated), 1 => Just(Polarity::Ended)];
    prop::collection::vec((any_statement(), polarity), 1..14).prop_map(|mut said| {
        said.sort_by_key(|(s, _)| s.day);
        let numbered = said.into_iter().enumerate();
        numbered.map(|(i, (s, polarity))| StatedFact { message: i as u128 + 1, polarity, ..s }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn restored_fact_and_its_rivals_are_what_they_were(said in ordered_history()) {
        let mut memory = TestMemory::default();
        said.iter().for_each(|s| { memory.apply_claim(s); });
        let before = memory.contents();
        let mut ids: Vec<FactId> = memory.facts.keys().copied().collect();
        ids.sort();
        for id in &ids {
            memory.retract(*id, 500);
            let plan = memory.restore(*id, 600).unwrap();
            let first = (plan.facts[0].id, change(&plan, 0).0);
            prop_assert_eq!(first, (*id, FactChange::Restored));
            prop_assert_eq!(&memory.contents(), &before);
        }
        // Several facts, in whatever order.
        ids.iter().for_each(|id| memory.retract(*id, 700));
        ids.iter().for_each(|id| { memory.restore(*id, 800).unwrap(); });
        prop_assert_eq!(&memory.contents(), &before);
    }
}

#[test]
fn rival_stated_during_a_retraction_counts_afterwards() {
    let home = |message, d, place| say(message, d, "I", "LIVES_IN", place, Polarity::Affirmed);
    let mut memory = TestMemory::default();
    memory.apply_claim(&home(1, 1, "Lyon"));
    let lyon = memory.fact("You LIVES_IN Lyon").id;
    memory.retract(lyon, 2);
    memory.apply_claim(&home(2, 3, "Ghent"));
    assert_eq!(memory.fact("You LIVES_IN Ghent").opposition, 0.0);
    memory.restore(lyon, 4).unwrap();
    let mut plain = TestMemory::default();
    plain.apply_claim(&home(1, 1, "Lyon"));
    plain.apply_claim(&home(2, 3, "Ghent"));
    assert_eq!(memory.snapshot(), plain.snapshot());
}

#[test]
fn fact_without_a_retraction_by_hand_is_not_restored() {
    let mut memory = TestMemory::default();
    memory.apply_claim(&say(1, 1, "John", "LIKES", "Mary", Polarity::Affirmed));
    let id = memory.fact("John LIKES Mary").id;
    assert_eq!(memory.restore(id, 2).unwrap_err(), NotRestorable::NotRetracted);
    memory.retract(id, 2);
    memory.apply_claim(&say(2, 3, "John", "LIKES", "Mary", Polarity::Affirmed));
    assert_eq!(memory.restore(id, 4).unwrap_err(), NotRestorable::NotRetracted);
    let mut denial = say(3, 5, "John", "LIKES", "Mary", Polarity::Negated).statement();
    denial.text = UserText::from("Actually, John doesn't like Mary");
    denial.extraction.facts[0].span = Span { start: 10, end: 32 };
    memory.apply_statement(&denial);
    assert_eq!(memory.fact("John LIKES Mary").status, FactStatus::Retracted);
    assert_eq!(memory.restore(id, 6).unwrap_err(), NotRestorable::RetractedByMessage);
}
