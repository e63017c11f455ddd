//! Loads what is known, decides, commits, and starts again when the plan was stale. The only room that turns
//! candidates into stored knowledge.

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
};
use recall_domain::{Caller, Entity, EntityId, Extraction, Fact, FactId, MessageId, Ontology, SessionId, Timestamp, UserText};
use recall_ports::{Claim, Clock, CommitError, EntityFilter, FactFilter, FactKey, Ids, JobWork, KnowledgeCommit, Store, StoreError};

/// How often a stale plan is made anew. Each time another worker of the same user has made progress.
const MAX_REPLANS: u32 = 50;
/// How many users can be learned about at the same time, at most.
const LOCKS: usize = 64;
/// How many entities are looked at for a part of their name, how many of one message need a closer look, and with how many others
/// that it names they may have to do.
const MAX_HINTED: u32 = 200;
const MAX_AMBIGUOUS: usize = 100;
const MAX_NEIGHBOURS: usize = 50;
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
    pub is_impersonal: bool,
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
    locks: Arc<[Mutex<()>; LOCKS]>,
    limits: SessionLimits,
}

impl Learner {
    /// A learner over a store.
    pub fn new(store: Arc<dyn Store>, ontology: Arc<Ontology>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let locks = Arc::new(std::array::from_fn(|_| Mutex::new(())));
        Self { store, ontology, clock, ids, locks, limits: SessionLimits::default() }
    }

    /// The same, with limits to what a session may add.
    pub fn with_limits(self, limits: SessionLimits) -> Self {
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

    /// Waits until no other plan of this user is being made here. Whoever changes knowledge by hand takes part.
    pub async fn lock_user(&self, caller: &Caller) -> MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(caller.user());
        self.locks[hash as usize % LOCKS].lock().await
    }

    async fn plan(&self, caller: &Caller, s: &Statement) -> Result<KnowledgeCommit, StoreError> {
        let store = &self.store;
        // Read first, so that whatever changes while the rest is read makes the plan stale.
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

    /// What is known that bears on whom the message means: one read for keys, one for parts of names if it has any, and two
    /// more where the names alone do not decide.
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

    /// How many things the session may still add, if there is a limit and the message adds any. In shared memory there is none. Counted by what it speaks of.
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

    /// The same for facts.
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
        // A fact that is new takes over what supports its rivals. Most messages repeat a fact, and then nobody asks for the
        // evidence, which may be a thousand rows.
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
