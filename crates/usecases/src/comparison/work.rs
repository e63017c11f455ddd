//! The work of a comparison's job: select passages, compare them group by group, and write the report.
//!
//! Each step is one transaction that checks how many steps are completed. After a crash the next attempt continues with the next step.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    Compared,
    narrow::asks_for_all,
    select::{Candidate, select},
};
use crate::{failure::Failure, use_cases::UseCases, work::Done};
use recall_domain::{
    Caller, Chunk, Comparison, ComparisonId, ComparisonPoint, EventId, MessageId, PassageGroup, UserText,
    comparison::ALIGNMENT,
    context::{ContextQuery, Method, Scope, SearchSource, SearchSources},
};
use recall_ports::{ComparedPassage, ComparedPoints, ComparisonStep, ComparisonTask, Job};

/// After this time, an attempt gives the job back and continues later, so that no attempt reaches the limit of the processor.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Most chunks of one document among which passages are selected. Of a longer document, evenly spaced parts are read.
const MAX_CHUNKS: u32 = 400;
/// Chunks that are read at once.
const PART: u32 = 50;
/// Chunks of one document that a question selects.
const ASKED: u32 = 20;

/// Why a comparison cannot be made, for its owner.
const DOCUMENT_DELETED: &str = "One of the documents was deleted.";
const NOTHING_TO_COMPARE: &str = "The documents have no text that can be compared.";

impl UseCases {
    /// Makes a comparison, or continues with it.
    pub(crate) async fn make_comparison(&self, job: &Job) -> Result<Done, Failure> {
        let started = Instant::now();
        let id = ComparisonId::from(job.session);
        // The comparison was deleted in the meantime, with its job.
        let found = self.parts.store.comparisons_by_id(&job.caller, &[id]).await?.into_iter().next();
        let mut comparison = found.ok_or(Failure::NotOurs)?;
        let compared = self.compared(&job.caller, &comparison.documents).await?;
        if compared.len() != comparison.documents.len() {
            return self.fail_comparison(job, id, DOCUMENT_DELETED).await;
        }
        // "What has changed?" asks for the whole comparison.
        let titles = compared.iter().map(|c| &c.document.document).flat_map(|d| [Some(&d.filename), d.title.as_ref()]);
        let names: Vec<&str> = titles.flatten().map(UserText::as_str).collect();
        comparison.question = comparison.question.filter(|question| !asks_for_all(question, &names));
        loop {
            let is_first = comparison.total == 0;
            let is_last = !is_first && comparison.groups.is_empty();
            let before = comparison.done;
            let (groups, points, comparer) = if is_first {
                let groups = self.select_passages(&compared, comparison.question.as_ref()).await?;
                // A question for which nothing is found has a report that says so.
                if groups.is_empty() && comparison.question.is_none() {
                    return self.fail_comparison(job, id, NOTHING_TO_COMPARE).await;
                }
                (groups, Vec::new(), None)
            } else if is_last {
                let found = comparison.points.into_iter().chain(self.relate(&compared, comparison.question.is_some()).await?).collect();
                // A model has answered the question itself.
                let question = comparison.question.as_ref().filter(|_| comparison.comparer.as_deref().is_none_or(|name| name == ALIGNMENT));
                (Vec::new(), self.report(&compared, question, found).await?, comparison.comparer)
            } else {
                self.compare_next(job, &comparison, &compared).await?
            };
            let remaining = match is_last {
                true => 0,
                false => {
                    u32::try_from(groups.len().div_ceil(self.parts.comparer.groups_at_once().max(1))).unwrap_or(u32::MAX).saturating_add(1)
                }
            };
            let step = ComparisonStep {
                comparison: id,
                before,
                total: before.saturating_add(1).saturating_add(remaining),
                groups,
                points,
                comparer,
                event: EventId(self.parts.ids.fresh()),
                now: self.now(),
            };
            self.parts.store.save_comparison(&job.caller, &job.claim, &step).await?;
            if is_last {
                return Ok(Done::Jobs(1));
            }
            if started.elapsed() > ATTEMPT {
                return Ok(Done::Paused);
            }
            let ComparisonStep { total, groups, points, comparer, .. } = step;
            comparison.done = before.saturating_add(1);
            comparison = Comparison { total, groups, points, comparer, ..comparison };
        }
    }

    /// Compares the next groups. Returns the groups that remain, all points, and who compared.
    async fn compare_next(&self, job: &Job, comparison: &Comparison, compared: &[Compared]) -> Result<StepResult, Failure> {
        let at_once = self.parts.comparer.groups_at_once().max(1).min(comparison.groups.len());
        let (groups, rest) = comparison.groups.split_at(at_once);
        let task = ComparisonTask {
            question: comparison.question.clone(),
            documents: compared.iter().map(|c| c.document.clone()).collect(),
            groups: self.passages(compared, groups).await?,
        };
        let ComparedPoints { points, comparer } = self.parts.comparer.compare(&job.caller, &task).await?;
        let comparer = comparer.unwrap_or_else(|| self.parts.comparer.name().to_owned());
        let points = points.into_iter().filter(ComparisonPoint::is_balanced);
        Ok((rest.to_vec(), comparison.points.iter().cloned().chain(points).collect(), Some(comparer)))
    }

    /// Loads the passages of groups. Chunks that can no longer be read are left out.
    async fn passages(&self, compared: &[Compared], groups: &[PassageGroup]) -> Result<Vec<Vec<ComparedPassage>>, Failure> {
        let ids: Vec<MessageId> = groups.iter().flat_map(|group| group.chunks.iter().copied()).collect();
        let mut chunks: HashMap<MessageId, Chunk> = HashMap::new();
        for reader in readers(compared) {
            chunks.extend(self.parts.store.chunks_by_id(&reader, &ids).await?.into_iter().map(|chunk| (chunk.id, chunk)));
        }
        let passage = |id: &MessageId| {
            let chunk = chunks.get(id)?.clone();
            let document = compared.iter().position(|c| c.document.document.id == chunk.document)?;
            Some(ComparedPassage { document, chunk })
        };
        let whole = groups.iter().filter_map(|group| group.chunks.iter().map(passage).collect::<Option<Vec<_>>>());
        Ok(whole.collect())
    }

    /// Selects the passages of all documents: those that a question finds, or those of the whole documents.
    async fn select_passages(&self, compared: &[Compared], question: Option<&UserText>) -> Result<Vec<PassageGroup>, Failure> {
        let mut chunks: Vec<(usize, Chunk)> = Vec::new();
        for (place, one) in compared.iter().enumerate() {
            let found = match question {
                Some(question) => self.asked_chunks(one, question, ASKED).await?,
                None => self.chunks_of_document(one).await?,
            };
            chunks.extend(found.into_iter().map(|chunk| (place, chunk)));
        }
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<UserText> = chunks.iter().map(|(_, chunk)| chunk.text.clone()).collect();
        let prepared = self.prepare(&texts).await?;
        let candidates = chunks.into_iter().zip(prepared);
        let candidates = candidates.map(|((document, chunk), entry)| Candidate { document, chunk: chunk.id, entry });
        let candidates: Vec<Candidate> = candidates.collect();
        // Some hundred thousand products of vectors must not hold up other tasks.
        let selected = tokio::task::spawn_blocking(move || select(&candidates)).await;
        selected.map_err(|e| Failure::Transient("COMPARER", e.to_string()))
    }

    /// Finds the chunks of one document that are nearest to a text, best first.
    pub(super) async fn asked_chunks(&self, of: &Compared, text: &UserText, first: u32) -> Result<Vec<Chunk>, Failure> {
        let query = ContextQuery {
            text: text.clone(),
            scope: Scope::User,
            first,
            sources: SearchSources { of: vec![SearchSource::Documents], collections: Vec::new(), documents: vec![of.document.document.id] },
            methods: vec![Method::Vector, Method::Keyword],
            route: None,
            as_of: None,
            exclude: None,
            shared: false,
            waits: false,
        };
        let found = self.context(&of.reader, query).await?;
        Ok(found.chunks.into_iter().map(|ranked| ranked.chunk).collect())
    }

    /// Reads the chunks of a document, or evenly spaced parts of a long one.
    pub(super) async fn chunks_of_document(&self, of: &Compared) -> Result<Vec<Chunk>, Failure> {
        let document = &of.document.document;
        let parts = (MAX_CHUNKS / PART).min(document.chunk_count.div_ceil(PART)).max(1);
        let mut chunks: Vec<Chunk> = Vec::new();
        for part in 0..parts {
            let first = u64::from(document.chunk_count) * u64::from(part) / u64::from(parts);
            let first = u32::try_from(first).unwrap_or(u32::MAX);
            let found = self.parts.store.chunks_from(&of.reader, document.id, first, PART).await?;
            // Parts of a short document may overlap.
            let next = chunks.last().map_or(0, |last| last.position + 1);
            chunks.extend(found.into_iter().filter(|chunk| chunk.position >= next && !chunk.text.as_str().is_empty()));
        }
        Ok(chunks)
    }

    async fn fail_comparison(&self, job: &Job, id: ComparisonId, error: &str) -> Result<Done, Failure> {
        let (event, now) = (EventId(self.parts.ids.fresh()), self.now());
        self.parts.store.fail_comparison(&job.caller, &job.claim, id, error, event, now).await?;
        Ok(Done::Jobs(1))
    }
}

/// The groups that remain, all points so far, and who compared.
type StepResult = (Vec<PassageGroup>, Vec<ComparisonPoint>, Option<String>);

/// Returns the callers that read the documents, each once.
pub(super) fn readers(compared: &[Compared]) -> Vec<Caller> {
    let mut readers: Vec<Caller> = Vec::new();
    for one in compared {
        if !readers.iter().any(|reader| reader.user() == one.reader.user()) {
            readers.push(one.reader);
        }
    }
    readers
}
