//! Turns extracted candidates into stored knowledge: load, decide, commit.
//!
//! Only this module commits what messages state. It plans inside the transaction of the store, so nothing changes in between.

use std::{
    collections::HashSet,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    decide::{KnownFacts, decide},
    message_entities::{MessageCues, MessageEntities, lookup_terms_of},
    resolve::{Ambiguity, KnownEntities},
    session_limits::{SessionLimits, trimmed_to_budget},
    statement::Statement,
};
use recall_domain::{Caller, Entity, EntityId, EventId, Fact, FactId, MessageId, Ontology, SessionId};
use recall_ports::{
    Claim, Clock, CommitError, EntityFilter, FactFilter, FactKey, Ids, JobWork, KnowledgeCommit, KnowledgeReads, KnowledgeStore,
    MessagePlanner, NewMessage, StoreError,
};

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
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for LearnError {
    fn from(e: CommitError) -> Self {
        match e {
            CommitError::NotOurs => Self::NotOurs,
            // A plan that is made inside its transaction is never stale.
            CommitError::Stale => Self::Store(StoreError::Permanent("a plan was stale inside its transaction".into())),
            CommitError::Store(e) => Self::Store(e),
        }
    }
}

/// Commits the knowledge that messages state.
#[derive(Clone)]
pub struct Learner {
    store: Arc<dyn KnowledgeStore>,
    planning: Arc<Planning>,
    limits: SessionLimits,
    /// Locks that let one change of a user's knowledge be made at a time.
    ///
    /// A manual change is planned before its transaction, so it would be stale whenever a message is learned meanwhile. Users share the
    /// locks by hash, which only costs a wait. Other server processes do not share them; the knowledge version covers that case.
    locks: Arc<[Mutex<()>; LOCKS]>,
}

/// What every plan needs besides the message.
struct Planning {
    ontology: Arc<Ontology>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

/// The planner of one message.
struct Planner {
    planning: Arc<Planning>,
    limits: SessionLimits,
    statement: Statement,
    follow_up: Option<JobWork>,
}

impl Learner {
    /// Creates a learner.
    pub fn new(
        store: Arc<dyn KnowledgeStore>,
        ontology: Arc<Ontology>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        limits: SessionLimits,
    ) -> Self {
        let locks = Arc::new(std::array::from_fn(|_| Mutex::new(())));
        Self { store, planning: Arc::new(Planning { ontology, clock, ids }), limits, locks }
    }

    /// Commits what messages of one session state, the ends of their jobs and the follow-up jobs. Returns the changed facts of each
    /// message that was committed: the first, and as many of the next as the store takes together.
    ///
    /// # Errors
    /// See [`LearnError`]. Nothing is written on an error.
    pub async fn learn(
        &self,
        caller: &Caller,
        statements: Vec<(Statement, Option<JobWork>)>,
        claim: Option<&Claim>,
    ) -> Result<Vec<Vec<Fact>>, LearnError> {
        let _guard = self.lock_user(caller).await;
        let messages: Vec<_> = statements.into_iter().map(|(statement, follow_up)| self.planner(caller, statement, follow_up)).collect();
        Ok(self.store.learn(caller, &messages, claim).await?)
    }

    /// Stores a message together with what it states. Returns the changed facts.
    ///
    /// # Errors
    /// See [`LearnError`]. Nothing is written on an error.
    pub async fn append_and_learn(&self, caller: &Caller, message: &NewMessage, statement: Statement) -> Result<Vec<Fact>, LearnError> {
        let _guard = self.lock_user(caller).await;
        Ok(self.store.append_and_learn(caller, message, self.planner(caller, statement, None)).await?)
    }

    fn planner(&self, caller: &Caller, statement: Statement, follow_up: Option<JobWork>) -> Arc<dyn MessagePlanner> {
        let limits = if caller.is_shared() { SessionLimits::default() } else { self.limits };
        Arc::new(Planner { planning: self.planning.clone(), limits, statement, follow_up })
    }

    /// Waits until this process makes no other change for the user, and locks the user. Manual changes take the lock too.
    pub async fn lock_user(&self, caller: &Caller) -> MutexGuard<'_, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(caller.user());
        self.locks[hash as usize % LOCKS].lock().await
    }
}

#[async_trait]
impl MessagePlanner for Planner {
    fn session(&self) -> SessionId {
        self.statement.session
    }

    fn message(&self) -> MessageId {
        self.statement.message
    }

    fn chunk_event(&self) -> Option<EventId> {
        self.statement.chunk_event
    }

    async fn plan(&self, known: &mut dyn KnowledgeReads) -> Result<KnowledgeCommit, StoreError> {
        let Planning { ontology, clock, ids } = self.planning.as_ref();
        let (store, s) = (known, &self.statement);
        let version = store.version().await?;
        let message_cues = MessageCues::of(s);
        let known_entities = load_known_entities(store, s, &message_cues).await?;
        let now = clock.now();
        let mut fresh = || ids.fresh();
        let mut message_entities = MessageEntities::resolve(s, &message_cues, &known_entities, &mut fresh, now);
        // A question is no news of what it names, so it adds no entities.
        let only_asks = s.only_asks();
        let budget = if only_asks { Some(0) } else { self.remaining_entities(store, s, &message_entities).await? };
        let trimmed = budget.and_then(|budget| trimmed_to_budget(s, &message_entities, budget));
        if let Some(trimmed) = &trimmed {
            if !only_asks {
                metrics::counter!("recall_session_limits_reached_total", "of" => "entities").increment(1);
            }
            message_entities = MessageEntities::resolve(trimmed, &MessageCues::of(trimmed), &known_entities, &mut fresh, now);
        }
        let s = trimmed.as_ref().unwrap_or(s);
        let fact_keys = message_entities.fact_keys(s, ontology);
        let known = if fact_keys.is_empty() {
            KnownFacts { version, ..KnownFacts::default() }
        } else {
            self.load_known_facts(store, s, &message_entities, version, &fact_keys).await?
        };
        let known = KnownFacts { fact_budget: self.remaining_facts(store, s).await?, ..known };
        let plan = decide(s, &message_entities, known, ontology, &mut fresh, now);
        Ok(KnowledgeCommit { follow_up: self.follow_up, ..plan })
    }
}

impl Planner {
    /// How many entities the session may still add. `None` without a limit, for shared memory, and if the message adds none.
    async fn remaining_entities(
        &self,
        store: &mut dyn KnowledgeReads,
        s: &Statement,
        message_entities: &MessageEntities,
    ) -> Result<Option<usize>, StoreError> {
        let Some(limit) = self.limits.entities.filter(|_| !message_entities.fresh.is_empty()) else {
            return Ok(None);
        };
        let there = store.count_entities(&EntityFilter { session: Some(s.session), ..EntityFilter::default() }).await?;
        Ok(Some(usize::try_from(u64::from(limit).saturating_sub(there)).unwrap_or(usize::MAX)))
    }

    /// How many facts the session may still add; see [`Self::remaining_entities`].
    async fn remaining_facts(&self, store: &mut dyn KnowledgeReads, s: &Statement) -> Result<Option<usize>, StoreError> {
        let Some(limit) = self.limits.facts.filter(|_| !s.extraction.facts.is_empty()) else { return Ok(None) };
        let there = store.count_facts(&FactFilter { session: Some(s.session), ..FactFilter::default() }).await?;
        Ok(Some(usize::try_from(u64::from(limit).saturating_sub(there)).unwrap_or(usize::MAX)))
    }

    async fn load_known_facts(
        &self,
        store: &mut dyn KnowledgeReads,
        s: &Statement,
        message_entities: &MessageEntities,
        version: u64,
        keys: &[FactKey],
    ) -> Result<KnownFacts, StoreError> {
        let facts = store.facts_by_key(keys).await?;
        let counted: HashSet<FactId> = store.facts_in(&[s.message]).await?.into_iter().map(|(_, fact, _)| fact).collect();
        // A new fact copies the support of its rivals, and an end without an object needs the words that told the fact. Most messages repeat a
        // known fact and do not need this evidence, which may be a thousand rows.
        let ontology = &self.planning.ontology;
        let opens = s.extraction.possible_ends.iter().any(|end| end.object.is_none())
            || message_entities.claims(s, ontology).iter().any(|c| !facts.iter().any(|f| c.matches(f, ontology)));
        let ids: Vec<FactId> = facts.iter().filter(|_| opens).map(|f| f.id).collect();
        let evidence = if ids.is_empty() { Vec::new() } else { store.evidence_of(&ids, RIVAL_EVIDENCE).await? };
        let mut sides: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        sides.sort();
        sides.dedup();
        let entities: Vec<Entity> = store.entities_by_id(&sides).await?;
        Ok(KnownFacts { version, facts, counted, evidence, entities, fact_budget: None })
    }
}

/// Loads the entities that the message may mean.
///
/// This needs one read for keys, and one for hints if there are any. If the names are ambiguous, two more reads follow.
async fn load_known_entities(
    store: &mut dyn KnowledgeReads,
    s: &Statement,
    message_cues: &MessageCues,
) -> Result<KnownEntities, StoreError> {
    let (keys, hints) = lookup_terms_of(s);
    let mut known_entities = KnownEntities::default();
    if !keys.is_empty() {
        known_entities.by_key = store.entities_by_key(&keys).await?;
    }
    if !hints.is_empty() {
        known_entities.by_hint = store.entities_by_hint(&hints, MAX_HINTED).await?;
    }
    if s.speaker.is_none()
        && !s.is_impersonal
        && (!s.extraction.facts.is_empty()
            || !s.extraction.possible_ends.is_empty()
            || !s.extraction.names.is_empty()
            || message_cues.introduces_speaker())
    {
        known_entities.viewer = store.viewer_entity().await?;
    }
    let Ambiguity { mut ambiguous, mut neighbours } = message_cues.find_ambiguity(s, &known_entities);
    ambiguous.truncate(MAX_AMBIGUOUS);
    neighbours.truncate(MAX_NEIGHBOURS);
    if !ambiguous.is_empty() {
        known_entities.recent = store.recently_mentioned(s.session, &ambiguous).await?;
    }
    if !ambiguous.is_empty() && !neighbours.is_empty() {
        known_entities.facts = store.facts_between(&ambiguous, &neighbours).await?;
    }
    Ok(known_entities)
}
