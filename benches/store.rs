//! Times of the store on this disk. `cargo bench --bench store [-- FOLDER]` prints JSON, in milliseconds.

use std::{path::Path, sync::Arc, time::Instant};

use recall_domain::{Caller, EventId, MessageId, Role, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{
    Embedding, FollowUp, IndexEntry, Inspect, JobQueue, KnowledgeCommit, KnowledgeStore, MessageStore, NewMessage, SessionStore,
};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use uuid::Uuid;

#[path = "../tests/integration/planned.rs"]
mod planned;

use self::planned::Finish;

const LEASE: std::time::Duration = std::time::Duration::from_secs(60);

fn fresh() -> Uuid {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    Uuid::from_u128((0x0190_0000_0000_7000 << 64) | u128::from(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)))
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_timestamp_millis(1_700_000_000_000 + ms).unwrap_or_default()
}

fn message(session: SessionId) -> NewMessage {
    let n = fresh().as_u128() as u32;
    NewMessage {
        id: MessageId(fresh()),
        session,
        role: Role::User,
        speaker: Some("John".into()),
        text: "I went hiking with Mary in the Alps last weekend and we both loved it.".into(),
        sent_at: at(0),
        created_at: at(0),
        source_metadata: None,
        external_id: None,
        resources: Vec::new(),
        prepared: IndexEntry {
            terms: ["went", "hike", "mari", "alp", "last", "weekend", "both", "love"].map(|t| (t.to_owned(), 1)).to_vec(),
            model: "bench".into(),
            embedding: Embedding((0..256u32).map(|i| ((i * 31 + n) % 97) as f32 - 48.0).collect()),
            further: vec![],
        },
        mining: FollowUp::Facts,
        answer_from: recall_domain::context::SearchSources::default(),
        kind: None,
        event: EventId(fresh()),
        title: None,
        answers: None,
    }
}

/// 50th and 99th percentile.
fn percentiles(mut times: Vec<f64>) -> serde_json::Value {
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
    serde_json::json!({"p50": at(0.5), "p99": at(0.99)})
}

fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1_000.0
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_else(|| ".".into());
    let folder = tempfile::TempDir::new_in(Path::new(&folder))?;
    let store = Arc::new(SqliteStore::open(&folder.path().join("bench.sqlite"), SqliteConfig::default(), at(0)).await?);
    let caller = Caller::verified(UserId(fresh()), ViewerRole::User);
    let mut figures = serde_json::Map::new();
    let session = store.create_session(&caller, SessionId(fresh()), None, "e".into(), at(0)).await?.id;

    let mut times = Vec::new();
    for _ in 0..500 {
        let new = message(session);
        let start = Instant::now();
        store.append(&caller, session, vec![new]).await?;
        times.push(since(start));
    }
    figures.insert("append_one".into(), percentiles(times));

    let start = Instant::now();
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    store.append(&caller, session, vec![message(session)]).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    figures.insert("appends_per_second_by_32_tasks".into(), (1_600_000.0 / since(start)).into());

    let mut times = Vec::new();
    for _ in 0..200 {
        let batch: Vec<_> = (0..500).map(|_| message(session)).collect();
        let start = Instant::now();
        store.append(&caller, session, batch).await?;
        times.push(since(start));
    }
    figures.insert("append_500".into(), percentiles(times));
    figures.insert("jobs_waiting".into(), store.depth().await?.0.into());

    let (mut claims, mut commits) = (Vec::new(), Vec::new());
    for i in 0..200 {
        let start = Instant::now();
        let jobs = store.claim(at(i), LEASE, 4).await?;
        claims.push(since(start));
        for job in jobs {
            let plan = KnowledgeCommit::empty(store.knowledge_version(&caller).await?, session, at(i));
            let start = Instant::now();
            store.finish(&caller, &plan, &job).await?;
            commits.push(since(start));
        }
    }
    figures.insert("claim_with_100k_jobs_of_one_session".into(), percentiles(claims));
    figures.insert("commit_empty_plan".into(), percentiles(commits));

    for _ in 0..10 {
        // Sessions with one job each.
        let tasks: Vec<_> = (0..500)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move {
                    let session = store.create_session(&caller, SessionId(fresh()), None, "e".into(), at(0)).await?.id;
                    store.append(&caller, session, vec![message(session)]).await?;
                    anyhow::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
    }
    let mut claims = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        store.claim(at(0), LEASE, 4).await?;
        claims.push(since(start));
    }
    figures.insert("claim_with_5k_sessions".into(), percentiles(claims));

    let start = Instant::now();
    let mut rows = 0;
    let mut after = 0;
    loop {
        let page = store.feed(&caller, "bench", after, 1_000).await?;
        let Some(last) = page.last() else { break };
        after = last.row;
        rows += page.len();
    }
    figures.insert("feed_rows".into(), rows.into());
    figures.insert("feed_all".into(), since(start).into());
    let start = Instant::now();
    store.nearest(&caller, "bench", &message(session).prepared.embedding, None, 10).await?;
    figures.insert("nearest_of_all".into(), since(start).into());
    let start = Instant::now();
    store.delete_session(&caller, session, at(9), &|_, _| None).await?;
    figures.insert("delete_session_of_100k".into(), since(start).into());
    store.close().await;
    println!("{}", serde_json::to_string_pretty(&figures)?);
    Ok(())
}
