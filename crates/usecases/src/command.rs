//! Carries out "Forget that I have a dog." in a conversation: forgets, asks back, and keeps nothing of the command itself.

use std::collections::HashSet;

use super::{
    check, error::UseCaseError, forget::Target, forget_command::Meant, forget_request::Forgotten, manual_edits::MAX_STALE, shared,
    use_cases::UseCases,
};
use recall_domain::{
    AuditAction, AuditDraft, Caller, EntityId, Fact, FactStatus, ForgettingId, Message, MessageId, MessageKind, Role, UndoableForgetting,
};
use recall_ports::{AnswerDraft, CommitError, Forgetting};

/// Where an entry of the audit log comes from, if a message and no request of its own has forgotten.
const INSTANCE: &str = "conversation";
/// Most facts that are named when the command is unclear.
const MAX_NAMED: usize = 8;
/// Messages before a command among which is the user's last one.
const TURNS_READ: u32 = 4;

/// How the reader of a reply undoes the forgetting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UndoBy {
    /// With the token in the text: the client shows nothing but text.
    TokenInText,
    /// With what the client receives with the text.
    Client,
}

/// What a command did.
pub(super) enum CommandOutcome {
    /// Nothing known is meant.
    Nothing,
    /// Only passages of documents say it, which stay.
    OnlyDocuments,
    /// Several facts could be meant.
    Several(Vec<Fact>),
    /// No fact is meant, and several messages have the words.
    SeveralMessages(Vec<MessageId>),
    /// It was forgotten, now or by an attempt whose reply failed.
    Done(CarriedOut),
}

/// What a command has forgotten.
pub(super) struct CarriedOut {
    facts: usize,
    messages: usize,
    /// How it can be undone, until its time is over.
    undo: Option<UndoableForgetting>,
}

/// The reply to a command. It answers no question, so it is not an answerer's.
pub(super) fn reply(text: String) -> AnswerDraft {
    AnswerDraft { answerer: Some("command".to_owned()), ..AnswerDraft::ungrounded(text) }
}

impl UseCases {
    /// Forgets what a command means, or returns why not.
    ///
    /// The forgetting has the id of the command. So a repeated attempt finds what the first one has forgotten, and the reply finds its undoing.
    pub(super) async fn forget_on_command(
        &self,
        caller: &Caller,
        meant: Meant<'_>,
        command: MessageId,
    ) -> Result<CommandOutcome, UseCaseError> {
        shared::may_write(caller)?;
        let undo = chrono::TimeDelta::from_std(self.parts.retention.forget_undo).unwrap_or_default();
        let id = ForgettingId(command.0);
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = self.parts.store.knowledge_version(caller).await?;
            if let Some(Forgetting { until, messages, knowledge, .. }) = self.parts.store.forgetting(caller, id).await? {
                let undo = Some(UndoableForgetting { token: id, undo_until: until });
                return Ok(CommandOutcome::Done(CarriedOut { facts: knowledge.facts.len(), messages: messages.len(), undo }));
            }
            let mut target = match meant {
                Meant::Words(words) => self.target_of_query(caller, words).await?,
                Meant::Fact(words) => {
                    let target = self.target_of_query(caller, words).await?;
                    // "Remove my bike" is about the bike.
                    let is_of_memory = !target.is_by_words && !target.facts.iter().any(|f| self.is_possession(f));
                    if is_of_memory { target } else { Target::default() }
                }
                Meant::LastMessage => self.last_message(caller, command).await?,
            };
            target.mentioning.remove(&command);
            if target.is_empty() {
                return Ok(if target.is_in_documents { CommandOutcome::OnlyDocuments } else { CommandOutcome::Nothing });
            }
            if target.is_by_words && target.mentioning.len() > 1 {
                return Ok(CommandOutcome::SeveralMessages(target.mentioning.into_iter().collect()));
            }
            if target.mentioning.is_empty() && could_mean_several(&target.facts) {
                let mut facts = target.facts;
                facts.truncate(MAX_NAMED);
                return Ok(CommandOutcome::Several(facts));
            }
            if let Some(forgotten) = self.forget_target(caller, target, version, undo, id).await? {
                self.audit_command(caller, &forgotten).await;
                let (facts, messages, undo) = (forgotten.facts.len(), forgotten.messages.len(), forgotten.undoable());
                return Ok(CommandOutcome::Done(CarriedOut { facts, messages, undo }));
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Finds what the user said last before a command. A question tells nothing that could be forgotten.
    ///
    /// Nothing if a turn between them is forgotten: what was said before that is not what the command means.
    async fn last_message(&self, caller: &Caller, command: MessageId) -> Result<Target, UseCaseError> {
        let store = &self.parts.store;
        let Some(command) = store.messages_by_id(caller, &[command]).await?.into_iter().next() else { return Ok(Target::default()) };
        let before = store.messages_before(caller, command.session, command.position, TURNS_READ).await?;
        let last = before.iter().filter(|m| m.role == Role::User && m.speaker.is_none()).max_by_key(|m| m.position);
        let is_whole = |m: &&Message| before.iter().filter(|b| b.position >= m.position).count() as u64 == command.position - m.position;
        let tells = |m: &&Message| m.kind != Some(MessageKind::Question) && !m.text.as_str().trim().is_empty();
        Ok(Target { named: last.filter(is_whole).filter(tells).map(|m| m.id).into_iter().collect(), ..Target::default() })
    }

    /// Notes in the audit log what a command has forgotten. If that fails, it stays forgotten.
    async fn audit_command(&self, caller: &Caller, forgotten: &Forgotten) {
        let entry = AuditDraft {
            at: self.now(),
            actor: Some(caller.user()),
            action: AuditAction::MemoryForgotten.as_str().to_owned(),
            target: Some(forgotten.counts()),
            address: None,
            instance: INSTANCE.to_owned(),
        };
        if let Err(error) = self.parts.store.audit(&entry).await {
            metrics::counter!("recall_audit_failed_total").increment(1);
            tracing::error!(%error, action = entry.action, "cannot write an entry of the audit log");
        }
    }

    /// Carries out a command, replies, and takes the words of the command out of the conversation.
    pub(super) async fn answer_command_at_once(
        &self,
        caller: &Caller,
        meant: Meant<'_>,
        command: MessageId,
    ) -> Result<AnswerDraft, UseCaseError> {
        let outcome = self.forget_on_command(caller, meant, command).await?;
        let text = self.reply_to_command(caller, &outcome, UndoBy::TokenInText).await?;
        self.redact_if_done(caller, &outcome, command).await;
        Ok(reply(text))
    }

    /// Takes the words of a command out of the conversation, if it was carried out. If that fails, what it named stays forgotten.
    pub(super) async fn redact_if_done(&self, caller: &Caller, outcome: &CommandOutcome, command: MessageId) {
        if matches!(outcome, CommandOutcome::Done(_))
            && let Err(e) = self.redact_command(caller, command).await
        {
            tracing::warn!(code = e.code(), "the words of a command to forget were not removed");
        }
    }

    /// Takes the words of a command out of the conversation. The turn itself stays.
    async fn redact_command(&self, caller: &Caller, command: MessageId) -> Result<(), UseCaseError> {
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = self.parts.store.knowledge_version(caller).await?;
            let target = Target { commands: HashSet::from([command]), ..Target::default() };
            let Some(done) = self.forget_target(caller, target, version, chrono::TimeDelta::zero(), self.fresh_forgetting()).await? else {
                continue;
            };
            if let Some(id) = done.token.and_then(|token| token.parse().ok()) {
                // If this fails, the background task repeats it.
                self.parts.store.purge_forgotten(caller, id, self.now()).await?;
            }
            return Ok(());
        }
        Err(CommitError::Stale.into())
    }

    /// Returns how a forgetting can be undone, if the server allows that.
    pub(super) fn undoable(&self, outcome: &CommandOutcome) -> Option<UndoableForgetting> {
        match outcome {
            CommandOutcome::Done(forgotten) => forgotten.undo.filter(|undo| self.now() < undo.undo_until),
            _ => None,
        }
    }

    /// Writes the reply to a command. It repeats nothing of what was forgotten.
    pub(super) async fn reply_to_command(
        &self,
        caller: &Caller,
        outcome: &CommandOutcome,
        undo_by: UndoBy,
    ) -> Result<String, UseCaseError> {
        Ok(match outcome {
            CommandOutcome::Nothing => {
                "I found nothing that this names, so I forgot nothing. Try the words in which it was told.".to_owned()
            }
            CommandOutcome::OnlyDocuments => {
                "Only your documents say that, so I forgot nothing. Delete a document to forget what it says.".to_owned()
            }
            CommandOutcome::Several(facts) => {
                let sides: HashSet<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
                let sides = self.parts.store.entities_by_id(caller, &sides.into_iter().collect::<Vec<_>>()).await?;
                let name = |id: EntityId| match sides.iter().find(|e| e.id == id) {
                    Some(e) if e.is_viewer => "you".to_owned(),
                    Some(e) => e.name.clone(),
                    None => "?".to_owned(),
                };
                let told: Vec<String> = facts
                    .iter()
                    .map(|f| {
                        let relation = self.parts.ontology.get(&f.relation);
                        let first_person = sides.iter().any(|e| e.id == f.subject && e.is_viewer);
                        let phrase = match (relation, first_person) {
                            (Some(r), true) => r.phrase_of_first_person(),
                            (Some(r), false) => r.phrase.clone(),
                            (None, _) => f.relation.to_lowercase(),
                        };
                        format!("{} {phrase} {}", name(f.subject), name(f.object))
                    })
                    .collect();
                format!("That could mean several things: {}. Which of them should I forget? I have forgotten nothing yet.", told.join("; "))
            }
            CommandOutcome::SeveralMessages(ids) => {
                let mut said = self.parts.store.messages_by_id(caller, ids).await?;
                said.sort_by_key(|m| (m.sent_at, m.position));
                let told: Vec<String> = said.iter().map(|m| format!("“{}”", check::title_of(m.text.as_str()))).collect();
                format!(
                    "That could mean several messages: {}. Which of them should I forget? I have forgotten nothing yet.",
                    told.join("; ")
                )
            }
            CommandOutcome::Done(forgotten) => {
                let count = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
                let parts: Vec<String> = [(forgotten.facts, "fact"), (forgotten.messages, "message")]
                    .into_iter()
                    .filter(|(n, _)| *n > 0)
                    .map(|(n, one)| count(n, one))
                    .collect();
                let undo = match self.undoable(outcome) {
                    Some(UndoableForgetting { token, .. }) if undo_by == UndoBy::TokenInText => {
                        format!(" It can be undone for a while with the token {token}.")
                    }
                    Some(_) => {
                        let minutes = (self.parts.retention.forget_undo.as_secs() / 60).max(1);
                        format!(" This can be undone for {}.", count(usize::try_from(minutes).unwrap_or(usize::MAX), "minute"))
                    }
                    None => String::new(),
                };
                format!("Done. I forgot {}.{undo}", parts.join(" and "))
            }
        })
    }
}

/// Whether facts leave open which one is meant: several hold. A fact and its rivals from before are one.
fn could_mean_several(facts: &[Fact]) -> bool {
    facts.iter().filter(|f| f.status == FactStatus::Active).count() > 1
}
