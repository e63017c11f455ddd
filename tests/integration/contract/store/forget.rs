//! Forgetting: nothing finds what is forgotten, undoing restores it exactly, and after that nothing is left.

use std::sync::Arc;

use recall_domain::{
    Entity, EntityId, EntityKey, ForgettingId, Message, MessageId, MessageKind, MessageStatus, Page, Role, SessionId, Stance,
    UndoableForgetting, event::MessagesChanged,
};
use recall_domain::{EventBody, EventDraft, EventId};
use recall_ports::{
    AnsweredQuestion, CommitError, Embedding, EntityFilter, FactFilter, FollowUp, ForgetPlan, ForgottenKnowledge, KnowledgeCommit,
    NewMessage, RestorePlan, Store,
};

use super::given::{Known, MODEL, World, at, entity, evidence, fact, fresh, mention, new_message, renamed, with_external_id};

/// When a forgetting of these tests ends.
const UNTIL: i64 = 1_000;

fn told(session: SessionId, messages: &[MessageId]) -> Vec<(SessionId, Vec<EventDraft>)> {
    let body = EventBody::MessageForgotten(MessagesChanged { session_id: session, message_ids: messages.to_vec() });
    vec![(session, vec![EventDraft { id: EventId(fresh()), body }])]
}

pub(super) async fn plan(w: &World, session: SessionId, hidden: &[MessageId]) -> ForgetPlan {
    ForgetPlan {
        id: ForgettingId(fresh()),
        version: w.store.knowledge_version(&w.caller).await.unwrap(),
        now: at(1),
        until: at(UNTIL),
        hidden: hidden.to_vec(),
        redacted: Vec::new(),
        kept_mentions: Vec::new(),
        titles: Vec::new(),
        knowledge: ForgottenKnowledge::default(),
        events: told(session, hidden),
    }
}

/// Plans to forget "John likes Mary" with its message.
pub(super) async fn whole(w: &World, known: &Known) -> ForgetPlan {
    let knowledge =
        ForgottenKnowledge { facts: vec![known.fact.clone()], evidence: vec![known.evidence.clone()], ..ForgottenKnowledge::default() };
    ForgetPlan { knowledge, ..plan(w, known.session, &[known.message.id]).await }
}

pub(super) async fn undoing(w: &World, plan: &ForgetPlan) -> RestorePlan {
    let knowledge = plan.knowledge.clone();
    RestorePlan {
        id: plan.id,
        version: w.store.knowledge_version(&w.caller).await.unwrap(),
        now: at(2),
        facts: knowledge.facts.into_iter().chain(knowledge.changed.into_iter().map(|(before, _)| before)).collect(),
        evidence: knowledge.evidence,
        excerpts: knowledge.excerpts,
        events: plan.events.iter().map(|(session, _)| told(*session, &[]).remove(0)).collect(),
    }
}

/// Everything that reads return, without numbers that only grow.
async fn state(w: &World, sessions: &[SessionId]) -> String {
    let (store, c) = (&w.store, &w.caller);
    let mut seen = Vec::new();
    let mut messages: Vec<Message> = Vec::new();
    for session in sessions {
        messages.extend(store.list_messages(c, *session, &Page::first(50), false).await.unwrap().items.into_iter().map(|(_, m)| m));
    }
    let ids: Vec<MessageId> = messages.iter().map(|m| m.id).collect();
    let facts = store.list_facts(c, &FactFilter::default(), &Page::first(50)).await.unwrap().items;
    let fact_ids: Vec<_> = facts.iter().map(|(_, f)| f.id).collect();
    let entities = store.list_entities(c, &EntityFilter::default(), &Page::first(50)).await.unwrap().items;
    seen.push(format!("{:?}", messages.iter().map(|m| (m, m.text.as_str().to_owned())).collect::<Vec<_>>()));
    seen.push(format!("{facts:?} {entities:?}"));
    seen.push(format!(
        "{:?}",
        store.evidence_of(c, &fact_ids, 50).await.unwrap().iter().map(|e| (e, e.excerpt.as_str().to_owned())).collect::<Vec<_>>()
    ));
    seen.push(format!("{:?} {:?}", store.mentions_in(c, &ids).await.unwrap(), store.decisions_in(c, &ids).await.unwrap()));
    let resources = store.resources_of(c, &ids).await.unwrap();
    seen.push(format!("{:?}", resources.iter().map(|(m, r)| (m, r, r.uri.as_str().to_owned())).collect::<Vec<_>>()));
    seen.push(format!("{:?}", store.feed(c, MODEL, 0, 50).await.unwrap()));
    seen.push(format!("{:?}", store.nearest(c, MODEL, &Embedding(vec![1.0, 0.0]), None, 50).await.unwrap()));
    let keys: Vec<EntityKey> = ["John", "Mary", "Bob"].iter().filter_map(|n| EntityKey::of(n)).collect();
    let mut found: Vec<EntityId> = store.entities_by_key(c, &keys).await.unwrap().into_iter().map(|(_, e)| e.id).collect();
    found.sort();
    seen.push(format!("{found:?}"));
    seen.join("\n")
}

pub(super) async fn forgotten_data_is_in_no_read(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let c = &w.caller;
    let (generation, version) = (store.feed_generation(c).await.unwrap(), store.knowledge_version(c).await.unwrap());
    store.forget(c, &whole(&w, &known).await).await.unwrap();
    assert!(store.messages_by_id(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(store.list_messages(c, known.session, &Page::first(10), true).await.unwrap().items.is_empty());
    assert_eq!(store.count_messages(c, known.session).await.unwrap(), 0);
    assert!(store.messages_before(c, known.session, 10, 10).await.unwrap().is_empty());
    assert!(store.feed(c, MODEL, 0, 10).await.unwrap().is_empty());
    for session in [None, Some(known.session)] {
        assert!(store.nearest(c, MODEL, &Embedding(vec![1.0, 0.0]), session, 10).await.unwrap().is_empty());
    }
    assert!(store.facts_by_id(c, &[known.fact.id]).await.unwrap().is_empty());
    assert_eq!(store.count_facts(c, &FactFilter::default()).await.unwrap(), 0);
    assert!(store.evidence_of(c, &[known.fact.id], 10).await.unwrap().is_empty());
    assert!(store.facts_in(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(store.mentions_in(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(store.resources_of(c, &[known.message.id]).await.unwrap().is_empty());
    assert_eq!(store.count_entities(c, &EntityFilter::default()).await.unwrap(), 0);
    assert!(store.list_entities(c, &EntityFilter::default(), &Page::first(10)).await.unwrap().items.is_empty());
    assert!(store.entities_by_key(c, &[EntityKey::of("John").unwrap()]).await.unwrap().is_empty());
    let sides = [known.john.id, known.mary.id];
    assert!(store.entities_by_id(c, &sides).await.unwrap().is_empty());
    assert_eq!(store.entities_to_restore(c, &sides).await.unwrap().len(), 2);
    assert!(store.entities_to_restore(&World::new(&store).caller, &sides).await.unwrap().is_empty());
    assert!(store.feed_generation(c).await.unwrap() > generation, "an index in memory still finds the message");
    assert!(store.knowledge_version(c).await.unwrap() > version, "a plan from before is not stale");
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    let (state, events) = store.log_page(c, known.session, 0, 50).await.unwrap();
    assert_eq!(events.iter().map(|e| e.kind.as_str()).collect::<Vec<_>>(), ["message_forgotten"], "old events name it");
    assert_eq!((state.floor, state.head), (events[0].seq, events[0].seq));
}

pub(super) async fn undone_forgetting_restores_everything(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let other = w.say(known.session, "Something else.").await;
    let waiting = w.append(with_external_id(new_message(known.session, "Waiting."), "waiting")).await;
    assert_eq!(waiting.status, MessageStatus::Processing);
    let before = state(&w, &[known.session]).await;
    let c = &w.caller;
    let mut forget = whole(&w, &known).await;
    forget.hidden.push(waiting.id);
    store.forget(c, &forget).await.unwrap();
    let forgetting = store.forgetting(c, forget.id).await.unwrap().unwrap();
    assert_eq!((&forgetting.knowledge, forgetting.until), (&forget.knowledge, at(UNTIL)));
    assert_eq!(forgetting.messages, [(known.message.id, known.session), (waiting.id, known.session)]);
    let jobs = w.claim(10).await;
    assert_eq!(jobs.len(), 1, "the job of a hidden message still runs: {jobs:?}");
    store.restore_forgotten(c, &undoing(&w, &forget).await).await.unwrap();
    assert_eq!(state(&w, &[known.session]).await, before);
    assert_eq!(store.depth().await.unwrap().0, 2, "the restored message waits for nothing");
    assert_eq!(store.messages_by_id(c, &[other.id]).await.unwrap().len(), 1);
    assert!(store.forgetting(c, forget.id).await.unwrap().is_none());
    let again = store.restore_forgotten(c, &undoing(&w, &forget).await).await;
    assert!(matches!(again, Err(CommitError::Store(recall_ports::StoreError::NotFound))));
}

pub(super) async fn undoing_shows_entities_that_a_later_forgetting_hid(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let c = &w.caller;
    // The second message alone keeps both names known when the first is forgotten.
    let second = w.say(known.session, "John and Mary.").await;
    let mentions = vec![(known.john.id, mention("John")), (known.mary.id, mention("Mary"))];
    let learned = KnowledgeCommit { message: Some((second.id, MessageKind::Statement, mentions)), ..w.plan(known.session).await };
    w.commit(learned).await;
    let first = whole(&w, &known).await;
    store.forget(c, &first).await.unwrap();
    let sides = [known.john.id, known.mary.id];
    assert_eq!(store.entities_by_id(c, &sides).await.unwrap().len(), 2);
    let later = plan(&w, known.session, &[second.id]).await;
    store.forget(c, &later).await.unwrap();
    assert!(store.entities_by_id(c, &sides).await.unwrap().is_empty());
    store.restore_forgotten(c, &undoing(&w, &first).await).await.unwrap();
    assert_eq!(store.entities_by_id(c, &sides).await.unwrap().len(), 2);
    store.restore_forgotten(c, &undoing(&w, &later).await).await.unwrap();
    assert_eq!(store.entities_by_id(c, &sides).await.unwrap().iter().map(|e| e.mention_count).collect::<Vec<_>>(), [2, 2]);
}

pub(super) async fn purged_forgetting_leaves_nothing_behind(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let c = &w.caller;
    let forget = whole(&w, &known).await;
    store.forget(c, &forget).await.unwrap();
    assert_eq!(store.expired_forgettings(at(UNTIL - 1), 10).await.unwrap().iter().filter(|(_, id)| *id == forget.id).count(), 0);
    store.purge_forgotten(c, forget.id, at(UNTIL - 1)).await.unwrap();
    assert!(store.forgetting(c, forget.id).await.unwrap().is_some(), "it was deleted too early");
    // Any process finds it, also after a restart.
    let expired = store.expired_forgettings(at(UNTIL), 10).await.unwrap();
    let (owner, id) = expired.into_iter().find(|(_, id)| *id == forget.id).unwrap();
    assert_eq!(owner.user(), c.user());
    let late = RestorePlan { now: at(UNTIL), ..undoing(&w, &forget).await };
    assert!(matches!(store.restore_forgotten(c, &late).await, Err(CommitError::Store(recall_ports::StoreError::NotFound))));
    store.purge_forgotten(&owner, id, at(UNTIL)).await.unwrap();
    store.purge_forgotten(&owner, id, at(UNTIL)).await.unwrap();
    let left = store.holdings(c).await.unwrap();
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [("session_changes".to_owned(), 1), ("sessions".to_owned(), 1)]);
    assert!(store.log_page(c, known.session, 0, 50).await.unwrap().1.is_empty());
    let next = w.say(known.session, "next").await;
    assert_eq!(next.position, 2, "a position is used twice");
}

pub(super) async fn redacted_message_is_evidence_without_text(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let bob = Entity { mention_count: 1, ..entity("Bob") };
    let knows = fact(&known.john, "KNOWS", &bob);
    let states = evidence(&knows, &known.message, Stance::Supports);
    let mentions = vec![(known.john.id, mention("John")), (known.mary.id, mention("Mary")), (bob.id, mention("Bob"))];
    let learned = KnowledgeCommit {
        message: Some((known.message.id, MessageKind::Statement, mentions)),
        entities: vec![bob.clone()],
        keys: vec![(bob.id, EntityKey::of("Bob").unwrap())],
        facts: vec![knows.clone()],
        evidence: vec![states.clone()],
        ..w.plan(known.session).await
    };
    w.commit(learned).await;
    let before = state(&w, &[known.session]).await;
    let c = &w.caller;
    let mut forget = whole(&w, &known).await;
    forget.redacted = std::mem::take(&mut forget.hidden);
    forget.kept_mentions = vec![(known.message.id, known.john.id), (known.message.id, bob.id)];
    forget.knowledge.excerpts = vec![states.clone()];
    store.forget(c, &forget).await.unwrap();
    let shown = store.messages_by_id(c, &[known.message.id]).await.unwrap().remove(0);
    assert_eq!((shown.text.as_str(), shown.position), ("", known.message.position));
    assert!(store.resources_of(c, &[known.message.id]).await.unwrap().is_empty());
    assert!(store.feed(c, MODEL, 0, 10).await.unwrap().is_empty());
    assert!(store.nearest(c, MODEL, &Embedding(vec![1.0, 0.0]), Some(known.session), 10).await.unwrap().is_empty());
    assert!(store.nearest(c, MODEL, &Embedding(vec![1.0, 0.0]), None, 10).await.unwrap().is_empty());
    let kept = store.evidence_of(c, &[knows.id, known.fact.id], 10).await.unwrap();
    assert_eq!(kept.iter().map(|e| (e.fact, e.excerpt.as_str())).collect::<Vec<_>>(), [(knows.id, "")]);
    let mentioned: Vec<EntityId> = store.mentions_in(c, &[known.message.id]).await.unwrap().into_iter().map(|(_, e, _)| e).collect();
    assert_eq!(mentioned, [known.john.id, bob.id]);
    store.restore_forgotten(c, &undoing(&w, &forget).await).await.unwrap();
    assert_eq!(state(&w, &[known.session]).await, before);

    let forget = ForgetPlan { id: ForgettingId(fresh()), version: store.knowledge_version(c).await.unwrap(), ..forget };
    store.forget(c, &forget).await.unwrap();
    store.purge_forgotten(c, forget.id, at(UNTIL)).await.unwrap();
    let left = store.holdings(c).await.unwrap();
    assert_eq!((left.get("message_index"), left.get("resources"), left.get("forgettings")), (None, None, None));
    assert_eq!(left.get("entities"), Some(&2));
    assert_eq!(store.messages_by_id(c, &[known.message.id]).await.unwrap()[0].text.as_str(), "");
    // What is left of it can be forgotten, too.
    let rest = ForgottenKnowledge { facts: vec![knows], evidence: vec![states], ..ForgottenKnowledge::default() };
    store.forget(c, &ForgetPlan { knowledge: rest, ..plan(&w, known.session, &[known.message.id]).await }).await.unwrap();
    assert!(store.messages_by_id(c, &[known.message.id]).await.unwrap().is_empty());
}

pub(super) async fn forgetting_with_stale_plan_changes_nothing(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let before = state(&w, &[known.session]).await;
    let c = &w.caller;
    let stale = ForgetPlan { version: 0, ..whole(&w, &known).await };
    assert!(matches!(store.forget(c, &stale).await, Err(CommitError::Stale)));
    let unknown = plan(&w, known.session, &[MessageId(fresh())]).await;
    assert!(matches!(store.forget(c, &unknown).await, Err(CommitError::Stale)));
    assert_eq!(state(&w, &[known.session]).await, before);
}

pub(super) async fn log_that_began_again_twice_has_no_gap(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let other = w.note(known.session, "Something else.").await;
    let c = &w.caller;
    let first = whole(&w, &known).await;
    store.forget(c, &first).await.unwrap();
    store.forget(c, &plan(&w, known.session, &[other.id]).await).await.unwrap();
    let before = store.log_page(c, known.session, 0, 50).await.unwrap();
    store.purge_forgotten(c, first.id, at(UNTIL)).await.unwrap();
    assert_eq!(store.log_page(c, known.session, 0, 50).await.unwrap(), before, "the end of the first changes the log");
    assert_eq!((before.0.floor, before.1.len()), (before.0.head, 1));
}

pub(super) async fn forgettings_of_others_are_hidden_and_protected(store: Arc<dyn Store>) {
    let (anna, boris) = (World::new(&store), World::new(&store));
    let known = anna.john_likes_mary().await;
    boris.session().await;
    let foreign = ForgetPlan { version: boris.store.knowledge_version(&boris.caller).await.unwrap(), ..whole(&anna, &known).await };
    assert!(matches!(store.forget(&boris.caller, &foreign).await, Err(CommitError::Stale)));
    let forget = whole(&anna, &known).await;
    store.forget(&anna.caller, &forget).await.unwrap();
    assert!(store.forgetting(&boris.caller, forget.id).await.unwrap().is_none());
    let undo = RestorePlan { events: Vec::new(), ..undoing(&boris, &forget).await };
    assert!(matches!(store.restore_forgotten(&boris.caller, &undo).await, Err(CommitError::Store(recall_ports::StoreError::NotFound))));
    store.purge_forgotten(&boris.caller, forget.id, at(UNTIL)).await.unwrap();
    assert!(store.forgetting(&anna.caller, forget.id).await.unwrap().is_some());
}

pub(super) async fn deleted_session_takes_its_forgotten_messages_along(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let forget = whole(&w, &known).await;
    store.forget(&w.caller, &forget).await.unwrap();
    store.delete_session(&w.caller, known.session, at(9), &|_, _| None).await.unwrap();
    let forgetting = store.forgetting(&w.caller, forget.id).await.unwrap().unwrap();
    assert_eq!(forgetting.messages, []);
    let undo = RestorePlan { facts: Vec::new(), evidence: Vec::new(), events: Vec::new(), ..undoing(&w, &forget).await };
    store.restore_forgotten(&w.caller, &undo).await.unwrap();
    assert_eq!(store.holdings(&w.caller).await.unwrap().into_keys().collect::<Vec<_>>(), ["session_changes"]);
}

pub(super) async fn forgetting_waits_for_the_reply_to_its_command(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let command = w.append(new_message(known.session, "Forget it.")).await;
    let c = &w.caller;
    let forget = ForgetPlan { id: ForgettingId(command.id.0), ..whole(&w, &known).await };
    store.forget(c, &forget).await.unwrap();
    store.purge_forgotten(c, forget.id, at(UNTIL)).await.unwrap();
    assert!(store.forgetting(c, forget.id).await.unwrap().is_some(), "a repeated attempt does not find it");
    // Ends its job.
    store.forget(c, &plan(&w, known.session, &[command.id]).await).await.unwrap();
    store.purge_forgotten(c, forget.id, at(UNTIL)).await.unwrap();
    assert!(store.forgetting(c, forget.id).await.unwrap().is_none());
}

/// Its job ends with the forgetting, so nothing else would end its processing.
pub(super) async fn erased_message_is_no_longer_processed(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let command = w.append(new_message(known.session, "Forget it.")).await;
    let c = &w.caller;
    assert_eq!(store.messages_by_id(c, &[command.id]).await.unwrap()[0].status, MessageStatus::Processing);
    let forget = ForgetPlan { hidden: Vec::new(), redacted: vec![command.id], ..plan(&w, known.session, &[command.id]).await };
    store.forget(c, &forget).await.unwrap();
    store.purge_forgotten(c, forget.id, at(UNTIL)).await.unwrap();
    let shown = store.messages_by_id(c, &[command.id]).await.unwrap().remove(0);
    assert_eq!((shown.text.as_str(), shown.status), ("", MessageStatus::Processed));
}

pub(super) async fn reply_to_a_command_says_that_it_was_undone(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let command = w.note(known.session, "Forget it.").await;
    let c = &w.caller;
    let told = UndoableForgetting { token: ForgettingId(command.id.0), undo_until: at(UNTIL) };
    let reply = NewMessage {
        role: Role::Assistant,
        mining: FollowUp::Nothing,
        source_metadata: Some(told.to_metadata()),
        answers: Some(AnsweredQuestion { question: command.id, citations: Vec::new(), nearest: Vec::new() }),
        ..new_message(known.session, "Done.")
    };
    let reply = w.append(reply).await;
    let stored = async || store.messages_by_id(c, &[reply.id]).await.unwrap().remove(0);
    let forget = ForgetPlan { id: told.token, ..whole(&w, &known).await };
    store.forget(c, &forget).await.unwrap();
    assert_eq!((UndoableForgetting::of_reply(&stored().await), UndoableForgetting::undone_at(&stored().await)), (Some(told), None));
    store.restore_forgotten(c, &undoing(&w, &forget).await).await.unwrap();
    assert_eq!(UndoableForgetting::undone_at(&stored().await), Some(at(2)));
    assert_eq!(stored().await.text.as_str(), "Done.");
}

pub(super) async fn session_title_can_be_changed(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let updated = store.update_session(&w.caller, session, &renamed("Other plans"), at(9)).await.unwrap();
    assert_eq!(updated.title.as_ref().map(|t| t.as_str()), Some("Other plans"));
    assert_eq!(store.sessions_by_id(&w.caller, &[session]).await.unwrap(), [updated]);
    let stranger = World::new(&store);
    for (who, id) in [(&stranger, session), (&w, SessionId(fresh()))] {
        let refused = store.update_session(&who.caller, id, &renamed("x"), at(9)).await;
        assert!(matches!(refused, Err(recall_ports::StoreError::NotFound)));
    }
}
