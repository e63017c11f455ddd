//! Hints that find entities, reasons of mentions, and merges that can be undone.

use std::sync::Arc;

use recall_domain::{Decision, Entity, EntityKey, Fact, MessageKind, Stance};
use recall_ports::{CommitError, KnowledgeCommit, LostNames, MAX_BEARERS, Store, Unmerge};

use super::given::{World, entity, evidence, fact, mention};

pub(super) async fn entity_hints_return_most_mentioned_first(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (anna, peter) = (Entity { mention_count: 1, ..entity("Anna Schmidt") }, Entity { mention_count: 9, ..entity("Peter Schmidt") });
    let hint = |e: &Entity, hint: &str| (e.id, hint.to_owned());
    let plan = KnowledgeCommit {
        entities: vec![anna.clone(), peter.clone()],
        hints: vec![hint(&anna, "schmidt"), hint(&anna, "anna"), hint(&peter, "schmidt"), hint(&peter, "schmidt")],
        ..w.plan(session).await
    };
    w.commit(plan).await;
    let asked = ["schmidt".to_owned(), "anna".to_owned(), "%".to_owned()];
    let found = store.entities_by_hint(&w.caller, &asked, 10).await.unwrap();
    let pairs: Vec<_> = found.iter().map(|(h, e)| (h.as_str(), e.id)).collect();
    assert_eq!(pairs, [("schmidt", peter.id), ("anna", anna.id), ("schmidt", anna.id)]);
    assert_eq!(store.entities_by_hint(&w.caller, &asked, 1).await.unwrap(), [("schmidt".to_owned(), peter)]);
    assert!(store.entities_by_key(&w.caller, &[EntityKey::of("Schmidt").unwrap()]).await.unwrap().is_empty(), "a hint works as a key");
}

pub(super) async fn mentions_keep_decision_and_recent_ones_come_first(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (here, elsewhere) = (w.session().await, w.session().await);
    let (john, mary, tom) = (entity("John"), entity("Mary"), entity("Tom"));
    let decision = Decision { score: 0.75, reason: "same name".into() };
    for (session, who, why) in [
        (here, vec![&john], vec![decision.clone()]),
        (here, vec![&mary, &john], vec![]),
        (here, vec![&mary], vec![decision.clone()]),
        (elsewhere, vec![&tom], vec![]),
    ] {
        let message = w.note(session, "m").await;
        let mentions = who.iter().map(|e| (e.id, mention(&e.name))).collect();
        let plan = KnowledgeCommit {
            message: Some((message.id, MessageKind::Statement, mentions)),
            entities: who.into_iter().cloned().collect(),
            decisions: why.clone(),
            ..w.plan(session).await
        };
        w.commit(plan).await;
        let expected: Vec<_> = why.into_iter().map(|d| (message.id, 0, d)).collect();
        assert_eq!(store.decisions_in(&w.caller, &[message.id]).await.unwrap(), expected);
    }
    let all = [john.id, tom.id, mary.id];
    assert_eq!(store.recently_mentioned(&w.caller, here, &all).await.unwrap(), [mary.id, john.id]);
    assert_eq!(store.recently_mentioned(&w.caller, here, &[john.id]).await.unwrap(), [john.id]);
    let places: Vec<u32> = store.mentions_of(&w.caller, john.id).await.unwrap().into_iter().map(|(_, place, _)| place).collect();
    assert_eq!(places, [0, 1]);
}

pub(super) async fn merge_is_recorded_and_undone_once(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let second = w.note(known.session, "Johnny likes Mary.").await;
    let johnny = Entity { mention_count: 1, first_message: Some(second.id), ..entity("Johnny") };
    let double = fact(&johnny, "LIKES", &known.mary);
    let said = evidence(&double, &second, Stance::Supports);
    let key = |e: &Entity, name: &str| (e.id, EntityKey::of(name).unwrap());
    let plan = KnowledgeCommit {
        message: Some((second.id, MessageKind::Statement, vec![(johnny.id, mention("Johnny"))])),
        entities: vec![johnny.clone()],
        keys: vec![key(&johnny, "Johnny"), key(&johnny, "John")],
        hints: vec![(johnny.id, "j".into())],
        facts: vec![double.clone()],
        evidence: vec![said.clone()],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;

    let after = Entity { aliases: vec!["Johnny".into()], mention_count: 2, ..known.john.clone() };
    let decision = Decision { score: 1.0, reason: "by hand".into() };
    let plan = KnowledgeCommit {
        entities: vec![after.clone()],
        facts: vec![Fact { support: 2.0, ..known.fact.clone() }],
        dropped_facts: vec![(double.id, known.fact.id)],
        merged: vec![(johnny.id, known.john.id)],
        merge_decision: Some(decision.clone()),
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    let later = w.note(known.session, "Johnny again.").await;
    let plan = KnowledgeCommit {
        message: Some((later.id, MessageKind::Statement, vec![(known.john.id, mention("Johnny"))])),
        ..w.plan(known.session).await
    };
    w.commit(plan).await;

    let record = store.merge_record(&w.caller, johnny.id).await.unwrap().unwrap();
    assert_eq!((&record.gone, &record.before, &record.after), (&johnny, &known.john, &after));
    assert_eq!((record.holder, &record.decision), (known.john.id, &decision));
    assert_eq!(record.mentions, [(second.id, 0)]);
    assert_eq!(record.since.iter().collect::<Vec<_>>(), [&later.id]);
    let mut facts = record.facts;
    facts.sort_by_key(|f| f.id != double.id);
    assert_eq!(facts, [double.clone(), known.fact.clone()]);
    assert!(record.evidence.contains(&said) && record.evidence.len() == 2);
    let listed = store.merged_into(&w.caller, &[known.john.id]).await.unwrap();
    let (into, merged) = &listed[0];
    assert_eq!((*into, merged.entity, merged.name.as_str(), &merged.decision), (known.john.id, johnny.id, "Johnny", &decision));

    let undo = KnowledgeCommit {
        entities: vec![johnny.clone(), known.john.clone()],
        facts: vec![double.clone(), known.fact.clone()],
        evidence: vec![said.clone()],
        dropped_evidence: vec![(known.fact.id, second.id, Stance::Supports)],
        unmerged: vec![Unmerge {
            gone: johnny.id,
            from: known.john.id,
            mentions: vec![(second.id, 0), (later.id, 0)],
            names: LostNames::Recorded,
        }],
        ..w.plan(known.session).await
    };
    w.commit(undo.clone()).await;
    assert_eq!(store.entities_by_id(&w.caller, &[johnny.id]).await.unwrap(), std::slice::from_ref(&johnny));
    let of = async |name: &str| {
        let found = store.entities_by_key(&w.caller, &[EntityKey::of(name).unwrap()]).await.unwrap();
        let mut ids: Vec<_> = found.into_iter().map(|(_, e)| e.id).collect();
        ids.sort();
        ids
    };
    let mut both = [johnny.id, known.john.id];
    both.sort();
    assert_eq!((of("Johnny").await, of("John").await), (vec![johnny.id], both.to_vec()), "a key of both does not stay with both");
    assert_eq!(store.entities_by_hint(&w.caller, &["j".into()], 9).await.unwrap(), [("j".to_owned(), johnny.clone())]);
    assert_eq!(store.mentions_of(&w.caller, johnny.id).await.unwrap().len(), 2);
    assert_eq!(store.mentions_of(&w.caller, known.john.id).await.unwrap().len(), 1);
    assert_eq!(store.evidence_of(&w.caller, &[double.id], 9).await.unwrap(), [said]);
    assert_eq!(store.merge_record(&w.caller, johnny.id).await.unwrap(), None);
    assert!(store.merged_into(&w.caller, &[known.john.id]).await.unwrap().is_empty());
    let twice = KnowledgeCommit { version: undo.version + 1, ..undo };
    assert!(matches!(store.commit(&w.caller, &twice).await, Err(CommitError::Stale)));
}

pub(super) async fn name_is_separated_without_record_of_a_merge(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let said = w.note(known.session, "Johnny again.").await;
    let key = |name: &str| EntityKey::of(name).unwrap();
    let plan = KnowledgeCommit {
        message: Some((said.id, MessageKind::Statement, vec![(known.john.id, mention("Johnny"))])),
        keys: vec![(known.john.id, key("Johnny"))],
        hints: vec![(known.john.id, "j".into()), (known.john.id, "k".into())],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    let johnny = Entity { mention_count: 1, first_message: Some(said.id), ..entity("Johnny") };
    let names = LostNames::Given { keys: vec![key("Johnny")], hints: vec!["j".into()] };
    let plan = KnowledgeCommit {
        entities: vec![johnny.clone()],
        keys: vec![(johnny.id, key("Johnny"))],
        hints: vec![(johnny.id, "j".into())],
        unmerged: vec![Unmerge { gone: johnny.id, from: known.john.id, mentions: vec![(said.id, 0)], names }],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    let of = async |name: &str| -> Vec<_> {
        store.entities_by_key(&w.caller, &[key(name)]).await.unwrap().into_iter().map(|(_, e)| e.id).collect()
    };
    assert_eq!((of("Johnny").await, of("John").await), (vec![johnny.id], vec![known.john.id]));
    let hinted: Vec<_> = store.entities_by_hint(&w.caller, &["j".into(), "k".into()], 9).await.unwrap();
    let hinted: Vec<_> = hinted.into_iter().map(|(hint, e)| (hint, e.id)).collect();
    assert_eq!(hinted.len(), 2, "{hinted:?}");
    assert!(hinted.contains(&("j".to_owned(), johnny.id)) && hinted.contains(&("k".to_owned(), known.john.id)));
    assert_eq!(store.mentions_of(&w.caller, johnny.id).await.unwrap().len(), 1);
}

pub(super) async fn key_finds_its_most_mentioned_bearers(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let key = |name: &str| EntityKey::of(name).unwrap();
    let many = MAX_BEARERS + 3;
    let annas: Vec<Entity> = (0..many).map(|n| Entity { mention_count: u64::from(n * 5 % many), ..entity("Anna") }).collect();
    let bo = entity("Bo");
    let entities: Vec<Entity> = annas.iter().chain([&bo]).cloned().collect();
    let keys = entities.iter().map(|e| (e.id, key(&e.name))).collect();
    w.commit(KnowledgeCommit { entities, keys, ..w.plan(session).await }).await;
    let found = store.entities_by_key(&w.caller, &[key("Bo"), key("Anna")]).await.unwrap();
    let counts: Vec<u64> = found.iter().filter(|(k, _)| *k == key("Anna")).map(|(_, e)| e.mention_count).collect();
    assert_eq!(counts, (3..u64::from(many)).rev().collect::<Vec<_>>());
    assert_eq!(found.last(), Some(&(key("Bo"), bo)));
}
