//! Asserts, retracts and restores facts by hand. For changes of entities, see `entities`.

use uuid::Uuid;

use super::manual_edits::{Heard, MAX_SESSIONS, MAX_STALE};
use super::{check, error::UseCaseError, send::SendMessage, shared, use_cases::UseCases};
use recall_domain::{
    Caller, CandidateFact, CandidateValue, Entity, EntityId, EntityKey, EntityType, Extraction, Fact, FactId, FactStatus, FactValue,
    Mention, MessageKind, Party, Polarity, Relation, Role, SessionId, Similarity, Span, Stance, UserText, Word, names_user, nearest,
};
use recall_facts::{
    LearnError, Statement,
    edit::{self, NotRestorable},
    rival_keys,
};
use recall_ports::{CommitError, FollowUp, KnowledgeCommit, NewMessage};

/// Most evidence rows loaded to retract or restore one fact.
const MAX_EVIDENCE: u32 = 10_000;

/// A fact stated by hand.
#[derive(Clone, Debug)]
pub struct AssertFact {
    /// The session that gets the statement.
    pub session: SessionId,
    /// Name of the subject; "I" means the user.
    pub subject: String,
    /// Relation of the ontology.
    pub relation: String,
    /// Name of the object; "me" means the user. Absent if there is a value.
    pub object: Option<String>,
    /// The value, for a relation with values.
    pub value: Option<AssertedValue>,
    /// Type of the subject; default: one that the relation allows.
    pub subject_type: Option<EntityType>,
    /// Type of the object; default: one that the relation allows.
    pub object_type: Option<EntityType>,
    /// Whether it is stated, denied, or stated to have ended.
    pub stance: Stance,
    /// Why it is stated. It is kept behind the statement in its message, and no fact is read from it.
    pub reason: Option<String>,
}

/// A value stated by hand.
#[derive(Clone, Debug)]
pub struct AssertedValue {
    /// The value in words.
    pub text: String,
    /// What of the subject the value measures, if the relation does not say it.
    pub label: Option<String>,
}

/// The sentence of a fact that is stated by hand, read by its parts.
struct HandWritten {
    text: String,
    mentions: Vec<Mention>,
    fact: CandidateFact,
}

/// The object or the value of a fact that is stated by hand, after the checks.
enum Complement {
    Entity(String),
    Value(FactValue),
}

impl UseCases {
    /// Asserts, denies or ends a fact by hand. The statement is stored as a message of the session, which is the evidence.
    ///
    /// # Errors
    /// `Invalid` for an unknown relation or sides of a wrong type, `NotFound` for the session.
    pub async fn assert_fact(&self, caller: &Caller, a: AssertFact) -> Result<Fact, UseCaseError> {
        shared::may_write(caller)?;
        self.refuse_sensitive_parts(&a)?;
        let relation = self.relation(&a.relation)?;
        let HandWritten { text, mentions, fact } = self.hand_written(caller, relation, &a).await?;
        self.refuse_sensitive(&text, "value")?;
        // The message keeps the reason, but the plan does not read it: "He moved in May" would end what the new fact contradicts.
        let with_reason = match a.reason.as_deref().map(check::reason).transpose()? {
            Some(reason) => {
                self.refuse_sensitive(&reason, "reason")?;
                format!("{text} {reason}")
            }
            None => text.clone(),
        };
        let message = SendMessage {
            session: a.session,
            text: with_reason,
            role: Role::User,
            speaker: None,
            sent_at: None,
            source_metadata: Some(serde_json::json!({ "asserted": true })),
            client_message_id: None,
            resources: Vec::new(),
            answer_from: recall_domain::context::SearchSources::default(),
        };
        let new = self.new_messages(caller, a.session, vec![(message, FollowUp::Asserted)]).await?;
        let new = new.into_iter().next().ok_or_else(|| UseCaseError::Internal { cause: "no message was prepared".into() })?;
        let statement = Statement {
            message: new.id,
            session: a.session,
            at: new.sent_at,
            text: UserText::from(text),
            speaker: None,
            is_impersonal: caller.is_shared(),
            chunk_event: None,
            extraction: Extraction { mentions, facts: vec![fact], ..Extraction::empty(MessageKind::Statement) },
        };
        let changed = self.append_and_learn(*caller, new, statement).await?;
        // The asserted fact is changed first, its rivals after it.
        changed.into_iter().find(|f| f.relation == relation.name).ok_or_else(|| {
            let message =
                format!("`{}` does not take sides of these types. The query `relations` lists those that it takes.", relation.name);
            UseCaseError::invalid("TYPE_NOT_ALLOWED", "subject", message)
        })
    }

    /// Writes the sentence of a fact that is stated by hand, and checks its sides.
    async fn hand_written(&self, caller: &Caller, relation: &Relation, a: &AssertFact) -> Result<HandWritten, UseCaseError> {
        let subject = check::name(&a.subject, "subject")?;
        let complement = complement(relation, a)?;
        let object = if let Complement::Entity(object) = &complement { object.clone() } else { String::new() };
        if caller.is_shared() && (is_own(&subject) || is_own(&object)) {
            let path = if is_own(&subject) { "subject" } else { "object" };
            return Err(UseCaseError::invalid("NOBODY_IN_PARTICULAR", path, "In shared memory nobody is “I”. Name who is meant."));
        }
        let mut keys: Vec<EntityKey> = [&subject, &object].into_iter().filter_map(|n| EntityKey::of(n)).collect();
        keys.dedup();
        let known = self.parts.store.entities_by_key(caller, &keys).await?;
        let subject_type = type_of_side(relation, &known, (&subject, a.subject_type), (&relation.subject_types, "subject"))?;
        let object_type = match complement {
            Complement::Entity(_) => type_of_side(relation, &known, (&object, a.object_type), (&relation.object_types, "object"))?,
            Complement::Value(_) => EntityType::Thing,
        };
        if EntityKey::of(&subject) == EntityKey::of(&object) || (is_own(&subject) && is_own(&object)) {
            return Err(UseCaseError::invalid("SAME_SIDES", "object", "Subject and object are the same. Name two things."));
        }
        let (opening, polarity) = match a.stance {
            Stance::Supports => ("", Polarity::Affirmed),
            // "It is not true" would be a correction, which retracts what it names.
            Stance::Opposes => ("I deny that ", Polarity::Negated),
            Stance::Ends => ("It is no longer true that ", Polarity::Ended),
        };
        let (text, mentions, sides, value) = match complement {
            Complement::Entity(object) => {
                let sides = [(subject.as_str(), subject_type), (object.as_str(), object_type)];
                let (text, mentions, sides) = sentence(opening, relation, &sides);
                (text, mentions, sides, None)
            }
            Complement::Value(value) => {
                let (text, mentions, [subject, _]) = sentence(opening, relation, &[(subject.as_str(), subject_type)]);
                let text = format!("{}{}.", text.trim_end_matches('.'), value.shown());
                (text, mentions, [subject, subject], Some(CandidateValue::Known(value)))
            }
        };
        let span = Span { start: 0, end: text.chars().count() as u32 };
        let [subject, object] = sides;
        let fact = CandidateFact { subject, relation: relation.name.clone(), object, value, polarity, confidence: 1.0, span };
        Ok(HandWritten { text, mentions, fact })
    }

    /// Stores a message with the fact that it states. Returns the changed facts.
    ///
    /// It is a task of its own, so that it continues if the client disconnects.
    async fn append_and_learn(&self, caller: Caller, new: NewMessage, statement: Statement) -> Result<Vec<Fact>, UseCaseError> {
        let (learner, this, id) = (self.learner.clone(), self.clone(), new.id);
        let learned = self.background_tasks.run(async move {
            let changed = learner.append_and_learn(&caller, &new, statement).await?;
            this.encode_when_idle(&caller, std::iter::once(id));
            metrics::counter!("recall_messages_total").increment(1);
            Ok(changed)
        });
        let learned = learned.await.map_err(|e| UseCaseError::Internal { cause: e.into() })?;
        learned.ok_or_else(|| UseCaseError::Internal { cause: "the process stops".into() })?.map_err(|e| match e {
            LearnError::Store(e) => UseCaseError::of(e, "session"),
            e => e.into(),
        })
    }

    fn refuse_sensitive_parts(&self, a: &AssertFact) -> Result<(), UseCaseError> {
        let value = a.value.iter().flat_map(|value| std::iter::once(&value.text).chain(&value.label)).map(|text| (text, "value"));
        let sides = std::iter::once((&a.subject, "subject")).chain(a.object.iter().map(|object| (object, "object")));
        sides.chain(value).try_for_each(|(text, path)| self.refuse_sensitive(text, path))
    }

    /// Returns the relation with this name.
    ///
    /// # Errors
    /// `Invalid` if there is none; the message suggests the nearest name.
    pub fn relation(&self, name: &str) -> Result<&Relation, UseCaseError> {
        let ontology = &self.parts.ontology;
        ontology.get(name).ok_or_else(|| {
            let near = nearest(&name.to_uppercase(), ontology.iter().map(|r| r.name.as_str()), Similarity::Any);
            let hint = near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
            let message = format!("The ontology has no such relation.{hint} The query `relations` lists all.");
            UseCaseError::invalid("UNKNOWN_RELATION", "relation", message)
        })
    }

    /// Retracts a fact. It stays readable; [`Self::restore_fact`] or a later statement restores it.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's.
    pub async fn retract_fact(&self, caller: &Caller, id: FactId) -> Result<Fact, UseCaseError> {
        self.change_fact(caller, id, |at, retraction, ids| {
            Ok((retraction.fact.status != FactStatus::Retracted).then(|| edit::retract(at, retraction, ids)))
        })
        .await
    }

    /// Undoes the retraction of a fact by hand: status, evidence and rivals become what they were.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's, `Invalid` if it is not retracted or a message retracted it.
    pub async fn restore_fact(&self, caller: &Caller, id: FactId) -> Result<Fact, UseCaseError> {
        self.change_fact(caller, id, |at, retraction, ids| edit::restore(at, retraction, ids).map(Some).map_err(cannot_restore)).await
    }

    /// Plans a change of a fact and its rivals, and commits it. Without a plan, the fact stays as it is.
    async fn change_fact(
        &self,
        caller: &Caller,
        id: FactId,
        plan: impl Fn(&edit::EditContext<'_>, &edit::EditedFact<'_>, &mut dyn FnMut() -> Uuid) -> Result<Option<KnowledgeCommit>, UseCaseError>
        + Send
        + Sync,
    ) -> Result<Fact, UseCaseError> {
        shared::may_write(caller)?;
        let store = &self.parts.store;
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = store.knowledge_version(caller).await?;
            let fact = store.facts_by_id(caller, &[id]).await?.into_iter().next().ok_or(UseCaseError::NotFound { noun: "fact" })?;
            let rivals = store.facts_by_key(caller, &rival_keys(&fact, &self.parts.ontology), u32::MAX).await?;
            let ids: Vec<FactId> = rivals.iter().filter(|f| f.id != id).chain([&fact]).map(|f| f.id).collect();
            let evidence = store.evidence_of(caller, &ids, MAX_EVIDENCE).await?;
            let mut named: Vec<EntityId> = rivals.iter().chain([&fact]).flat_map(|f| [f.subject, f.object]).collect();
            named.sort();
            named.dedup();
            let sides = store.entities_by_id(caller, &named).await?;
            let mut sessions = store.sessions_of_fact(caller, id, MAX_SESSIONS).await?;
            let session = sessions.first().copied().ok_or(UseCaseError::NotFound { noun: "fact" })?;
            let mut fresh = || self.parts.ids.fresh();
            let at = edit::EditContext { version, session, ontology: &self.parts.ontology, now: self.now() };
            let retraction = edit::EditedFact { fact: &fact, rivals: &rivals, evidence: &evidence, sides: &sides };
            let Some(plan) = plan(&at, &retraction, &mut fresh)? else { return Ok(fact) };
            let heard = Heard::of(&evidence);
            heard.add_sessions(&plan, &mut sessions, MAX_SESSIONS as usize);
            if self.commit_by_hand(caller, &plan, &sessions, Some(&heard)).await? {
                return plan.facts.into_iter().next().ok_or(UseCaseError::NotFound { noun: "fact" });
            }
        }
        Err(CommitError::Stale.into())
    }
}

fn cannot_restore(reason: NotRestorable) -> UseCaseError {
    let (code, message) = match reason {
        NotRestorable::NotRetracted => ("NOT_RETRACTED", "The fact is not retracted, so there is nothing to restore."),
        NotRestorable::RetractedByMessage => {
            ("RETRACTED_BY_MESSAGE", "A message retracted this fact. State the fact again, or delete the message.")
        }
    };
    UseCaseError::invalid(code, "id", message)
}

/// Returns the object or the value that the relation takes.
fn complement(relation: &Relation, a: &AssertFact) -> Result<Complement, UseCaseError> {
    match (&a.object, &a.value) {
        (Some(object), None) if !relation.has_values() => Ok(Complement::Entity(check::name(object, "object")?)),
        (None, Some(given)) if relation.has_values() => {
            check::name(&given.text, "value.text")?;
            let label = given.label.as_deref().map(|l| check::name(l, "value.label")).transpose()?;
            let value = relation.parse_value(&given.text).ok_or_else(|| {
                let types = relation.value_types.iter().map(|t| t.word()).collect::<Vec<_>>().join(", ");
                let message = format!("The value does not fit `{}`. It takes: {types}.", relation.name);
                UseCaseError::invalid("VALUE_NOT_ALLOWED", "value.text", message)
            })?;
            Ok(Complement::Value(value.labelled(label.as_deref())))
        }
        _ if relation.has_values() => {
            let message = format!("`{}` takes a value and no object. Give `value`.", relation.name);
            Err(UseCaseError::invalid("VALUE_EXPECTED", "value", message))
        }
        _ => {
            let message = format!("`{}` takes an object and no value. Give `object`.", relation.name);
            Err(UseCaseError::invalid("OBJECT_EXPECTED", "object", message))
        }
    }
}

/// Whether a name means the user.
fn is_own(name: &str) -> bool {
    names_user(name) || name.to_lowercase() == "you"
}

/// Returns the type of a side of a fact that is stated by hand.
///
/// A known entity keeps its type: with another one, the candidate would be dropped after its message was stored.
///
/// # Errors
/// `Invalid` if the relation does not take it.
fn type_of_side(
    relation: &Relation,
    known: &[(EntityKey, Entity)],
    (name, given): (&str, Option<EntityType>),
    (allowed, path): (&[EntityType], &'static str),
) -> Result<EntityType, UseCaseError> {
    let existing = known.iter().find(|(k, _)| Some(k) == EntityKey::of(name).as_ref()).map(|(_, e)| e.entity_type);
    let fallback = if allowed.is_empty() || allowed.contains(&EntityType::Thing) { EntityType::Thing } else { allowed[0] };
    let side_type = if is_own(name) { EntityType::Person } else { existing.or(given).unwrap_or(fallback) };
    if allowed.is_empty() || allowed.contains(&side_type) {
        return Ok(side_type);
    }
    let types = allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let message = format!("`{}` cannot have a {side_type} as its {path}. It takes: {types}.", relation.name);
    Err(UseCaseError::invalid("TYPE_NOT_ALLOWED", path, message))
}

/// Builds the sentence for an asserted fact behind its opening, with the mentions of its sides.
fn sentence(opening: &str, relation: &Relation, sides: &[(&str, EntityType)]) -> (String, Vec<Mention>, [Party; 2]) {
    let (mut text, mut mentions, mut parties) = (opening.to_owned(), Vec::new(), [Party::Speaker; 2]);
    for (i, &(name, entity_type)) in sides.iter().enumerate() {
        if is_own(name) {
            text.push_str(if i == 0 { "I" } else { "me" });
        } else {
            let start = text.chars().count() as u32;
            text.push_str(name);
            let span = Span { start, end: text.chars().count() as u32 };
            parties[i] = Party::Mention(mentions.len());
            mentions.push(Mention { name: name.to_owned(), entity_type, span, confidence: 1.0, description: None });
        }
        if i == 0 {
            let verb = if parties[0] == Party::Speaker { relation.phrase_of_first_person() } else { relation.phrase.clone() };
            text.push_str(&format!(" {verb} "));
        }
    }
    text.push('.');
    (text, mentions, parties)
}
