//! Messages of one lane are learned together in one transaction.

use std::sync::Arc;

use recall_domain::{MessageId, MessageStatus};
use recall_ports::{CommitError, JobWork, KnowledgeCommit, MessagePlanner, Store, StoreError};

use super::given::{World, at, event, fresh};
use crate::planned::Planned;

/// Plans that depend on nothing, as planners.
fn planners(plans: impl IntoIterator<Item = (MessageId, KnowledgeCommit)>) -> Vec<Arc<dyn MessagePlanner>> {
    plans.into_iter().map(|(message, plan)| Arc::new(Planned { message, plan }) as Arc<dyn MessagePlanner>).collect()
}

pub(super) async fn waiting_messages_are_learned_together_in_order(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let mut waiting = Vec::new();
    for i in 0..5 {
        waiting.push(w.say(session, &format!("message {i}")).await.id);
    }
    let version = store.knowledge_version(&w.caller).await.unwrap();
    let mut learned = 0;
    // A slow machine may take several rounds.
    while learned < waiting.len() {
        let job = w.claim(0).await.remove(0);
        assert_eq!(job.work, JobWork::Understand { message: waiting[learned], answer: false });
        let plans = waiting[learned..].iter().enumerate().map(|(i, id)| {
            let plan = KnowledgeCommit { events: vec![event(session)], ..KnowledgeCommit::empty(version, session, at(0)) };
            (*id, KnowledgeCommit { version: version + (learned + i) as u64, ..plan })
        });
        learned += store.learn(&w.caller, &planners(plans), Some(&job.claim)).await.unwrap().len();
        assert_eq!(store.depth().await.unwrap(), ((waiting.len() - learned) as u64, 0));
    }
    assert_eq!(store.knowledge_version(&w.caller).await.unwrap(), version + 5);
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 10);
    assert!(w.claim(0).await.is_empty());
}

pub(super) async fn learning_stops_where_the_lane_goes_on_with_another_message(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (first, second, third) = (w.say(session, "a").await.id, w.say(session, "b").await.id, w.say(session, "c").await.id);
    let job = w.claim(0).await.remove(0);
    let plan = w.plan(session).await;
    let skipping = planners([(first, plan.clone()), (third, plan.clone())]);
    assert_eq!(store.learn(&w.caller, &skipping, Some(&job.claim)).await.unwrap().len(), 1);
    let job = w.claim(0).await.remove(0);
    assert_eq!(job.work, JobWork::Understand { message: second, answer: false });
    // A claim covers only the job at the head.
    let wrong = planners([(third, w.plan(session).await)]);
    assert!(matches!(store.learn(&w.caller, &wrong, Some(&job.claim)).await, Err(CommitError::NotOurs)));
    assert_eq!(store.depth().await.unwrap(), (2, 0));
}

pub(super) async fn failed_plan_leaves_all_messages_of_its_transaction_waiting(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (first, second) = (w.say(session, "a").await.id, w.say(session, "b").await.id);
    let job = w.claim(0).await.remove(0);
    let plan = w.plan(session).await;
    let unknown = MessageId(fresh());
    let broken =
        KnowledgeCommit { version: plan.version + 1, message: Some((unknown, recall_domain::MessageKind::Other, vec![])), ..plan.clone() };
    let both = planners([(first, KnowledgeCommit { events: vec![event(session)], ..plan.clone() }), (second, broken)]);
    match store.learn(&w.caller, &both, Some(&job.claim)).await {
        Err(CommitError::Store(StoreError::NotFound)) => {
            assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 2, "a part was committed");
            assert_eq!(store.learn(&w.caller, &planners([(first, plan)]), Some(&job.claim)).await.unwrap().len(), 1);
        }
        // A slow machine stops before the second message.
        done => assert_eq!(done.unwrap().len(), 1),
    }
    assert_eq!(w.claim(0).await.remove(0).work, JobWork::Understand { message: second, answer: false });
    let messages = store.messages_by_id(&w.caller, &[second]).await.unwrap();
    assert_eq!(messages[0].status, MessageStatus::Processing);
}

pub(super) async fn withdrawn_answer_is_not_queued(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (first, second) = (w.ask(session, "Who?").await.id, w.ask(session, "Where?").await.id);
    let job = w.claim(0).await.remove(0);
    assert!(store.cancel_answer(&w.caller, second, &event(session), at(0)).await.unwrap());
    let plan = w.plan(session).await;
    let asking = |message, version| KnowledgeCommit { version, follow_up: Some(JobWork::Answer(message)), ..plan.clone() };
    let both = planners([(first, asking(first, plan.version)), (second, asking(second, plan.version + 1))]);
    if store.learn(&w.caller, &both, Some(&job.claim)).await.unwrap().len() == 1 {
        // A slow machine stops before the second message.
        let job = w.claim(0).await.into_iter().find(|job| matches!(job.work, JobWork::Understand { .. })).unwrap();
        let rest = planners([(second, asking(second, plan.version + 1))]);
        store.learn(&w.caller, &rest, Some(&job.claim)).await.unwrap();
    }
    store.recover(at(0)).await.unwrap();
    let waiting: Vec<_> = w.claim(1_000_000).await.into_iter().map(|job| job.work).collect();
    assert_eq!(waiting, [JobWork::Answer(first)]);
}
