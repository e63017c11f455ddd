//! Facts with values.

use std::sync::Arc;

use recall_domain::{Entity, Fact, FactValue, Page, Stance, ValueType};
use recall_ports::{FactFilter, FactKey, KnowledgeCommit, RelationFilter, Store};

use super::{
    archive::{body, changed, export, import, other},
    given::{World, entity, evidence, fact, word},
};

fn with_value(subject: &Entity, relation: &str, text: &str, of: ValueType, label: Option<&str>) -> Fact {
    let value = FactValue::parse(text, &[of]).unwrap().labelled(label);
    Fact { value: Some(value), ..fact(subject, relation, subject) }
}

pub(super) async fn values_tell_facts_apart_and_are_found(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let ann = entity("Ann");
    let facts = [
        with_value(&ann, "AMOUNT", "€900", ValueType::Money, Some("Rent")),
        with_value(&ann, "AMOUNT", "€3,000", ValueType::Money, Some("salary")),
        with_value(&ann, "ALLERGIC_TO", "Erdnüsse \u{10FFFF}", ValueType::Text, None),
        with_value(&ann, "NOTE", "Ann plays the drums", ValueType::Text, None),
        fact(&ann, "AMOUNT", &ann),
    ];
    w.commit(KnowledgeCommit { entities: vec![ann.clone()], facts: facts.to_vec(), ..w.plan(session).await }).await;
    for one in &facts[..4] {
        assert_eq!(store.facts_by_key(&w.caller, &[FactKey::of(one)], 9).await.unwrap(), std::slice::from_ref(one));
    }
    let of_relation = FactKey { value: None, ..FactKey::of(&facts[0]) };
    assert_eq!(store.facts_by_key(&w.caller, &[of_relation], 9).await.unwrap().len(), 3, "any value");
    let listed = async |filter: FactFilter| {
        let found = store.list_facts(&w.caller, &filter, &Page::first(9)).await.unwrap();
        let mut ids: Vec<_> = found.items.into_iter().map(|(_, f)| f.id).collect();
        assert_eq!(store.count_facts(&w.caller, &filter).await.unwrap(), ids.len() as u64);
        ids.sort();
        ids
    };
    let ids = |of: &[usize]| {
        let mut ids: Vec<_> = of.iter().map(|i| facts[*i].id).collect();
        ids.sort();
        ids
    };
    let text = |text: &str| FactFilter { text: vec![word(text)], ..FactFilter::default() };
    assert_eq!(listed(text("RENT")).await, ids(&[0]));
    assert_eq!(listed(text("erdnüsse")).await, ids(&[2]));
    assert_eq!(listed(FactFilter { object: Some(ann.id), ..FactFilter::default() }).await, ids(&[4]), "a value is no object");
    let note = || vec!["NOTE".to_owned()];
    assert_eq!(listed(FactFilter { relations: RelationFilter::Except(note()), ..FactFilter::default() }).await, ids(&[0, 1, 2, 4]));
    assert_eq!(listed(FactFilter { relations: RelationFilter::Only(note()), ..FactFilter::default() }).await, ids(&[3]));
    assert!(listed(FactFilter { relations: RelationFilter::Only(Vec::new()), ..FactFilter::default() }).await.is_empty());
    // The same statement twice is refused, in any spelling.
    let again = Fact { value: facts[0].value.clone(), ..with_value(&ann, "AMOUNT", "€900", ValueType::Money, Some("rent")) };
    let plan = KnowledgeCommit { facts: vec![again], ..w.plan(session).await };
    assert!(store.commit(&w.caller, &plan).await.is_err());
    let other = with_value(&ann, "AMOUNT", "€950", ValueType::Money, Some("rent"));
    let changed = Fact { value: other.value.clone(), ..facts[0].clone() };
    w.commit(KnowledgeCommit { facts: vec![changed.clone()], ..w.plan(session).await }).await;
    assert_eq!(store.facts_by_id(&w.caller, &[changed.id]).await.unwrap(), [changed]);
}

pub(super) async fn merge_record_keeps_values(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (ann, anna) = (entity("Ann"), entity("Anna"));
    let age = with_value(&ann, "AGE", "41", ValueType::Number, None);
    let entities = vec![ann.clone(), anna.clone()];
    w.commit(KnowledgeCommit { entities, facts: vec![age.clone()], ..w.plan(session).await }).await;
    let moved = Fact { subject: anna.id, object: anna.id, ..age.clone() };
    let merged = KnowledgeCommit { facts: vec![moved.clone()], merged: vec![(ann.id, anna.id)], ..w.plan(session).await };
    let decision = Some(recall_domain::Decision { score: 1.0, reason: "by hand".into() });
    w.commit(KnowledgeCommit { merge_decision: decision, ..merged }).await;
    assert_eq!(store.facts_by_id(&w.caller, &[age.id]).await.unwrap(), [moved]);
    let record = store.merge_record(&w.caller, ann.id).await.unwrap().unwrap();
    assert_eq!(record.facts, [age]);
}

pub(super) async fn archive_keeps_values_and_refuses_changed_ones(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let said = w.note(session, "Ann is 41.").await;
    let (ann, anna) = (entity("Ann"), entity("Anna"));
    let age = with_value(&ann, "AGE", "41", ValueType::Number, None);
    let plan = KnowledgeCommit {
        entities: vec![ann.clone(), anna.clone()],
        facts: vec![age.clone()],
        evidence: vec![evidence(&age, &said, Stance::Supports)],
        ..w.plan(session).await
    };
    w.commit(plan).await;
    let moved = Fact { subject: anna.id, object: anna.id, ..age };
    let decision = Some(recall_domain::Decision { score: 1.0, reason: "by hand".into() });
    let merged = KnowledgeCommit { facts: vec![moved], merged: vec![(ann.id, anna.id)], merge_decision: decision, ..w.plan(session).await };
    w.commit(merged).await;
    let archive = export(&store, w.caller.user()).await;
    assert_eq!(archive.matches(r#""value":{"key":"number 41 ""#).count(), 2, "the fact and the record of the merge");
    let (_folder, second) = other().await;
    import(&second, &archive).await.unwrap();
    assert_eq!(body(&export(&second, w.caller.user()).await), body(&archive));
    let (_folder, third) = other().await;
    let wrong = changed(&archive, |_, record| {
        if record["type"] == "fact" {
            record["value"]["key"] = "number 42 ".into();
        }
    });
    assert!(import(&third, &wrong).await.is_err());
}
