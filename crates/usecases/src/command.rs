//! Carries out "Forget that I have a dog." in a conversation: forgets, asks back, and keeps nothing of the command itself.

use std::collections::HashSet;

use super::{check, error::UseCaseError, forget::Target, forget_request::Forgotten, manual_edits::MAX_STALE, shared, use_cases::UseCases};
use recall_domain::{AuditAction, AuditDraft, Caller, EntityId, Fact, FactStatus, MessageId, UndoableForgetting};
use recall_ports::{AnswerDraft, CommitError};

/// Where an entry of the audit log comes from, if a message and no request of its own has forgotten.
const INSTANCE: &str = "conversation";
/// Most facts that are named when the command is unclear.
const MAX_NAMED: usize = 8;

/// Words that show that "forget" only changes the subject: "forget about Bob for now".
const ASIDES: &[&str] = &["for now", "for a moment", "for the moment", "for a second", "for a minute"];
/// Words after a comma that begin something else: "forget Bob, what about Ann?".
const CLAUSES: &[&str] = &[
    "are", "but", "can", "could", "did", "do", "does", "how", "is", "it's", "just", "let", "let's", "lets", "now", "should", "tell",
    "that's", "what", "what's", "why", "will", "would",
];

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
    /// Several facts could be meant.
    Several(Vec<Fact>),
    /// No fact is meant, and several messages have the words.
    SeveralMessages(Vec<MessageId>),
    /// It was forgotten.
    Done(Forgotten),
}

/// Returns what a message asks to forget, if it is nothing but that command.
pub(super) fn forget_command(text: &str) -> Option<&str> {
    let text = text.trim();
    let plain = text.replace('’', "'");
    let closed = plain.trim_end_matches(['.', '!', '?']);
    let one_sentence = !closed.contains(['\n', '?', '!']) && !closed.contains(". ");
    let words: Vec<String> = closed.split_whitespace().map(|w| w.to_lowercase().trim_matches(',').to_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rest = match words.as_slice() {
        ["please" | "pls", rest @ ..]
        | ["can" | "could" | "would", "you", "please", rest @ ..]
        | ["can" | "could" | "would", "you", rest @ ..] => rest,
        rest => rest,
    };
    let meant = match rest {
        ["forget", "it" | "me"] | ["forget"] => false,
        ["forget", ..] => true,
        ["delete" | "erase" | "remove", "everything" | "anything" | "all", ..] => true,
        ["delete" | "erase" | "remove", "what" | "that", "you" | "i", ..] => true,
        _ => false,
    };
    let spoken = format!(" {} ", words.join(" "));
    let is_aside = rest.get(1) == Some(&"about") && ASIDES.iter().any(|aside| spoken.contains(&format!(" {aside} ")));
    let begins = |part: &str| part.split_whitespace().next().is_some_and(|word| CLAUSES.contains(&word.to_lowercase().as_str()));
    let goes_on = closed.split(',').skip(1).any(begins);
    (meant && one_sentence && !is_aside && !goes_on).then_some(text)
}

impl UseCases {
    /// Forgets what the words of a command mean, or returns why not.
    pub(super) async fn forget_on_command(&self, caller: &Caller, words: &str, command: MessageId) -> Result<CommandOutcome, UseCaseError> {
        shared::may_write(caller)?;
        let undo = chrono::TimeDelta::from_std(self.parts.retention.forget_undo).unwrap_or_default();
        let _guard = self.learner.lock_user(caller).await;
        for _ in 0..MAX_STALE {
            let version = self.parts.store.knowledge_version(caller).await?;
            let mut target = self.target_of_query(caller, words).await?;
            target.mentioning.remove(&command);
            if target.facts.is_empty() && target.mentioning.is_empty() {
                return Ok(CommandOutcome::Nothing);
            }
            if target.is_by_words && target.mentioning.len() > 1 {
                return Ok(CommandOutcome::SeveralMessages(target.mentioning.into_iter().collect()));
            }
            if target.mentioning.is_empty() && could_mean_several(&target.facts) {
                let mut facts = target.facts;
                facts.truncate(MAX_NAMED);
                return Ok(CommandOutcome::Several(facts));
            }
            if let Some(forgotten) = self.forget_target(caller, target, version, undo).await? {
                self.audit_command(caller, &forgotten).await;
                return Ok(CommandOutcome::Done(forgotten));
            }
        }
        Err(CommitError::Stale.into())
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
        words: &str,
        command: MessageId,
    ) -> Result<AnswerDraft, UseCaseError> {
        let outcome = self.forget_on_command(caller, words, command).await?;
        let text = self.reply_to_command(caller, &outcome, UndoBy::TokenInText).await?;
        self.redact_if_done(caller, &outcome, command).await;
        Ok(AnswerDraft { text: text.into(), citations: Vec::new(), grounded: false, answerer: None })
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
            let Some(done) = self.forget_target(caller, target, version, chrono::TimeDelta::zero()).await? else { continue };
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
            CommandOutcome::Done(forgotten) if !self.parts.retention.forget_undo.is_zero() => forgotten.undoable(),
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
                let parts: Vec<String> = [(forgotten.facts.len(), "fact"), (forgotten.messages.len(), "message")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_forget_are_recognized() {
        for (text, expected) in [
            ("Forget that I have a dog.", true),
            ("Please forget everything about Oakwood!", true),
            ("Can you forget my address?", true),
            ("Delete everything about Tom", true),
            ("Forget it", false),
            ("forget", false),
            ("Delete the last paragraph", false),
            ("Forget what I said. That was my brother.", false),
            ("I forget names", false),
            ("Forget Bob, Ann and Carl, please.", true),
            ("Forget about Bob for now, what about dinner?", false),
            ("Forget Bob, let’s talk about Ann", false),
            ("Forget my plans for today.", true),
            ("Forget Bob, who was my landlord.", true),
        ] {
            assert_eq!(forget_command(text).is_some(), expected, "{text}");
        }
    }
}
