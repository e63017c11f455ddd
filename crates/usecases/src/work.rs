//! The work of the fact processor: extract a message, or answer a question.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::try_join_all;

use super::{
    command::{UndoBy, reply},
    context::of_question,
    error::UseCaseError,
    failure::Failure,
    forget_command::{Meant, forget_command},
    send::mark_consultation,
    shared,
    use_cases::UseCases,
};
use recall_domain::{
    Caller, ComparisonStatus, DocumentStatus, EventBody, EventDraft, EventId, Extraction, Message, MessageId, MessageKind, Role, SessionId,
    UndoableForgetting,
    comparison::ComparisonUpdate,
    context::{Context, SearchSources, Timings},
    event::{AnswerCompleted, AnswerFailed, DocumentUpdate, MessageFailed},
};
use recall_facts::{Outcome, Statement, Work};
use recall_ports::{
    Announcer, AnswerCommit, AnswerDraft, AnswerSink, AnsweredQuestion, Answerer, Asked, FollowUp, Job, JobWork, NewMessage,
};

/// Runs the processor's jobs.
pub struct MessageWork {
    usecases: UseCases,
}

impl MessageWork {
    /// Creates the work.
    pub fn new(usecases: UseCases) -> Arc<Self> {
        Arc::new(Self { usecases })
    }
}

#[async_trait]
impl Work for MessageWork {
    async fn run(&self, job: &Job) -> Outcome {
        let _running = self.usecases.foreground.begin();
        let done = match job.work {
            JobWork::Understand { message, .. } => self.usecases.understand(job, message).await.map(Done::Jobs),
            JobWork::Parse(_) => self.usecases.parse_document(job).await,
            JobWork::Compare(_) => self.usecases.make_comparison(job).await,
            JobWork::Answer(question) => {
                let turn = self.usecases.answering.begin(job.caller.user(), question);
                tokio::select! {
                    // The cancellation already ended the job, so nothing can be committed.
                    () = turn.cancelled() => Err(Failure::NotOurs),
                    done = self.usecases.answer(job, question) => done.map(|()| Done::Jobs(1)),
                }
            }
        };
        match done {
            Ok(Done::Jobs(jobs)) => Outcome::Done { jobs },
            Ok(Done::Paused) => Outcome::Paused,
            Err(failure) => failure.outcome(),
        }
    }

    fn gave_up(&self, job: &Job, code: &str) -> EventDraft {
        let body = match job.work {
            JobWork::Understand { message, .. } => EventBody::MessageFailed(MessageFailed {
                session_id: job.session,
                message_id: message,
                code: code.to_owned(),
                attempts: job.attempts,
            }),
            // The store writes the progress of the document instead.
            JobWork::Parse(_) => EventBody::DocumentUpdate(DocumentUpdate {
                session_id: job.session,
                document_id: job.session.into(),
                status: DocumentStatus::Failed,
                done: 0,
                total: 0,
                error: None,
            }),
            // As above.
            JobWork::Compare(_) => EventBody::ComparisonUpdate(ComparisonUpdate {
                session_id: job.session,
                comparison_id: job.session.into(),
                status: ComparisonStatus::Failed,
                done: 0,
                total: 0,
                error: None,
            }),
            JobWork::Answer(question) => EventBody::AnswerFailed(AnswerFailed {
                session_id: job.session,
                message_id: question,
                code: code.to_owned(),
                message: "The question could not be answered; please ask again later.".to_owned(),
            }),
        };
        EventDraft { id: EventId(self.usecases.parts.ids.fresh()), body }
    }
}

/// What an attempt achieved.
pub(super) enum Done {
    /// So many jobs ended.
    Jobs(usize),
    /// The job continues later.
    Paused,
}

impl UseCases {
    /// Learns from a message, and from those that wait behind it if that is quick. Returns how many were done.
    async fn understand(&self, job: &Job, id: MessageId) -> Result<usize, Failure> {
        let (caller, extractor) = (&job.caller, &self.parts.extractor);
        // A message that made an attempt fail must not take others with it.
        let together = if job.attempts == 1 { extractor.together() } else { 1 };
        let message = self.message(caller, id).await?;
        let ahead = extractor.looks_ahead().max(together.saturating_sub(1));
        let (first, next) = self.readings(caller, message, ahead, extractor.as_ref()).await?;
        let last = next.iter().take(together.saturating_sub(1) as usize).next_back().unwrap_or(&first);
        self.find_topics_if_due(caller, &first.message, &last.message).await?;
        let ahead: Vec<_> = next.iter().map(|reading| reading.input.clone()).collect();
        let extraction = extractor.extract_ahead(caller, &first.input, &ahead).await?;
        let mut statements = vec![statement(caller, first.message, extraction, EventId(self.parts.ids.fresh()))];
        let next: Vec<_> = next.into_iter().take(together.saturating_sub(1) as usize).collect();
        let extractions = try_join_all(next.iter().map(|reading| extractor.extract(caller, &reading.input))).await?;
        for (reading, extraction) in next.into_iter().zip(extractions) {
            statements.push(statement(caller, reading.message, extraction, EventId(self.parts.ids.fresh())));
        }
        let chunks: Vec<MessageId> = statements.iter().filter(|(s, _)| s.chunk_event.is_some()).map(|(s, _)| s.message).collect();
        if !chunks.is_empty() {
            self.encode_chunks(caller, &chunks).await?;
        }
        for (statement, _) in &statements {
            self.merge_stated_names(caller, &statement.extraction).await?;
        }
        let asks = statements.iter().any(|(_, follow_up)| follow_up.is_some());
        let learned = self.learner.learn(caller, statements, Some(&job.claim)).await?;
        if asks {
            self.parts.wake.notify_one();
        }
        Ok(learned.len())
    }

    async fn answer(&self, job: &Job, id: MessageId) -> Result<(), Failure> {
        let question = self.message(&job.caller, id).await?;
        if let Some(meant) = forget_command(question.text.as_str()) {
            return self.answer_command(job, &question, meant).await;
        }
        let asked = Asked { message: Some(id), text: question.text.clone(), original: None, at: question.sent_at };
        let sources = self.parts.store.answer_sources(&job.caller, id).await?;
        if let Some(text) = self.not_yet_read(&job.caller, &sources).await? {
            let draft = AnswerDraft::ungrounded(text);
            return self.commit_answer(job, id, draft, Timings::default(), None).await;
        }
        let sink = Deltas { announcer: self.parts.announcer.as_ref(), caller: job.caller, session: job.session, question: id };
        let mut attempts = self.attempts(&job.caller, asked, sources).await?.into_iter().peekable();
        while let Some((asked, sources)) = attempts.next() {
            // Followers see only the words of the answer that counts.
            let is_last = attempts.peek().is_none();
            let (draft, timings) = self.draft_answer(job, &question, asked, sources, if is_last { &sink } else { &Unheard }).await?;
            if draft.grounded && !is_last {
                sink.delta(draft.text.as_str());
            }
            if draft.grounded || is_last {
                return self.commit_answer(job, id, draft, timings, None).await;
            }
        }
        Ok(())
    }

    /// Finds the context of a question in some sources, and answers from it.
    async fn draft_answer(
        &self,
        job: &Job,
        question: &Message,
        mut asked: Asked,
        sources: SearchSources,
        sink: &dyn AnswerSink,
    ) -> Result<(AnswerDraft, Timings), Failure> {
        let is_limited = !sources.is_all();
        let mut context = self.context_of_question(&job.caller, self.parts.answerer.as_ref(), &mut asked, question.id, sources).await?;
        if is_limited {
            context.forget_other_names();
        }
        self.parts.announcer.ephemeral(&job.caller, job.session, "context_ready", context_ready(question, &context, self));
        let timings = context.timings;
        let context = shared::name_shared_speakers(context);
        let mut draft = self.parts.answerer.answer(&job.caller, &asked, &context, sink).await?;
        for citation in draft.quoted_mut() {
            citation.shared = context.is_shared(citation);
        }
        self.cite_documents(&job.caller, &mut draft.citations).await?;
        Ok((draft, timings))
    }

    /// Carries out a command to forget, and replies. The words of the command are removed when the reply is stored.
    async fn answer_command(&self, job: &Job, command: &Message, meant: Meant<'_>) -> Result<(), Failure> {
        let outcome = self.forget_on_command(&job.caller, meant, command.id).await;
        let text = match &outcome {
            Ok(outcome) => self.reply_to_command(&job.caller, outcome, UndoBy::Client).await?,
            Err(UseCaseError::Unavailable { .. } | UseCaseError::Internal { .. }) => {
                return Err(Failure::Transient("CONTEXT", "a forgetting failed".to_owned()));
            }
            Err(e) => e.to_string(),
        };
        let draft = reply(text);
        let forgetting = outcome.as_ref().ok().and_then(|outcome| self.undoable(outcome));
        self.commit_answer(job, command.id, draft, Timings::default(), forgetting).await?;
        if let Ok(outcome) = &outcome {
            self.redact_if_done(&job.caller, outcome, command.id).await;
        }
        Ok(())
    }

    /// Stores the answer to a message and ends the job.
    async fn commit_answer(
        &self,
        job: &Job,
        id: MessageId,
        draft: AnswerDraft,
        timings: Timings,
        forgetting: Option<UndoableForgetting>,
    ) -> Result<(), Failure> {
        let now = self.parts.clock.now();
        let prepared = self.prepare(std::slice::from_ref(&draft.text)).await?.into_iter().next();
        let mut prepared = prepared.ok_or(Failure::Permanent("EMBEDDER", "no vector came back".into()))?;
        // What a model writes may be new.
        if (draft.grounded || !draft.nearest.is_empty()) && self.parts.answerer.only_quotes() {
            mark_consultation(&mut prepared);
        }
        let answer_id = MessageId(self.parts.ids.fresh());
        let completed = AnswerCompleted {
            session_id: job.session,
            message_id: answer_id,
            answer_to: id,
            text: draft.text.clone(),
            citations: draft.citations.clone(),
            nearest: draft.nearest.clone(),
            grounded: draft.grounded,
            answerer: draft.answerer.clone().unwrap_or_else(|| self.parts.answerer.name().to_owned()),
            timings,
            forgetting,
        };
        let commit = AnswerCommit {
            message: NewMessage {
                id: answer_id,
                session: job.session,
                role: Role::Assistant,
                speaker: None,
                sent_at: now,
                created_at: now,
                source_metadata: forgetting.map(UndoableForgetting::to_metadata),
                external_id: None,
                resources: Vec::new(),
                prepared,
                mining: FollowUp::Nothing,
                answer_from: SearchSources::default(),
                kind: Some(MessageKind::Statement),
                event: EventId(self.parts.ids.fresh()),
                title: None,
                text: draft.text,
                answers: Some(AnsweredQuestion { question: id, citations: draft.citations, nearest: draft.nearest }),
            },
            events: vec![EventDraft { id: EventId(self.parts.ids.fresh()), body: EventBody::AnswerCompleted(completed) }],
        };
        self.parts.store.commit_answer(&job.caller, &commit, &job.claim).await?;
        self.encode_when_idle(&job.caller, std::iter::once(answer_id));
        metrics::counter!("recall_answers_total", "grounded" => if draft.grounded { "yes" } else { "no" }).increment(1);
        Ok(())
    }

    /// Finds the context of a question, with what was taken back. Rephrases the question while the answerer can improve it.
    pub(super) async fn context_of_question(
        &self,
        caller: &Caller,
        answerer: &dyn Answerer,
        asked: &mut Asked,
        question: MessageId,
        sources: SearchSources,
    ) -> Result<Context, UseCaseError> {
        let query = of_question(&asked.text, question, answerer.messages_wanted(), sources);
        let mut context = self.rephrased_context(caller, answerer, asked, query).await?;
        self.add_meaning(caller, &mut context).await?;
        Ok(context)
    }

    async fn message(&self, caller: &Caller, id: MessageId) -> Result<Message, Failure> {
        let found = self.parts.store.messages_by_id(caller, &[id]).await?;
        // The message was deleted in the meantime, with its jobs.
        found.into_iter().next().ok_or(Failure::NotOurs)
    }
}

/// What a message states, and the job to answer it if it asks.
fn statement(caller: &Caller, message: Message, mut extraction: Extraction, event: EventId) -> (Statement, Option<JobWork>) {
    let is_chunk = message.role == Role::Document;
    if !is_chunk && forget_command(message.text.as_str()).is_some() {
        // A command states nothing, whatever the extractor read in it.
        extraction = Extraction::empty(MessageKind::Question);
    } else if message.kind == Some(MessageKind::Question) {
        // A search in some sources, whatever its words are: "late fee" in the lease.
        extraction = Extraction::empty(MessageKind::Question);
    } else if !message.remembered {
        extraction = Extraction::empty(extraction.kind);
    }
    let follow_up = (extraction.kind.asks() && !is_chunk).then_some(JobWork::Answer(message.id));
    let statement = Statement {
        message: message.id,
        session: message.session,
        at: message.sent_at,
        text: message.text,
        // "I" in a document is not the user.
        is_impersonal: (is_chunk || caller.is_shared()) && message.speaker.is_none(),
        chunk_event: is_chunk.then_some(event),
        speaker: message.speaker,
        extraction,
    };
    (statement, follow_up)
}

fn context_ready(question: &Message, context: &recall_domain::context::Context, usecases: &UseCases) -> serde_json::Value {
    let now = usecases.now();
    let facts: Vec<_> = context
        .facts
        .iter()
        .map(|f| {
            let relation = usecases.parts.ontology.get(&f.fact.relation);
            let s = recall_facts::standing(&f.fact, relation, now);
            serde_json::json!({
                "fact_id": f.fact.id, "entity": f.subject.name, "relation": relation.map_or(f.fact.relation.as_str(), |r| r.phrase.as_str()),
                "target": f.object_name(), "weight": s.weight, "belief": s.belief, "score": f.score,
                "shared": f.shared,
            })
        })
        .collect();
    let messages: Vec<_> =
        context.messages.iter().map(|m| serde_json::json!({ "message_id": m.message.id, "score": m.score, "shared": m.shared })).collect();
    let mut ready = serde_json::json!({ "session_id": question.session, "message_id": question.id, "facts": facts, "messages": messages });
    if !context.chunks.is_empty() {
        let chunks = context.chunks.iter().map(|c| {
            let (chunk, document) = (c.chunk.id, c.document.id);
            serde_json::json!({ "chunk_id": chunk, "document_id": document, "score": c.score, "shared": c.shared })
        });
        ready["chunks"] = chunks.collect();
    }
    ready
}

/// Receives parts of an answer that may not be the one.
struct Unheard;

impl AnswerSink for Unheard {
    fn delta(&self, _: &str) {}
}

struct Deltas<'a> {
    announcer: &'a dyn Announcer,
    caller: Caller,
    session: SessionId,
    question: MessageId,
}

impl AnswerSink for Deltas<'_> {
    fn delta(&self, text: &str) {
        let data = serde_json::json!({ "session_id": self.session, "answer_to": self.question, "text": text });
        self.announcer.ephemeral(&self.caller, self.session, "answer_delta", data);
    }
}
