//! Converts a visitor's records into records of an account. Pure; the store writes the result.

use super::{Record, Value};
use recall_domain::{Adopted, Adoption, EntityId, SessionId, UserId};

/// Converts records one by one, and counts them.
#[derive(Debug)]
pub struct Handover {
    /// Counts of the records so far.
    pub adoption: Adoption,
    /// Its entities.
    pub entities: Vec<Adopted>,
    offset: i64,
    has_viewer: bool,
    role: &'static str,
}

impl Handover {
    /// Creates a handover to an account. The account's messages have rows up to `offset`, and its jobs run with `role`.
    pub fn new(visitor: UserId, offset: i64, has_viewer: bool, role: &'static str) -> Self {
        let adoption = Adoption { visitor, sessions: Vec::new(), messages: 0, told: 0, facts: 0 };
        Self { adoption, entities: Vec::new(), offset, has_viewer, role }
    }

    /// Converts a record into one of the account.
    pub fn take(&mut self, record: &mut Record) {
        match record.shape.name {
            "session" => self.adoption.sessions.extend(record.id("id").map(SessionId)),
            "message" => {
                self.adoption.messages += 1;
                let is_told = *record.get("answer_to") == Value::Missing && *record.get("chunk") == Value::Missing;
                self.adoption.told += u64::from(is_told);
                self.move_on(record, "feed_row");
            }
            "merge" => self.move_on(record, "feed_head"),
            "fact" => self.adoption.facts += 1,
            "entity" => {
                let is_viewer = *record.get("is_viewer") == Value::Flag(true);
                self.entities.extend(record.id("id").map(|id| Adopted { entity: EntityId(id), is_viewer }));
                self.not_a_second_viewer(record);
            }
            "merge_entity" => self.not_a_second_viewer(record),
            "job" => record.set("role", Value::Text(self.role.to_owned())),
            _ => {}
        }
    }

    /// Shifts a row number, because the rows of the account come first.
    fn move_on(&self, record: &mut Record, field: &str) {
        if let Value::Count(row) = *record.get(field) {
            record.set(field, Value::Count(row.saturating_add(self.offset)));
        }
    }

    /// Clears the mark of the user's own entity if the account already has one.
    fn not_a_second_viewer(&self, record: &mut Record) {
        if self.has_viewer {
            record.set("is_viewer", Value::Flag(false));
        }
    }
}
