//! Re-embeds messages after the embedding model has changed, one user at a time.
//!
//! Search uses the old vectors of a user until the new ones are complete. The newest messages come first. Each page of vectors is
//! stored at once, so an interrupted run resumes where it stopped.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    adapters,
    output::{self, say},
};
use crate::config::Config;
use crate::system::SystemClock;
use recall_domain::UserText;
use recall_ports::{Clock, EmbedError, Embedder, Embedding, MessageWithoutVector, Replaced, Store, StoreError, VectorClaim, VectorStep};

/// Rows per page: about one request to a model server.
const PAGE: u64 = 64;
/// Vectors replaced in one transaction.
const REPLACE_BATCH: u32 = 500;
/// How often to look for work.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// How often to count the remaining messages, which reads all of them.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);
/// Pauses in seconds after consecutive failures; the last one repeats.
const RETRY_DELAYS: [u64; 5] = [2, 10, 30, 120, 300];
/// Maximum pause after a page.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// A text that no model refuses. If it fails too, the model refuses everything and not just one message.
const HARMLESS: &str = "A walk by the sea.";

/// How fast to work, and when another process may take over.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time after which another process may claim the user, unless the lease is renewed. Longer than one page takes.
    pub lease: Duration,
    /// How long old vectors are kept after the new ones come into use. Longer than any search.
    pub pause: Duration,
    /// Whether to pause after each page for as long as it took, so that questions and messages come first.
    pub gentle: bool,
}

impl Pace {
    /// The pace of a background run, with times from the configuration.
    pub(super) fn from_config(config: &Config) -> Self {
        Self {
            lease: config.processing.lease() + config.embeddings.timeout() * 2,
            pause: Duration::from_secs(config.storage.statement_seconds) * 2,
            gentle: true,
        }
    }
}

/// The result of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// All vectors of the user are of the configured model.
    Settled,
    /// All messages have vectors of the configured model, and search uses them. A later round deletes the old ones.
    InUse,
    /// The claim was lost: another process works on the user, or another model is configured now.
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

/// Re-embeds the messages of users whose vectors are of another model.
#[derive(Clone)]
pub struct Reembedder {
    store: Arc<dyn Store>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    pace: Pace,
}

impl Reembedder {
    /// Builds a re-embedder for the model of `embedder`.
    pub fn new(store: Arc<dyn Store>, embedder: Arc<dyn Embedder>, clock: Arc<dyn Clock>, pace: Pace) -> Self {
        Self { store, embedder, clock, pace }
    }

    /// Records in the store that vectors shall be of this model. If servers disagree, the last one to start wins.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn announce(&self) -> Result<(), StoreError> {
        self.store.want_model(self.embedder.model()).await
    }

    /// Claims one user and re-embeds their messages.
    ///
    /// # Errors
    /// If the store or the embedder fails. Vectors made before the failure are kept, and a later round can claim the user.
    pub async fn round(&self) -> Result<Round, RoundError> {
        let model = self.embedder.model();
        let Some(claim) = self.store.claim_vectors(model, self.clock.now(), self.pace.lease).await? else { return Ok(Round::Nothing) };
        let done = self.reembed_user(&claim).await;
        // After a store failure the claim is not released. Other users are processed until its lease expires.
        if matches!(done, Ok(Round::NotOurs) | Err(RoundError::Embed(_)))
            && let Err(e) = self.store.release_vectors(&claim).await
        {
            warn!(error = %e, "the claim on a user could not be released");
        }
        done
    }

    async fn reembed_user(&self, claim: &VectorClaim) -> Result<Round, RoundError> {
        let model = self.embedder.model();
        let (mut low, mut seen, mut made) = (0, claim.head, 0);
        let mut in_use = claim.in_use.as_deref() == Some(model) || claim.head == 0;
        loop {
            match self.fill(claim, low, seen).await? {
                None => return Ok(Round::NotOurs),
                Some(n) => made += n,
            }
            // Even if the model is already in use, new vectors become visible only when the indexes are rebuilt.
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
                match self.store.replace_vectors(claim, model, after, REPLACE_BATCH, self.clock.now(), self.pace.lease).await? {
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

    /// Makes the missing vectors of the rows after `low` up to `high`, newest first.
    ///
    /// Returns their number, or `None` if the claim was lost.
    async fn fill(&self, claim: &VectorClaim, low: u64, high: u64) -> Result<Option<u64>, RoundError> {
        let model = self.embedder.model();
        let (mut upto, mut made, mut renewed) = (high, 0, Instant::now());
        while upto > low {
            let started = Instant::now();
            let after = upto.saturating_sub(PAGE).max(low);
            let missing = self.store.without_vector(&claim.caller, model, after, upto).await?;
            upto = after;
            if missing.is_empty() && renewed.elapsed() < self.pace.lease / 4 {
                continue;
            }
            let count = missing.len() as u64;
            let vectors = if missing.is_empty() { Vec::new() } else { self.vectors(&missing).await? };
            let vectors = missing.into_iter().map(|m| m.message).zip(vectors).collect();
            let kept = self.store.keep_vectors(claim, model, vectors, self.clock.now(), self.pace.lease).await?;
            if kept == VectorStep::NotOurs {
                return Ok(None);
            }
            renewed = Instant::now();
            made += count;
            metrics::counter!("recall_reembedded_messages_total").increment(count);
            if self.pace.gentle && count > 0 {
                tokio::time::sleep(started.elapsed().min(MAX_PAUSE)).await;
            }
        }
        Ok(Some(made))
    }

    /// Makes one vector per message.
    ///
    /// If the model refuses a single text, that message gets a zero vector. Otherwise it would keep the user on the old model forever.
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
                    warn!(cause, "the embedding model refuses a message; only keyword search finds it");
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
            return Err(EmbedError::Transient("the embedder did not return one vector for each text".into()));
        }
        Ok(vectors)
    }

    /// Runs rounds in the background until `stop`.
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
                if busy && counted.is_none_or(|c| c.elapsed() > COUNT_INTERVAL) {
                    counted = Some(Instant::now());
                    self.count().await?;
                }
                self.round().await
            };
            let done = tokio::select! {
                // The current page is dropped; pages that are stored stay.
                () = stop.cancelled() => return,
                done = work => done,
            };
            let wait = match done {
                Ok(Round::Nothing) => {
                    if std::mem::take(&mut busy) {
                        counted = None;
                        if let Err(e) = self.count().await {
                            warn!(error = %e, "the messages left to re-embed could not be counted");
                        }
                    }
                    failures = 0;
                    POLL_INTERVAL
                }
                Ok(_) => {
                    if !std::mem::replace(&mut busy, true) {
                        info!(model = self.embedder.model(), "re-embedding messages");
                    }
                    failures = 0;
                    Duration::ZERO
                }
                Err(e) => {
                    let seconds = RETRY_DELAYS.get(failures).or(RETRY_DELAYS.last()).copied().unwrap_or_default();
                    failures += 1;
                    warn!(error = %e, seconds, "messages cannot be re-embedded now; search uses the old vectors");
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

/// `recall embed`: re-embeds all messages in the foreground, at full speed.
pub(super) async fn run(config: &Config) -> anyhow::Result<()> {
    let store = adapters::store(config, config.storage.migrate).await?.store;
    let done = foreground(config, store.clone()).await;
    store.close().await;
    done
}

async fn foreground(config: &Config, store: Arc<dyn Store>) -> anyhow::Result<()> {
    let embedder = adapters::embedders(config).await?.embedder;
    let model = embedder.model().to_owned();
    let pace = Pace { gentle: false, ..Pace::from_config(config) };
    let reembedder = Reembedder::new(store.clone(), embedder, Arc::new(SystemClock), pace);
    reembedder.announce().await?;
    let (mut printed, mut failures) = (None, 0);
    loop {
        let round = match reembedder.round().await {
            Err(RoundError::Embed(e @ EmbedError::Transient(_))) if failures < RETRY_DELAYS.len() => {
                let seconds = RETRY_DELAYS.get(failures).copied().unwrap_or_default();
                output::note(format_args!("{e}; retrying in {seconds} s"));
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                failures += 1;
                continue;
            }
            done => done?,
        };
        failures = 0;
        let left = store.vector_backlog(&model).await?;
        if printed.replace(left) != Some(left) {
            say!("{model}: {} messages of {} users left", left.messages, left.users)?;
        }
        if left.users == 0 {
            return Ok(());
        }
        if matches!(round, Round::Nothing | Round::NotOurs) {
            // Searches still use old vectors, or another process works on the other users.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
