//! Many users in one store, each with messages.
//! Runs inside this process through the use cases, because a server without login has one user.

use std::time::{Duration, Instant};

use anyhow::ensure;
use chrono::{DateTime, TimeDelta, Utc};
use recall_domain::{
    Caller, Role, UserId, ViewerRole,
    context::{ContextQuery, Scope},
};
use recall_facts::{Processor, ProcessorConfig};
use recall_usecases::{MessageWork, SendMessage, UseCases};
use uuid::Uuid;

use crate::{
    figures::{Figures, Times},
    inside::Inside,
    place::{Engine, Place},
    sentences::Writer,
};

/// Messages per call, which is one session.
const CALL: usize = 500;
const QUESTIONS: usize = 2_000;
/// Number of users whose messages are processed for facts, which takes far longer than storing them.
const LEARNING: usize = 50;

/// Stores `each` messages for each of `users` users, and asks questions as random users.
pub(crate) async fn run(users: usize, each: usize, engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let place = Place::new(engine).await?;
    let Inside { store, usecases, clock, wake, .. } = Inside::open(&place, None).await?;
    let callers: Vec<Caller> = (1..=users).map(|n| Caller::verified(UserId(Uuid::from_u128(n as u128)), ViewerRole::User)).collect();
    let learn_every = users.div_ceil(LEARNING).max(1);
    let begun = Instant::now();
    let mut writer = Writer::new();
    for (n, caller) in callers.iter().enumerate() {
        store_messages(&usecases, caller, each, n.is_multiple_of(learn_every), &mut writer).await?;
    }
    figures.number("kept", (users * each) as f64 / begun.elapsed().as_secs_f64(), "messages/s");
    let work = MessageWork::new(usecases.clone());
    let processor = Processor::start(store.clone(), work, clock, wake, ProcessorConfig::default());
    while store.depth().await?.0 > 0 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    processor.shutdown(Duration::from_secs(10)).await;
    for (name, caller) in [("one who has facts", 0), ("one who has none", 1)].into_iter().filter_map(|(n, i)| Some((n, callers.get(i)?))) {
        let took = ask(&usecases, caller, writer.question()).await?;
        figures.number(&format!("first context of {name}, which makes the index"), took.as_secs_f64() * 1e3, "ms");
    }
    // Users return in random order, and their indexes exceed the memory, so most indexes are evicted.
    let (mut all, mut of_facts) = (Times::default(), Times::default());
    for i in 0..QUESTIONS {
        let Some(caller) = callers.get(i.wrapping_mul(7919) % users.max(1)) else { break };
        all.note(ask(&usecases, caller, writer.question()).await?);
        // Adds a user with facts from time to time, because few of them would be drawn.
        if i.is_multiple_of(4)
            && let Some(caller) = callers.get(i / 4 % LEARNING * learn_every)
        {
            of_facts.note(ask(&usecases, caller, writer.question()).await?);
        }
    }
    figures.times("context, all users", &all);
    figures.times("context, users with facts", &of_facts);
    figures.limit(
        &format!("context p99, {} messages of {users} users", users * each),
        all.quantile(0.99),
        engine.either(50.0, 100.0),
        "ms",
    );
    figures.limit("the same, users with facts", of_facts.quantile(0.99), engine.either(50.0, 100.0), "ms");
    figures.number("data on disk", place.bytes().await? as f64 / (users * each) as f64, "bytes/message");
    store.close().await;
    place.remove().await
}

async fn store_messages(usecases: &UseCases, caller: &Caller, each: usize, learn: bool, writer: &mut Writer) -> anyhow::Result<()> {
    let first: DateTime<Utc> = "2023-01-01T08:00:00Z".parse()?;
    let mut left = each;
    while left > 0 {
        let session = usecases.create_session(caller, None).await?.id;
        let messages: Vec<SendMessage> = (0..left.min(CALL))
            .map(|i| {
                let (speaker, text) = writer.statement();
                SendMessage {
                    session,
                    text,
                    role: if learn { Role::User } else { Role::Assistant },
                    speaker: Some(speaker),
                    sent_at: Some(first + TimeDelta::minutes((each - left + i) as i64)),
                    source_metadata: None,
                    client_message_id: None,
                    resources: Vec::new(),
                    answer_from: recall_domain::context::SearchSources::default(),
                }
            })
            .collect();
        left -= messages.len();
        usecases.import(caller, session, messages).await?;
    }
    Ok(())
}

pub(crate) async fn ask(usecases: &UseCases, caller: &Caller, question: String) -> anyhow::Result<Duration> {
    let query = ContextQuery {
        text: question.into(),
        scope: Scope::User,
        first: 10,
        sources: recall_domain::context::SearchSources::default(),
        methods: Vec::new(),
        route: None,
        as_of: None,
        exclude: None,
        shared: true,
        waits: false,
    };
    let started = Instant::now();
    let found = usecases.context(caller, query).await?;
    let took = started.elapsed();
    ensure!(!found.messages.is_empty(), "nothing was found");
    Ok(took)
}
