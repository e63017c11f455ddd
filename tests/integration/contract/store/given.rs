//! Test data for the store: callers, messages, entities and facts, with counted ids and fixed times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use recall_domain::{
    Caller, Citation, Entity, EntityId, EntityKey, EntityType, EventBody, EventDraft, EventId, Evidence, Fact, FactId, FactStatus, Mention,
    Message, MessageId, MessageKind, Resource, ResourceOrigin, Role, SaidPeriod, SessionId, Span, Stance, StoredEvent, Timestamp, UserId,
    ViewerRole, event::AnswerFailed,
};
use recall_ports::{AnsweredQuestion, Embedding, FollowUp, IndexEntry, Job, KnowledgeCommit, NewMessage, SessionUpdate, Store, TextWord};
use uuid::Uuid;

pub(super) const MODEL: &str = "test-model-1";
pub(super) const LEASE: Duration = Duration::from_secs(30);

pub(super) fn fresh() -> Uuid {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Uuid::from_u128((0x0190_0000_0000_7000 << 64) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Returns `ms` milliseconds after a fixed time.
pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_timestamp_millis(1_700_000_000_000 + ms).unwrap()
}

pub(super) fn event(session: SessionId) -> EventDraft {
    let body = AnswerFailed { session_id: session, message_id: MessageId(fresh()), code: "test".into(), message: "a test".into() };
    EventDraft { id: EventId(fresh()), body: EventBody::AnswerFailed(body) }
}

/// Returns what an event says.
pub(super) fn content(event: &StoredEvent) -> serde_json::Value {
    serde_json::from_str(event.data.get()).unwrap()
}

/// An update that changes the title only.
pub(super) fn renamed(title: &str) -> SessionUpdate {
    SessionUpdate { title: Some(title.into()), ..SessionUpdate::default() }
}

pub(super) fn new_message(session: SessionId, text: &str) -> NewMessage {
    NewMessage {
        id: MessageId(fresh()),
        session,
        role: Role::User,
        speaker: None,
        text: text.into(),
        sent_at: at(0),
        created_at: at(0),
        source_metadata: None,
        external_id: None,
        resources: Vec::new(),
        prepared: IndexEntry {
            terms: vec![("like".into(), 2), ("mary".into(), 1)],
            model: MODEL.into(),
            embedding: Embedding(vec![1.0, 0.0]),
            further: vec![],
        },
        mining: FollowUp::Facts,
        answer_from: Default::default(),
        kind: None,
        event: EventId(fresh()),
        title: None,
        answers: None,
    }
}

/// An image that was sent, and a link.
pub(super) fn resources() -> Vec<Resource> {
    let image = Resource {
        id: fresh(),
        uri: "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk".into(),
        media_type: Some("image/png".into()),
        bytes: Some(12),
        sha256: Some("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069".into()),
        origin: ResourceOrigin::Part,
    };
    let uri = "https://example.com/ü?q='%00'".into();
    let link = Resource { id: fresh(), uri, media_type: None, bytes: None, sha256: None, origin: ResourceOrigin::Link };
    vec![image, link]
}

/// The answer to a question, with its sources.
pub(super) fn answer_of(question: MessageId, text: &str, citations: Vec<Citation>, session: SessionId) -> NewMessage {
    let answers = Some(AnsweredQuestion { question, citations, nearest: Vec::new() });
    NewMessage { role: Role::Assistant, mining: FollowUp::Nothing, answers, ..new_message(session, text) }
}

pub(super) fn with_external_id(mut message: NewMessage, id: &str) -> NewMessage {
    message.external_id = Some(id.into());
    message
}

pub(super) fn entity(name: &str) -> Entity {
    Entity {
        id: EntityId(fresh()),
        name: name.into(),
        entity_type: EntityType::Person,
        aliases: vec![],
        description: None,
        mention_count: 0,
        confidence: 0.9,
        is_viewer: false,
        first_message: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(super) fn fact(subject: &Entity, relation: &str, object: &Entity) -> Fact {
    Fact {
        id: FactId(fresh()),
        subject: subject.id,
        relation: relation.into(),
        object: object.id,
        value: None,
        support: 1.0,
        opposition: 0.0,
        weighed_at: at(0),
        status: FactStatus::Active,
        flagged: false,
        valid_from: Some(at(0)),
        valid_to: None,
        said_period: SaidPeriod::parse("2024-03/").unwrap(),
        last_support: Some(at(0)),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A word that only names and values have.
pub(super) fn word(word: &str) -> TextWord {
    TextWord { word: word.into(), relations: Vec::new(), is_viewer: false }
}

pub(super) fn evidence(fact: &Fact, message: &Message, stance: Stance) -> Evidence {
    Evidence {
        fact: fact.id,
        message: message.id,
        session: message.session,
        stance,
        confidence: 1.0,
        span: Some(Span { start: 0, end: 4 }),
        excerpt: "John".into(),
        said_period: SaidPeriod::parse("2024-03/2025-06-30").unwrap(),
        created_at: message.sent_at,
    }
}

pub(super) fn mention(name: &str) -> Mention {
    let end = u32::try_from(name.len()).unwrap();
    Mention {
        name: name.into(),
        entity_type: EntityType::Person,
        span: Span { start: 0, end },
        confidence: 0.9,
        description: Some("friend".into()),
    }
}

/// One user of a store.
#[derive(Clone)]
pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) caller: Caller,
}

impl World {
    pub(super) fn new(store: &Arc<dyn Store>) -> Self {
        Self { store: store.clone(), caller: Caller::verified(UserId(fresh()), ViewerRole::User) }
    }

    pub(super) async fn session(&self) -> SessionId {
        let id = SessionId(fresh());
        self.store.create_session(&self.caller, id, None, format!("epoch-{id}"), at(0)).await.unwrap().id
    }

    pub(super) async fn append(&self, message: NewMessage) -> Message {
        let session = message.session;
        self.store.append(&self.caller, session, vec![message]).await.unwrap().remove(0).message
    }

    pub(super) async fn say(&self, session: SessionId, text: &str) -> Message {
        self.append(new_message(session, text)).await
    }

    /// Stores a message that shall be answered if it is a question.
    pub(super) async fn ask(&self, session: SessionId, text: &str) -> Message {
        self.append(NewMessage { mining: FollowUp::FactsAndAnswer, ..new_message(session, text) }).await
    }

    /// Stores a message without a job.
    pub(super) async fn note(&self, session: SessionId, text: &str) -> Message {
        self.append(NewMessage { mining: FollowUp::Nothing, ..new_message(session, text) }).await
    }

    /// Returns an empty plan for the current version of the knowledge.
    pub(super) async fn plan(&self, session: SessionId) -> KnowledgeCommit {
        KnowledgeCommit::empty(self.store.knowledge_version(&self.caller).await.unwrap(), session, at(0))
    }

    /// Commits a plan without a job.
    pub(super) async fn commit(&self, plan: KnowledgeCommit) {
        self.store.commit(&self.caller, &plan).await.unwrap();
    }

    /// Claims all jobs that are due at `ms`, at most 1,000.
    pub(super) async fn claim(&self, ms: i64) -> Vec<Job> {
        self.store.claim(at(ms), LEASE, 1_000).await.unwrap()
    }

    /// Stores "John likes Mary" with its entities, fact, evidence and event.
    pub(super) async fn john_likes_mary(&self) -> Known {
        let session = self.session().await;
        let said = NewMessage { resources: resources(), ..new_message(session, "John likes Mary.") };
        let message = self.append(with_external_id(said, "first")).await;
        let (john, mary) =
            (Entity { mention_count: 1, first_message: Some(message.id), ..entity("John") }, Entity { mention_count: 1, ..entity("Mary") });
        let fact = fact(&john, "LIKES", &mary);
        let evidence = evidence(&fact, &message, Stance::Supports);
        let plan = KnowledgeCommit {
            message: Some((message.id, MessageKind::Statement, vec![(john.id, mention("John")), (mary.id, mention("Mary"))])),
            entities: vec![john.clone(), mary.clone()],
            keys: vec![(john.id, EntityKey::of("John").unwrap()), (mary.id, EntityKey::of("Mary").unwrap())],
            facts: vec![fact.clone()],
            evidence: vec![evidence.clone()],
            events: vec![event(session)],
            ..self.plan(session).await
        };
        self.commit(plan).await;
        Known { session, message, john, mary, fact, evidence }
    }
}

pub(super) struct Known {
    pub(super) session: SessionId,
    pub(super) message: Message,
    pub(super) john: Entity,
    pub(super) mary: Entity,
    pub(super) fact: Fact,
    pub(super) evidence: Evidence,
}
