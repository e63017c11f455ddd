//! Many chunks of documents of one user, then questions. Runs inside this process.
//!
//! What orders the chunks is random, because the encoder would need hours. It encodes the questions, as on a server.

use std::sync::Arc;

use anyhow::{Context, ensure};
use recall_domain::{
    Caller, Chunk, Document, DocumentId, DocumentStatus, EventId, MessageId, Role, Section, SessionId, Timestamp, UserId, UserText,
    ViewerRole,
    context::{ContextQuery, Scope, SearchSource, SearchSources},
};
use recall_neural::MiniLmEncoder;
use recall_ports::{
    AddedDocument, DocumentOutline, DocumentStep, Embedder, Embedding, EncodedText, FollowUp, IndexEntry, NewDocument, NewMessage,
    Original, Passage, PassageEncoder, WordVectors,
};
use recall_text::index_terms;
use uuid::Uuid;

use crate::{
    figures::{Figures, Times},
    inside::Inside,
    place::{Engine, Place},
    sentences::Writer,
};

const CHUNKS_OF_DOCUMENT: usize = 500;
const STEP: usize = 50;
/// Characters of a chunk.
const CHARS: usize = 900;
const QUESTIONS: usize = 500;

/// Stores `count` chunks, and asks questions.
pub(crate) async fn run(count: usize, engine: &Engine, figures: &mut Figures) -> anyhow::Result<()> {
    let place = Place::new(engine).await?;
    let encoder: Arc<dyn PassageEncoder> = Arc::new(MiniLmEncoder::load()?);
    let inside = Inside::open(&place, Some(encoder.clone())).await?;
    let caller = Caller::verified(UserId(Uuid::from_u128(1)), ViewerRole::User);
    let mut writer = Writer::new();
    for first in (0..count).step_by(CHUNKS_OF_DOCUMENT) {
        store_document(&inside, &caller, &encoder, CHUNKS_OF_DOCUMENT.min(count - first), &mut writer).await?;
    }
    let mut times = Times::default();
    for i in 0..=QUESTIONS {
        let took = ask(&inside, &caller, writer.question()).await?;
        match i {
            0 => figures.number("first context, which makes the index", took.as_secs_f64() * 1e3, "ms"),
            _ => times.note(took),
        }
    }
    figures.times("context", &times);
    figures.limit(&format!("context p99, {count} chunks"), times.quantile(0.99), engine.either(30.0, 60.0), "ms");
    inside.store.close().await;
    place.remove().await
}

async fn ask(inside: &Inside, caller: &Caller, question: String) -> anyhow::Result<std::time::Duration> {
    let query = ContextQuery {
        text: question.into(),
        scope: Scope::User,
        first: 10,
        sources: SearchSources { of: vec![SearchSource::Documents], ..SearchSources::default() },
        methods: Vec::new(),
        route: None,
        as_of: None,
        exclude: None,
        shared: true,
        waits: false,
    };
    let started = std::time::Instant::now();
    let found = inside.usecases.context(caller, query).await?;
    let took = started.elapsed();
    ensure!(found.chunks.iter().all(|chunk| chunk.relevance.is_some()) && !found.chunks.is_empty(), "chunks are not found, or not ordered");
    Ok(took)
}

async fn store_document(
    inside: &Inside,
    caller: &Caller,
    encoder: &Arc<dyn PassageEncoder>,
    chunks: usize,
    writer: &mut Writer,
) -> anyhow::Result<()> {
    let (id, now) = (DocumentId(Uuid::now_v7()), inside.clock.now());
    let document = Document {
        id,
        collection: "bench".into(),
        path: None,
        version: 1,
        is_current: true,
        filename: "bench.txt".into(),
        media_type: None,
        bytes: 1,
        sha256: format!("{:064x}", id.0.as_u128()),
        status: DocumentStatus::Pending,
        error: None,
        title: None,
        summary: None,
        pages: None,
        links: Vec::new(),
        chunk_count: 0,
        stored: 0,
        understood: 0,
        chunk_chars: 1024,
        chunk_overlap: 200,
        has_original: true,
        created_at: now,
        updated_at: now,
        viewed_at: None,
    };
    let message = message(inside, id.session(), "bench.txt".into(), FollowUp::Parse, now);
    let new = NewDocument { document, original: Original::Pieces(vec![vec![0]]), message, epoch: id.0.to_string(), event: event() };
    ensure!(matches!(inside.store.add_document(caller, new).await?, AddedDocument::Added(_)), "the document is known");
    let job = inside.store.claim(now, std::time::Duration::from_secs(3_600), 1).await?.pop().context("there is no job")?;
    let outline = DocumentOutline {
        document: id,
        media_type: "text/plain".into(),
        title: None,
        summary: None,
        pages: None,
        links: Vec::new(),
        chunk_count: u32::try_from(chunks)?,
        digest: "bench".into(),
        event: event(),
        now,
    };
    inside.store.begin_document(caller, &job.claim, &outline).await?;
    for first in (0..chunks).step_by(STEP) {
        let step: Vec<_> = (first..chunks.min(first + STEP)).map(|position| chunk(inside, id, position, text(writer), now)).collect();
        let passages = step.iter().map(|(_, chunk)| (chunk.id, random_passage(chunk.id))).collect();
        let section = Section { position: 0, heading: None, level: 0, char_offset: 0, chars: 0, pages: None };
        let step = DocumentStep { document: id, first: u32::try_from(first)?, sections: vec![section], chunks: step, event: event(), now };
        inside.store.store_chunks(caller, &job.claim, &step).await?;
        inside.store.keep_passages(caller, encoder.model(), passages).await?;
    }
    Ok(())
}

fn event() -> EventId {
    EventId(Uuid::now_v7())
}

fn text(writer: &mut Writer) -> UserText {
    let mut text = String::new();
    while text.len() < CHARS {
        text.push_str(&writer.statement().1);
        text.push(' ');
    }
    text.into()
}

fn chunk(inside: &Inside, document: DocumentId, position: usize, text: UserText, now: Timestamp) -> (NewMessage, Chunk) {
    let message = message(inside, document.session(), text.clone(), FollowUp::Nothing, now);
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    let (id, char_offset) = (message.id, u64::from(position) * CHARS as u64);
    (message, Chunk { id, document, position, section: 0, heading: None, char_offset, pages: None, text })
}

fn message(inside: &Inside, session: SessionId, text: UserText, mining: FollowUp, now: Timestamp) -> NewMessage {
    NewMessage {
        id: MessageId(Uuid::now_v7()),
        session,
        role: Role::Document,
        speaker: None,
        sent_at: now,
        created_at: now,
        source_metadata: None,
        external_id: None,
        resources: Vec::new(),
        prepared: IndexEntry {
            terms: index_terms(text.as_str()),
            model: inside.embedder.model().to_owned(),
            embedding: inside.embedder.vector(text.as_str()),
            further: Vec::new(),
        },
        text,
        mining,
        answer_from: SearchSources::default(),
        kind: None,
        event: event(),
        title: None,
        answers: None,
    }
}

/// A passage of random numbers, with as many as a real one.
fn random_passage(id: MessageId) -> Passage {
    const DIMENSION: usize = 384;
    const WORDS: usize = 80;
    let mut state = id.0.as_u128() as u64 | 1;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 2_001) as f32 / 1_000.0 - 1.0
    };
    let vector = Embedding((0..DIMENSION).map(|_| number()).collect());
    let mut words = WordVectors::default();
    (0..WORDS).for_each(|_| words.push(&std::array::from_fn(|_| number())));
    Passage::of(&EncodedText { vector, words })
}
