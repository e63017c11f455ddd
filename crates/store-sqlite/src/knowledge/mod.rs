//! Entities, mentions, facts and evidence: one file for the reads of each, `commit` for changes, `merge` for merges of entities.

mod commit;
mod entities;
mod evidence;
mod facts;
mod mentions;
mod merge;
mod reads;

pub(super) use self::commit::version;
#[cfg(test)]
pub(super) use self::{
    entities::ENTITIES_BY_HINT,
    evidence::SESSIONS_OF_FACT,
    facts::{FACTS_BETWEEN, FACTS_BY_KEY, FACTS_OF_OBJECT, FACTS_OF_OBJECT_AND_RELATION, FACTS_OF_SUBJECT, FACTS_OF_SUBJECT_AND_RELATION},
    mentions::RECENTLY_MENTIONED,
};
