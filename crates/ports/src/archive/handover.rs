//! What becomes of a visitor's records when an account takes them over. Pure; both adapters write what comes out of it.

use super::{Record, Value};
use recall_domain::{Adopted, Adoption, EntityId, SessionId, UserId};

/// Takes records one by one, and notes what they were.
#[derive(Debug)]
pub struct Handover {
    /// What came so far.
    pub adoption: Adoption,
    /// Its entities.
    pub entities: Vec<Adopted>,
    offset: i64,
    has_viewer: bool,
    role: &'static str,
}

impl Handover {
    /// Into an account whose messages before this had rows up to `offset`, which has a node of its user or not, and whose jobs
    /// run with `role`.
    pub fn new(visitor: UserId, offset: i64, has_viewer: bool, role: &'static str) -> Self {
        let adoption = Adoption { visitor, sessions: Vec::new(), messages: 0, told: 0, facts: 0 };
        Self { adoption, entities: Vec::new(), offset, has_viewer, role }
    }

    /// Makes a record one of the account's.
    pub fn take(&mut self, record: &mut Record) {
        match record.shape.name {
            "session" => self.adoption.sessions.extend(record.id("id").map(SessionId)),
            "message" => {
                self.adoption.messages += 1;
                self.adoption.told += u64::from(*record.get("answer_to") == Value::Missing);
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

    /// Rows are numbered by user; those of the account came first.
    fn move_on(&self, record: &mut Record, field: &str) {
        if let Value::Count(row) = *record.get(field) {
            record.set(field, Value::Count(row.saturating_add(self.offset)));
        }
    }

    /// "I" means one node.
    fn not_a_second_viewer(&self, record: &mut Record) {
        if self.has_viewer {
            record.set("is_viewer", Value::Flag(false));
        }
    }
}
