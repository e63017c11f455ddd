//! Forgets facts and messages. `forget_query` finds what words mean, and `forget_undo` restores.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::manual_edits::{MAX_SESSIONS, MAX_STALE};
use super::{
    check,
    error::UseCaseError,
    forget_request::{ForgetRequest, Forgotten, check_request},
    shared,
    use_cases::UseCases,
};
use recall_domain::{
    Caller, EntityId, EventBody, EventDraft, EventId, Evidence, Fact, FactId, ForgettingId, Message, MessageId, Page, Role, SessionId,
    Timestamp, UserText, event::FactChange,
};
use recall_facts::{
    forget::{self, ChangedMemory, ForgetInput, ForgetOutcome},
    rival_keys,
};
use recall_ports::{CommitError, FactKey, ForgetPlan, MessageRange, ReplacedTitle, StoreError};

/// Most messages and most facts of one forgetting, which is one transaction.
pub(super) const MAX_FORGOTTEN: usize = 2_000;
/// Most evidence rows loaded per fact.
pub(super) const MAX_EVIDENCE: u32 = 10_000;
/// Messages that are read to find another title.
const TITLE_MESSAGES: u32 = 50;
/// How often answers to answers are followed.
const MAX_CITING: usize = 3;

/// The facts and messages that a request names.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) facts: Vec<Fact>,
    /// Messages that vanish, whatever they state.
    pub(super) named: HashSet<MessageId>,
    /// Messages that vanish unless they also state other facts.
    pub(super) mentioning: HashSet<MessageId>,
    /// Messages that stay as turns of their conversation, without their text.
    pub(super) commands: HashSet<MessageId>,
    /// Whether `mentioning` was found by the words of the request, because no fact is meant.
    pub(super) is_by_words: bool,
    /// Whether passages of documents say what the request means. They stay.
    pub(super) is_in_documents: bool,
}

impl Target {
    /// Whether it has neither facts nor messages.
    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.named.is_empty() && self.mentioning.is_empty() && self.commands.is_empty()
    }
}

/// Events by session.
pub(super) type SessionEvents = Vec<(SessionId, Vec<EventDraft>)>;

/// A forgetting that is ready to be committed.
struct Planned {
    plan: ForgetPlan,
    /// Events for sessions whose logs contain nothing that is forgotten.
    elsewhere: SessionEvents,
    messages: Vec<Message>,
}

impl UseCases {
    /// Forgets facts and messages, or returns what would be forgotten.
    ///
    /// # Errors
    /// `Invalid` for bad input, `NotFound` for a fact or message that is not the caller's.
    pub async fn forget(&self, caller: &Caller, request: ForgetRequest) -> Result<Forgotten, UseCaseError> {
        shared::may_write(caller)?;
        check_request(&request)?;
        let undo = chrono::TimeDelta::from_std(self.parts.retention.forget_undo).unwrap_or_default();
        if request.dry_run {
            let version = self.parts.store.knowledge_version(caller).await?;
            let target = self.target(caller, &request).await?;
            let Planned { plan, messages, .. } = self.plan_forgetting(caller, target, version, undo, self.fresh_forgetting()).await?;
            return Ok(Forgotten { facts: plan.knowledge.facts, messages, ..Forgotten::default() });
        }
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = self.parts.store.knowledge_version(caller).await?;
            let target = self.target(caller, &request).await?;
            if let Some(forgotten) = self.forget_target(caller, target, version, undo, self.fresh_forgetting()).await? {
                return Ok(forgotten);
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Forgets a target. Returns `None` if the knowledge has changed since `version`.
    pub(super) async fn forget_target(
        &self,
        caller: &Caller,
        target: Target,
        version: u64,
        undo: chrono::TimeDelta,
        id: ForgettingId,
    ) -> Result<Option<Forgotten>, UseCaseError> {
        let planned = self.plan_forgetting(caller, target, version, undo, id).await?;
        if planned.plan.knowledge.facts.is_empty() && planned.messages.is_empty() {
            return Ok(Some(Forgotten::default()));
        }
        if !self.commit_forgetting(caller, &planned).await? {
            return Ok(None);
        }
        let Planned { plan, messages, .. } = planned;
        let facts = plan.knowledge.facts.iter().map(|f| forget::retracted(f, plan.now)).collect();
        Ok(Some(Forgotten { facts, messages, token: Some(plan.id.to_string()), undo_until: Some(plan.until) }))
    }

    /// Returns an id for a forgetting that no message commanded.
    pub(super) fn fresh_forgetting(&self) -> ForgettingId {
        ForgettingId(self.parts.ids.fresh())
    }

    /// Deletes a message. Its facts are re-weighed, or deleted if no other message states them.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's.
    pub async fn delete_message(&self, caller: &Caller, id: MessageId) -> Result<(), UseCaseError> {
        shared::may_write(caller)?;
        let store = &self.parts.store;
        let guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = store.knowledge_version(caller).await?;
            let request = ForgetRequest { messages: vec![id], ..ForgetRequest::default() };
            let target = self.target(caller, &request).await?;
            let planned = self.plan_forgetting(caller, target, version, chrono::TimeDelta::zero(), self.fresh_forgetting()).await?;
            if self.commit_forgetting(caller, &planned).await? {
                // Comparisons that quote the message are deleted under a guard of their own.
                drop(guard);
                // If this fails, the background task repeats it.
                return self.purge_forgotten(caller, planned.plan.id).await;
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Deletes for good what a forgetting hid, once it can no longer be undone. Comparisons of its documents quote it and are deleted first.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn purge_forgotten(&self, caller: &Caller, id: ForgettingId) -> Result<(), UseCaseError> {
        if let Some(forgetting) = self.parts.store.forgetting(caller, id).await? {
            let sessions: BTreeSet<SessionId> = forgetting.messages.iter().map(|(_, session)| *session).collect();
            for session in sessions {
                self.delete_comparisons_of(caller, session).await?;
            }
        }
        Ok(self.parts.store.purge_forgotten(caller, id, self.now()).await?)
    }

    /// Commits a forgetting and notifies the sessions. Returns false if the plan was stale.
    async fn commit_forgetting(&self, caller: &Caller, planned: &Planned) -> Result<bool, UseCaseError> {
        let p = &self.parts;
        match p.store.forget(caller, &planned.plan).await {
            Ok(()) => {}
            Err(CommitError::Stale) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        for message in &planned.plan.hidden {
            self.answering.cancel(caller.user(), *message);
        }
        self.tell_changed(caller, &planned.elsewhere, planned.plan.now).await;
        Ok(true)
    }

    /// Evicts the index, and writes the events of a committed change to the logs of further sessions.
    pub(super) async fn tell_changed(&self, caller: &Caller, elsewhere: &[(SessionId, Vec<EventDraft>)], now: Timestamp) {
        let p = &self.parts;
        p.index.forget(caller);
        p.wake.notify_one();
        for (session, events) in elsewhere {
            match p.store.append_events(caller, *session, events, now).await {
                Ok(_) | Err(StoreError::NotFound) => {}
                Err(e) => tracing::warn!(error = %e, "a session was not notified of a forgetting"),
            }
        }
    }

    /// Finds the facts and messages that a request names, within its range.
    async fn target(&self, caller: &Caller, request: &ForgetRequest) -> Result<Target, UseCaseError> {
        let range = &request.range;
        if *range == MessageRange::default() {
            return self.named_target(caller, request).await;
        }
        let store = &self.parts.store;
        if let Some(session) = range.session
            && store.sessions_by_id(caller, &[session]).await?.is_empty()
        {
            return Err(UseCaseError::NotFound { noun: "session" });
        }
        if !request.names_something() {
            let named = store.messages_within(caller, range, MAX_FORGOTTEN as u32 + 1).await?.into_iter().collect();
            return Ok(Target { named, ..Target::default() });
        }
        let Target { facts, named, mentioning, .. } = self.named_target(caller, request).await?;
        let facts: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let evidence = store.evidence_of(caller, &facts, MAX_EVIDENCE).await?;
        let stating = evidence.iter().filter(|e| e.span.is_some()).map(|e| e.message);
        let messages: HashSet<MessageId> = stating.chain(named).chain(mentioning).collect();
        let messages = store.messages_by_id(caller, &messages.into_iter().collect::<Vec<_>>()).await?;
        let named = messages.iter().filter(|m| range.contains(m)).map(|m| m.id).collect();
        Ok(Target { named, ..Target::default() })
    }

    /// Finds the facts and messages that a request names, wherever they are.
    async fn named_target(&self, caller: &Caller, request: &ForgetRequest) -> Result<Target, UseCaseError> {
        let store = &self.parts.store;
        let mut target = match &request.query {
            Some(query) => self.target_of_query(caller, query).await?,
            None => Target::default(),
        };
        let about = self.target_of_entities(caller, &request.entities).await?;
        target.facts.extend(about.facts);
        target.mentioning.extend(about.mentioning);
        let facts = store.facts_by_id(caller, &request.facts).await?;
        if request.facts.iter().any(|id| !facts.iter().any(|f| f.id == *id)) {
            return Err(UseCaseError::NotFound { noun: "fact" });
        }
        target.facts.extend(facts);
        target.facts.sort_by_key(|f| f.id);
        target.facts.dedup_by_key(|f| f.id);
        let messages: HashSet<MessageId> = store.messages_by_id(caller, &request.messages).await?.into_iter().map(|m| m.id).collect();
        if request.messages.iter().any(|id| !messages.contains(id)) {
            return Err(UseCaseError::NotFound { noun: "message" });
        }
        target.named.extend(messages);
        Ok(target)
    }

    /// Plans a forgetting from what the store knows.
    async fn plan_forgetting(
        &self,
        caller: &Caller,
        target: Target,
        version: u64,
        undo: chrono::TimeDelta,
        id: ForgettingId,
    ) -> Result<Planned, UseCaseError> {
        let (store, now) = (&self.parts.store, self.now());
        let Target { facts, named, mentioning, commands, .. } = target;
        let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let mut evidence = store.evidence_of(caller, &ids, MAX_EVIDENCE).await?;
        let stating = evidence.iter().filter(|e| e.span.is_some()).map(|e| e.message);
        let messages: BTreeSet<MessageId> = stating.chain(named.iter().chain(&mentioning).copied()).collect();
        let messages: Vec<MessageId> = messages.into_iter().collect();
        let others = self.other_facts(caller, &facts, &messages).await?;
        if messages.len() > MAX_FORGOTTEN || facts.len() + others.len() > 2 * MAX_FORGOTTEN {
            let message = "This is too much to forget at once. Name less, or give a range of time.";
            return Err(UseCaseError::invalid("FORGETS_TOO_MUCH", "query", message));
        }
        let other_ids: Vec<FactId> = others.iter().map(|f| f.id).collect();
        evidence.extend(store.evidence_of(caller, &other_ids, MAX_EVIDENCE).await?);
        let ontology = &self.parts.ontology;
        let input =
            ForgetInput { facts: &facts, named: &named, mentioning: &mentioning, others: &others, evidence: &evidence, ontology, now };
        let mut outcome = forget::forget(&input);
        self.hide_citing_answers(caller, &mut outcome).await?;
        outcome.redacted.extend(commands.into_iter().filter(|c| !outcome.hidden.contains(c)));
        let ids: Vec<MessageId> = outcome.hidden.iter().chain(&outcome.redacted).copied().collect();
        let mut found = store.messages_by_id(caller, &ids).await?;
        found.sort_by_key(|m| (m.sent_at, m.session, m.position));
        let (events, elsewhere) = self.events_of_forgetting(caller, &outcome, &found, &evidence, now).await?;
        let plan = ForgetPlan {
            id,
            version,
            now,
            until: now + undo,
            hidden: outcome.hidden.into_iter().collect(),
            redacted: outcome.redacted.into_iter().collect(),
            titles: self.quoting_titles(caller, &found).await?,
            kept_mentions: outcome.kept_mentions,
            knowledge: outcome.knowledge,
            events,
        };
        Ok(Planned { plan, elsewhere, messages: found })
    }

    /// Returns the other facts that messages state or oppose, and the rivals of `facts`.
    async fn other_facts(&self, caller: &Caller, facts: &[Fact], messages: &[MessageId]) -> Result<Vec<Fact>, UseCaseError> {
        let store = &self.parts.store;
        let stated: BTreeSet<FactId> = store.facts_in(caller, messages).await?.into_iter().map(|(_, fact, _)| fact).collect();
        let mut others = store.facts_by_id(caller, &stated.into_iter().collect::<Vec<_>>()).await?;
        let keys: HashSet<FactKey> = facts.iter().flat_map(|f| rival_keys(f, &self.parts.ontology)).collect();
        if !keys.is_empty() {
            others.extend(store.facts_by_key(caller, &keys.into_iter().collect::<Vec<_>>(), u32::MAX).await?);
        }
        others.retain(|o| !facts.iter().any(|f| f.id == o.id));
        others.sort_by_key(|f| f.id);
        others.dedup_by_key(|f| f.id);
        Ok(others)
    }

    /// Returns the titles that were made from forgotten messages, with those that the sessions get instead.
    async fn quoting_titles(&self, caller: &Caller, forgotten: &[Message]) -> Result<Vec<ReplacedTitle>, UseCaseError> {
        let store = &self.parts.store;
        let sessions: BTreeSet<SessionId> = forgotten.iter().map(|m| m.session).collect();
        let mut titles = Vec::new();
        for session in store.sessions_by_id(caller, &sessions.into_iter().collect::<Vec<_>>()).await? {
            let quotes =
                |title: &UserText| forgotten.iter().any(|m| m.session == session.id && check::title_of(m.text.as_str()) == title.as_str());
            let Some(before) = session.title.filter(quotes) else { continue };
            let first = store.list_messages(caller, session.id, &Page::first(TITLE_MESSAGES), false).await?.items;
            let makes_title =
                |m: &&Message| m.role == Role::User && !m.text.as_str().trim().is_empty() && !forgotten.iter().any(|f| f.id == m.id);
            let after = first.iter().map(|(_, m)| m).find(makes_title).map(|m| UserText::from(check::title_of(m.text.as_str())));
            titles.push(ReplacedTitle { session: session.id, before, after });
        }
        Ok(titles)
    }

    /// Hides the answers that cite what is forgotten.
    async fn hide_citing_answers(&self, caller: &Caller, outcome: &mut ForgetOutcome) -> Result<(), UseCaseError> {
        let facts: Vec<FactId> = outcome.knowledge.facts.iter().map(|f| f.id).collect();
        let mut cited: Vec<MessageId> = outcome.hidden.iter().chain(&outcome.redacted).copied().collect();
        for _ in 0..MAX_CITING {
            let answers = self.parts.store.answers_citing(caller, &cited, &facts, MAX_FORGOTTEN as u32).await?;
            cited = answers.into_iter().filter(|a| outcome.hidden.insert(*a)).collect();
            if cited.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the events of a forgetting for the sessions whose logs begin again, and for other ones.
    async fn events_of_forgetting(
        &self,
        caller: &Caller,
        outcome: &ForgetOutcome,
        messages: &[Message],
        evidence: &[Evidence],
        now: Timestamp,
    ) -> Result<(SessionEvents, SessionEvents), UseCaseError> {
        let gone = outcome.knowledge.facts.iter().map(|f| (forget::retracted(f, now), FactChange::Retracted));
        let changed = outcome.knowledge.changed.iter().map(|(_, after)| (after.clone(), FactChange::Revised));
        let facts: Vec<(Fact, FactChange)> = gone.chain(changed).collect();
        let deleted: HashSet<FactId> = outcome.knowledge.facts.iter().map(|f| f.id).collect();
        let in_logs = evidence.iter().filter(|e| deleted.contains(&e.fact)).map(|e| e.session);
        let logs: BTreeSet<SessionId> = in_logs.chain(messages.iter().map(|m| m.session)).collect();
        let places: Vec<_> = messages.iter().map(|m| (m.id, m.session)).collect();
        let events = self.memory_events(caller, &facts, &places, evidence, false, now).await?;
        let (affected, mut elsewhere): (Vec<_>, Vec<_>) = events.into_iter().partition(|(session, _)| logs.contains(session));
        elsewhere.truncate(MAX_SESSIONS as usize);
        Ok((affected, elsewhere))
    }

    /// Returns the events of changed facts and messages, by session.
    pub(super) async fn memory_events(
        &self,
        caller: &Caller,
        facts: &[(Fact, FactChange)],
        messages: &[(MessageId, SessionId)],
        evidence: &[Evidence],
        restored: bool,
        now: Timestamp,
    ) -> Result<SessionEvents, UseCaseError> {
        let mut sessions: HashMap<FactId, BTreeSet<SessionId>> = HashMap::new();
        for e in evidence {
            sessions.entry(e.fact).or_default().insert(e.session);
        }
        let mut by_session: BTreeMap<SessionId, Vec<MessageId>> = BTreeMap::new();
        for (message, session) in messages {
            by_session.entry(*session).or_default().push(*message);
        }
        let sides: BTreeSet<EntityId> = facts.iter().flat_map(|(f, _)| [f.subject, f.object]).collect();
        let (store, sides) = (&self.parts.store, sides.into_iter().collect::<Vec<_>>());
        let sides = if restored { store.entities_to_restore(caller, &sides).await? } else { store.entities_by_id(caller, &sides).await? };
        let ontology = &self.parts.ontology;
        let changed = ChangedMemory { facts, sessions: &sessions, messages: &by_session, restored, sides: &sides, ontology, now };
        let draft = |body: EventBody| EventDraft { id: EventId(self.parts.ids.fresh()), body };
        Ok(forget::events(&changed).into_iter().map(|(s, bodies)| (s, bodies.into_iter().map(draft).collect())).collect())
    }
}
