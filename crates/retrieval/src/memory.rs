//! The index of one user: words, vectors, dates, speakers and neighbours of all messages. Pure: it is fed rows
//! and asked; where rows come from and who may ask is not known here.

use std::collections::HashMap;

use super::{
    dates::{self, DateWord},
    joint::{self, Pool},
    postings::{self, NONE, Postings},
    prior::Marks,
    rank::{Candidate, Top, Tuning},
    runs::Runs,
    vectors::{Probe, Vectors},
    words::{self, Weighed},
};
use recall_domain::{
    MessageId, Role, SessionId, Timestamp,
    context::{Method, Scope},
};
use recall_ports::{FeedRow, IndexQuery, index::IndexResult};
use recall_text::terms;
use std::time::Instant;

/// Who said a row.
const VIEWER: u32 = 0;
const ASSISTANT: u32 = 1;

/// A question to one index.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) query: &'a IndexQuery,
    /// Similarities that the store found, for an index without vectors.
    pub(super) nearest: &'a [(MessageId, f32)],
}

/// Index of one user's messages, in the order of the feed.
#[derive(Debug)]
pub(super) struct UserIndex {
    last_row: u64,
    postings: Postings,
    /// Absent when the user has too many messages for the memory; then vectors are searched in the store.
    vectors: Option<Vectors>,
    ids: Vec<MessageId>,
    places: HashMap<MessageId, u32>,
    sessions: Vec<u32>,
    said: Vec<i64>,
    speakers: Vec<u32>,
    lengths: Vec<f32>,
    marks: Vec<Marks>,
    previous: Vec<u32>,
    next: Vec<u32>,
    total_length: f64,
    session_rows: HashMap<SessionId, (u32, Vec<u32>)>,
    speaker_names: Vec<Vec<String>>,
    speaker_numbers: HashMap<String, u32>,
    by_speaker: Vec<Runs>,
    by_date: HashMap<DateWord, Runs>,
}

impl UserIndex {
    /// An empty index, with vectors or without.
    pub(super) fn new(vectors: bool) -> Self {
        Self {
            last_row: 0,
            postings: Postings::default(),
            vectors: vectors.then(Vectors::default),
            ids: Vec::new(),
            places: HashMap::new(),
            sessions: Vec::new(),
            said: Vec::new(),
            speakers: Vec::new(),
            lengths: Vec::new(),
            marks: Vec::new(),
            previous: Vec::new(),
            next: Vec::new(),
            total_length: 0.0,
            session_rows: HashMap::new(),
            speaker_names: vec![Vec::new(); 2],
            speaker_numbers: HashMap::new(),
            by_speaker: vec![Runs::default(); 2],
            by_date: HashMap::new(),
        }
    }

    /// The newest row of the feed that is in it; 0 when empty.
    pub(super) fn last_row(&self) -> u64 {
        self.last_row
    }

    /// Number of messages.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether vectors are searched here.
    pub(super) fn holds_vectors(&self) -> bool {
        self.vectors.is_some()
    }

    /// Lets the vectors go; words stay.
    pub(super) fn drop_vectors(&mut self) {
        self.vectors = None;
    }

    /// Bytes held, within some ten percent.
    pub(super) fn bytes(&self) -> usize {
        let per_row = size_of::<MessageId>() + size_of::<i64>() + size_of::<Marks>() + 6 * size_of::<u32>();
        let place = (size_of::<(MessageId, u32)>() + 1) * 8 / 5;
        let tags: usize = self.by_speaker.iter().chain(self.by_date.values()).map(Runs::bytes).sum();
        let vectors = self.vectors.as_ref().map_or(0, Vectors::bytes);
        self.ids.capacity() * per_row + self.ids.len() * place + tags + self.session_rows.len() * 128 + self.postings.bytes() + vectors
    }

    /// Adds a row. A row that is in already is left alone, so that a page delivered twice changes nothing.
    pub(super) fn push(&mut self, row: &FeedRow) {
        if row.row <= self.last_row || self.ids.len() >= postings::MAX_ROWS - 1 {
            return;
        }
        self.last_row = row.row;
        let Ok(place) = u32::try_from(self.ids.len()) else { return };
        let length = self.postings.push(place, &row.terms);
        if let Some(vectors) = &mut self.vectors {
            vectors.push(&row.embedding);
        }
        let number = u32::try_from(self.session_rows.len()).unwrap_or(NONE);
        let (session, rows) = self.session_rows.entry(row.session).or_insert_with(|| (number, Vec::new()));
        let before = rows.last().copied().unwrap_or(NONE);
        rows.push(place);
        if let Some(next) = self.next.get_mut(before as usize) {
            *next = place;
        }
        self.sessions.push(*session);
        self.previous.push(before);
        self.next.push(NONE);
        let speaker = self.speaker(row);
        self.speakers.push(speaker);
        if let Some(rows) = self.by_speaker.get_mut(speaker as usize) {
            rows.push(place);
        }
        for word in dates::of(row.sent_at) {
            self.by_date.entry(word).or_default().push(place);
        }
        self.ids.push(row.message);
        self.places.insert(row.message, place);
        self.said.push(row.sent_at.timestamp_millis());
        self.lengths.push(length);
        self.marks.push(Marks::of(&row.terms));
        self.total_length += f64::from(length);
    }

    fn speaker(&mut self, row: &FeedRow) -> u32 {
        let Some(name) = &row.speaker else { return if row.role == Role::Assistant { ASSISTANT } else { VIEWER } };
        if let Some(number) = self.speaker_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.speaker_names.len()).unwrap_or(NONE);
        self.speaker_names.push(terms(name).into_iter().map(|(term, _)| term).collect());
        self.by_speaker.push(Runs::default());
        self.speaker_numbers.insert(name.clone(), number);
        number
    }

    /// Speakers named in a question: by one of the words of their name, or by "I".
    fn named(&self, text: &str, words: &[String]) -> Vec<u32> {
        let first_person =
            text.split(|c: char| !c.is_alphanumeric()).any(|w| matches!(w, "I" | "i" | "my" | "My" | "me" | "mine" | "myself"));
        let by_name = self.speaker_names.iter().enumerate().filter(|(_, name)| name.iter().any(|part| words.contains(part)));
        let mut named: Vec<u32> = by_name.filter_map(|(i, _)| u32::try_from(i).ok()).collect();
        if first_person {
            named.push(VIEWER);
        }
        named
    }

    /// The best messages.
    pub(super) fn search(&self, asked: Asked<'_>, tuning: &Tuning) -> IndexResult {
        joint::best(&[self.pool(asked, None, true, tuning)], asked.query, tuning)
    }

    /// As [`Self::search`], with another memory beside, in which nothing was said by the one who asks.
    pub(super) fn search_with(&self, asked: Asked<'_>, beside: &Self, asked_beside: Asked<'_>, tuning: &Tuning) -> IndexResult {
        let pools = [self.pool(asked, Some(beside), true, tuning), beside.pool(asked_beside, Some(self), false, tuning)];
        joint::best(&pools, asked.query, tuning)
    }

    /// What may answer, as far as it is here. `beside` says how rare terms are elsewhere, `of_viewer` whether "I" in the question is
    /// who speaks here without a name.
    fn pool(&self, asked: Asked<'_>, beside: Option<&Self>, of_viewer: bool, tuning: &Tuning) -> Pool<'_> {
        let Asked { query, nearest } = asked;
        let words: Vec<String> = terms(&query.text).into_iter().map(|(term, _)| term).collect();
        let mut named = self.named(&query.text, &words);
        named.retain(|speaker| of_viewer || *speaker != VIEWER);
        let session = match query.scope {
            Scope::User => None,
            // A session without rows has no number: nothing is in scope then.
            Scope::Session(id) => Some(self.session_rows.get(&id).map_or((NONE, &[][..]), |(n, rows)| (*n, rows.as_slice()))),
        };
        let until = query.until.as_ref().map(Timestamp::timestamp_millis);
        let excluded = query.exclude.and_then(|id| self.places.get(&id).copied());
        let in_scope = |row: u32| {
            let at = row as usize;
            session.is_none_or(|(n, _)| self.sessions[at] == n) && until.is_none_or(|t| self.said[at] <= t) && Some(row) != excluded
        };
        let size = tuning.pool.max(query.first.saturating_mul(2));

        let started = Instant::now();
        let mut pool = Vec::new();
        let wanted = query.methods.contains(&Method::Keyword);
        let by_words = if wanted { self.by_words(&query.text, &words, &named, None, tuning) } else { Vec::new() };
        let jointly = beside.filter(|_| wanted).map(|b| self.by_words(&query.text, &words, &named, Some(b), tuning)).unwrap_or_default();
        let mut top = Top::new(size);
        for (row, score) in by_words.iter().enumerate().filter(|(_, score)| **score > 0.0) {
            let row = row as u32;
            if *score >= top.floor() && in_scope(row) {
                top.offer(row, *score);
            }
        }
        pool.extend(top.rows());
        let found_by_words = !pool.is_empty();
        let keyword_ms = milliseconds(started);

        let started = Instant::now();
        let probe = query.embedding.as_ref().filter(|_| query.methods.contains(&Method::Vector)).and_then(|e| Probe::new(&e.0));
        let mut near: Vec<u32> = Vec::new();
        let mut given: HashMap<u32, f32> = HashMap::new();
        match (&self.vectors, &probe) {
            (Some(vectors), Some(probe)) if probe.dimension() == vectors.dimension() => {
                let mut top = Top::new(size);
                if let Some((_, rows)) = session {
                    let similar = rows.iter().filter_map(|row| Some((*row, vectors.rough_similarity(*row, probe)?)));
                    similar.filter(|(row, _)| in_scope(*row)).for_each(|(row, s)| top.offer(row, s));
                } else {
                    vectors.scan(probe, |row, s| {
                        if s >= top.floor() && in_scope(row) {
                            top.offer(row, s)
                        }
                    });
                }
                near = top.rows();
            }
            (None, Some(_)) => {
                given = nearest.iter().filter_map(|(id, s)| Some((*self.places.get(id)?, *s))).filter(|(row, _)| in_scope(*row)).collect();
                near = given.keys().copied().collect();
            }
            _ => {}
        }
        near.sort_unstable();
        let found_by_meaning = !near.is_empty();
        pool.extend(&near);
        let vector_ms = milliseconds(started);

        let graph: HashMap<u32, f32> =
            query.boosts.iter().filter_map(|(id, s)| Some((*self.places.get(id)?, *s))).filter(|(row, _)| in_scope(*row)).collect();
        pool.extend(graph.keys());
        pool.sort_unstable();
        pool.dedup();
        let candidates: Vec<Candidate> = pool
            .into_iter()
            .map(|row| {
                let at = row as usize;
                let vector = match (&self.vectors, &probe) {
                    (Some(vectors), Some(probe)) if found_by_meaning => vectors.similarity(row, probe),
                    _ => given.get(&row).copied(),
                };
                Candidate {
                    row,
                    keyword: by_words.get(at).copied().unwrap_or(0.0),
                    joint_keyword: jointly.get(at).copied().unwrap_or(0.0),
                    vector,
                    named: named.contains(&self.speakers[at]),
                    graph: graph.get(&row).copied().unwrap_or(0.0),
                    prior: self.marks[at].prior(self.lengths[at], tuning),
                    neighbours: [self.previous[at], self.next[at]],
                }
            })
            .collect();
        Pool { ids: &self.ids, candidates, near, found_by_words, keyword_ms, vector_ms }
    }

    fn by_words(&self, text: &str, words: &[String], named: &[u32], beside: Option<&Self>, tuning: &Tuning) -> Vec<f32> {
        let dates = dates::in_text(text);
        let dated = |word| beside.and_then(|b| b.by_date.get(word)).map_or(0, Runs::len);
        let by_date = dates.iter().filter_map(|word| Some(Weighed { it: self.by_date.get(word)?, weight: 1.0, beside: dated(word) }));
        // The viewer's own rows are no tag: "I" is a stop word, and would match half of all rows.
        let called = |names: &[String]| {
            let same = |b: &Self| b.speaker_names.iter().zip(&b.by_speaker).filter(|(n, _)| *n == names).map(|(_, rows)| rows.len()).sum();
            beside.map_or(0, same)
        };
        let by_speaker = named.iter().filter(|n| **n != VIEWER).map(|n| *n as usize);
        let by_speaker = by_speaker
            .filter_map(|n| Some(Weighed { it: self.by_speaker.get(n)?, weight: 1.0, beside: called(self.speaker_names.get(n)?) }));
        let tags: Vec<Weighed<&Runs>> = by_date.chain(by_speaker).collect();
        let names = |index: &Self, word: &str| index.speaker_names.iter().flatten().any(|part| part == word);
        let is_speaker = |word: &str| names(self, word) || beside.is_some_and(|b| names(b, word));
        let term = |w: &'_ String| if is_speaker(w) { tuning.speaker_term } else { 1.0 };
        let elsewhere = |w: &str| beside.map_or(0, |b| b.postings.of(w).len());
        let terms: Vec<_> = words.iter().map(|w| Weighed { it: w.as_str(), weight: term(w), beside: elsewhere(w) }).collect();
        let rows = words::Rows {
            lengths: &self.lengths,
            previous: &self.previous,
            next: &self.next,
            total_length: self.total_length,
            beside: beside.map_or((0, 0.0), |b| (b.len(), b.total_length)),
        };
        words::bm25(&self.postings, &rows, &terms, &tags, tuning)
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
