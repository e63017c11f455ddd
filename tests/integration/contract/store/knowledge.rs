//! Commits of knowledge are atomic, happen once and never from an old version; and lookups.

use std::sync::Arc;

use crate::planned::Finish;
use recall_domain::{
    Citation, CitedChunk, DocumentId, Entity, EntityKey, EntityType, EventId, Evidence, Fact, FactStatus, MessageId, MessageKind,
    MessageStatus, Page, Stance,
};
use recall_ports::{
    AnswerCommit, AnsweredQuestion, CommitError, EntityFilter, FactFilter, FactKey, JobWork, KnowledgeCommit, NewMessage, Store,
};

use super::given::{World, answer_of, at, entity, event, evidence, fact, fresh, mention, new_message, word};

const PAGE: Page = Page { first: 100, after: None };

pub(super) async fn plan_commits_atomically_and_ends_its_job(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let message = w.say(session, "John likes Mary.").await;
    let job = w.claim(0).await.remove(0);
    let john = Entity {
        aliases: vec!["Johnny".into()],
        description: Some("friend".into()),
        mention_count: 1,
        is_viewer: true,
        first_message: Some(message.id),
        entity_type: EntityType::Organization,
        ..entity("John")
    };
    let mary = entity("Mary");
    let fact = Fact { opposition: 0.5, flagged: true, valid_to: Some(at(3)), status: FactStatus::Ended, ..fact(&john, "LIKES", &mary) };
    let said = evidence(&fact, &message, Stance::Supports);
    let unsaid = Evidence { span: None, stance: Stance::Opposes, ..said.clone() };
    let plan = KnowledgeCommit {
        message: Some((message.id, MessageKind::Mixed, vec![(mary.id, mention("Mary")), (john.id, mention("John"))])),
        entities: vec![john.clone(), mary.clone()],
        keys: vec![(john.id, EntityKey::of("John").unwrap()), (john.id, EntityKey::of("Johnny").unwrap())],
        facts: vec![fact.clone()],
        evidence: vec![said.clone(), unsaid.clone()],
        events: vec![event(session), event(session)],
        ..w.plan(session).await
    };
    assert_eq!(store.finish(&w.caller, &plan, &job).await.unwrap(), plan.facts);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 3);
    assert_eq!(store.knowledge_version(&w.caller).await.unwrap(), plan.version + 1);
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    let stored = store.messages_by_id(&w.caller, &[message.id]).await.unwrap().remove(0);
    assert_eq!((stored.kind, stored.status), (Some(MessageKind::Mixed), MessageStatus::Processed));
    assert_eq!(store.viewer_entity(&w.caller).await.unwrap(), Some(john.clone()));
    let by_key = store.entities_by_key(&w.caller, &[EntityKey::of("JOHNNY").unwrap(), EntityKey::of("nobody").unwrap()]).await.unwrap();
    assert_eq!(by_key, [(EntityKey::of("johnny").unwrap(), john.clone())]);
    assert_eq!(store.facts_by_id(&w.caller, &[fact.id]).await.unwrap(), std::slice::from_ref(&fact));
    let mut stored = store.evidence_of(&w.caller, &[fact.id], 10).await.unwrap();
    stored.sort_by_key(|e| e.stance.eq(&Stance::Opposes));
    assert_eq!(stored, [said, unsaid]);
    let mentions = store.mentions_in(&w.caller, &[message.id]).await.unwrap();
    assert_eq!(mentions, [(message.id, mary.id, mention("Mary")), (message.id, john.id, mention("John"))]);
    assert_eq!(
        store.facts_in(&w.caller, &[message.id]).await.unwrap(),
        [(message.id, fact.id, Stance::Supports), (message.id, fact.id, Stance::Opposes)]
    );
    assert_eq!(store.sessions_of_fact(&w.caller, fact.id, 10).await.unwrap(), [session]);
}

pub(super) async fn plan_from_older_version_is_stale(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    w.say(session, "m").await;
    let job = w.claim(0).await.remove(0);
    let old = KnowledgeCommit { entities: vec![entity("John")], events: vec![event(session)], ..w.plan(session).await };
    w.commit(w.plan(session).await).await;
    assert!(matches!(store.finish(&w.caller, &old, &job).await, Err(CommitError::Stale)));
    assert_eq!(store.count_entities(&w.caller, &EntityFilter::default()).await.unwrap(), 0);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 1);
    // The worker still has the job: it decides again and commits.
    let new_plan = KnowledgeCommit { version: old.version + 1, ..old };
    store.finish(&w.caller, &new_plan, &job).await.unwrap();
}

pub(super) async fn only_one_concurrent_plan_is_committed(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let plan = w.plan(session).await;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (w, plan) = (w.clone(), KnowledgeCommit { events: vec![event(session)], ..plan.clone() });
            tokio::spawn(async move { w.store.commit(&w.caller, &plan).await })
        })
        .collect();
    let mut committed = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(seqs) => {
                assert_eq!(seqs, [1]);
                committed += 1;
            }
            Err(e) => assert!(matches!(e, CommitError::Stale), "{e}"),
        }
    }
    assert_eq!(committed, 1);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 1);
}

pub(super) async fn refused_plan_leaves_nothing_behind(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let message = w.say(session, "m").await;
    let job = w.claim(0).await.remove(0);
    let (john, ghost) = (entity("John"), entity("ghost"));
    let plan = KnowledgeCommit {
        message: Some((message.id, MessageKind::Statement, vec![(john.id, mention("John"))])),
        entities: vec![john.clone()],
        facts: vec![fact(&john, "LIKES", &ghost)],
        events: vec![event(session)],
        ..w.plan(session).await
    };
    assert!(matches!(store.finish(&w.caller, &plan, &job).await, Err(CommitError::Store(_))));
    assert!(store.entities_by_id(&w.caller, &[john.id]).await.unwrap().is_empty());
    assert_eq!(store.messages_by_id(&w.caller, &[message.id]).await.unwrap()[0].status, MessageStatus::Processing);
    assert_eq!(store.knowledge_version(&w.caller).await.unwrap(), 0);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 1);
    assert!(store.extend(&job.claim, at(0), super::given::LEASE).await.unwrap());
}

pub(super) async fn repeated_evidence_counts_once(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let again = Evidence { confidence: 0.1, excerpt: "other".into(), ..known.evidence.clone() };
    let denial = Evidence { stance: Stance::Opposes, ..known.evidence.clone() };
    let plan = KnowledgeCommit { evidence: vec![again.clone(), again, denial.clone()], ..w.plan(known.session).await };
    w.commit(plan).await;
    let stored = store.evidence_of(&w.caller, &[known.fact.id], 10).await.unwrap();
    assert_eq!(stored.len(), 2);
    assert!(stored.contains(&known.evidence), "later evidence of the same message replaced the first");
    assert!(stored.contains(&denial));
}

pub(super) async fn stored_zero_has_no_sign(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let fact = Fact { support: -0.0, opposition: -0.0, ..known.fact.clone() };
    w.commit(KnowledgeCommit { facts: vec![fact], ..w.plan(known.session).await }).await;
    let stored = store.facts_by_id(&w.caller, &[known.fact.id]).await.unwrap().remove(0);
    assert_eq!(format!("{} {}", stored.support, stored.opposition), "0 0");
}

pub(super) async fn merge_moves_everything_and_old_ids_still_resolve(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let second = w.note(known.session, "Johnny likes Mary, he hates Bob.").await;
    let (johnny, bob) = (entity("Johnny"), entity("Bob"));
    let (double, alone) = (fact(&johnny, "LIKES", &known.mary), fact(&johnny, "HATES", &bob));
    let on_both = evidence(&double, &known.message, Stance::Supports);
    let plan = KnowledgeCommit {
        message: Some((second.id, MessageKind::Statement, vec![(johnny.id, mention("Johnny")), (bob.id, mention("Bob"))])),
        entities: vec![johnny.clone(), bob.clone()],
        keys: vec![(johnny.id, EntityKey::of("Johnny").unwrap())],
        facts: vec![double.clone(), alone.clone()],
        evidence: vec![evidence(&double, &second, Stance::Supports), on_both, evidence(&alone, &second, Stance::Supports)],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;

    let merged = Entity { aliases: vec!["Johnny".into()], mention_count: 2, ..known.john.clone() };
    let moved = Fact { subject: known.john.id, ..alone.clone() };
    let strong = Fact { support: 2.0, ..known.fact.clone() };
    let plan = KnowledgeCommit {
        entities: vec![merged.clone()],
        facts: vec![moved.clone(), strong.clone()],
        dropped_facts: vec![(double.id, known.fact.id)],
        merged: vec![(johnny.id, known.john.id)],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;

    assert_eq!(store.entities_by_id(&w.caller, &[johnny.id]).await.unwrap(), std::slice::from_ref(&merged));
    assert_eq!(store.entities_by_id(&w.caller, &[johnny.id, known.john.id]).await.unwrap().len(), 1);
    assert_eq!(store.entities_by_key(&w.caller, &[EntityKey::of("johnny").unwrap()]).await.unwrap()[0].1, merged);
    assert!(store.facts_by_id(&w.caller, &[double.id]).await.unwrap().is_empty());
    assert_eq!(store.facts_by_id(&w.caller, &[alone.id]).await.unwrap(), [moved]);
    let messages: Vec<_> = store.evidence_of(&w.caller, &[known.fact.id], 10).await.unwrap().into_iter().map(|e| e.message).collect();
    assert_eq!(messages.len(), 2, "common evidence counts twice");
    assert!(messages.contains(&second.id) && messages.contains(&known.message.id));
    assert_eq!(store.list_mentions(&w.caller, known.john.id, &PAGE).await.unwrap().items.len(), 2);
    assert_eq!(store.count_entities(&w.caller, &EntityFilter::default()).await.unwrap(), 3);

    // After another merge the oldest id resolves to the newest entity.
    let jack = entity("Jack");
    let facts = store.facts_of_entities(&w.caller, &[known.john.id], 10).await.unwrap();
    let plan = KnowledgeCommit {
        entities: vec![jack.clone()],
        facts: facts.into_iter().map(|f| Fact { subject: jack.id, ..f }).collect(),
        merged: vec![(known.john.id, jack.id)],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    assert_eq!(store.entities_by_id(&w.caller, &[johnny.id]).await.unwrap()[0].id, jack.id);
    assert_eq!(store.entities_by_id(&w.caller, &[known.john.id]).await.unwrap()[0].id, jack.id);

    // A fact can also be merged into a new fact of the same plan, which takes its statement.
    let successor = Fact { id: recall_domain::FactId(fresh()), subject: jack.id, ..strong };
    let plan = KnowledgeCommit {
        facts: vec![Fact { relation: "ADORES".into(), ..successor.clone() }],
        dropped_facts: vec![(known.fact.id, successor.id)],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    assert_eq!(store.evidence_of(&w.caller, &[successor.id], 10).await.unwrap().len(), 2);
}

pub(super) async fn facts_are_found_by_key_and_by_entity(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (john, mary, paris) = (entity("John"), entity("Mary"), entity("Paris"));
    let facts = [
        Fact { support: 1.0, ..fact(&john, "LIKES", &mary) },
        Fact { support: 3.0, ..fact(&john, "LIKES", &paris) },
        Fact { support: 2.0, ..fact(&mary, "LIKES", &john) },
        Fact { support: 9.0, ..fact(&john, "LIKES", &john) },
    ];
    let plan =
        KnowledgeCommit { entities: vec![john.clone(), mary.clone(), paris.clone()], facts: facts.to_vec(), ..w.plan(session).await };
    w.commit(plan).await;
    let key = |subject: &Entity, object: Option<&Entity>| FactKey {
        subject: subject.id,
        relation: "LIKES".into(),
        object: object.map(|o| o.id),
        value: None,
    };
    let ids = |facts: Vec<Fact>| {
        let mut ids: Vec<_> = facts.iter().map(|f| f.id).collect();
        ids.sort();
        ids
    };
    let one = store.facts_by_key(&w.caller, &[key(&john, Some(&mary))], 9).await.unwrap();
    assert_eq!(one, facts[..1]);
    let any = store.facts_by_key(&w.caller, &[key(&john, None), key(&john, Some(&mary)), key(&mary, Some(&paris))], 9).await.unwrap();
    assert_eq!(ids(any), [facts[0].id, facts[1].id, facts[3].id], "a fact is listed twice");
    assert!(store.facts_by_key(&w.caller, &[FactKey { relation: "HATES".into(), ..key(&john, None) }], 9).await.unwrap().is_empty());
    assert!(store.facts_by_key(&w.caller, &[], 9).await.unwrap().is_empty());
    assert_eq!(store.facts_by_key(&w.caller, &[key(&john, None)], 1).await.unwrap().len(), 1, "more facts than the limit");

    let strongest = store.facts_of_entities(&w.caller, &[john.id], 3).await.unwrap();
    assert_eq!(strongest.iter().map(|f| f.support).collect::<Vec<_>>(), [9.0, 3.0, 2.0]);
    let each = store.facts_of_entities(&w.caller, &[mary.id, paris.id], 1).await.unwrap();
    assert_eq!(each.iter().map(|f| f.id).collect::<Vec<_>>(), [facts[1].id, facts[2].id]);

    let both_ways = store.facts_between(&w.caller, &[mary.id], &[john.id, paris.id]).await.unwrap();
    assert_eq!(ids(both_ways), [facts[0].id, facts[2].id]);
    let overlapping = store.facts_between(&w.caller, &[john.id, paris.id], &[john.id]).await.unwrap();
    assert_eq!(ids(overlapping), [facts[1].id, facts[3].id], "a fact is listed twice, or one of an entity with itself is missing");
    assert!(store.facts_between(&w.caller, &[mary.id], &[paris.id]).await.unwrap().is_empty());
    assert!(store.facts_between(&w.caller, &[], &[john.id]).await.unwrap().is_empty());

    let of_relations = async |relations: &[&str], limit| {
        let relations: Vec<_> = relations.iter().map(|r| (*r).into()).collect();
        ids(store.facts_of_relations(&w.caller, &[john.id, paris.id], &relations, limit).await.unwrap())
    };
    let visited = Fact { support: 0.5, ..fact(&john, "VISITED", &paris) };
    w.commit(KnowledgeCommit { facts: vec![visited.clone()], ..w.plan(session).await }).await;
    assert_eq!(of_relations(&["VISITED", "HATES"], 9).await, [visited.id], "of both sides, once");
    let strongest = [facts[1].id, facts[3].id, visited.id];
    assert_eq!(of_relations(&["VISITED", "LIKES"], 1).await, strongest, "of each entity, side and relation, however strong others are");
    assert!(of_relations(&[], 9).await.is_empty());
}

pub(super) async fn facts_are_filtered_by_time(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (john, oslo, rome, bonn, nowhere) = (entity("John"), entity("Oslo"), entity("Rome"), entity("Bonn"), entity("Nowhere"));
    let ended = Fact { status: FactStatus::Ended, valid_from: Some(at(10)), valid_to: Some(at(20)), ..fact(&john, "LIVES_IN", &oslo) };
    let current = Fact { valid_from: Some(at(20)), ..fact(&john, "LIVES_IN", &rome) };
    let retracted = Fact { status: FactStatus::Retracted, valid_from: Some(at(10)), ..fact(&john, "LIVES_IN", &bonn) };
    let denied = Fact { valid_from: None, support: 0.0, opposition: 1.0, ..fact(&john, "LIVES_IN", &nowhere) };
    let plan = KnowledgeCommit {
        entities: vec![john, oslo, rome, bonn, nowhere],
        facts: vec![ended.clone(), current.clone(), retracted, denied],
        ..w.plan(session).await
    };
    w.commit(plan).await;
    for (ms, expected) in [(9, vec![]), (10, vec![ended.id]), (19, vec![ended.id]), (20, vec![current.id]), (99, vec![current.id])] {
        let filter = FactFilter { as_of: Some(at(ms)), ..FactFilter::default() };
        let found: Vec<_> = store.list_facts(&w.caller, &filter, &PAGE).await.unwrap().items.into_iter().map(|i| i.1.id).collect();
        assert_eq!(found, expected, "as of {ms}");
        assert_eq!(store.count_facts(&w.caller, &filter).await.unwrap(), expected.len() as u64);
    }
}

pub(super) async fn facts_and_entities_are_filtered(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let other = w.session().await;
    let message = w.note(other, "Émile uses 100%_safe.").await;
    let emile = Entity { aliases: vec!["LE GRAND".into()], description: Some("brother".into()), ..entity("Émile") };
    let tool = Entity { entity_type: EntityType::Tool, ..entity("100%_safe") };
    let weak = Fact { support: 0.0, opposition: 2.0, status: FactStatus::Retracted, ..fact(&emile, "USES", &tool) };
    let plan = KnowledgeCommit {
        message: Some((message.id, MessageKind::Statement, vec![(emile.id, mention("Émile")), (emile.id, mention("he"))])),
        entities: vec![emile.clone(), tool.clone()],
        facts: vec![weak.clone()],
        evidence: vec![evidence(&weak, &message, Stance::Supports)],
        ..w.plan(other).await
    };
    w.commit(plan).await;

    let likes = &known.fact;
    let none: Vec<recall_domain::FactId> = vec![];
    let by = FactFilter::default;
    for (filter, expected) in [
        (by(), vec![weak.id, likes.id]),
        (FactFilter { subject: Some(emile.id), ..by() }, vec![weak.id]),
        (FactFilter { object: Some(emile.id), ..by() }, none.clone()),
        (FactFilter { entity: Some(tool.id), ..by() }, vec![weak.id]),
        (FactFilter { relation: Some("LIKES".into()), ..by() }, vec![likes.id]),
        (FactFilter { status: Some(FactStatus::Retracted), ..by() }, vec![weak.id]),
        (FactFilter { session: Some(other), ..by() }, vec![weak.id]),
        (FactFilter { message: Some(known.message.id), ..by() }, vec![likes.id]),
        (FactFilter { min_belief: Some(0.25), ..by() }, vec![weak.id, likes.id]),
        (FactFilter { min_belief: Some(0.26), ..by() }, vec![likes.id]),
        (FactFilter { text: vec![word("éMILE")], ..by() }, vec![weak.id]),
        (FactFilter { text: vec![word("grand")], ..by() }, vec![weak.id]),
        (FactFilter { text: vec![word("Brother")], ..by() }, vec![weak.id]),
        (FactFilter { text: vec![word("0%_s")], ..by() }, vec![weak.id]),
        (FactFilter { text: vec![word("%")], ..by() }, vec![weak.id]),
        (FactFilter { text: vec![word("M_ry")], ..by() }, none.clone()),
        (FactFilter { text: vec![word("' OR 1=1 --")], ..by() }, none.clone()),
        (FactFilter { subject: Some(emile.id), relation: Some("LIKES".into()), ..by() }, none),
    ] {
        let mut found: Vec<_> = store.list_facts(&w.caller, &filter, &PAGE).await.unwrap().items.into_iter().map(|i| i.1.id).collect();
        found.sort_by(|a, b| b.cmp(a));
        assert_eq!(found, expected, "{filter:?}");
        assert_eq!(store.count_facts(&w.caller, &filter).await.unwrap(), expected.len() as u64, "{filter:?}");
    }
    let by = EntityFilter::default;
    for (filter, expected) in [
        (by(), 4),
        (EntityFilter { entity_type: Some(EntityType::Tool), ..by() }, 1),
        (EntityFilter { text: Some("ÉMI".into()), ..by() }, 1),
        (EntityFilter { text: Some("le gr".into()), ..by() }, 1),
        (EntityFilter { text: Some("_".into()), ..by() }, 1),
        (EntityFilter { session: Some(other), ..by() }, 1),
        (EntityFilter { session: Some(known.session), text: Some("mary".into()), ..by() }, 1),
        (EntityFilter { session: Some(other), text: Some("mary".into()), ..by() }, 0),
    ] {
        assert_eq!(store.list_entities(&w.caller, &filter, &PAGE).await.unwrap().items.len(), expected, "{filter:?}");
        assert_eq!(store.count_entities(&w.caller, &filter).await.unwrap(), expected as u64, "{filter:?}");
    }
    let mentions = store.list_mentions(&w.caller, emile.id, &PAGE).await.unwrap().items;
    assert_eq!(mentions.iter().map(|(_, m)| m.clone()).collect::<Vec<_>>(), [(message.id, mention("Émile"))], "a message is listed twice");
}

pub(super) async fn answer_is_stored_once_with_its_events(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let question = w.ask(session, "Who does John like?").await;
    let job = w.claim(0).await.remove(0);
    let plan = KnowledgeCommit { follow_up: Some(JobWork::Answer(question.id)), ..w.plan(session).await };
    store.finish(&w.caller, &plan, &job).await.unwrap();
    let job = w.claim(0).await.remove(0);
    assert_eq!(job.work, JobWork::Answer(question.id));
    let citation =
        Citation { index: 1, message_id: Some(question.id), fact_id: None, chunk: None, excerpt: "John \0".into(), shared: true };
    let chunk = CitedChunk { chunk_id: MessageId(fresh()), document_id: DocumentId(fresh()), filename: "a.txt".into(), pages: None };
    let nearest = Citation { message_id: None, chunk: Some(chunk.clone()), shared: true, ..citation.clone() };
    let answers = |question| Some(AnsweredQuestion { question, citations: vec![citation.clone()], nearest: vec![nearest.clone()] });
    let message =
        |question| NewMessage { created_at: at(5), answers: answers(question), ..answer_of(question, "Mary [1]", vec![], session) };
    let answer = AnswerCommit { message: message(question.id), events: vec![event(session)] };
    let nowhere = AnswerCommit { message: message(MessageId(fresh())), ..answer.clone() };
    assert!(matches!(store.commit_answer(&w.caller, &nowhere, &job.claim).await, Err(CommitError::Store(_))));
    let stored = store.commit_answer(&w.caller, &answer, &job.claim).await.unwrap();
    assert_eq!((stored.answer_to, stored.citations.as_slice(), stored.position), (Some(question.id), std::slice::from_ref(&citation), 2));
    assert_eq!(store.answers_to(&w.caller, &[question.id, stored.id]).await.unwrap(), [(question.id, stored.clone())]);
    assert_eq!(stored.nearest.as_slice(), std::slice::from_ref(&nearest));
    for quoted in [question.id, chunk.chunk_id] {
        assert_eq!(store.answers_citing(&w.caller, &[quoted], &[], 10).await.unwrap(), [stored.id]);
    }
    assert_eq!(store.messages_by_id(&w.caller, &[stored.id]).await.unwrap(), [stored]);
    let kinds: Vec<_> = store.events_after(&w.caller, session, 1, 10).await.unwrap().into_iter().map(|e| (e.seq, e.kind)).collect();
    assert_eq!(kinds, [(2, "message_stored".to_owned()), (3, "answer_failed".to_owned())]);
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    let twice = AnswerCommit { message: message(question.id), ..answer };
    assert!(matches!(store.commit_answer(&w.caller, &twice, &job.claim).await, Err(CommitError::NotOurs)));
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 3);
}

pub(super) async fn follow_up_job_is_queued_with_commit(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (one, two) = (w.note(session, "1?").await, w.note(session, "2?").await);
    for question in [&one, &two] {
        w.commit(KnowledgeCommit { follow_up: Some(JobWork::Answer(question.id)), now: at(4), ..w.plan(session).await }).await;
    }
    assert!(w.claim(3).await.is_empty());
    assert_eq!(store.depth().await.unwrap().0, 2);
    let jobs = w.claim(4).await;
    assert_eq!(jobs.iter().map(|j| (j.work, j.queued_at)).collect::<Vec<_>>(), [(JobWork::Answer(one.id), at(4))]);
}

pub(super) async fn any_unicode_text_round_trips_and_is_searchable(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    // U+0000, the last code point, quotes, pattern characters, a combining accent, and a UTF-16 surrogate pair.
    for (i, odd) in ["a\0b\0", "\u{10FFFF}0 \u{10FFFF}1", "'%_\\\"\n\t", "e\u{301}\u{1F600}", "\u{FEFF}\u{FFFF}"].into_iter().enumerate() {
        let message = NewMessage {
            speaker: Some(odd.into()),
            external_id: Some(odd.into()),
            source_metadata: Some(serde_json::json!({ odd: [odd] })),
            prepared: recall_ports::IndexEntry { terms: vec![(odd.into(), 1)], ..new_message(session, "").prepared },
            ..new_message(session, odd)
        };
        let said = w.append(message.clone()).await;
        assert_eq!(store.messages_by_id(&w.caller, &[said.id]).await.unwrap(), std::slice::from_ref(&said));
        assert_eq!((said.text, said.speaker), (message.text.clone(), message.speaker.clone()));
        let again = NewMessage { id: MessageId(fresh()), event: EventId(fresh()), ..message };
        assert!(store.append(&w.caller, session, vec![again]).await.unwrap()[0].duplicate, "the external id is not recognized");
        let feed = store.feed(&w.caller, super::given::MODEL, i as u64, 10).await.unwrap();
        assert_eq!((feed[0].speaker.as_deref(), &feed[0].terms[0].0[..]), (Some(odd), odd));

        let thing = Entity { aliases: vec![odd.into(), "plain".into()], description: Some(odd.into()), ..entity(&format!("{odd}{i}")) };
        let stated = Fact { relation: format!("R{odd}"), ..fact(&thing, "", &thing) };
        let proof = Evidence {
            excerpt: odd.into(),
            ..evidence(&stated, &store.messages_by_id(&w.caller, &[said.id]).await.unwrap()[0], Stance::Supports)
        };
        let plan = KnowledgeCommit {
            message: Some((said.id, MessageKind::Statement, vec![(thing.id, mention(odd))])),
            entities: vec![thing.clone()],
            keys: EntityKey::of(&format!("key {i} {odd}")).map(|key| (thing.id, key)).into_iter().collect(),
            facts: vec![stated.clone()],
            evidence: vec![proof.clone()],
            ..w.plan(session).await
        };
        w.commit(plan).await;
        let c = &w.caller;
        assert_eq!(store.entities_by_id(c, &[thing.id]).await.unwrap(), std::slice::from_ref(&thing));
        if let Some(key) = EntityKey::of(&format!("key {i} {odd}")) {
            assert_eq!(store.entities_by_key(c, std::slice::from_ref(&key)).await.unwrap(), [(key, thing.clone())]);
        }
        assert_eq!(store.mentions_in(c, &[said.id]).await.unwrap(), [(said.id, thing.id, mention(odd))]);
        assert_eq!(store.evidence_of(c, &[stated.id], 10).await.unwrap(), [proof]);
        let key = FactKey { subject: thing.id, relation: stated.relation.clone(), object: None, value: None };
        assert_eq!(store.facts_by_key(c, &[key], 9).await.unwrap(), std::slice::from_ref(&stated));
        let filter = FactFilter { relation: Some(stated.relation.clone()), text: vec![word(odd)], ..FactFilter::default() };
        assert_eq!(store.count_facts(c, &filter).await.unwrap(), 1);
        let filter = EntityFilter { text: Some(odd.to_uppercase()), ..EntityFilter::default() };
        assert_eq!(store.list_entities(c, &filter, &PAGE).await.unwrap().items[0].1, thing);
    }
}

pub(super) async fn names_of_any_length_are_stored_and_found(store: Arc<dyn Store>) {
    // A message can be one word of 64 KiB, and the word can be a name.
    let w = World::new(&store);
    let session = w.session().await;
    let mut state = 1u64;
    // Letters that an engine cannot compress.
    let mut letters = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from_u32(0x4e00 + (state >> 52) as u32).unwrap()
    };
    let long: String = (0..20_000).map(|_| letters()).collect();
    let names = [format!("{long}a"), format!("{long}b")];
    let things = names.each_ref().map(|name| entity(name));
    let key = |name: &str| EntityKey::of(name).unwrap();
    let plan = KnowledgeCommit {
        entities: things.to_vec(),
        keys: things.iter().map(|t| (t.id, key(&t.name))).collect(),
        hints: things.iter().map(|t| (t.id, t.name.clone())).collect(),
        ..w.plan(session).await
    };
    w.commit(plan).await;
    for thing in &things {
        let found = store.entities_by_hint(&w.caller, &[thing.name.clone(), "other".into()], 9).await.unwrap();
        assert!(found == [(thing.name.clone(), thing.clone())], "found {} of one", found.len());
        let found = store.entities_by_key(&w.caller, &[key(&thing.name), key("other")]).await.unwrap();
        assert!(found == [(key(&thing.name), thing.clone())], "found {} of one", found.len());
    }
}
