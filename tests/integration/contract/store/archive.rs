//! Export from one store and import into another, between any two engines.

use std::{
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
    sync::Arc,
};

use crate::planned::Finish;
use async_trait::async_trait;
use recall::{
    app::archive::{ImportError, ImportSummary, Owners, PartialImport, export_archive, import_archive},
    originals::OriginalsFolder,
    spool::FolderSpool,
};
use recall_domain::{
    Caller, Citation, Decision, Entity, EntityKey, Fact, FileId, MessageKind, Ontology, SessionId, Stance, UserId, UserText, ViewerRole,
    context::SearchSources,
};
use recall_ports::{
    AnswerCommit, EmbedError, Embedder, Embedding, FileFolder, FollowUp, JobWork, KnowledgeCommit, NewMessage, Original, SessionFilter,
    Spool, Store, StoreError,
    archive::{Header, SHAPES, line::VERSION},
    documents::PIECE_BYTES,
};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use super::forget;
use super::given::{MODEL, World, answer_of, at, entity, event, evidence, fact, fresh, mention, new_message, resources, with_external_id};
use super::passages::store_passage;
use super::topics::store_topic;
use super::{
    comparisons::store_comparison,
    documents::{document, store_document, stored},
};

/// An embedder that always returns the same vector.
struct Model(&'static str);

#[async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        self.0
    }
    fn dimension(&self) -> usize {
        2
    }
    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|_| Embedding(vec![0.0, 1.0])).collect())
    }
}

/// Creates another store to import into.
pub(super) async fn other() -> (TempDir, Arc<dyn Store>) {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(&folder.path().join("other.sqlite"), SqliteConfig::default(), at(0)).await.unwrap();
    (folder, Arc::new(store))
}

/// A folder without files.
fn nowhere() -> Arc<dyn FileFolder> {
    Arc::new(OriginalsFolder::new("/nowhere".into()))
}

pub(super) async fn export(store: &Arc<dyn Store>, user: UserId) -> String {
    let header = Header { version: VERSION, program: "test".into(), exported_at: at(0), local_user: store.local_user().await.unwrap() };
    let mut out = Vec::new();
    export_archive(store.as_ref(), &nowhere(), header, Some(user), &mut out).await.unwrap();
    String::from_utf8(out).unwrap()
}

fn ontology() -> Ontology {
    Ontology::parse(recall_understand::default_ontology()).unwrap()
}

async fn import_as(store: &Arc<dyn Store>, archive: &str, into: Option<UserId>) -> Result<ImportSummary, ImportError> {
    let owners = into.map_or(Owners::Trusted, Owners::Into);
    import_archive(store.as_ref(), &Model(MODEL), &ontology(), owners, |_| {}, &fresh().to_string(), Cursor::new(archive)).await
}

/// Imports until only `left` bytes are unread, as if the process had been killed.
async fn import_in_part(store: &Arc<dyn Store>, archive: &str, into: Option<UserId>, left: usize) -> ImportError {
    let input = BufReader::with_capacity(64, TruncatedInput { archive: Cursor::new(archive.as_bytes()), left, is_second: false });
    let owners = into.map_or(Owners::Trusted, Owners::Into);
    import_archive(store.as_ref(), &Model(MODEL), &ontology(), owners, |_| {}, &fresh().to_string(), input).await.unwrap_err()
}

/// An input that ends early when it is read for the second time.
struct TruncatedInput<'a> {
    archive: Cursor<&'a [u8]>,
    left: usize,
    is_second: bool,
}

impl Read for TruncatedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let end = self.archive.get_ref().len() - self.left;
        let room = if self.is_second { end - self.archive.position() as usize } else { buffer.len() };
        let size = room.min(buffer.len());
        self.archive.read(&mut buffer[..size])
    }
}

impl Seek for TruncatedInput<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.is_second |= matches!(to, SeekFrom::Start(_));
        self.archive.seek(to)
    }
}

/// The archive with a new last line: the right number of records and checksum.
fn sealed(archive: &str) -> String {
    let lines = archive.lines().filter(|l| !l.starts_with("{\"type\":\"end\"")).map(|l| format!("{l}\n"));
    let text: String = lines.collect();
    let sum: String = Sha256::digest(&text).iter().map(|b| format!("{b:02x}")).collect();
    format!("{text}{{\"type\":\"end\",\"records\":{},\"sha256\":\"{sum}\"}}\n", text.lines().count() - 1)
}

pub(super) async fn import(store: &Arc<dyn Store>, archive: &str) -> Result<ImportSummary, ImportError> {
    import_as(store, archive, None).await
}

/// Returns the lines between the first and the last.
pub(super) fn body(archive: &str) -> Vec<&str> {
    let mut lines: Vec<_> = archive.lines().skip(1).collect();
    assert!(lines.pop().unwrap().contains("\"end\""));
    lines
}

fn code(done: Result<ImportSummary, ImportError>) -> (u64, &'static str) {
    let refused = done.unwrap_err();
    (refused.line, refused.failure.code())
}

/// Creates a user with every kind of record and with values that are hard to store.
pub(super) async fn rich(store: &Arc<dyn Store>) -> (World, SessionId) {
    let w = World::new(store);
    let document = store_document(&w).await;
    store_comparison(&w, document.id).await;
    store_passage(&w, document.id).await;
    let known = w.john_likes_mary().await;
    let session = known.session;
    let second = w.note(session, "Johnny likes Mary.").await;
    store_topic(&w, &second).await;
    let johnny = Entity { mention_count: 1, first_message: Some(second.id), ..entity("Johnny") };
    let double = fact(&johnny, "LIKES", &known.mary);
    let key = |e: &Entity, name: &str| (e.id, EntityKey::of(name).unwrap());
    let plan = KnowledgeCommit {
        message: Some((second.id, MessageKind::Statement, vec![(johnny.id, mention("Johnny"))])),
        decisions: vec![Decision { score: 0.1 + 0.2, reason: "same name".into() }],
        entities: vec![johnny.clone()],
        keys: vec![key(&johnny, "Johnny"), key(&johnny, "John")],
        hints: vec![(johnny.id, "j".into())],
        facts: vec![double.clone()],
        evidence: vec![evidence(&double, &second, Stance::Supports)],
        ..w.plan(session).await
    };
    w.commit(plan).await;
    let plan = KnowledgeCommit {
        entities: vec![Entity { aliases: vec!["Johnny".into(), "Émile\0\u{10FFFF}".into()], mention_count: 2, ..known.john.clone() }],
        facts: vec![Fact { support: 1.1 + 2.2, ..known.fact.clone() }],
        dropped_facts: vec![(double.id, known.fact.id)],
        merged: vec![(johnny.id, known.john.id)],
        merge_decision: Some(Decision { score: 1.0, reason: "by hand".into() }),
        ..w.plan(session).await
    };
    w.commit(plan).await;

    // Merges once more, so that the record of the merge contains an entity with an earlier merge.
    let jonathan = entity("Jonathan");
    w.commit(KnowledgeCommit { entities: vec![jonathan.clone()], ..w.plan(session).await }).await;
    let plan = KnowledgeCommit {
        entities: vec![Entity { aliases: vec!["John".into(), "Émile\0\u{10FFFF}".into()], ..jonathan.clone() }],
        facts: vec![Fact { subject: jonathan.id, support: 1.1 + 2.2, ..known.fact.clone() }],
        merged: vec![(known.john.id, jonathan.id)],
        ..w.plan(session).await
    };
    w.commit(plan).await;

    let other = w.session().await;
    let hard = NewMessage {
        speaker: Some("Ann\0".into()),
        source_metadata: Some(json!({"z": 1.0e-7, "a": [null, "\0", 0.1], "n": 18_446_744_073_709_551_615u64})),
        sent_at: at(-1_000_000_000_000),
        kind: Some(MessageKind::Other),
        mining: FollowUp::Nothing,
        title: Some("Tïtle".into()),
        resources: resources(),
        answer_from: SearchSources { collections: vec!["work".into()], ..SearchSources::default() },
        ..with_external_id(new_message(other, &"line\r\n\u{2028}\u{1F600}\0\u{10FFFF}\"\\".repeat(3_000)), "an id\0")
    };
    w.append(hard).await;
    let mut blind = new_message(other, "");
    blind.prepared.embedding = Embedding(vec![]);
    blind.prepared.terms = vec![];
    w.append(NewMessage { mining: FollowUp::Nothing, ..blind }).await;

    // An answered question, a waiting one, and one that was given up.
    let third = w.session().await;
    let question = w.note(third, "Who likes Mary?").await;
    let plan = KnowledgeCommit { follow_up: Some(JobWork::Answer(question.id)), ..w.plan(third).await };
    w.commit(plan).await;
    let jobs = w.claim(0).await;
    let job = jobs.iter().find(|j| j.work == JobWork::Answer(question.id)).unwrap();
    let answer = AnswerCommit {
        message: answer_of(
            question.id,
            "John [1].",
            vec![Citation {
                chunk: None,
                index: 1,
                message_id: Some(known.message.id),
                fact_id: Some(known.fact.id),
                excerpt: "John".into(),
                shared: true,
            }],
            third,
        ),
        events: vec![event(third)],
    };
    w.store.commit_answer(&w.caller, &answer, &job.claim).await.unwrap();
    let buried = jobs.iter().find(|j| matches!(j.work, JobWork::Understand { .. })).unwrap();
    w.store.bury(&w.caller, &buried.claim, &event(session), "TEST", at(1)).await.unwrap();
    for text in ["one", "two", "three"] {
        w.append(NewMessage { mining: FollowUp::FactsAndAnswer, ..new_message(third, text) }).await;
    }
    (w, third)
}

pub(super) async fn exported_user_is_identical_after_import(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let first = export(&store, w.caller.user()).await;
    for shape in SHAPES.iter().filter(|shape| !shape.internal) {
        assert!(first.contains(&format!("{{\"type\":\"{}\",", shape.name)), "no test data for {}", shape.name);
    }
    let (_folder, other) = other().await;
    let taken = import(&other, &first).await.unwrap();
    assert_eq!((taken.users, taken.records, taken.new), (1, body(&first).len() as u64 - 1, taken.records));
    let second = export(&other, w.caller.user()).await;
    assert_eq!(body(&second), body(&first));
    // Imports back into the first engine next to the original: two users can have the same ids.
    let twin = UserId(fresh());
    import_as(&store, &second, Some(twin)).await.unwrap();
    assert_eq!(body(&export(&store, twin).await)[1..], body(&first)[1..]);
    assert_eq!(body(&export(&store, w.caller.user()).await), body(&first), "the original changed");

    // A second import changes nothing, also in the store of the export.
    for (store, archive, into) in [(&store, &first, None), (&other, &first, None), (&store, &second, Some(twin))] {
        let again = import_as(store, archive, into).await.unwrap();
        assert_eq!((again.records, again.new), (taken.records, 0));
    }
}

pub(super) async fn imported_data_is_searchable_and_jobs_continue(store: Arc<dyn Store>) {
    let (w, third) = rich(&store).await;
    let twin = Caller::verified(UserId(fresh()), ViewerRole::User);
    let before = store.log_state(&w.caller, third).await.unwrap();
    // Jobs in the archive belong to a visitor; after the import they run for the new owner.
    let archive = export(&store, w.caller.user()).await;
    let of_a_visitor = |line: &str| match line.starts_with(r#"{"type":"job""#) {
        true => line.replace(r#""role":"user""#, r#""role":"anonymous""#),
        false => line.to_owned(),
    };
    let archive = sealed(&archive.lines().map(|line| of_a_visitor(line) + "\n").collect::<String>());
    assert!(archive.contains(r#""role":"anonymous""#));
    import_as(&store, &archive, Some(twin.user())).await.unwrap();

    let feeds = [&w.caller, &twin].map(|c| store.feed(c, MODEL, 0, 100));
    let [one, other] = feeds;
    assert_eq!(one.await.unwrap(), other.await.unwrap());
    let keys = ["John", "Johnny", "Mary"].map(|n| EntityKey::of(n).unwrap());
    let found = store.entities_by_key(&twin, &keys).await.unwrap();
    assert_eq!(found, store.entities_by_key(&w.caller, &keys).await.unwrap());
    let ids: Vec<_> = found.iter().map(|(_, e)| e.id).collect();
    let facts = store.facts_of_entities(&twin, &ids, 10).await.unwrap();
    assert!(!facts.is_empty() && facts == store.facts_of_entities(&w.caller, &ids, 10).await.unwrap());
    let filter = recall_ports::EntityFilter { text: Some("ÉMILE".into()), ..Default::default() };
    assert_eq!(store.count_entities(&twin, &filter).await.unwrap(), 1, "the search text was not rebuilt");
    let page = recall_domain::Page { first: 10, after: None };
    let said = store.list_messages(&twin, third, &page, false).await.unwrap();
    assert_eq!(said.items, store.list_messages(&w.caller, third, &page, false).await.unwrap().items);

    // An old cursor belongs to another log, so it never selects new events.
    let after = store.log_state(&twin, third).await.unwrap();
    assert_ne!(after.epoch, before.epoch);
    assert_eq!((after.head, after.floor), (0, 1));

    // Jobs keep their order, and new messages get the next numbers.
    let mut texts = Vec::new();
    for _ in 0..3 {
        let jobs = store.claim(at(1_000), super::given::LEASE, 100).await.unwrap();
        let job = jobs.iter().find(|j| j.caller == twin && j.session == third).unwrap();
        let JobWork::Understand { message, answer: true } = job.work else { panic!("{:?}", job.work) };
        texts.push(store.messages_by_id(&twin, &[message]).await.unwrap().remove(0).text.into_string());
        let plan = KnowledgeCommit::empty(store.knowledge_version(&twin).await.unwrap(), third, at(1_000));
        store.finish(&twin, &plan, job).await.unwrap();
    }
    assert_eq!(texts, ["one", "two", "three"]);
    let twin = World { caller: twin, ..w.clone() };
    let next = twin.say(third, "next").await;
    assert_eq!(next.position, said.items.len() as u64 + 1);
    assert_eq!(store.feed(&twin.caller, MODEL, 0, 100).await.unwrap().last().unwrap().message, next.id);
    assert_eq!(twin.store.log_state(&twin.caller, third).await.unwrap().head, 1);
}

pub(super) async fn truncated_archive_writes_nothing(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let lines = archive.lines().count();
    for cut in (1..lines).step_by(lines.div_ceil(7)) {
        let twin = UserId(fresh());
        let part: String = archive.lines().take(cut).flat_map(|l| [l, "\n"]).collect();
        // Also with a cut in the middle of a line.
        for part in [part.as_str(), &archive[..archive.floor_char_boundary(part.len() + 10)]] {
            let refused = import_as(&store, part, Some(twin)).await.unwrap_err();
            assert_eq!(refused.failure.code(), "ARCHIVE_TRUNCATED", "{cut}");
            assert!(refused.to_string().contains("Nothing was written"), "{refused}");
        }
        assert!(matches!(store.snapshot(twin).await.err(), Some(StoreError::NotFound)));
    }
}

pub(super) async fn unfinished_import_blocks_writes_until_completed(store: Arc<dyn Store>) {
    let (w, third) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    for part in 1..6 {
        let caller = Caller::verified(UserId(fresh()), ViewerRole::User);
        let left = archive.len() * part / 6;
        let refused = import_in_part(&store, &archive, Some(caller.user()), left).await;
        assert_eq!(refused.failure.code(), "ARCHIVE_TRUNCATED");
        assert_eq!(refused.partial.unfinished, Some(caller.user()));
        assert!(refused.to_string().contains(&format!("recall user delete {}", caller.user())), "{refused}");

        let denied = store.create_session(&caller, SessionId(fresh()), None, "epoch".into(), at(0)).await;
        assert!(matches!(denied, Err(StoreError::BeingImported)), "{denied:?}");
        let denied = store.append(&caller, third, vec![new_message(third, "early")]).await;
        assert!(matches!(denied, Err(StoreError::BeingImported | StoreError::NotFound)), "{denied:?}");
        let denied = store.delete_session(&caller, third, at(9), &|_, _| None).await;
        assert!(matches!(denied, Err(StoreError::BeingImported | StoreError::NotFound)), "{denied:?}");
        let denied = store.hide_session(&caller, third, None, at(0)).await;
        assert!(matches!(denied, Err(StoreError::BeingImported | StoreError::NotFound)), "{denied:?}");
        // No job starts before the import is complete.
        let claimed = store.claim(at(1_000), super::given::LEASE, 100).await.unwrap();
        assert!(claimed.iter().all(|job| job.caller.user() != caller.user()));
        store.release(&claimed.iter().map(|job| job.claim.clone()).collect::<Vec<_>>()).await.unwrap();

        // Another archive of the same user cannot complete it.
        let other = archive.replacen("\"feed_head\":", "\"feed_head\":1", 1);
        let refused = import_as(&store, &sealed(&other), Some(caller.user())).await.unwrap_err();
        assert_eq!(refused.failure.code(), "ARCHIVE_UNFINISHED");
        import_as(&store, &archive, Some(caller.user())).await.unwrap();
        assert_eq!(body(&export(&store, caller.user()).await)[1..], body(&archive)[1..]);
        store.append(&caller, third, vec![new_message(third, "now")]).await.unwrap();
    }
    // The user can also delete the partial import and start again.
    let caller = Caller::verified(UserId(fresh()), ViewerRole::User);
    import_in_part(&store, &archive, Some(caller.user()), archive.len() / 2).await;
    store.begin_erasure(&caller, at(0)).await.unwrap();
    while store.erase(&caller, at(0), 1_000).await.unwrap().erasure.ended_at.is_none() {}
    store.create_session(&caller, SessionId(fresh()), None, "epoch".into(), at(0)).await.unwrap();
}

pub(super) async fn archive_with_flipped_bit_is_refused(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await.into_bytes();
    let twin = UserId(fresh());
    // A prime, so that every bit of a byte and every part of a line is flipped at some point.
    for bit in (0..archive.len() * 8).step_by(7_919) {
        let mut flipped = archive.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let done =
            import_archive(store.as_ref(), &Model(MODEL), &ontology(), Owners::Into(twin), |_| {}, "epoch", Cursor::new(&flipped)).await;
        let refused = done.expect_err("a damaged archive was imported");
        assert_eq!(refused.partial, PartialImport::default());
    }
    assert!(matches!(store.snapshot(twin).await.err(), Some(StoreError::NotFound)));
}

pub(super) async fn archive_without_checksum_is_imported_and_reported(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let lines = archive.lines().count() - 2;
    let older = archive.replacen("\"version\":2", "\"version\":1", 1);
    let older = older.rsplit_once("{\"type\":\"end\"").unwrap().0.to_owned() + &format!("{{\"type\":\"end\",\"records\":{lines}}}\n");
    let taken = import_as(&store, &older, Some(UserId(fresh()))).await.unwrap();
    assert!(!taken.has_checksum && taken.new == taken.records);
    assert!(import_as(&store, &archive, Some(UserId(fresh()))).await.unwrap().has_checksum);
}

pub(super) async fn repeated_import_repairs_damaged_vectors_and_terms(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let twin = Caller::verified(UserId(fresh()), ViewerRole::User);
    let mut damaged = 0;
    let bad = changed(&archive, |_, record| {
        if record["type"] == "index" {
            record["terms"] = json!([["wrong", 1]]);
            record["embedding"] = json!([0.5, 0.25]);
            damaged += 1;
        }
    });
    import_as(&store, &bad, Some(twin.user())).await.unwrap();
    assert_ne!(store.feed(&twin, MODEL, 0, 100).await.unwrap(), store.feed(&w.caller, MODEL, 0, 100).await.unwrap());
    let taken = import_as(&store, &archive, Some(twin.user())).await.unwrap();
    assert_eq!((taken.new, taken.repaired), (0, damaged));
    assert_eq!(body(&export(&store, twin.user()).await)[1..], body(&archive)[1..]);
    assert_eq!(store.feed(&twin, MODEL, 0, 100).await.unwrap(), store.feed(&w.caller, MODEL, 0, 100).await.unwrap());
    assert_eq!(import_as(&store, &archive, Some(twin.user())).await.unwrap().repaired, 0);
}

pub(super) async fn import_refuses_user_with_other_data(store: Arc<dyn Store>) {
    let (w, third) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let stranger = World::new(&store);
    stranger.john_likes_mary().await;
    let before = export(&store, stranger.caller.user()).await;
    assert_eq!(code(import_as(&store, &archive, Some(stranger.caller.user())).await), (2, "ARCHIVE_OTHER_DATA"));
    assert_eq!(export(&store, stranger.caller.user()).await, before);

    // Changes since the export also count as other data.
    w.note(third, "since").await;
    assert_eq!(code(import(&store, &archive).await), (2, "ARCHIVE_OTHER_DATA"));
    // With equal counters nothing is overwritten: the import fails at the first conflict, or at the end.
    let (one, two) = (World::new(&store), World::new(&store));
    for w in [&one, &two] {
        w.john_likes_mary().await;
    }
    let mine = export(&store, one.caller.user()).await;
    let done = import_as(&store, &mine, Some(two.caller.user())).await;
    assert_eq!(code(done).1, "ARCHIVE_CONFLICT");
    let theirs = export(&store, two.caller.user()).await;
    let kept = body(&theirs).iter().filter(|l| l.contains("\"message\",") || l.contains("\"fact\",")).count();
    assert_eq!(kept, 2);
}

pub(super) async fn inconsistent_records_are_refused_by_line(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let nobody = fresh().to_string();
    let mut tried = 0;
    for (kind, field) in [
        ("message", "session_id"),
        ("index", "message_id"),
        ("key", "entity_id"),
        ("mention", "entity_id"),
        ("fact", "object_id"),
        ("evidence", "message_id"),
        ("merge", "gone_id"),
        ("merge_evidence", "message_id"),
        ("job", "session_id"),
    ] {
        let mut bad = 0;
        let changed = changed(&archive, |n, record| {
            if bad == 0 && record["type"] == kind {
                bad = n;
                record[field] = Value::from(nobody.as_str());
            }
        });
        let found = code(import_as(&store, &changed, Some(UserId(fresh()))).await);
        assert_eq!(found, (bad, "ARCHIVE_INCONSISTENT"), "{kind}");
        tried += 1;
    }
    assert_eq!(tried, 9);
    // Two records in one position, and numbers beyond the counters, which a later message would reuse.
    for (kind, field, value, expected) in [
        ("message", "position", json!(1), "ARCHIVE_CONFLICT"),
        ("message", "feed_row", json!(1), "ARCHIVE_CONFLICT"),
        ("message", "feed_row", json!(1_000_000), "ARCHIVE_INCONSISTENT"),
        ("session", "message_count", json!(0), "ARCHIVE_INCONSISTENT"),
    ] {
        let mut last = (0, String::new());
        let wanted = archive.lines().filter(|l| l.contains(&format!("{{\"type\":\"{kind}\""))).count();
        let mut seen = 0;
        let changed = changed(&archive, |n, record| {
            if record["type"] == kind {
                seen += 1;
                if seen == wanted {
                    record[field] = value.clone();
                    last = (n, record.to_string());
                }
            }
        });
        let found = code(import_as(&store, &changed, Some(UserId(fresh()))).await);
        assert_eq!(found.1, expected, "{kind} {field} {}", last.1);
    }
    for (from, to, expected) in [
        ("\"version\":2", "\"version\":3", (1, "ARCHIVE_TOO_NEW")),
        ("recall-archive", "tar", (1, "ARCHIVE_UNKNOWN")),
        ("{\"format\"", "{\"type\":\"end\",\"records\":0}\n{\"format\"", (1, "ARCHIVE_UNKNOWN")),
        ("\"message_count\":2", "\"message_count\":-2", (5, "ARCHIVE_DAMAGED")),
    ] {
        let changed = archive.replacen(from, to, 1);
        assert_ne!(changed, archive, "{from}");
        assert_eq!(code(import_as(&store, &changed, Some(UserId(fresh()))).await), expected, "{from}");
    }
    for (kind, field, value, expected) in [
        ("fact", "support", json!(1e308), "ARCHIVE_DAMAGED"),
        ("fact", "relation", json!("BOGUS"), "ARCHIVE_UNKNOWN_RELATION"),
        ("merge_fact", "relation", json!("likes"), "ARCHIVE_UNKNOWN_RELATION"),
        ("evidence", "confidence", json!(1.5), "ARCHIVE_DAMAGED"),
        ("index", "embedding", json!([1.0, 2.0, 3.0]), "ARCHIVE_DAMAGED"),
        ("user", "feed_head", json!(i64::MAX), "ARCHIVE_DAMAGED"),
    ] {
        let mut bad = 0;
        let changed = changed(&archive, |n, record| {
            if bad == 0 && record["type"] == kind {
                bad = n;
                record[field] = value.clone();
            }
        });
        let twin = UserId(fresh());
        let refused = import_as(&store, &changed, Some(twin)).await.unwrap_err();
        assert_eq!((refused.line, refused.failure.code(), refused.partial), (bad, expected, PartialImport::default()), "{kind} {field}");
        assert!(matches!(store.snapshot(twin).await.err(), Some(StoreError::NotFound)));
    }
    assert_eq!(code(import(&store, "").await).1, "ARCHIVE_UNKNOWN");
    let more = format!("{archive}{{}}\n");
    assert_eq!(code(import_as(&store, &more, Some(UserId(fresh()))).await).1, "ARCHIVE_DAMAGED");
    let two = sealed(&archive.replace("{\"type\":\"end\"", &format!("{}\n{{\"type\":\"end\"", archive.lines().nth(1).unwrap())));
    assert_eq!(code(import_as(&store, &two, Some(UserId(fresh()))).await).1, "ARCHIVE_MANY_USERS");
}

/// Changes the records of an archive, by line number.
pub(super) fn changed(archive: &str, mut change: impl FnMut(u64, &mut Value)) -> String {
    let mut lines = Vec::new();
    for (n, line) in (1..).zip(archive.lines()) {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let before = record.clone();
        change(n, &mut record);
        lines.push(if record == before { line.to_owned() } else { record.to_string() });
    }
    sealed(&lines.join("\n"))
}

pub(super) async fn export_is_a_consistent_snapshot(store: Arc<dyn Store>) {
    let (w, third) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let mut snapshot = store.snapshot(w.caller.user()).await.unwrap();
    let mut records = snapshot.next(1).await.unwrap();
    w.note(third, "since").await;
    store.delete_session(&w.caller, third, at(9), &|_, _| None).await.unwrap();
    loop {
        // One record at a time: the page size does not change the result.
        let page = snapshot.next(1).await.unwrap();
        if page.is_empty() {
            break;
        }
        records.extend(page);
    }
    let lines: Vec<_> = records.into_iter().map(|r| recall_ports::archive::Line::Record(r).write()).collect();
    assert_eq!(lines, body(&archive)[1..]);
    let gone = store.snapshot(UserId(fresh())).await;
    assert!(matches!(gone.err(), Some(StoreError::NotFound)));
}

/// An export may wait for a slow reader.
pub(super) async fn snapshot_survives_a_pause(store: Arc<dyn Store>, pause: std::time::Duration) {
    let (w, _) = rich(&store).await;
    let mut snapshot = store.snapshot(w.caller.user()).await.unwrap();
    tokio::time::sleep(pause).await;
    assert_eq!(snapshot.next(10).await.unwrap().len(), 5, "sessions come first");
}

/// A new column must be exported, or listed here with the reason why not.
#[tokio::test]
async fn every_user_column_is_exported_or_excluded() {
    // New vectors during a change of the model; vectors that are made again when a search misses them; copies that are kept for a day; pending changes for a graph engine;
    // usage of model servers, because budgets are not transferred; tokens and logins, which are valid on one server
    // only, and the front ends that used it;
    // deletion receipts; rate limits; visits; unfinished adoptions; what is forgotten; views of another user's documents; copies of citations.
    let tables = [
        "message_vectors",
        "passage_vectors",
        "events",
        "graph_changes",
        "usage_days",
        "usage_messages",
        "access_tokens",
        "front_ends",
        "logins",
        "erasures",
        "allowances",
        "visits",
        "adopted",
        "forgettings",
        "shared_views",
        "document_citations",
        "session_changes",
    ];
    // The event log starts again; what is forgotten is left out; derived columns; columns of this store's queue.
    let columns = [
        ("sessions", vec!["epoch", "event_head", "event_floor", "oldest_event_at", "deletion_at", "deletion", "search"]),
        ("messages", vec!["forgotten", "forgetting_id"]),
        ("entities", vec!["search", "forgetting_id"]),
        ("jobs", vec!["id", "head", "ready_at", "token", "attempts", "held"]),
    ];
    let (folder, store) = other().await;
    store.close().await;
    let mut c = SqliteConnection::connect(&format!("sqlite:{}", folder.path().join("other.sqlite").display())).await.unwrap();
    let found: Vec<(String, String)> = sqlx::query_as(
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) u WHERE u.name = 'user_id') AND c.name <> 'user_id'",
    )
    .fetch_all(&mut c)
    .await
    .unwrap();
    assert!(found.len() > 100);
    for (table, column) in found {
        let exported = SHAPES.iter().find(|s| s.table == table).is_some_and(|s| s.field(&column).is_some());
        let excused = tables.contains(&table.as_str()) || columns.iter().any(|(t, cs)| *t == table && cs.contains(&column.as_str()));
        assert!(exported != excused, "{table}.{column}");
    }
}

pub(super) async fn export_contains_files_outside_the_store(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let temporary = TempDir::new().unwrap();
    let folder = OriginalsFolder::new(temporary.path().join("originals"));
    folder.prepare().unwrap();
    let folder: Arc<dyn FileFolder> = Arc::new(folder);
    let bytes: Vec<u8> = (0..PIECE_BYTES + 9).map(|n| (n % 251) as u8).collect();
    let mut documents = Vec::new();
    for content in ["1", "2"] {
        let file = FileId(fresh());
        store.register_file(file, at(1_000_000)).await.unwrap();
        let mut spooled = FolderSpool::new(temporary.path().join("spool")).create().await.unwrap();
        spooled.write(&bytes).await.unwrap();
        spooled.rewind().await.unwrap();
        folder.write(file, spooled.as_mut()).await.unwrap();
        let mut new = document(content, None);
        new.original = Original::File(file);
        documents.push((stored(&w, new, 1).await.id, file));
    }
    // This one is deleted while the export runs.
    folder.delete(documents[1].1).await.unwrap();
    let header = Header { version: VERSION, program: "test".into(), exported_at: at(0), local_user: store.local_user().await.unwrap() };
    let mut archive = Vec::new();
    export_archive(store.as_ref(), &folder, header, Some(w.caller.user()), &mut archive).await.unwrap();
    let archive = String::from_utf8(archive).unwrap();
    assert_eq!(archive.matches("{\"type\":\"original\"").count(), 2);
    assert!(!archive.contains(&documents[0].1.to_string()), "an archive names a file of this installation");
    let twin = UserId(fresh());
    let imported = import_as(&store, &archive, Some(twin)).await.unwrap();
    assert_eq!(imported.new, imported.records);
    let twin = Caller::verified(twin, ViewerRole::User);
    let read = async |id, piece| store.original_piece(&twin, id, piece).await.unwrap();
    let pieces = [read(documents[0].0, 0).await.unwrap(), read(documents[0].0, 1).await.unwrap()];
    assert_eq!((pieces.concat(), read(documents[0].0, 2).await, read(documents[1].0, 0).await), (bytes, None, None));
    assert_eq!(store.original_file(&twin, documents[0].0).await.unwrap(), None);
    // A second import changes nothing, also for the user who has the files outside the store.
    assert_eq!(import_as(&store, &archive, Some(twin.user())).await.unwrap().new, 0);
}

pub(super) async fn export_leaves_out_what_is_forgotten(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let known = w.john_likes_mary().await;
    let kept = w.note(known.session, "Something else.").await;
    let secret = w.note(known.session, "Xylophagia.").await;
    let mut plan = forget::whole(&w, &known).await;
    plan.redacted = vec![secret.id];
    store.forget(&w.caller, &plan).await.unwrap();
    let archive = export(&store, w.caller.user()).await;
    for gone in ["John", "Mary", "LIKES", "Xylophagia", "john"] {
        assert!(!archive.contains(gone), "{gone}: {archive}");
    }
    let twin = Caller::verified(UserId(fresh()), ViewerRole::User);
    let input = Cursor::new(archive.as_bytes());
    import_archive(store.as_ref(), &Model(MODEL), &ontology(), Owners::Into(twin.user()), |_| {}, "epoch", input).await.unwrap();
    let session = store.list_sessions(&twin, &SessionFilter::ALL, &recall_domain::Page::first(1)).await.unwrap().items.remove(0).1.id;
    let texts = store.list_messages(&twin, session, &recall_domain::Page::first(9), false).await.unwrap().items;
    assert_eq!(texts.iter().map(|(_, m)| m.text.as_str()).collect::<Vec<_>>(), [kept.text.as_str(), ""]);
    assert_eq!(store.feed(&twin, MODEL, 0, 9).await.unwrap().len(), 1);
}

pub(super) async fn vectors_of_another_model_are_recomputed_on_import(store: Arc<dyn Store>) {
    let (w, _) = rich(&store).await;
    let archive = export(&store, w.caller.user()).await;
    let twin = Caller::verified(UserId(fresh()), ViewerRole::User);
    for _ in 0..2 {
        let input = Cursor::new(archive.as_bytes());
        import_archive(store.as_ref(), &Model("another"), &ontology(), Owners::Into(twin.user()), |_| {}, "epoch", input).await.unwrap();
        let all = store.feed(&twin, "another", 0, 100).await.unwrap();
        let before = store.feed(&w.caller, MODEL, 0, 100).await.unwrap();
        assert_eq!(all.iter().map(|r| &r.terms).collect::<Vec<_>>(), before.iter().map(|r| &r.terms).collect::<Vec<_>>());
        assert!(all.len() > 5 && all.iter().all(|r| r.embedding == [0.0, 1.0]));
    }
}

pub(super) async fn local_user_maps_to_local_user_of_target(store: Arc<dyn Store>) {
    let local = World { store: store.clone(), caller: Caller::verified(store.local_user().await.unwrap(), ViewerRole::Admin) };
    local.john_likes_mary().await;
    let somebody = World::new(&store);
    somebody.john_likes_mary().await;
    let header = Header { version: VERSION, program: "test".into(), exported_at: at(0), local_user: local.caller.user() };
    let mut out = Vec::new();
    let written = export_archive(store.as_ref(), &nowhere(), header, None, &mut out).await.unwrap();
    assert!(written.users >= 2);
    let (_folder, other) = other().await;
    let taken = import(&other, std::str::from_utf8(&out).unwrap()).await.unwrap();
    assert_eq!((taken.users, taken.records), (written.users, written.records));
    let here = other.local_user().await.unwrap();
    assert_ne!(here, local.caller.user());
    assert_eq!(body(&export(&other, here).await)[1..], body(&export(&store, local.caller.user()).await)[1..]);
    assert_eq!(body(&export(&other, somebody.caller.user()).await), body(&export(&store, somebody.caller.user()).await));
    let owners = other.owners(None, 10).await.unwrap();
    assert!(owners.len() == 2 && owners.iter().any(|c| c.user() == here));
    assert_eq!(other.owners(Some(owners[0].user()), 10).await.unwrap(), owners[1..]);
}
