//! What changed: each thing once, under the number of its latest change, whatever changed it.

use std::sync::Arc;

use recall_domain::{EntityKey, FactStatus, MessageKind, Stance};
use recall_ports::{Change, KnowledgeCommit, Store, Thing, ThingId};

use super::{
    super::given::{World, entity, evidence, fact, mention, new_message},
    Folder, know,
};

async fn changes(folder: &Folder, w: &World, after: u64) -> Vec<Change> {
    folder.feed().changes(&w.caller, after, 1_000).await.unwrap()
}

fn id(change: &Change) -> ThingId {
    match &change.thing {
        Thing::Session(s) => ThingId::Session(s.id),
        Thing::Entity(e) => ThingId::Entity(e.id),
        Thing::Message(m) => ThingId::Message(m.id),
        Thing::Fact(f, _) => ThingId::Fact(f.id),
        Thing::Gone(id) => *id,
    }
}

pub(in super::super) async fn nothing_is_recorded_until_it_is_wanted_and_then_everything_is(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    let w = folder.world();
    let known = w.john_likes_mary().await;
    let feed = folder.feed();
    assert_eq!(feed.users_after(0).await.unwrap().0, []);
    assert_eq!(feed.head(&w.caller).await.unwrap(), 0);

    let name = feed.start().await.unwrap();
    assert_eq!(feed.start().await.unwrap(), name, "the name stays, and nothing is listed twice");
    let all = changes(&folder, &w, 0).await;
    let mut expected = vec![
        ThingId::Session(known.session),
        ThingId::Entity(known.john.id),
        ThingId::Entity(known.mary.id),
        ThingId::Message(known.message.id),
        ThingId::Fact(known.fact.id),
    ];
    let mut got: Vec<_> = all.iter().map(id).collect();
    expected.sort();
    got.sort();
    assert_eq!(got, expected);
    assert_eq!(feed.head(&w.caller).await.unwrap(), all.last().unwrap().number);
    let (users, mark) = feed.users_after(0).await.unwrap();
    assert_eq!(users.iter().map(|c| c.user()).collect::<Vec<_>>(), [w.caller.user()]);
    assert!(feed.users_after(mark).await.unwrap().1 >= mark);
    assert_ne!(Folder::new().await.feed().start().await.unwrap(), name, "another database, another feed");
}

pub(in super::super) async fn a_thing_is_listed_as_it_is_with_where_it_comes_from(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    for change in changes(&folder, &w, 0).await {
        match change.thing {
            Thing::Fact(f, source) => assert_eq!((f, source), (known.fact.clone(), Some((known.message.id, known.session)))),
            Thing::Message(m) => {
                assert_eq!((m.session, m.kind, m.position), (known.session, Some(MessageKind::Statement), 1));
                let mut both = vec![known.john.id, known.mary.id];
                both.sort();
                assert_eq!(m.mentions, both);
            }
            Thing::Entity(e) => assert!(e == known.john || e == known.mary),
            Thing::Session(s) => assert_eq!(s.id, known.session),
            Thing::Gone(id) => panic!("{id:?} is gone"),
        }
    }
}

pub(in super::super) async fn a_change_is_listed_once_under_its_latest_number(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    let before = folder.feed().head(&w.caller).await.unwrap();
    let count = changes(&folder, &w, 0).await.len();

    let mut ended = known.fact.clone();
    ended.status = FactStatus::Ended;
    know(&w, known.session, &[], &[&ended]).await;
    know(&w, known.session, &[], &[&ended]).await;
    let news = changes(&folder, &w, before).await;
    assert_eq!(news.iter().map(id).collect::<Vec<_>>(), [ThingId::Fact(known.fact.id)]);
    assert!(matches!(&news[0].thing, Thing::Fact(f, _) if f.status == FactStatus::Ended));
    assert_eq!(changes(&folder, &w, 0).await.len(), count);

    // Counters of sessions change with every message; the graph does not have them.
    let before = folder.feed().head(&w.caller).await.unwrap();
    let message = w.note(known.session, "hello").await;
    assert_eq!(changes(&folder, &w, before).await.iter().map(id).collect::<Vec<_>>(), [ThingId::Message(message.id)]);
}

pub(in super::super) async fn what_goes_is_listed_as_gone(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    w.store.delete_session(&w.caller, known.session, &|_, _| None).await.unwrap();
    let all = changes(&folder, &w, 0).await;
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|c| matches!(c.thing, Thing::Gone(_))), "{all:?}");
    assert!(folder.store.feed(&w.caller, "m", 0, 10).await.unwrap().is_empty());
}

pub(in super::super) async fn a_merge_tells_of_all_that_it_moves(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    // "Johnny likes Mary", of another message: the fact goes into the one of John, its evidence and the mention move.
    let johnny = entity("Johnny");
    let message = w.append(new_message(known.session, "Johnny likes Mary.")).await;
    let second = fact(&johnny, "LIKES", &known.mary);
    let plan = KnowledgeCommit {
        message: Some((message.id, MessageKind::Statement, vec![(johnny.id, mention("Johnny"))])),
        entities: vec![johnny.clone()],
        keys: vec![(johnny.id, EntityKey::of("Johnny").unwrap())],
        facts: vec![second.clone()],
        evidence: vec![evidence(&second, &message, Stance::Supports)],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    let before = folder.feed().head(&w.caller).await.unwrap();
    let plan = KnowledgeCommit {
        entities: vec![known.john.clone()],
        merged: vec![(johnny.id, known.john.id)],
        dropped_facts: vec![(second.id, known.fact.id)],
        ..w.plan(known.session).await
    };
    w.commit(plan).await;
    let news = changes(&folder, &w, before).await;
    let mut got: Vec<_> = news.iter().map(|c| (id(c), matches!(c.thing, Thing::Gone(_)))).collect();
    got.sort();
    let mut expected = vec![
        (ThingId::Entity(known.john.id), false),
        (ThingId::Entity(johnny.id), true),
        (ThingId::Message(message.id), false),
        (ThingId::Fact(known.fact.id), false),
        (ThingId::Fact(second.id), true),
    ];
    expected.sort();
    assert_eq!(got, expected);
    let moved = news.iter().find_map(|c| if let Thing::Message(m) = &c.thing { Some(m) } else { None }).unwrap();
    assert_eq!(moved.mentions, [known.john.id]);
    let source = news.iter().find_map(|c| if let Thing::Fact(_, source) = &c.thing { *source } else { None }).unwrap();
    assert_eq!(source.0, message.id, "the latest message that states it");
}

pub(in super::super) async fn users_are_kept_apart(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let (one, other) = (folder.world(), folder.world());
    one.john_likes_mary().await;
    let mark = folder.feed().users_after(0).await.unwrap().1;
    let known = other.john_likes_mary().await;
    let (users, _) = folder.feed().users_after(mark).await.unwrap();
    assert!(users.iter().any(|c| c.user() == other.caller.user()));
    let theirs = changes(&folder, &other, 0).await;
    assert!(theirs.iter().any(|c| id(c) == ThingId::Fact(known.fact.id)));
    assert!(changes(&folder, &one, 0).await.iter().all(|c| id(c) != ThingId::Fact(known.fact.id)));
}
