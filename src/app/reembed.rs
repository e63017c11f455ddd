//! Brings all vectors to the embedding model that is configured, user by user, while they are searched by those they have: newest
//! messages first, in pages, each of which is kept as it is made. So whatever ends the work, it goes on where it was.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    output::{self, say},
    wiring,
};
use crate::config::Config;
use crate::system::SystemClock;
use recall_domain::UserText;
use recall_ports::{Clock, EmbedError, Embedder, Embedding, MessageWithoutVector, Replaced, Store, StoreError, VectorClaim, VectorStep};

/// Rows of one page: about one request of a model server.
const PAGE: u64 = 64;
/// Vectors that take the place of others in one transaction.
const REPLACED: u32 = 500;
/// How often work is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How often what is left is counted, which reads all that is left.
const COUNT_EVERY: Duration = Duration::from_secs(60);
/// Waits after failures in a row; the last is repeated.
const RETRY_DELAYS: [u64; 5] = [2, 10, 30, 120, 300];
/// Longest rest after a page.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// Whether a model refuses one text or everything is seen by this one.
const HARMLESS: &str = "A walk by the sea.";

/// How much of the machine is taken, and when others may take over.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a user is kept from other processes without a word of ours. Longer than a page takes to be embedded.
    pub lease: Duration,
    /// How long old vectors stay after new ones have come into use: longer than any search.
    pub pause: Duration,
    /// Rest after each page as long as it took, so that questions and messages come first.
    pub gentle: bool,
}

impl Pace {
    /// What the configuration makes of it.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            lease: config.processing.lease() + config.embeddings.timeout() * 2,
            pause: Duration::from_secs(config.storage.statement_seconds) * 2,
            gentle: true,
        }
    }
}

/// What became of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// All vectors are of the model.
    Settled,
    /// All messages have vectors of the model, which are in use now; the old ones go later.
    InUse,
    /// Another process goes on with it, or another model is wanted by now.
    NotOurs,
    /// There is no user to work on now.
    Nothing,
}

/// Why a round ended early.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The embedder.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Makes vectors of one model for whoever lacks them.
pub struct Reembedder {
    store: Arc<dyn Store>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    pace: Pace,
}

impl Reembedder {
    /// Over a store, with the embedder that is configured.
    pub fn new(store: Arc<dyn Store>, embedder: Arc<dyn Embedder>, clock: Arc<dyn Clock>, pace: Pace) -> Self {
        Self { store, embedder, clock, pace }
    }

    /// Says that vectors are to be of this model. Called at start; who starts last is right.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn announce(&self) -> Result<(), StoreError> {
        self.store.want_model(self.embedder.model()).await
    }

    /// Works on one user.
    ///
    /// # Errors
    /// When the store or the embedder fails. What was made until then is kept, and the user is free for the next round.
    pub async fn round(&self) -> Result<Round, RoundError> {
        let model = self.embedder.model();
        let Some(claim) = self.store.claim_vectors(model, self.clock.now(), self.pace.lease).await? else { return Ok(Round::Nothing) };
        let done = self.user(&claim).await;
        // After a failure of the store the lease is left to end: others have their turn meanwhile.
        if matches!(done, Ok(Round::NotOurs) | Err(RoundError::Embed(_)))
            && let Err(e) = self.store.release_vectors(&claim).await
        {
            warn!(error = %e, "a user whose vectors are made could not be given back");
        }
        done
    }

    async fn user(&self, claim: &VectorClaim) -> Result<Round, RoundError> {
        let model = self.embedder.model();
        let (mut low, mut seen, mut made) = (0, claim.head, 0);
        let mut in_use = claim.in_use.as_deref() == Some(model) || claim.head == 0;
        loop {
            match self.fill(claim, low, seen).await? {
                None => return Ok(Round::NotOurs),
                Some(n) => made += n,
            }
            // Vectors of the model in use that were missing are seen by nobody until indexes are made anew.
            if !in_use || made > 0 {
                let pause = if in_use { Duration::ZERO } else { self.pace.pause };
                match self.store.use_vectors(claim, model, seen, self.clock.now(), pause).await? {
                    VectorStep::NotOurs => return Ok(Round::NotOurs),
                    VectorStep::Done if !in_use => return Ok(Round::InUse),
                    VectorStep::Done => made = 0,
                    VectorStep::Incomplete(head) => {
                        (low, seen) = (seen, head);
                        continue;
                    }
                }
            }
            in_use = true;
            let mut after = None;
            loop {
                match self.store.replace_vectors(claim, model, after, REPLACED, self.clock.now(), self.pace.lease).await? {
                    Replaced::NotOurs => return Ok(Round::NotOurs),
                    Replaced::All => break,
                    Replaced::UpTo(message) => after = Some(message),
                }
                tokio::task::yield_now().await;
            }
            match self.store.settle_vectors(claim, model, seen).await? {
                VectorStep::Done => return Ok(Round::Settled),
                VectorStep::NotOurs => return Ok(Round::NotOurs),
                VectorStep::Incomplete(head) => (low, seen) = (seen, head),
            }
        }
    }

    /// Makes what is missing for rows after `low` up to `high`, newest first. How many, or none when the user is not ours any more.
    async fn fill(&self, claim: &VectorClaim, low: u64, high: u64) -> Result<Option<u64>, RoundError> {
        let model = self.embedder.model();
        let (mut upto, mut made, mut told) = (high, 0, Instant::now());
        while upto > low {
            let started = Instant::now();
            let after = upto.saturating_sub(PAGE).max(low);
            let missing = self.store.without_vector(&claim.caller, model, after, upto).await?;
            upto = after;
            if missing.is_empty() && told.elapsed() < self.pace.lease / 4 {
                continue;
            }
            let count = missing.len() as u64;
            let vectors = if missing.is_empty() { Vec::new() } else { self.vectors(&missing).await? };
            let vectors = missing.into_iter().map(|m| m.message).zip(vectors).collect();
            let kept = self.store.keep_vectors(claim, model, vectors, self.clock.now(), self.pace.lease).await?;
            if kept == VectorStep::NotOurs {
                return Ok(None);
            }
            told = Instant::now();
            made += count;
            metrics::counter!("recall_reembedded_messages_total").increment(count);
            if self.pace.gentle && count > 0 {
                tokio::time::sleep(started.elapsed().min(LONGEST_REST)).await;
            }
        }
        Ok(Some(made))
    }

    /// A vector for each. A text that the model refuses, while it takes others, gets one that is like nothing: else a single one
    /// would keep its user from the new model for ever.
    async fn vectors(&self, missing: &[MessageWithoutVector]) -> Result<Vec<Embedding>, EmbedError> {
        let texts: Vec<UserText> = missing.iter().map(|m| m.text.clone()).collect();
        match self.embed(&texts).await {
            Err(EmbedError::Permanent(_)) => {}
            done => return done,
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for text in &texts {
            match self.embed(std::slice::from_ref(text)).await {
                Ok(mut one) => vectors.append(&mut one),
                Err(EmbedError::Permanent(cause)) => {
                    self.embed(&[HARMLESS.into()]).await?;
                    warn!(cause, "a message is refused by the embedding model; it is found by its words only");
                    vectors.push(Embedding(vec![0.0; self.embedder.dimension()]));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(vectors)
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        let vectors = self.embedder.embed(texts).await?;
        if vectors.len() != texts.len() {
            return Err(EmbedError::Transient("not one vector for each text".into()));
        }
        Ok(vectors)
    }

    /// Works whenever there is something to do, until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut failures = 0;
        let mut announced = false;
        let mut counted: Option<Instant> = None;
        let mut busy = false;
        loop {
            let work = async {
                if !announced {
                    self.announce().await?;
                    announced = true;
                }
                if busy && counted.is_none_or(|c| c.elapsed() > COUNT_EVERY) {
                    counted = Some(Instant::now());
                    self.count().await?;
                }
                self.round().await
            };
            let done = tokio::select! {
                // A page at work is dropped; what is kept stays.
                () = stop.cancelled() => return,
                done = work => done,
            };
            let wait = match done {
                Ok(Round::Nothing) => {
                    if std::mem::take(&mut busy) {
                        counted = None;
                        if let Err(e) = self.count().await {
                            warn!(error = %e, "what is left to be embedded could not be counted");
                        }
                    }
                    failures = 0;
                    LOOK_EVERY
                }
                Ok(_) => {
                    if !std::mem::replace(&mut busy, true) {
                        info!(model = self.embedder.model(), "messages are embedded anew");
                    }
                    failures = 0;
                    Duration::ZERO
                }
                Err(e) => {
                    let seconds = RETRY_DELAYS.get(failures).or(RETRY_DELAYS.last()).copied().unwrap_or_default();
                    failures += 1;
                    warn!(error = %e, seconds, "messages cannot be embedded anew now; search goes on with the vectors they have");
                    Duration::from_secs(seconds)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn count(&self) -> Result<(), StoreError> {
        let left = self.store.vector_backlog(self.embedder.model()).await?;
        metrics::gauge!("recall_reembedding_users").set(left.users as f64);
        metrics::gauge!("recall_reembedding_messages").set(left.messages as f64);
        Ok(())
    }
}

/// `recall embed`: the same in the foreground, at full speed.
pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    let store = wiring::store(config, config.storage.migrate).await?.store;
    let done = foreground(config, store.clone()).await;
    store.close().await;
    done
}

async fn foreground(config: &Config, store: Arc<dyn Store>) -> anyhow::Result<()> {
    let embedder = wiring::embedders(config).await?.embedder;
    let model = embedder.model().to_owned();
    let pace = Pace { gentle: false, ..Pace::of(config) };
    let work = Reembedder::new(store.clone(), embedder, Arc::new(SystemClock), pace);
    work.announce().await?;
    let (mut told, mut failures) = (None, 0);
    loop {
        let round = match work.round().await {
            Err(RoundError::Embed(e @ EmbedError::Transient(_))) if failures < RETRY_DELAYS.len() => {
                let seconds = RETRY_DELAYS.get(failures).copied().unwrap_or_default();
                output::note(format_args!("{e}; tried again in {seconds} s"));
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                failures += 1;
                continue;
            }
            done => done?,
        };
        failures = 0;
        let left = store.vector_backlog(&model).await?;
        if told.replace(left) != Some(left) {
            say!("{model}: {} messages of {} users are left", left.messages, left.users)?;
        }
        if left.users == 0 {
            return Ok(());
        }
        if matches!(round, Round::Nothing | Round::NotOurs) {
            // Old vectors are still in use by searches, or another process works on the rest.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
