//! Loads what is known, decides, commits, and starts again when the plan was stale. The only room that turns
//! candidates into stored knowledge.

use std::{
    collections::HashSet,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use tokio::sync::{Mutex, MutexGuard};

use crate::{
    decide::{Known, decide},
    message_entities::{Cast, Reading, lookups_of},
    resolve::{Contest, Memory},
    session_limits::{SessionLimits, thinned},
};
use recall_domain::{Caller, Entity, EntityId, Extraction, Fact, FactId, MessageId, Ontology, SessionId, Timestamp, UserText};
use recall_ports::{Claim, Clock, CommitError, EntityFilter, FactFilter, FactKey, Ids, JobWork, KnowledgeCommit, Store, StoreError};

/// How often a stale plan is made anew. Each time another worker of the same user has made progress.
const MAX_STALE: u32 = 50;
/// How many users can be learned about at the same time, at most.
const TURNS: usize = 64;
/// How many entities are looked at for a part of their name, how many of one message need a closer look, and with how many others
/// that it names they may have to do.
const MAX_HINTED: u32 = 200;
const MAX_CONTESTED: usize = 100;
const MAX_BESIDE: usize = 50;
/// How much evidence of each rival is copied to a new fact.
const RIVAL_EVIDENCE: u32 = 50;

/// A message with what was found in it.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The message.
    pub message: MessageId,
    /// Its session.
    pub session: SessionId,
    /// When it was said; facts are dated by this.
    pub at: Timestamp,
    /// Its text, for excerpts.
    pub text: UserText,
    /// Who says it, when that is not the user.
    pub speaker: Option<String>,
    /// That nobody in particular says it, as in shared memory: "I" means nobody then.
    pub nobody: bool,
    /// What was found.
    pub extraction: Extraction,
}

/// Why nothing was learned.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The job is not ours any more, or was done before.
    #[error("the job is no longer ours")]
    NotOurs,
    /// Others kept changing the same knowledge.
    #[error("the knowledge changed too often meanwhile")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Turns candidates into knowledge.
#[derive(Clone)]
pub struct Learner {
    store: Arc<dyn Store>,
    ontology: Arc<Ontology>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    /// One plan of a user at a time. Of several made side by side all but one would be stale, and with many sessions waiting
    /// most of the work was thrown away. Users share the places by hash, which costs a wait and nothing else; other server
    /// instances do not take part, and are what the version is for.
    turns: Arc<[Mutex<()>; TURNS]>,
    limits: SessionLimits,
}

impl Learner {
    /// A learner over a store.
    pub fn new(store: Arc<dyn Store>, ontology: Arc<Ontology>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let turns = Arc::new(std::array::from_fn(|_| Mutex::new(())));
        Self { store, ontology, clock, ids, turns, limits: SessionLimits::default() }
    }

    /// The same, with limits to what a session may add.
    pub fn limited(self, limits: SessionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Commits what a message states, with the end of its job and the work that follows. Returns the facts it changed.
    ///
    /// # Errors
    /// See [`LearnError`]; nothing is written then.
    pub async fn learn(
        &self,
        caller: &Caller,
        s: &Statement,
        follow_up: Option<JobWork>,
        claim: Option<&Claim>,
    ) -> Result<Vec<Fact>, LearnError> {
        let _turn = self.turn(caller).await;
        for _ in 0..MAX_STALE {
            let plan = KnowledgeCommit { follow_up, ..self.plan(caller, s).await? };
            match self.store.commit(caller, &plan, claim).await {
                Ok(_) => return Ok(plan.facts),
                Err(CommitError::Stale) => metrics::counter!("recall_stale_plans_total").increment(1),
                Err(CommitError::NotOurs) => return Err(LearnError::NotOurs),
                Err(CommitError::Store(e)) => return Err(e.into()),
            }
        }
        Err(LearnError::Contended)
    }

    /// Waits until no other plan of this user is being made here. Whoever changes knowledge by hand takes part.
    pub async fn turn(&self, caller: &Caller) -> MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(caller.user());
        self.turns[hash as usize % TURNS].lock().await
    }

    async fn plan(&self, caller: &Caller, s: &Statement) -> Result<KnowledgeCommit, StoreError> {
        let store = &self.store;
        // Read first, so that whatever changes while the rest is read makes the plan stale.
        let version = store.knowledge_version(caller).await?;
        let reading = Reading::of(s);
        let memory = self.recollect(caller, s, &reading).await?;
        let now = self.clock.now();
        let mut fresh = || self.ids.fresh();
        let mut cast = Cast::assemble(s, &reading, &memory, &mut fresh, now);
        let thin = match self.room_for_entities(caller, s, &cast).await? {
            Some(room) => thinned(s, &cast, room),
            None => None,
        };
        if let Some(thin) = &thin {
            metrics::counter!("recall_session_limits_reached_total", "of" => "entities").increment(1);
            cast = Cast::assemble(thin, &Reading::of(thin), &memory, &mut fresh, now);
        }
        let s = thin.as_ref().unwrap_or(s);
        let fact_keys = cast.fact_keys(s, &self.ontology);
        let known = if fact_keys.is_empty() {
            Known { version, ..Known::default() }
        } else {
            self.known(caller, s, &cast, version, &fact_keys).await?
        };
        let known = Known { room: self.room_for_facts(caller, s).await?, ..known };
        Ok(decide(s, &cast, known, &self.ontology, &mut fresh, now))
    }

    /// What is known that bears on whom the message means: one read for keys, one for parts of names if it has any, and two
    /// more where the names alone do not decide.
    async fn recollect(&self, caller: &Caller, s: &Statement, reading: &Reading) -> Result<Memory, StoreError> {
        let store = &self.store;
        let (keys, hints) = lookups_of(s);
        let mut memory = Memory::default();
        if !keys.is_empty() {
            memory.known = store.entities_by_key(caller, &keys).await?;
        }
        if !hints.is_empty() {
            memory.hinted = store.entities_by_hint(caller, &hints, MAX_HINTED).await?;
        }
        if s.speaker.is_none() && !s.nobody && (!s.extraction.facts.is_empty() || reading.names_speaker()) {
            memory.viewer = store.viewer_entity(caller).await?;
        }
        let Contest { mut contested, mut beside } = reading.contest(s, &memory);
        contested.truncate(MAX_CONTESTED);
        beside.truncate(MAX_BESIDE);
        if !contested.is_empty() {
            memory.recent = store.recently_mentioned(caller, s.session, &contested).await?;
        }
        if !contested.is_empty() && !beside.is_empty() {
            memory.facts = store.facts_between(caller, &contested, &beside).await?;
        }
        Ok(memory)
    }

    /// How many things the session may still add, if there is a limit and the message adds any. In shared memory there is none. Counted by what it speaks of.
    async fn room_for_entities(&self, caller: &Caller, s: &Statement, cast: &Cast) -> Result<Option<usize>, StoreError> {
        let Some(limit) = self.limits.entities.filter(|_| !cast.fresh.is_empty() && !caller.is_shared()) else { return Ok(None) };
        let there = self.store.count_entities(caller, &EntityFilter { session: Some(s.session), ..EntityFilter::default() }).await?;
        Ok(Some(usize::try_from(u64::from(limit).saturating_sub(there)).unwrap_or(usize::MAX)))
    }

    /// The same for facts.
    async fn room_for_facts(&self, caller: &Caller, s: &Statement) -> Result<Option<usize>, StoreError> {
        let Some(limit) = self.limits.facts.filter(|_| !s.extraction.facts.is_empty() && !caller.is_shared()) else { return Ok(None) };
        let there = self.store.count_facts(caller, &FactFilter { session: Some(s.session), ..FactFilter::default() }).await?;
        Ok(Some(usize::try_from(u64::from(limit).saturating_sub(there)).unwrap_or(usize::MAX)))
    }

    async fn known(&self, caller: &Caller, s: &Statement, cast: &Cast, version: u64, keys: &[FactKey]) -> Result<Known, StoreError> {
        let facts = self.store.facts_by_key(caller, keys, u32::MAX).await?;
        let counted: HashSet<FactId> = self.store.facts_in(caller, &[s.message]).await?.into_iter().map(|(_, fact, _)| fact).collect();
        // A fact that is new takes over what supports its rivals. Most messages repeat a fact, and then nobody asks for the
        // evidence, which may be a thousand rows.
        let opens = cast.claims(s, &self.ontology).iter().any(|c| !facts.iter().any(|f| c.is(f, &self.ontology)));
        let ids: Vec<FactId> = facts.iter().filter(|_| opens).map(|f| f.id).collect();
        let evidence = if ids.is_empty() { Vec::new() } else { self.store.evidence_of(caller, &ids, RIVAL_EVIDENCE).await? };
        let mut sides: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        sides.sort();
        sides.dedup();
        let entities: Vec<Entity> = self.store.entities_by_id(caller, &sides).await?;
        Ok(Known { version, facts, counted, evidence, entities, room: None })
    }
}
