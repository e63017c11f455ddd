//! Builds the extractor's input: a message, earlier messages and waiting messages of its session.

use std::sync::Arc;

use super::use_cases::UseCases;
use recall_domain::{Caller, Message, MessageStatus, Role};
use recall_ports::{Background, EarlierMessage, ExtractInput, Extractor, StoreError};

/// A message with the extractor's input.
pub(super) struct Reading {
    pub(super) message: Message,
    pub(super) input: ExtractInput,
}

/// Earlier messages that the extractor gets, for pronouns.
const PREVIOUS: u32 = 2;
/// Earlier messages in the background of a message. How many are loaded with it makes no difference.
const EARLIER: u32 = 6;
/// Most waiting messages whose names are looked up together.
const LOOKED_UP: usize = 8;

impl UseCases {
    /// Returns the extractor's input for a message, and for the waiting ones among the `ahead` messages after it.
    pub(super) async fn readings(
        &self,
        caller: &Caller,
        message: Message,
        ahead: u32,
        extractor: &dyn Extractor,
    ) -> Result<(Reading, Vec<Reading>), StoreError> {
        // If later messages are read too, the message itself is among them.
        let (end, limit) = match ahead {
            0 => (message.position, EARLIER),
            n => (message.position.saturating_add(1 + u64::from(n)), EARLIER + 1 + n),
        };
        let around = self.parts.store.messages_before(caller, message.session, end, limit).await?;
        let (mut first, mut next) = readings(message, &around);
        if extractor.reads_background() {
            let all: Vec<&Reading> = std::iter::once(&first).chain(&next).take(LOOKED_UP).collect();
            let texts: Vec<&str> = all.iter().map(|r| r.message.text.as_str()).collect();
            let earlier: Vec<_> = first.input.background.earlier.iter().map(|m| m.id).collect();
            let known = Arc::new(self.known_names(caller, first.message.session, &texts, &earlier).await?);
            for reading in std::iter::once(&mut first).chain(&mut next) {
                reading.input.background.known = known.clone();
            }
        }
        Ok((first, next))
    }
}

/// Returns the input of a message and of the waiting messages after it, each with the messages before it.
fn readings(message: Message, around: &[Message]) -> (Reading, Vec<Reading>) {
    let reading = |m: &Message| {
        let before: Vec<_> = around.iter().filter(|b| b.position < m.position).collect();
        let near = before.iter().skip(before.len().saturating_sub(EARLIER as usize));
        let before: Vec<_> = near.filter(|b| b.remembered).collect();
        let last = |n: u32| before.iter().skip(before.len().saturating_sub(n as usize));
        let earlier = last(EARLIER).map(|b| EarlierMessage { id: b.id, role: b.role, speaker: b.speaker.clone(), text: b.text.clone() });
        let input = ExtractInput {
            message: Some(m.id),
            text: m.text.clone(),
            speaker: m.speaker.clone(),
            previous: last(PREVIOUS).map(|b| b.text.clone()).collect(),
            background: Background { earlier: earlier.collect(), ..Background::default() },
        };
        Reading { message: m.clone(), input }
    };
    let waits = |m: &&Message| m.position > message.position && is_waiting(m);
    (reading(&message), around.iter().filter(waits).map(reading).collect())
}

/// Whether the message has a job that has not ended.
pub(super) fn is_waiting(message: &Message) -> bool {
    message.status == MessageStatus::Processing && message.role != Role::Assistant
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use recall_domain::{MessageId, SessionId, Timestamp};

    fn message(position: u64, role: Role, status: MessageStatus) -> Message {
        Message {
            id: MessageId(Uuid::from_u128(position.into())),
            session: SessionId(Uuid::nil()),
            position,
            role,
            speaker: None,
            text: position.to_string().into(),
            kind: None,
            status,
            sent_at: Timestamp::UNIX_EPOCH,
            created_at: Timestamp::UNIX_EPOCH,
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        }
    }

    fn told(Reading { input, .. }: &Reading) -> String {
        let previous: Vec<_> = input.previous.iter().map(|p| p.as_str()).collect();
        format!("{} after {}", input.text.as_str(), previous.join(","))
    }

    #[test]
    fn each_input_has_the_two_messages_before_it() {
        let (waiting, done) = (MessageStatus::Processing, MessageStatus::Processed);
        let all = [
            message(3, Role::User, done),
            message(4, Role::User, done),
            message(5, Role::Assistant, done),
            message(6, Role::User, waiting),
            message(7, Role::User, waiting),
            message(8, Role::Assistant, done),
            message(9, Role::User, waiting),
        ];
        let (first, next) = readings(all[3].clone(), &all);
        assert_eq!(
            (told(&first), next.iter().map(told).collect::<Vec<_>>()),
            ("6 after 4,5".into(), vec!["7 after 5,6".into(), "9 after 7,8".into()])
        );
        // Without looking ahead, only earlier messages were read.
        let (first, next) = readings(all[3].clone(), &all[1..3]);
        assert_eq!((told(&first), next.len()), ("6 after 4,5".into(), 0));
        let (first, _) = readings(all[0].clone(), &[]);
        assert_eq!(told(&first), "3 after ");
        let (_, next) = readings(all[3].clone(), &all);
        let earlier: Vec<&str> = next[1].input.background.earlier.iter().map(|m| m.text.as_str()).collect();
        assert_eq!(earlier, ["3", "4", "5", "6", "7", "8"]);
    }

    #[test]
    fn message_read_ahead_has_the_same_input_as_alone() {
        let mut all: Vec<Message> = (1..=12).map(|n| message(n, Role::User, MessageStatus::Processing)).collect();
        all[8].remembered = false;
        let input = |reading: &Reading| {
            let earlier: Vec<u64> = reading.input.background.earlier.iter().map(|m| m.text.as_str().parse().unwrap_or_default()).collect();
            (told(reading), earlier)
        };
        let (alone, _) = readings(all[11].clone(), &all[5..11]);
        let (_, ahead) = readings(all[10].clone(), &all);
        assert_eq!(input(&alone), input(&ahead[0]));
        assert_eq!(input(&alone), ("12 after 10,11".to_owned(), vec![6, 7, 8, 10, 11]));
    }
}
