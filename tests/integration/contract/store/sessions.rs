//! What a user decides about a session: title, pinned, archived, paused. And what pausing means for messages.

use std::sync::Arc;

use recall_domain::{Page, Session, SessionId};
use recall_ports::{Activity, AnswerCommit, FollowUp, NewMessage, SessionFilter, SessionUpdate, Store, StoreError};

use super::given::{MODEL, World, answer_of, at, new_message, renamed};

async fn listed(w: &World, filter: SessionFilter) -> Vec<SessionId> {
    let page = w.store.list_sessions(&w.caller, &filter, &Page::first(100)).await.unwrap();
    let found: Vec<SessionId> = page.items.into_iter().map(|(_, session)| session.id).collect();
    assert_eq!(w.store.count_sessions(&w.caller, &filter).await.unwrap(), found.len() as u64);
    found
}

async fn update(w: &World, session: SessionId, update: SessionUpdate) -> Session {
    w.store.update_session(&w.caller, session, &update, at(5)).await.unwrap()
}

pub(super) async fn session_update_changes_only_given_values(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let before = w.store.sessions_by_id(&w.caller, &[session]).await.unwrap().remove(0);
    assert_eq!((before.pinned, before.archived, before.paused), (false, false, false));
    let on = SessionUpdate { pinned: Some(true), archived: Some(true), paused: Some(true), ..renamed("Plans") };
    let updated = update(&w, session, on).await;
    assert_eq!(updated, Session { title: Some("Plans".into()), pinned: true, archived: true, paused: true, head: updated.head, ..before });
    let off = update(&w, session, SessionUpdate { archived: Some(false), ..SessionUpdate::default() }).await;
    assert_eq!(off, Session { archived: false, ..updated });
    assert_eq!(w.store.sessions_by_id(&w.caller, &[session]).await.unwrap(), [off]);
    let foreign = World::new(&store);
    foreign.session().await;
    let refused = store.update_session(&foreign.caller, session, &renamed("x"), at(9)).await;
    assert!(matches!(refused, Err(StoreError::NotFound)), "{refused:?}");
}

pub(super) async fn sessions_are_filtered_by_title_and_flags(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let [greetings, plans, untitled] = [w.session().await, w.session().await, w.session().await];
    update(&w, greetings, renamed("Grüße aus Porto")).await;
    w.append(NewMessage { title: Some("ÄRGER im Büro".into()), ..new_message(plans, "m") }).await;
    update(&w, plans, SessionUpdate { pinned: Some(true), ..SessionUpdate::default() }).await;
    update(&w, untitled, SessionUpdate { archived: Some(true), ..SessionUpdate::default() }).await;

    let text = |text: &str| SessionFilter { text: Some(text.into()), ..SessionFilter::default() };
    for (words, found) in [("grüß", greetings), ("GRÜSSE", untitled), ("PORTO", greetings), ("ärger IM", plans), ("büro", plans)] {
        let expected = if found == untitled { vec![] } else { vec![found] };
        assert_eq!(listed(&w, text(words)).await, expected, "{words}");
    }
    assert!(listed(&w, text("%")).await.is_empty(), "a pattern was taken as such");
    assert_eq!(listed(&w, SessionFilter { pinned: Some(true), ..SessionFilter::default() }).await, [plans]);
    assert_eq!(listed(&w, SessionFilter { archived: Some(true), ..SessionFilter::default() }).await, [untitled]);
    update(&w, greetings, SessionUpdate { paused: Some(true), ..SessionUpdate::default() }).await;
    assert_eq!(listed(&w, SessionFilter { paused: Some(true), ..SessionFilter::default() }).await, [greetings]);
    let shown = SessionFilter { pinned: Some(false), archived: Some(false), ..SessionFilter::default() };
    assert_eq!(listed(&w, shown).await, [greetings]);
    // A later message does not change the title that is searched.
    w.append(NewMessage { title: Some("Other".into()), ..new_message(greetings, "m") }).await;
    assert!(listed(&w, text("other")).await.is_empty());
    update(&w, greetings, renamed("Other")).await;
    assert_eq!((listed(&w, text("other")).await, listed(&w, text("porto")).await), (vec![greetings], vec![]));
}

/// Sessions that store documents are not counted, nor are those of other users.
pub(super) async fn activity_counts_sessions_and_messages(store: Arc<dyn Store>) {
    let w = World::new(&store);
    assert_eq!(store.activity(&w.caller).await.unwrap(), Activity::default());
    let (one, _) = (w.session().await, w.session().await);
    w.say(one, "first").await;
    w.say(one, "second").await;
    World::new(&store).session().await;
    let activity = store.activity(&w.caller).await.unwrap();
    assert_eq!((activity.sessions, activity.messages), (2, 2));
    let sessions = store.list_sessions(&w.caller, &SessionFilter::default(), &Page::first(1)).await.unwrap();
    assert_eq!(activity.latest, Some(sessions.items[0].1.updated_at));
}

/// A message that was stored while remembering was paused has no index entry, so no search finds it, now or later.
pub(super) async fn message_of_a_pause_is_stored_but_not_indexed(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (paused, other) = (w.session().await, w.session().await);
    let first = w.say(paused, "before").await;
    update(&w, paused, SessionUpdate { paused: Some(true), ..SessionUpdate::default() }).await;
    let hidden = w.say(paused, "meanwhile").await;
    let asserted = w.append(NewMessage { mining: FollowUp::Asserted, ..new_message(paused, "stated") }).await;
    let elsewhere = w.say(other, "in another session").await;
    store.set_paused(&w.caller, true, at(0)).await.unwrap();
    assert!(store.is_paused(&w.caller).await.unwrap());
    let everywhere = w.say(other, "all is paused").await;
    store.set_paused(&w.caller, false, at(0)).await.unwrap();
    update(&w, paused, SessionUpdate { paused: Some(false), ..SessionUpdate::default() }).await;
    let after = w.say(paused, "after").await;
    assert!(!store.is_paused(&w.caller).await.unwrap());
    assert!(!store.is_paused(&World::new(&store).caller).await.unwrap(), "an unknown user has paused nothing");

    let remembered = [&first, &hidden, &asserted, &elsewhere, &everywhere, &after].map(|m| m.remembered);
    assert_eq!(remembered, [true, false, true, true, false, true]);
    let read = store.messages_by_id(&w.caller, &[hidden.id, everywhere.id]).await.unwrap();
    assert!(read.iter().all(|m| !m.remembered && !m.text.as_str().is_empty()), "{read:?}");
    let vector = new_message(paused, "m").prepared.embedding;
    let mut found: Vec<_> = store.nearest(&w.caller, MODEL, &vector, None, 100).await.unwrap().into_iter().map(|(id, _)| id).collect();
    found.sort();
    let mut indexed = [&first, &asserted, &elsewhere, &after].map(|m| m.id);
    indexed.sort();
    assert_eq!(found, indexed);
    let feed = store.feed(&w.caller, MODEL, 0, 100).await.unwrap();
    let mut fed: Vec<_> = feed.iter().map(|row| row.message).collect();
    fed.sort();
    assert_eq!(fed, indexed);
}

/// The answer repeats the question, so it must not be found either.
pub(super) async fn answer_is_remembered_only_if_its_question_is(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let pause = |paused| SessionUpdate { paused: Some(paused), ..SessionUpdate::default() };
    let mut remembered = Vec::new();
    for paused in [true, false] {
        update(&w, session, pause(paused)).await;
        let question = w.ask(session, "Where do I live?").await;
        update(&w, session, pause(false)).await;
        let job = w.claim(1).await.pop().unwrap();
        let answer = AnswerCommit { message: answer_of(question.id, "In Porto.", vec![], session), events: vec![] };
        remembered.push(store.commit_answer(&w.caller, &answer, &job.claim).await.unwrap().remembered);
    }
    assert_eq!(remembered, [false, true]);
}
