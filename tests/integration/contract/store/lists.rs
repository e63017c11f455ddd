//! Paged lists: complete, ordered, stable during writes, and only with the store's own cursors.

use std::{fmt::Debug, future::Future, sync::Arc};

use recall_domain::{Entity, EntityKey, EntityType, Fact, FactStatus, MessageKind, Page, Role, Slice, Stance, context::SearchSource};
use recall_ports::{
    EntityFilter, FactFilter, FactOrder, FollowUp, KnowledgeCommit, NewMessage, SessionFilter, SessionUpdate, Store, StoreError, TextWord,
    TimeSpan,
};

use super::{
    documents::document,
    given::{World, at, entity, evidence, fact, mention, new_message, word},
};

/// Reads all items in pages of `first`.
async fn all<T, F>(first: u32, list: impl Fn(Page) -> F) -> Vec<T>
where
    F: Future<Output = Result<Slice<T>, StoreError>>,
{
    let mut page = Page::first(first);
    let mut items = Vec::new();
    loop {
        let slice = list(page.clone()).await.unwrap();
        assert!(slice.items.len() <= first as usize);
        assert!(!slice.has_next || slice.items.len() == first as usize, "a page before the last is not full");
        page.after = slice.items.last().map(|i| i.0.clone());
        items.extend(slice.items.into_iter().map(|i| i.1));
        if !slice.has_next {
            return items;
        }
    }
}

async fn same_in_any_pages<T, F>(expected: usize, list: impl Fn(Page) -> F) -> Vec<T>
where
    T: PartialEq + Debug,
    F: Future<Output = Result<Slice<T>, StoreError>>,
{
    let whole = all(100, &list).await;
    assert_eq!(whole.len(), expected);
    for first in [1, 2, 3, 7] {
        assert_eq!(all(first, &list).await, whole);
    }
    whole
}

/// Creates ten of everything, with equal times and counts, so that ids must break ties.
async fn ten_of_everything(w: &World) -> (recall_domain::SessionId, Entity, Fact) {
    let session = w.session().await;
    for _ in 0..9 {
        w.session().await;
    }
    let john = Entity { mention_count: 4, ..entity("John") };
    let mut plan = w.plan(session).await;
    plan.entities.push(john.clone());
    plan.keys.push((john.id, EntityKey::of("John").unwrap()));
    for i in 0..10 {
        let other = Entity { mention_count: i / 3, ..entity(&format!("E{i}")) };
        let fact = Fact { updated_at: at(i64::try_from(i / 4).unwrap()), ..fact(&john, "LIKES", &other) };
        plan.entities.push(other);
        plan.facts.push(fact);
    }
    let first = plan.facts[0].clone();
    w.commit(plan).await;
    for i in 0..10 {
        let message = w.append(NewMessage { sent_at: at(i / 3), mining: FollowUp::Nothing, ..new_message(session, "m") }).await;
        let plan = KnowledgeCommit {
            message: Some((message.id, MessageKind::Statement, vec![(john.id, mention("John")), (john.id, mention("he"))])),
            evidence: vec![evidence(&first, &message, Stance::Supports), evidence(&first, &message, Stance::Ends)],
            ..w.plan(session).await
        };
        w.commit(plan).await;
    }
    (session, john, first)
}

pub(super) async fn every_list_is_complete_for_any_page_size(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (session, john, fact) = ten_of_everything(&w).await;
    let (s, c) = (&store, &w.caller);
    let sessions = same_in_any_pages(10, async |p| s.list_sessions(c, &SessionFilter::ALL, &p).await).await;
    assert!(sessions.is_sorted_by(|a, b| a.updated_at >= b.updated_at));
    let messages = same_in_any_pages(10, async |p| s.list_messages(c, session, &p, false).await).await;
    assert!(messages.iter().map(|m| m.position).eq(1..=10));
    let messages = same_in_any_pages(10, async |p| s.list_messages(c, session, &p, true).await).await;
    assert!(messages.iter().map(|m| m.position).eq((1..=10).rev()));
    assert_eq!(s.count_messages(c, session).await.unwrap(), 10);
    let entities = same_in_any_pages(11, async |p| s.list_entities(c, &EntityFilter::default(), &p).await).await;
    assert!(entities.is_sorted_by(|a, b| a.mention_count >= b.mention_count));
    let facts = same_in_any_pages(10, async |p| s.list_facts(c, &FactFilter::default(), &p).await).await;
    assert!(facts.is_sorted_by(|a, b| a.updated_at >= b.updated_at));
    let filtered = FactFilter { entity: Some(john.id), text: vec![word("E")], ..FactFilter::default() };
    same_in_any_pages(10, async |p| s.list_facts(c, &filtered, &p).await).await;
    let evidence = same_in_any_pages(20, async |p| s.list_evidence(c, fact.id, &p).await).await;
    assert!(evidence.is_sorted_by(|a, b| a.created_at >= b.created_at));
    assert_eq!(s.evidence_of(c, &[fact.id], 5).await.unwrap(), evidence[..5]);
    same_in_any_pages(10, async |p| s.list_mentions(c, john.id, &p).await).await;
}

pub(super) async fn concurrent_inserts_do_not_disturb_paging(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (session, john, _) = ten_of_everything(&w).await;
    let (s, c) = (&store, &w.caller);
    let before: Vec<_> = all(100, async |p| s.list_facts(c, &FactFilter::default(), &p).await).await;
    let oldest_first: Vec<_> = all(100, async |p| s.list_messages(c, session, &p, false).await).await;

    let facts = s.list_facts(c, &FactFilter::default(), &Page::first(4)).await.unwrap();
    let messages = s.list_messages(c, session, &Page::first(4), false).await.unwrap();
    let newest = s.list_messages(c, session, &Page::first(4), true).await.unwrap();
    // A newer fact is first in its list, a newer message last.
    let late = entity("late");
    let fact = Fact { updated_at: at(99), ..fact(&john, "LIKES", &late) };
    w.commit(KnowledgeCommit { entities: vec![late], facts: vec![fact], ..w.plan(session).await }).await;
    let said = w.note(session, "late").await;

    let rest = Page { first: 100, after: Some(facts.items[3].0.clone()) };
    let rest: Vec<_> = s.list_facts(c, &FactFilter::default(), &rest).await.unwrap().items.into_iter().map(|i| i.1).collect();
    assert_eq!(rest, before[4..]);
    let rest = Page { first: 100, after: Some(messages.items[3].0.clone()) };
    let rest: Vec<_> = s.list_messages(c, session, &rest, false).await.unwrap().items.into_iter().map(|i| i.1).collect();
    assert_eq!(rest[..6], oldest_first[4..]);
    assert_eq!(rest[6..], [said]);
    let rest = Page { first: 100, after: Some(newest.items[3].0.clone()) };
    let rest: Vec<_> = s.list_messages(c, session, &rest, true).await.unwrap().items.into_iter().map(|i| i.1.position).collect();
    assert_eq!(rest, [6, 5, 4, 3, 2, 1]);
}

pub(super) async fn invalid_cursor_is_refused_by_every_list(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (session, john, fact) = ten_of_everything(&w).await;
    let (s, c) = (&store, &w.caller);
    for key in ["", "x", "1.", ".", "1.2", "-", "1 ", "9999999999999999999999", "1.00000000000000000000000000000000.likes", "'; --", "é"] {
        let page = Page { first: 3, after: Some(key.to_owned()) };
        let refused = [
            ("sessions", s.list_sessions(c, &SessionFilter::ALL, &page).await.err()),
            ("messages", s.list_messages(c, session, &page, false).await.err()),
            ("messages backwards", s.list_messages(c, session, &page, true).await.err()),
            ("entities", s.list_entities(c, &EntityFilter::default(), &page).await.err()),
            ("facts", s.list_facts(c, &FactFilter::default(), &page).await.err()),
            ("evidence", s.list_evidence(c, fact.id, &page).await.err()),
            ("mentions", s.list_mentions(c, john.id, &page).await.err()),
        ];
        for (list, error) in refused {
            assert!(matches!(error, Some(StoreError::BadCursor)), "{list} accepted the key {key:?}: {error:?}");
        }
    }
}

/// The engines compute the belief in SQL.
pub(super) async fn belief_of_the_filter_is_that_of_the_domain(store: Arc<dyn Store>) {
    const WEIGHTS: [f64; 5] = [0.0, 0.1, 1.0 / 3.0, 1.0, 40.5];
    let w = World::new(&store);
    let session = w.session().await;
    let john = entity("John");
    let objects: Vec<Entity> = (0..WEIGHTS.len().pow(2)).map(|i| entity(&format!("Object {i}"))).collect();
    let weights = WEIGHTS.iter().flat_map(|support| WEIGHTS.map(|opposition| (*support, opposition)));
    let facts: Vec<Fact> =
        objects.iter().zip(weights).map(|(o, (support, opposition))| Fact { support, opposition, ..fact(&john, "LIKES", o) }).collect();
    let entities = std::iter::once(john).chain(objects).collect();
    w.commit(KnowledgeCommit { entities, facts: facts.clone(), ..w.plan(session).await }).await;
    for fact in facts {
        for (least, found) in [(fact.belief(), 1), (fact.belief().next_up(), 0)] {
            let filter = FactFilter { object: Some(fact.object), min_belief: Some(least), ..FactFilter::default() };
            assert_eq!(store.count_facts(&w.caller, &filter).await.unwrap(), found, "{filter:?} of {fact:?}");
        }
    }
}

pub(super) async fn facts_are_listed_in_each_order(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let john = entity("John");
    let objects: Vec<Entity> = (0..9).map(|i| entity(&format!("Object {i}"))).collect();
    let facts = objects.iter().zip([3.0_f64, 0.1, 7.0, 1.0, 1.0, 0.3, 2.0, 0.1, 5.0]).enumerate().map(|(i, (object, support))| {
        let i = i64::try_from(i).unwrap();
        let opposition = support.sqrt() / 3.0;
        Fact { support, opposition, created_at: at(i % 4), updated_at: at(10 - i / 2), ..fact(&john, "LIKES", object) }
    });
    let facts: Vec<Fact> = facts.collect();
    let entities = std::iter::once(john).chain(objects).collect();
    w.commit(KnowledgeCommit { entities, facts, ..w.plan(session).await }).await;
    let list = async |order: FactOrder| {
        let filter = FactFilter { order, ..FactFilter::default() };
        same_in_any_pages(9, async |p| store.list_facts(&w.caller, &filter, &p).await).await
    };
    assert!(list(FactOrder::LatestChange).await.is_sorted_by(|a, b| a.updated_at >= b.updated_at));
    assert!(list(FactOrder::LatestLearned).await.is_sorted_by(|a, b| a.created_at >= b.created_at));
    let mut most = list(FactOrder::MostBelieved).await;
    assert!(most.is_sorted_by(|a, b| a.belief() >= b.belief()));
    most.reverse();
    assert_eq!(list(FactOrder::LeastBelieved).await, most);

    let orders = [FactOrder::LatestChange, FactOrder::LatestLearned, FactOrder::MostBelieved, FactOrder::LeastBelieved];
    for order in orders {
        let page = store.list_facts(&w.caller, &FactFilter { order, ..FactFilter::default() }, &Page::first(1)).await.unwrap();
        for other in orders.into_iter().filter(|other| *other != order) {
            let next = Page { first: 1, after: Some(page.items[0].0.clone()) };
            let refused = store.list_facts(&w.caller, &FactFilter { order: other, ..FactFilter::default() }, &next).await;
            assert!(matches!(refused, Err(StoreError::BadCursor)), "a cursor of {order:?} in a list of {other:?}");
        }
    }
}

pub(super) async fn facts_are_filtered_by_type_source_and_time(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let new = document("a", None);
    let document = new.document.id.session();
    store.add_document(&w.caller, new).await.unwrap();
    let (john, mary) = (entity("John"), entity("Mary"));
    let oslo = Entity { entity_type: EntityType::Place, ..entity("Oslo") };
    let likes = Fact { updated_at: at(10), ..fact(&john, "LIKES", &mary) };
    let lives = Fact { updated_at: at(20), ..fact(&john, "LIVES_IN", &oslo) };
    let said = w.note(session, "John likes Mary.").await;
    let read =
        w.append(NewMessage { role: Role::Document, mining: FollowUp::Nothing, ..new_message(document, "John lives in Oslo.") }).await;
    let evidence = vec![evidence(&likes, &said, Stance::Supports), evidence(&lives, &read, Stance::Supports)];
    let (entities, facts) = (vec![john, mary, oslo], vec![likes.clone(), lives.clone()]);
    w.commit(KnowledgeCommit { entities, facts, evidence, ..w.plan(session).await }).await;
    let none = FactFilter::default;
    let of_relation = |text: &str, relation: &str| TextWord { relations: vec![relation.into()], ..word(text) };
    for (filter, expected) in [
        (FactFilter { entity_type: Some(EntityType::Place), ..none() }, vec![lives.id]),
        (FactFilter { entity_type: Some(EntityType::Person), ..none() }, vec![lives.id, likes.id]),
        (FactFilter { entity_type: Some(EntityType::Tool), ..none() }, vec![]),
        (FactFilter { source: Some(SearchSource::Messages), ..none() }, vec![likes.id]),
        (FactFilter { source: Some(SearchSource::Documents), ..none() }, vec![lives.id]),
        (FactFilter { changed_since: Some(at(20)), ..none() }, vec![lives.id]),
        (FactFilter { changed_before: Some(at(20)), ..none() }, vec![likes.id]),
        (FactFilter { changed_since: Some(at(10)), changed_before: Some(at(21)), ..none() }, vec![lives.id, likes.id]),
        (FactFilter { text: vec![word("john"), word("OSL")], ..none() }, vec![lives.id]),
        (FactFilter { text: vec![word("mary"), word("oslo")], ..none() }, vec![]),
        (FactFilter { text: vec![of_relation("likes", "LIKES"), word("j")], ..none() }, vec![likes.id]),
    ] {
        let found = store.list_facts(&w.caller, &filter, &Page::first(10)).await.unwrap();
        assert_eq!(found.items.into_iter().map(|(_, fact)| fact.id).collect::<Vec<_>>(), expected, "{filter:?}");
        assert_eq!(store.count_facts(&w.caller, &filter).await.unwrap(), expected.len() as u64, "{filter:?}");
    }
}

pub(super) async fn facts_that_differ_between_two_times_are_listed(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let john = entity("John");
    let said = w.note(session, "All of it.").await;
    // From when and until when each fact held, and its status.
    let kept = [
        ("stays", 10, None, FactStatus::Active),
        ("new", 30, None, FactStatus::Active),
        ("ended", 10, Some(30), FactStatus::Ended),
        ("came and went", 25, Some(35), FactStatus::Ended),
        ("retracted", 10, Some(30), FactStatus::Retracted),
        ("ended early", 10, Some(15), FactStatus::Ended),
    ];
    let others: Vec<Entity> = kept.iter().map(|(name, ..)| entity(name)).collect();
    let facts: Vec<Fact> = kept
        .iter()
        .zip(&others)
        .map(|((_, from, until, status), other)| Fact {
            valid_from: Some(at(*from)),
            valid_to: until.map(at),
            status: *status,
            updated_at: at(*from),
            ..fact(&john, "LIKES", other)
        })
        .collect();
    let evidence = facts.iter().map(|f| evidence(f, &said, Stance::Supports)).collect();
    let entities = others.iter().chain([&john]).cloned().collect();
    w.commit(KnowledgeCommit { entities, facts: facts.clone(), evidence, ..w.plan(session).await }).await;
    for (from, until, expected) in [
        (20, Some(40), vec!["ended", "new", "retracted"]),
        (20, None, vec!["ended", "new", "retracted"]),
        (20, Some(32), vec!["came and went", "ended", "new", "retracted"]),
        (20, Some(28), vec!["came and went"]),
        (5, Some(12), vec!["ended", "ended early", "stays"]),
        (40, None, vec![]),
    ] {
        let filter = FactFilter { differs: Some(TimeSpan { from: at(from), until: until.map(at) }), ..FactFilter::default() };
        let found = store.list_facts(&w.caller, &filter, &Page::first(10)).await.unwrap();
        let name = |f: &Fact| kept[facts.iter().position(|k| k.id == f.id).unwrap()].0;
        let mut names: Vec<&str> = found.items.iter().map(|(_, f)| name(f)).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "from {from} until {until:?}");
        assert_eq!(store.count_facts(&w.caller, &filter).await.unwrap(), expected.len() as u64);
    }
}

pub(super) async fn names_and_titles_are_found_without_accents(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let jose = Entity { aliases: vec!["Pépé".into()], ..entity("José Núñez") };
    let tea = entity("tea");
    let likes = fact(&jose, "LIKES", &tea);
    let said = w.note(session, "José Núñez likes tea.").await;
    let plan = KnowledgeCommit {
        entities: vec![jose.clone(), tea],
        facts: vec![likes.clone()],
        evidence: vec![evidence(&likes, &said, Stance::Supports)],
        ..w.plan(session).await
    };
    w.commit(plan).await;
    let title = SessionUpdate { title: Some("Où est José".into()), ..SessionUpdate::default() };
    store.update_session(&w.caller, session, &title, at(9)).await.unwrap();
    for text in ["jose", "JOSÉ", "nunez", "pepe", "Núñez"] {
        let found =
            store.list_entities(&w.caller, &EntityFilter { text: Some(text.into()), ..EntityFilter::default() }, &Page::first(9)).await;
        assert_eq!(found.unwrap().items.into_iter().map(|(_, e)| e.id).collect::<Vec<_>>(), [jose.id], "{text}");
        let found = store.list_facts(&w.caller, &FactFilter { text: vec![word(text)], ..FactFilter::default() }, &Page::first(9)).await;
        assert_eq!(found.unwrap().items.len(), 1, "{text}");
    }
    for text in ["ou est", "OÙ", "jose"] {
        let filter = SessionFilter { text: Some(text.into()), ..SessionFilter::default() };
        assert_eq!(store.list_sessions(&w.caller, &filter, &Page::first(9)).await.unwrap().items.len(), 1, "{text}");
    }
}
