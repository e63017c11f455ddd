//! Entities, mentions, facts and evidence: one file for the reads of each, `reads` for those of a plan, `commit` for
//! changes, `merge` for merges of entities.

mod commit;
mod entities;
mod evidence;
mod facts;
mod mentions;
mod merge;
mod reads;

pub(super) use self::commit::version;
