//! The graph feed lists each changed item once, under the number of its latest change.

use std::{collections::HashSet, sync::Arc};

use recall_domain::{EntityKey, FactStatus, MessageKind, Stance};
use recall_ports::{Change, KnowledgeCommit, NodeId, NodeState, Store};

use super::{
    super::forget,
    super::given::{World, at, entity, evidence, fact, mention, new_message},
    Folder, know,
};

pub(super) async fn changes(folder: &Folder, w: &World, after: u64) -> Vec<Change> {
    folder.feed().changes(&w.caller, after, 1_000).await.unwrap()
}

fn id(change: &Change) -> NodeId {
    change.thing.id()
}

pub(in super::super) async fn graph_feed_records_changes_once_started(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    let w = folder.world();
    let known = w.john_likes_mary().await;
    let feed = folder.feed();
    assert_eq!(feed.users_after(0).await.unwrap().0, []);
    assert_eq!(feed.head(&w.caller).await.unwrap(), 0);

    let name = feed.start().await.unwrap();
    assert_eq!(feed.start().await.unwrap(), name, "the name changed, or items are listed twice");
    let all = changes(&folder, &w, 0).await;
    let mut expected = vec![
        NodeId::Session(known.session),
        NodeId::Entity(known.john.id),
        NodeId::Entity(known.mary.id),
        NodeId::Message(known.message.id),
        NodeId::Fact(known.fact.id),
    ];
    let mut got: Vec<_> = all.iter().map(id).collect();
    expected.sort();
    got.sort();
    assert_eq!(got, expected);
    assert_eq!(feed.head(&w.caller).await.unwrap(), all.last().unwrap().number);
    let (users, mark) = feed.users_after(0).await.unwrap();
    assert_eq!(users.iter().map(|c| c.user()).collect::<Vec<_>>(), [w.caller.user()]);
    assert!(feed.users_after(mark).await.unwrap().1 >= mark);
    assert_ne!(Folder::new().await.feed().start().await.unwrap(), name, "two databases have the same feed");
}

pub(in super::super) async fn feed_items_have_current_state_and_source(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    for change in changes(&folder, &w, 0).await {
        match change.thing {
            NodeState::Fact(f, source) => assert_eq!((f, source), (known.fact.clone(), Some((known.message.id, known.session)))),
            NodeState::Message(m) => {
                assert_eq!((m.session, m.kind, m.position), (known.session, Some(MessageKind::Statement), 1));
                let mut both = vec![known.john.id, known.mary.id];
                both.sort();
                assert_eq!(m.mentions, both);
            }
            NodeState::Entity(e) => assert!(e == known.john || e == known.mary),
            NodeState::Session(s) => assert_eq!(s.id, known.session),
            NodeState::Document(_) | NodeState::Chunk(_) | NodeState::Topic(_) => panic!("there is no document"),
            NodeState::Gone(id) => panic!("{id:?} is gone"),
        }
    }
}

pub(in super::super) async fn repeated_change_is_listed_once_under_latest_number(store: Arc<dyn Store>) {
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
    assert_eq!(news.iter().map(id).collect::<Vec<_>>(), [NodeId::Fact(known.fact.id)]);
    assert!(matches!(&news[0].thing, NodeState::Fact(f, _) if f.status == FactStatus::Ended));
    assert_eq!(changes(&folder, &w, 0).await.len(), count);

    // Session counters change with every message and are not in the graph.
    let before = folder.feed().head(&w.caller).await.unwrap();
    let message = w.note(known.session, "hello").await;
    assert_eq!(changes(&folder, &w, before).await.iter().map(id).collect::<Vec<_>>(), [NodeId::Message(message.id)]);
}

pub(in super::super) async fn deleted_items_are_listed_as_gone(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    w.store.delete_session(&w.caller, known.session, at(9), &|_, _| None).await.unwrap();
    let all = changes(&folder, &w, 0).await;
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|c| matches!(c.thing, NodeState::Gone(_))), "{all:?}");
    assert!(folder.store.feed(&w.caller, "m", 0, 10).await.unwrap().is_empty());
}

pub(in super::super) async fn merge_lists_everything_it_changes(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let w = folder.world();
    let known = w.john_likes_mary().await;
    // Another message says "Johnny likes Mary". Its fact merges into John's, and evidence and mention move.
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
    let mut got: Vec<_> = news.iter().map(|c| (id(c), matches!(c.thing, NodeState::Gone(_)))).collect();
    got.sort();
    let mut expected = vec![
        (NodeId::Entity(known.john.id), false),
        (NodeId::Entity(johnny.id), true),
        (NodeId::Message(message.id), false),
        (NodeId::Fact(known.fact.id), false),
        (NodeId::Fact(second.id), true),
    ];
    expected.sort();
    assert_eq!(got, expected);
    let moved = news.iter().find_map(|c| if let NodeState::Message(m) = &c.thing { Some(m) } else { None }).unwrap();
    assert_eq!(moved.mentions, [known.john.id]);
    let source = news.iter().find_map(|c| if let NodeState::Fact(_, source) = &c.thing { *source } else { None }).unwrap();
    assert_eq!(source.0, message.id, "not the latest message with this fact");
}

pub(in super::super) async fn feeds_of_users_are_separate(store: Arc<dyn Store>) {
    let folder = Folder::over(store);
    folder.feed().start().await.unwrap();
    let (one, other) = (folder.world(), folder.world());
    one.john_likes_mary().await;
    let mark = folder.feed().users_after(0).await.unwrap().1;
    let known = other.john_likes_mary().await;
    let (users, _) = folder.feed().users_after(mark).await.unwrap();
    assert!(users.iter().any(|c| c.user() == other.caller.user()));
    let theirs = changes(&folder, &other, 0).await;
    assert!(theirs.iter().any(|c| id(c) == NodeId::Fact(known.fact.id)));
    assert!(changes(&folder, &one, 0).await.iter().all(|c| id(c) != NodeId::Fact(known.fact.id)));
}

pub(in super::super) async fn forgotten_items_are_listed_as_gone(store: Arc<dyn Store>) {
    let folder = Folder::over(store.clone());
    let w = folder.world();
    folder.feed().start().await.unwrap();
    let known = w.john_likes_mary().await;
    let quiet = w.note(known.session, "Names nobody.").await;
    let mark = folder.feed().head(&w.caller).await.unwrap();
    let mut plan = forget::whole(&w, &known).await;
    plan.hidden.push(quiet.id);
    store.forget(&w.caller, &plan).await.unwrap();
    let gone: HashSet<NodeId> = changes(&folder, &w, mark)
        .await
        .into_iter()
        .filter_map(|c| match c.thing {
            NodeState::Gone(id) => Some(id),
            _ => None,
        })
        .collect();
    let expected = [
        NodeId::Message(known.message.id),
        NodeId::Message(quiet.id),
        NodeId::Fact(known.fact.id),
        NodeId::Entity(known.john.id),
        NodeId::Entity(known.mary.id),
    ];
    assert_eq!(gone, HashSet::from(expected));
    let mark = folder.feed().head(&w.caller).await.unwrap();
    store.restore_forgotten(&w.caller, &forget::undoing(&w, &plan).await).await.unwrap();
    let back: HashSet<NodeId> = changes(&folder, &w, mark).await.iter().map(id).collect();
    assert!(expected.iter().all(|node| back.contains(node)), "{back:?}");
    assert!(changes(&folder, &w, mark).await.iter().all(|c| !matches!(c.thing, NodeState::Gone(_))));
}
