//! Shared memory below the API: readers cannot change it, and session limits do not apply to it.

use std::sync::Arc;

use recall::system::{RandomIds, SystemClock};
use recall_domain::{
    Caller, CandidateFact, EntityId, EntityType, Extraction, FactId, Mention, MessageId, MessageKind, Party, Polarity, Role, SessionId,
    Span, Stance, ViewerRole,
};
use recall_facts::{Learner, SessionLimits, Statement};
use recall_ports::SessionUpdate;
use recall_usecases::{AssertFact, ForgetRequest, SendMessage};

use super::state;
use crate::api::{
    harness::{ADMIN, BORIS, Server},
    sweep::Own,
};

#[tokio::test]
async fn every_use_case_refuses_shared_reader() {
    let server = Server::start().await;
    let shared = Own::shared(&server, "Handbook").await;
    let before = state(&server).await;
    let c = &server.usecases;
    let caller = Caller::verified(BORIS.parse().unwrap(), ViewerRole::Admin);
    // Not even a reader that was made from an administrator.
    let reader = &caller.shared_reader().unwrap();
    let (session, message): (SessionId, MessageId) = (shared.session.parse().unwrap(), shared.message.parse().unwrap());
    let (entity, fact): (EntityId, FactId) = (shared.entity.parse().unwrap(), shared.fact.parse().unwrap());
    let said = || SendMessage {
        session,
        text: "Hello.".to_owned(),
        role: Role::User,
        speaker: None,
        sent_at: None,
        source_metadata: None,
        client_message_id: None,
        resources: Vec::new(),
        answer_from: Default::default(),
    };
    let name = || "Eve".to_owned();
    let stated = AssertFact {
        stance: Stance::Supports,
        session,
        subject: name(),
        relation: "LIKES".to_owned(),
        object: Some("Rome".to_owned()),
        value: None,
        subject_type: None,
        object_type: None,
        reason: None,
    };
    let refusals = [
        c.create_session(reader, None).await.map(drop),
        c.delete_session(reader, session).await.map(drop),
        c.send(reader, said()).await.map(drop),
        c.import(reader, session, vec![said()]).await.map(drop),
        c.cancel_answer(reader, message).await.map(drop),
        c.assert_fact(reader, stated).await.map(drop),
        c.retract_fact(reader, fact).await.map(drop),
        c.restore_fact(reader, fact).await.map(drop),
        c.update_session(reader, session, SessionUpdate { pinned: Some(true), ..SessionUpdate::default() }).await.map(drop),
        c.set_paused(reader, true).await.map(drop),
        c.forget(reader, ForgetRequest { facts: vec![fact], ..ForgetRequest::default() }).await.map(drop),
        c.undo_forget(reader, &fact.to_string()).await.map(drop),
        c.delete_message(reader, message).await.map(drop),
        c.rename_entity(reader, entity, name()).await.map(drop),
        c.retype_entity(reader, entity, EntityType::Place).await.map(drop),
        c.merge_entities(reader, entity, entity).await.map(drop),
        c.preview_merge(reader, entity, entity).await.map(drop),
        c.separate_entities(reader, entity, None).await.map(drop),
        c.preview_separation(reader, entity, Some("Eve")).await.map(drop),
        c.erase_everything(reader).await.map(drop),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap_err().code(), "FORBIDDEN");
    }
    assert_eq!(state(&server).await, before);
}

#[tokio::test]
async fn session_limits_do_not_apply_to_shared_memory() {
    let server = Server::start().await;
    let c = &server.usecases;
    let limits = SessionLimits { entities: Some(2), facts: Some(1) };
    let ids = Arc::new(RandomIds::default());
    let learner = Learner::new(server.store.clone(), c.ontology().clone(), Arc::new(SystemClock), ids, limits);
    let person = Caller::verified(ADMIN.parse().unwrap(), ViewerRole::Admin);
    for (whose, facts) in [(person, 1), (person.shared_writer().unwrap(), 2)] {
        let session = c.create_session(&whose, None).await.unwrap().id;
        let text = "Mary likes Rome. Peter likes Ghent.";
        let said = SendMessage {
            session,
            text: text.to_owned(),
            role: Role::Assistant,
            speaker: None,
            sent_at: None,
            source_metadata: None,
            client_message_id: None,
            resources: Vec::new(),
            answer_from: Default::default(),
        };
        let message = c.send(&whose, said).await.unwrap();
        let mention = |name: &str| Mention {
            name: name.to_owned(),
            entity_type: EntityType::Thing,
            span: Span { start: 0, end: 4 },
            confidence: 1.0,
            description: None,
        };
        let fact = |subject, object| CandidateFact {
            subject: Party::Mention(subject),
            relation: "LIKES".into(),
            object: Party::Mention(object),
            value: None,
            polarity: Polarity::Affirmed,
            confidence: 1.0,
            span: Span { start: 0, end: 15 },
        };
        let extraction = Extraction {
            mentions: ["Mary", "Rome", "Peter", "Ghent"].map(mention).to_vec(),
            facts: vec![fact(0, 1), fact(2, 3)],
            ..Extraction::empty(MessageKind::Statement)
        };
        let statement = Statement {
            message: message.id,
            session,
            at: message.sent_at,
            text: message.text,
            speaker: None,
            is_impersonal: whose.is_shared(),
            chunk_event: None,
            extraction,
        };
        assert_eq!(learner.learn(&whose, vec![(statement, None)], None).await.unwrap()[0].len(), facts);
    }
}
