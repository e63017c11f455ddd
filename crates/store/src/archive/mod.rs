//! Archives: reads all rows of one user, imports them, and copies a visitor's rows to an account.
//!
//! The statements are built from the shapes in the port, so each column is named once for all engines.

mod adopt;
mod import;
mod read;
mod sql;

pub use self::{
    adopt::{AdoptionStatements, adopt_visit},
    import::{ImportStatements, Outcome, RestoreBatch, admit, finish_import, flatten, restore, restore_records},
    read::{ArchiveReader, ArchiveReads, RecordPage, UserState},
    sql::{
        column_names, count_statement, entity_search, find_statement, insert_job_statement, select_statement, session_search, update_clause,
    },
};
