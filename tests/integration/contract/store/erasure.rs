//! Deletion of a user's data in steps, without effect on other users.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::planned::Finish;
use recall_domain::{
    AccessToken, AccessTokenId, AuditAction, AuditDraft, Caller, Day, DocumentId, FrontEnd, FrontEndKind, MessageKind, ModelOperation,
    Page, SessionId, Spending, TokenCount, TokenDigest, UserId, ViewerRole,
};
use recall_ports::{
    AccountDeletion, ArchiveError, CommitError, DocumentFilter, Embedding, JobWork, KnowledgeCommit, SessionFilter, Store, StoreError,
    account_deletion::{ERASED, LEFT},
    archive::Owner,
};
use sqlx::{Connection, SqliteConnection};
use tokio::{sync::Barrier, task::JoinSet};

use super::{
    archive::{other, rich},
    files::add_with_file,
    forget,
    given::{MODEL, World, at, fresh, new_message},
    logins::login,
    relations::answered,
    visits::{ROOM, visit, visitor},
};

/// The day of `at(0)`.
const TODAY: Day = Day(19_675);

fn token(n: u8) -> (AccessToken, TokenDigest) {
    let id = fresh();
    let token = AccessToken {
        id: AccessTokenId(id),
        name: "script".into(),
        scopes: "recall.read".into(),
        created_at: at(0),
        expires_at: at(9_000_000),
        last_used_at: None,
    };
    let mut digest = [n; 32];
    digest[..16].copy_from_slice(id.as_bytes());
    (token, TokenDigest(digest))
}

/// Creates a user with rows in every table that an erasure empties.
async fn full(store: &Arc<dyn Store>) -> (World, SessionId, TokenDigest) {
    let (w, session) = rich(store).await;
    let (token, digest) = token(1);
    store.create_access_token(&w.caller, &token, digest).await.unwrap();
    store.begin_login(&w.caller, &login(0)).await.unwrap();
    let browser = FrontEnd { kind: FrontEndKind::Login, name: "Firefox".into() };
    store.note_front_end(&w.caller, &browser, at(0)).await.unwrap();
    let (visitor, theirs) = visitor(store, 100, 100).await;
    visitor.john_likes_mary().await;
    store.adopt(&w.caller, theirs.digest, at(0)).await.unwrap();
    store.begin_visit(&w.caller, &visit(1, 1), &ROOM).await.unwrap();
    answered(&w, w.session().await, &[DocumentId(fresh())]).await;
    store.view_shared_document(&w.caller, DocumentId(fresh()), at(0)).await.unwrap();
    add_with_file(&w, "outside").await;
    let forgotten = w.note(session, "forget me").await;
    store.forget(&w.caller, &forget::plan(&w, session, &[forgotten.id]).await).await.unwrap();
    let mut message = new_message(session, "costs tokens");
    // As during a change of the embedding model.
    message.prepared.further = vec![(message.prepared.model, message.prepared.embedding)];
    (message.prepared.model, message.prepared.embedding) = ("test-model-2".to_owned(), Embedding(vec![0.0, 1.0, 0.0]));
    let message = w.append(message).await;
    let tokens = TokenCount { input: 3, output: 4 };
    let spending = Spending { operation: ModelOperation::Answer, tokens, messages: vec![(message.id, tokens)] };
    store.spend(&w.caller, Day(TODAY.0 - 3), &spending).await.unwrap();
    store.spend(&w.caller, TODAY, &spending).await.unwrap();
    let held = store.holdings(&w.caller).await.unwrap();
    let empty: Vec<_> = ERASED.iter().filter(|table| !held.contains_key(**table)).collect();
    assert!(empty.is_empty(), "a user in these tests needs a row in each table: {empty:?}");
    (w, session, digest)
}

async fn erase_completely(store: &Arc<dyn Store>, caller: &Caller, limit: u32) -> (AccountDeletion, Vec<SessionId>, u32) {
    let (mut sessions, mut steps) = (Vec::new(), 0);
    loop {
        let step = store.erase(caller, at(1_000), limit).await.unwrap();
        sessions.extend(step.sessions);
        steps += 1;
        if step.erasure.ended_at.is_some() {
            return (step.erasure, sessions, steps);
        }
        assert!(steps < 10_000, "the erasure does not end");
    }
}

pub(super) async fn erasure_removes_all_data_of_one_user_only(store: Arc<dyn Store>) {
    let (w, _, digest) = full(&store).await;
    let neighbour = World::new(&store);
    let known = neighbour.john_likes_mary().await;
    let (script, kept) = token(2);
    store.create_access_token(&neighbour.caller, &script, kept).await.unwrap();
    let (c, other) = (&w.caller, &neighbour.caller);
    let (before, others) = (store.holdings(c).await.unwrap(), store.holdings(other).await.unwrap());
    let mut sessions: BTreeSet<_> =
        store.list_sessions(c, &SessionFilter::ALL, &Page::first(100)).await.unwrap().items.into_iter().map(|(_, s)| s.id).collect();
    sessions.extend(store.document_ids(c, &DocumentFilter::default()).await.unwrap().into_iter().map(DocumentId::session));
    sessions.extend(store.list_comparisons(c, None, &Page::first(100)).await.unwrap().items.into_iter().map(|(_, c)| c.id.session()));
    let (generation, version) = (store.feed_generation(c).await.unwrap(), store.knowledge_version(c).await.unwrap());
    let head = store.snapshot(c.user()).await.unwrap().owner().feed_head;

    let begun = store.begin_erasure(c, at(500)).await.unwrap();
    assert_eq!((begun.begun_at, begun.ended_at), (at(500), None));
    assert!(store.use_access_token(digest, at(1)).await.unwrap().is_none(), "a token is still valid");
    assert!(store.feed_generation(c).await.unwrap() > generation);
    let (erasure, gone, steps) = erase_completely(&store, c, 7).await;
    assert!(steps > 5, "a step is not bounded");
    assert_eq!(gone.iter().copied().collect::<BTreeSet<_>>(), sessions);
    assert_eq!(gone.len(), sessions.len(), "a session is reported twice");

    // The counts match the rows from before, except today's usage.
    let mut expected = before.clone();
    *expected.get_mut("usage_days").unwrap() -= 1;
    assert_eq!(erasure.deleted, expected);
    assert_eq!(store.holdings(c).await.unwrap(), BTreeMap::from([("usage_days".to_owned(), 1)]));
    assert_eq!(store.spent(c, TODAY).await.unwrap().own, 7, "the deletion renewed a budget");
    assert!(store.nearest(c, MODEL, &Embedding(vec![1.0, 0.0]), None, 10).await.unwrap().is_empty());
    assert_eq!(store.erasure(c).await.unwrap(), Some(erasure));

    // Counters continue, so that older data cannot be taken for newer.
    let after = store.snapshot(c.user()).await.unwrap().owner();
    assert_eq!(after.feed_head, head);
    assert!(after.knowledge_version > version + 1 && store.feed_generation(c).await.unwrap() > generation + 1);
    let session = w.session().await;
    let message = w.say(session, "a new beginning").await;
    assert_eq!(store.feed(c, MODEL, head, 10).await.unwrap()[0].message, message.id);

    assert_eq!(store.holdings(other).await.unwrap(), others, "another user's data changed");
    assert_eq!(store.facts_by_id(other, &[known.fact.id]).await.unwrap(), [known.fact]);
    assert_eq!(store.events_after(other, known.session, 0, 10).await.unwrap().len(), 2);
    assert!(store.use_access_token(kept, at(1)).await.unwrap().is_some());
    assert_eq!(store.erasure(other).await.unwrap(), None);
}

pub(super) async fn interrupted_erasure_resumes_and_counts_rows_once(store: Arc<dyn Store>) {
    let (w, ..) = full(&store).await;
    let c = &w.caller;
    let before = store.holdings(c).await.unwrap();
    store.begin_erasure(c, at(500)).await.unwrap();
    store.erase(c, at(600), 20).await.unwrap();
    // Beginning again resumes the same erasure, and a search for abandoned ones finds it after a while.
    assert_eq!(store.begin_erasure(c, at(700)).await.unwrap().begun_at, at(500));
    assert!(!store.unfinished_erasures(at(600)).await.unwrap().contains(c));
    let found = store.unfinished_erasures(at(601)).await.unwrap();
    assert!(found.iter().any(|f| f.user() == c.user()), "{found:?}");

    // Two processes continue it at once.
    let ((one, ..), (two, ..)) = tokio::join!(erase_completely(&store, c, 11), erase_completely(&store, c, 13));
    assert_eq!(one, two);
    let mut expected = before;
    *expected.get_mut("usage_days").unwrap() -= 1;
    assert_eq!(one.deleted, expected, "a row was counted twice");
    assert!(!store.unfinished_erasures(at(1_000_000)).await.unwrap().iter().any(|f| f.user() == c.user()));

    // A second erasure finds nothing.
    assert_eq!(store.begin_erasure(c, at(2_000)).await.unwrap().deleted, BTreeMap::new());
    let (again, sessions, _) = erase_completely(&store, c, 100).await;
    assert_eq!((again.begun_at, again.deleted.len(), sessions.len()), (at(2_000), 0, 0));
}

pub(super) async fn writes_during_erasure_are_refused(store: Arc<dyn Store>) {
    let (w, session, _) = full(&store).await;
    let c = &w.caller;
    let job = w.claim(900_000).await.into_iter().find(|j| j.caller.user() == c.user());
    let plan = w.plan(session).await;
    store.begin_erasure(c, at(0)).await.unwrap();
    let fresh_plan = w.plan(session).await;

    let refused = |e: StoreError| assert!(matches!(e, StoreError::BeingErased), "{e}");
    refused(store.create_session(c, SessionId(fresh()), None, "e".into(), at(0)).await.unwrap_err());
    refused(store.append(c, session, vec![new_message(session, "late")]).await.unwrap_err());
    let (late, digest) = token(2);
    refused(store.create_access_token(c, &late, digest).await.unwrap_err());
    for plan in [plan, fresh_plan] {
        match store.commit(c, &plan).await {
            Err(CommitError::Store(e)) => refused(e),
            done => panic!("{done:?}"),
        }
    }
    let owner = Owner { user: c.user(), feed_head: 1, knowledge_version: 1, visitor: false };
    assert!(matches!(store.admit(&owner).await, Err(ArchiveError::Store(StoreError::BeingErased))));
    // A worker learns at the latest after the erasure that its job is gone.
    erase_completely(&store, c, 50).await;
    if let Some(job) = job {
        let message = match job.work {
            JobWork::Understand { message, .. } | JobWork::Answer(message) | JobWork::Parse(message) | JobWork::Compare(message) => message,
        };
        let plan = KnowledgeCommit { message: Some((message, MessageKind::Other, vec![])), ..w.plan(session).await };
        assert!(matches!(store.finish(c, &plan, &job).await, Err(CommitError::NotOurs)));
    }
    let session = w.session().await;
    w.say(session, "welcome back").await;
}

pub(super) async fn concurrent_writes_leave_nothing_after_erasure(store: Arc<dyn Store>) {
    const WRITERS: usize = 4;
    let (w, ..) = full(&store).await;
    // Each writer has stored a message when the erasure begins, and writes until it is refused.
    let writing = Arc::new(Barrier::new(WRITERS + 1));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (w, writing) = (w.clone(), writing.clone());
        writers.spawn(async move {
            let write = async || {
                let session = SessionId(fresh());
                w.store.create_session(&w.caller, session, None, "e".into(), at(0)).await?;
                w.store.append(&w.caller, session, vec![new_message(session, "racing")]).await
            };
            write().await.unwrap();
            writing.wait().await;
            let mut refused = 0;
            while refused <= 3 {
                match write().await {
                    Ok(_) => {}
                    Err(StoreError::BeingErased) => refused += 1,
                    Err(e) => panic!("{e}"),
                }
                tokio::task::yield_now().await;
            }
        });
    }
    writing.wait().await;
    store.begin_erasure(&w.caller, at(0)).await.unwrap();
    writers.join_all().await;
    erase_completely(&store, &w.caller, 25).await;
    let left: Vec<_> = store.holdings(&w.caller).await.unwrap().into_keys().collect();
    assert_eq!(left, ["usage_days"]);
}

pub(super) async fn receipts_and_usage_expire_after_the_day(store: Arc<dyn Store>) {
    let (w, ..) = full(&store).await;
    let c = &w.caller;
    assert!(
        matches!(store.begin_erasure(&World::new(&store).caller, at(0)).await, Err(StoreError::NotFound)),
        "an unknown user can be erased"
    );
    assert!(matches!(store.erase(c, at(0), 10).await, Err(StoreError::NotFound)), "an erasure runs that was not begun");
    store.begin_erasure(c, at(0)).await.unwrap();
    store.forget_erasures(Day(TODAY.0 + 9), 9).await.unwrap();
    assert!(store.erasure(c).await.unwrap().is_some(), "an unfinished erasure was forgotten");
    erase_completely(&store, c, 1_000).await;
    store.forget_erasures(TODAY, 9).await.unwrap();
    assert!(store.erasure(c).await.unwrap().is_some(), "today's receipt was forgotten");
    let spending = Spending { operation: ModelOperation::Answer, tokens: TokenCount { input: 1, output: 1 }, messages: vec![] };
    store.spend(c, Day(TODAY.0 + 1), &spending).await.unwrap();
    // Other users, so that forgetting takes several steps.
    for _ in 0..4 {
        let other = World::new(&store);
        other.session().await;
        store.begin_erasure(&other.caller, at(0)).await.unwrap();
        erase_completely(&store, &other.caller, 1_000).await;
    }
    let mut steps = Vec::new();
    while steps.last() != Some(&0) {
        steps.push(store.forget_erasures(Day(TODAY.0 + 1), 2).await.unwrap());
    }
    assert_eq!(steps, [2, 2, 1, 0], "a step is larger than its limit, or a receipt is left");
    assert_eq!(store.erasure(c).await.unwrap(), None);
    assert_eq!(store.spent(c, TODAY).await.unwrap().own, 0, "the usage is left");
    assert_eq!(store.spent(c, Day(TODAY.0 + 1)).await.unwrap().own, 2, "later usage is gone");
}

pub(super) async fn audit_log_shows_all_to_administrators_only(store: Arc<dyn Store>) {
    let admin = Caller::verified(UserId(fresh()), ViewerRole::Admin);
    let (anna, boris) = (World::new(&store).caller, World::new(&store).caller);
    let entry = |ms: i64, actor: Option<UserId>, action: AuditAction| AuditDraft {
        at: at(ms),
        actor,
        action: action.as_str().to_owned(),
        target: Some("a target".to_owned()),
        address: Some("2001:db8::1".parse().unwrap()),
        instance: "one:8080".to_owned(),
    };
    let bare = AuditDraft { target: None, address: None, ..entry(1, None, AuditAction::DataDeleted) };
    let all = [
        entry(0, Some(anna.user()), AuditAction::SignedIn),
        bare,
        entry(2, Some(boris.user()), AuditAction::BecameAdmin),
        entry(3, Some(anna.user()), AuditAction::BecameUser),
        entry(4, Some(boris.user()), AuditAction::AdminRead),
    ];
    for entry in &all {
        store.audit(entry).await.unwrap();
    }
    let read = async |caller: &Caller, actor: Option<UserId>, size: u32| {
        let (mut found, mut page) = (Vec::new(), Page::first(size));
        loop {
            let slice = store.audited(caller, actor, &page).await.unwrap();
            let last = slice.items.last().map(|(key, _)| key.clone());
            found.extend(slice.items.into_iter().map(|(_, e)| e.said));
            if !slice.has_next {
                break;
            }
            page.after = last;
        }
        found.reverse();
        found
    };
    assert_eq!(read(&admin, None, 2).await, all, "the pages differ from what was written");
    assert_eq!(read(&admin, Some(anna.user()), 1).await, [all[0].clone(), all[3].clone()]);
    for asked in [None, Some(boris.user()), Some(anna.user())] {
        assert_eq!(read(&anna, asked, 10).await, [all[0].clone(), all[3].clone()], "a user sees entries of others");
    }
    assert!(matches!(store.audited(&admin, None, &Page { first: 1, after: Some("x".into()) }).await, Err(StoreError::BadCursor)));
    let roles = [AuditAction::BecameAdmin, AuditAction::BecameUser];
    assert_eq!(store.last_of(&boris, &roles).await.unwrap().as_deref(), Some("role.admin"));
    assert_eq!(store.last_of(&anna, &roles).await.unwrap().as_deref(), Some("role.user"));
    assert_eq!(store.last_of(&admin, &roles).await.unwrap(), None);

    assert_eq!(store.forget_audited(at(1), 100, 100).await.unwrap(), 1, "by age");
    assert_eq!(store.forget_audited(at(0), 2, 1).await.unwrap(), 1, "in steps");
    assert_eq!(store.forget_audited(at(0), 2, 100).await.unwrap(), 1, "by number");
    assert_eq!(read(&admin, None, 10).await, all[3..]);
    assert_eq!(store.forget_audited(at(0), 2, 100).await.unwrap(), 0);
}

/// Fails on a table with user data that an erasure neither empties nor excludes.
pub(super) fn assert_known(tables: &BTreeSet<String>) {
    let known: BTreeSet<String> = ERASED.iter().copied().chain(LEFT.iter().map(|(table, _)| *table)).map(str::to_owned).collect();
    let missing: Vec<_> = tables.difference(&known).collect();
    assert!(missing.is_empty(), "tables with user data that an erasure neither empties nor excludes: {missing:?}");
    let wrong: Vec<_> = ERASED.iter().filter(|table| !tables.contains(**table)).collect();
    assert!(wrong.is_empty(), "tables that do not exist: {wrong:?}");
}

#[tokio::test]
async fn every_user_table_is_erased_or_excluded() {
    let (folder, store) = other().await;
    store.close().await;
    let mut c = SqliteConnection::connect(&format!("sqlite:{}", folder.path().join("other.sqlite").display())).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT t.name FROM sqlite_schema t WHERE t.type = 'table' AND EXISTS (
             SELECT 1 FROM pragma_table_info(t.name) c WHERE c.name IN ('user_id', 'user')
             UNION ALL SELECT 1 FROM pragma_foreign_key_list(t.name) f WHERE f.\"table\" = 'users')",
    )
    .fetch_all(&mut c)
    .await
    .unwrap();
    assert!(tables.len() > 20);
    assert_known(&tables.into_iter().collect());
}

/// Measures how long others' writes wait while a large account is deleted:
/// `cargo test --test integration measure_write_delay_during_erasure -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "figures, not a test"]
async fn measure_write_delay_during_erasure() {
    let (_folder, store) = other().await;
    let (w, neighbour) = (World::new(&store), World::new(&store));
    let session = w.session().await;
    for _ in 0..200 {
        let messages = (0..500).map(|_| {
            let mut message = new_message(session, "word ".repeat(20).as_str());
            message.prepared.embedding = Embedding(vec![0.5; 256]);
            message
        });
        store.append(&w.caller, session, messages.collect()).await.unwrap();
    }
    let theirs = neighbour.session().await;
    let measure = async |until: &std::sync::atomic::AtomicBool| {
        let mut times = Vec::new();
        while !until.load(std::sync::atomic::Ordering::Relaxed) || times.len() < 50 {
            let started = std::time::Instant::now();
            neighbour.say(theirs, "Hello").await;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1])
    };
    let done = std::sync::atomic::AtomicBool::new(true);
    println!("alone: p50, p99, longest {:?} ms", measure(&done).await);
    done.store(false, std::sync::atomic::Ordering::Relaxed);
    let erase = async {
        let started = std::time::Instant::now();
        store.begin_erasure(&w.caller, at(0)).await.unwrap();
        let mut steps = 0;
        while store.erase(&w.caller, at(0), 1_000).await.unwrap().erasure.ended_at.is_none() {
            steps += 1;
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        println!("100,000 messages deleted in {steps} steps and {:?}", started.elapsed());
    };
    let (times, ()) = tokio::join!(measure(&done), erase);
    println!("meanwhile: p50, p99, longest {times:?} ms");
}
