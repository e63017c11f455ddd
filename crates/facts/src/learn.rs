//! Turns extracted candidates into stored knowledge: load, decide, commit.
//!
//! Only this module commits what messages state. If the plan is stale, it plans again.

use std::{
    collections::HashSet,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use tokio::sync::{Mutex, MutexGuard};

use crate::{
    decide::{KnownFacts, decide},
    message_entities::{MessageCues, MessageEntities, lookup_terms_of},
    resolve::{Ambiguity, KnownEntities},
    session_limits::{SessionLimits, trimmed_to_budget},
    statement::Statement,
};
use recall_domain::{Caller, Entity, EntityId, Fact, FactId, Ontology};
use recall_ports::{
    Claim, Clock, CommitError, EntityFilter, FactFilter, FactKey, Ids, JobWork, KnowledgeCommit, KnowledgeStore, StoreError,
};

/// Limit of attempts with stale plans. Each one means that another worker of the same user made progress.
const MAX_REPLANS: u32 = 50;
/// Number of user locks, which bounds how many users can be processed at once.
const LOCKS: usize = 64;
/// Most entities loaded by a part of their name.
const MAX_HINTED: u32 = 200;
/// Most ambiguous entities of one message for which recent mentions and facts are loaded.
const MAX_AMBIGUOUS: usize = 100;
/// Most clearly named entities whose facts with the ambiguous ones are loaded.
const MAX_NEIGHBOURS: usize = 50;
/// Most evidence rows of each rival that are copied to a new fact.
const RIVAL_EVIDENCE: u32 = 50;

/// Why a message changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The claim was lost, or the job was already done.
    #[error("the job is no longer ours")]
    NotOurs,
    /// Other workers kept changing the same knowledge.
    #[error("the knowledge changed too often meanwhile")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Commits the knowledge that messages state.
#[derive(Clone)]
pub struct Learner {
    store: Arc<dyn KnowledgeStore>,
    ontology: Arc<Ontology>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    /// Locks that let one plan of a user be made at a time.
    ///
    /// Of several concurrent plans, all but one would be stale, and with many waiting sessions most work would be wasted. Users share
    /// the locks by hash, which only costs a wait. Other server processes do not share them; the knowledge version covers that case.
    locks: Arc<[Mutex<()>; LOCKS]>,
    limits: SessionLimits,
}

impl Learner {
    /// Creates a learner without session limits.
    pub fn new(store: Arc<dyn KnowledgeStore>, ontology: Arc<Ontology>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let locks = Arc::new(std::array::from_fn(|_| Mutex::new(())));
        Self { store, ontology, clock, ids, locks, limits: SessionLimits::default() }
    }

    /// Sets how much a session may add.
    pub fn with_limits(self, limits: SessionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Commits what a message states, the end of its job and the follow-up job. Returns the changed facts.
    ///
    /// # Errors
    /// See [`LearnError`]. Nothing is written on an error.
    pub async fn learn(
        &self,
        caller: &Caller,
        s: &Statement,
        follow_up: Option<JobWork>,
        claim: Option<&Claim>,
    ) -> Result<Vec<Fact>, LearnError> {
        let _guard = self.lock_user(caller).await;
        for _ in 0..MAX_REPLANS {
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

    /// Waits until this process makes no other plan for the user, and locks the user. Manual changes take the lock too.
    pub async fn lock_user(&self, caller: &Caller) -> MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(caller.user());
        self.locks[hash as usize % LOCKS].lock().await
    }

    async fn plan(&self, caller: &Caller, s: &Statement) -> Result<KnowledgeCommit, StoreError> {
        let store = &self.store;
        // The version is read first, so any later change makes the plan stale.
        let version = store.knowledge_version(caller).await?;
        let message_cues = MessageCues::of(s);
        let known_entities = self.load_known_entities(caller, s, &message_cues).await?;
        let now = self.clock.now();
        let mut fresh = || self.ids.fresh();
        let mut message_entities = MessageEntities::resolve(s, &message_cues, &known_entities, &mut fresh, now);
        let trimmed = match self.remaining_entities(caller, s, &message_entities).await? {
            Some(budget) => trimmed_to_budget(s, &message_entities, budget),
            None => None,
        };
        if let Some(trimmed) = &trimmed {
            metrics::counter!("recall_session_limits_reached_total", "of" => "entities").increment(1);
            message_entities = MessageEntities::resolve(trimmed, &MessageCues::of(trimmed), &known_entities, &mut fresh, now);
        }
        let s = trimmed.as_ref().unwrap_or(s);
        let fact_keys = message_entities.fact_keys(s, &self.ontology);
        let known = if fact_keys.is_empty() {
            KnownFacts { version, ..KnownFacts::default() }
        } else {
            self.load_known_facts(caller, s, &message_entities, version, &fact_keys).await?
        };
        let known = KnownFacts { fact_budget: self.remaining_facts(caller, s).await?, ..known };
        Ok(decide(s, &message_entities, known, &self.ontology, &mut fresh, now))
    }

    /// Loads the entities that the message may mean.
    ///
    /// This needs one read for keys, and one for hints if there are any. If the names are ambiguous, two more reads follow.
    async fn load_known_entities(&self, caller: &Caller, s: &Statement, message_cues: &MessageCues) -> Result<KnownEntities, StoreError> {
        let store = &self.store;
        let (keys, hints) = lookup_terms_of(s);
        let mut known_entities = KnownEntities::default();
        if !keys.is_empty() {
            known_entities.by_key = store.entities_by_key(caller, &keys).await?;
        }
        if !hints.is_empty() {
            known_entities.by_hint = store.entities_by_hint(caller, &hints, MAX_HINTED).await?;
        }
        if s.speaker.is_none() && !s.is_impersonal && (!s.extraction.facts.is_empty() || message_cues.introduces_speaker()) {
            known_entities.viewer = store.viewer_entity(caller).await?;
        }
        let Ambiguity { mut ambiguous, mut neighbours } = message_cues.find_ambiguity(s, &known_entities);
        ambiguous.truncate(MAX_AMBIGUOUS);
        neighbours.truncate(MAX_NEIGHBOURS);
        if !ambiguous.is_empty() {
            known_entities.recent = store.recently_mentioned(caller, s.session, &ambiguous).await?;
        }
        if !ambiguous.is_empty() && !neighbours.is_empty() {
            known_entities.facts = store.facts_between(caller, &ambiguous, &neighbours).await?;
        }
        Ok(known_entities)
    }

    /// How many entities the session may still add. `None` without a limit, for shared memory, and if the message adds none.
    async fn remaining_entities(
        &self,
        caller: &Caller,
        s: &Statement,
        message_entities: &MessageEntities,
    ) -> Result<Option<usize>, StoreError> {
        let Some(limit) = self.limits.entities.filter(|_| !message_entities.fresh.is_empty() && !caller.is_shared()) else {
            return Ok(None);
        };
        let there = self.store.count_entities(caller, &EntityFilter { session: Some(s.session), ..EntityFilter::default() }).await?;
        Ok(Some(usize::try_from(u64::from(limit).saturating_sub(there)).unwrap_or(usize::MAX)))
    }

    /// How many facts the session may still add; see [`Self::remaining_entities`].
    async fn remaining_facts(&self, caller: &Caller, s: &Statement) -> Result<Option<usize>, StoreError> {
        let Some(limit) = self.limits.facts.filter(|_| !s.extraction.facts.is_empty() && !caller.is_shared()) else { return Ok(None) };
        let there = self.store.count_facts(caller, &FactFilter { session: Some(s.session), ..FactFilter::default() }).await?;
        Ok(Some(usize::try_from(u64::from(limit).saturating_sub(there)).unwrap_or(usize::MAX)))
    }

    async fn load_known_facts(
        &self,
        caller: &Caller,
        s: &Statement,
        message_entities: &MessageEntities,
        version: u64,
        keys: &[FactKey],
    ) -> Result<KnownFacts, StoreError> {
        let facts = self.store.facts_by_key(caller, keys, u32::MAX).await?;
        let counted: HashSet<FactId> = self.store.facts_in(caller, &[s.message]).await?.into_iter().map(|(_, fact, _)| fact).collect();
        // A new fact copies the support of its rivals. Most messages repeat a known fact and do not need this evidence, which may be a
        // thousand rows.
        let opens = message_entities.claims(s, &self.ontology).iter().any(|c| !facts.iter().any(|f| c.matches(f, &self.ontology)));
        let ids: Vec<FactId> = facts.iter().filter(|_| opens).map(|f| f.id).collect();
        let evidence = if ids.is_empty() { Vec::new() } else { self.store.evidence_of(caller, &ids, RIVAL_EVIDENCE).await? };
        let mut sides: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        sides.sort();
        sides.dedup();
        let entities: Vec<Entity> = self.store.entities_by_id(caller, &sides).await?;
        Ok(KnownFacts { version, facts, counted, evidence, entities, fact_budget: None })
    }
}
