//! Facts and their evidence. The crate `recall_facts` decides how weights change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;

use super::{
    DatedMoment, EntityId, FactId, FactValue, MessageId, RelationName, SaidPeriod, SessionId, Span, Timestamp, UserText, belief, exact,
};

/// A fact: subject, relation and object, with support and opposition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Identity.
    pub id: FactId,
    /// The subject.
    pub subject: EntityId,
    /// Relation of the ontology.
    pub relation: RelationName,
    /// The object. A fact with a value has its subject here; see [`Fact::object_entity`].
    pub object: EntityId,
    /// The value that it states of its subject, instead of an object. Absent in records of older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FactValue>,
    /// Discounted support r at `weighed_at`. Each statement adds its confidence; support halves per half-life. Never negative.
    #[serde(with = "exact")]
    pub support: f64,
    /// Discounted opposition s at `weighed_at`. Never negative.
    #[serde(with = "exact")]
    pub opposition: f64,
    /// The moment to which `support` and `opposition` refer: the latest message that changed them.
    pub weighed_at: Timestamp,
    /// Its status.
    pub status: FactStatus,
    /// Whether all its support has a confidence below [`belief::FLAG_BELOW`].
    pub flagged: bool,
    /// When the first message since its last end stated it: a bound, as it may have begun earlier.
    pub valid_from: Option<Timestamp>,
    /// When a message said that it had ended: a bound, as it may have ended earlier.
    pub valid_to: Option<Timestamp>,
    /// When it began and ended, as far as messages tell it. Absent in records of older servers.
    #[serde(default, skip_serializing_if = "SaidPeriod::is_empty")]
    pub said_period: SaidPeriod,
    /// Time of its latest supporting statement.
    pub last_support: Option<Timestamp>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Fact {
    /// Returns the object; `None` if the fact has a value.
    pub fn object_entity(&self) -> Option<EntityId> {
        self.value.is_none().then_some(self.object)
    }

    /// Whether both facts have the same object or value.
    pub fn same_object(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Some(a), Some(b)) => a.key() == b.key(),
            (None, None) => self.object == other.object,
            _ => false,
        }
    }

    /// Whether both facts have the same subject, relation and object or value.
    pub fn same_statement(&self, other: &Self) -> bool {
        self.subject == other.subject && self.relation == other.relation && self.same_object(other)
    }

    /// Returns the support that is left at a moment. At `weighed_at` and before, it is `support`.
    pub fn support_at(&self, at: Timestamp, half_life_days: f64) -> f64 {
        self.support * belief::decay(self.weighed_at, at, half_life_days)
    }

    /// Returns when it began: as a message tells it, or else when the first message stated it.
    pub fn began(&self) -> Option<DatedMoment> {
        DatedMoment::of(self.said_period.from.as_ref(), self.valid_from)
    }

    /// Returns when it ended: as a message tells it, or else when a message said so or it was retracted.
    pub fn ended(&self) -> Option<DatedMoment> {
        let told = self.said_period.to.as_ref().filter(|_| self.status == FactStatus::Ended);
        DatedMoment::of(told, self.valid_to)
    }

    /// Returns in words when it began and ended: "since March 2024" and "until 2019" if messages tell it, else "stated 8 May 2026" and "ended by 9 May 2026".
    pub fn times(&self) -> Vec<String> {
        let of = |moment: DatedMoment, said: &str, bound: &str| match moment.words() {
            Some(words) => format!("{said} {words}"),
            None => format!("{bound} {}", moment.at.format("%-d %B %Y")),
        };
        let end = if self.status == FactStatus::Retracted { "retracted" } else { "ended by" };
        let began = self.began().map(|moment| of(moment, "since", "stated"));
        began.into_iter().chain(self.ended().map(|moment| of(moment, "until", end))).collect()
    }

    /// Returns the belief at `weighed_at`.
    pub fn belief(&self) -> f64 {
        belief::belief(self.support, self.opposition)
    }
}

/// The status of a fact.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FactStatus {
    /// Believed to hold; its belief says how strongly.
    Active,
    /// Held once; a message said that it no longer holds.
    Ended,
    /// Retracted by the user.
    Retracted,
}

/// The effect of a message on a fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, EnumString, IntoStaticStr, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Stance {
    /// States it.
    Supports,
    /// Denies it, or states a rival.
    Opposes,
    /// Says that it no longer holds.
    Ends,
}

/// One message as evidence for or against one fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The fact.
    pub fact: FactId,
    /// The message.
    pub message: MessageId,
    /// The message's session.
    pub session: SessionId,
    /// Whether the message supports, opposes or ends the fact.
    pub stance: Stance,
    /// Extraction confidence, 0 to 1.
    #[serde(with = "exact")]
    pub confidence: f64,
    /// Position of the words in the message; `None` if the message states a rival.
    pub span: Option<Span>,
    /// The words.
    pub excerpt: UserText,
    /// When the fact began or ended, as far as the message tells it. Absent in records of older servers.
    #[serde(default, skip_serializing_if = "SaidPeriod::is_empty")]
    pub said_period: SaidPeriod,
    /// When the message was said.
    pub created_at: Timestamp,
}
