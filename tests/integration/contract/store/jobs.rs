//! The queue: order, leases, fencing, dead letters, fairness.

use std::{collections::HashSet, sync::Arc, time::Duration};

use crate::planned::Finish;
use recall_domain::{Caller, MessageId, MessageStatus, UserId, ViewerRole};
use recall_ports::{CommitError, FollowUp, JobWork, KnowledgeCommit, Store};

use super::given::{LEASE, World, at, event, fresh, new_message};

const LEASE_MS: i64 = 30_000;

pub(super) async fn lane_runs_one_job_at_a_time_in_order(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let batch = (0..3).map(|_| new_message(session, "m")).collect();
    let mut waiting: Vec<_> = store.append(&w.caller, session, batch).await.unwrap().into_iter().map(|a| a.message.id).collect();
    waiting.push(w.say(session, "m").await.id);
    for message in waiting {
        let jobs = w.claim(0).await;
        assert_eq!(jobs.len(), 1, "a lane has several running jobs");
        assert_eq!((jobs[0].work, jobs[0].session, jobs[0].attempts), (JobWork::Understand { message, answer: false }, session, 1));
        assert!(w.claim(0).await.is_empty());
        store.finish(&w.caller, &w.plan(session).await, &jobs[0]).await.unwrap();
    }
    assert!(w.claim(0).await.is_empty());
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    assert_eq!(store.next_due(at(0)).await.unwrap(), None);
}

pub(super) async fn lanes_of_a_session_run_concurrently(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let question = w.ask(session, "Who?").await;
    let job = w.claim(0).await.remove(0);
    let plan = KnowledgeCommit { follow_up: Some(JobWork::Answer(question.id)), ..w.plan(session).await };
    store.finish(&w.caller, &plan, &job).await.unwrap();
    let next = w.say(session, "And John likes Mary.").await;
    let works: HashSet<_> = w.claim(0).await.iter().map(|j| format!("{:?}", j.work)).collect();
    assert_eq!(
        works,
        [JobWork::Answer(question.id), JobWork::Understand { message: next.id, answer: false }]
            .iter()
            .map(|w| format!("{w:?}"))
            .collect::<HashSet<_>>()
    );
}

pub(super) async fn expired_lease_is_due_again_and_fences_late_worker(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    w.say(session, "m").await;
    let late = w.claim(0).await.remove(0);
    assert_eq!(store.next_due(at(1)).await.unwrap(), Some(LEASE - Duration::from_millis(1)));
    assert_eq!(store.next_due(at(2 * LEASE_MS)).await.unwrap(), Some(Duration::ZERO));
    assert!(w.claim(LEASE_MS - 1).await.is_empty());
    assert!(store.extend(&late.claim, at(LEASE_MS - 1), LEASE).await.unwrap());
    assert!(w.claim(LEASE_MS).await.is_empty(), "an extended lease expired");
    let taken = w.claim(2 * LEASE_MS).await.remove(0);
    assert_eq!((taken.claim.job, taken.attempts), (late.claim.job, 2));
    assert_ne!(taken.claim.token, late.claim.token);

    let plan = KnowledgeCommit { events: vec![event(session)], ..w.plan(session).await };
    let head = store.log_state(&w.caller, session).await.unwrap();
    assert!(matches!(store.finish(&w.caller, &plan, &late).await, Err(CommitError::NotOurs)));
    assert!(matches!(store.retry(&late.claim, at(0), Duration::ZERO, "late").await, Err(CommitError::NotOurs)));
    assert!(matches!(store.bury(&w.caller, &late.claim, &event(session), "late", at(0)).await, Err(CommitError::NotOurs)));
    assert!(!store.extend(&late.claim, at(0), LEASE).await.unwrap());
    store.release(std::slice::from_ref(&late.claim)).await.unwrap();
    assert_eq!(store.log_state(&w.caller, session).await.unwrap(), head);
    // The late worker did not change the new worker's lease.
    store.finish(&w.caller, &plan, &taken).await.unwrap();
    let again = KnowledgeCommit { version: plan.version + 1, ..plan };
    assert!(matches!(store.finish(&w.caller, &again, &taken).await, Err(CommitError::NotOurs)), "a job was committed twice");
}

pub(super) async fn retried_job_waits_and_keeps_its_place(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (first, second) = (w.say(session, "1").await, w.say(session, "2").await);
    let job = w.claim(0).await.remove(0);
    store.retry(&job.claim, at(200), Duration::from_millis(300), "model_unreachable").await.unwrap();
    assert!(matches!(store.retry(&job.claim, at(0), Duration::ZERO, "twice").await, Err(CommitError::NotOurs)));
    assert!(w.claim(499).await.is_empty(), "the second job overtook the first");
    assert_eq!(store.next_due(at(200)).await.unwrap(), Some(Duration::from_millis(300)));
    let job = w.claim(500).await.remove(0);
    assert_eq!((job.work, job.attempts), (JobWork::Understand { message: first.id, answer: false }, 2));
    store.finish(&w.caller, &w.plan(session).await, &job).await.unwrap();
    assert_eq!(w.claim(500).await[0].work, JobWork::Understand { message: second.id, answer: false });
}

pub(super) async fn released_job_keeps_its_attempts(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    w.say(session, "m").await;
    let held = w.claim(0).await.remove(0);
    store.release(std::slice::from_ref(&held.claim)).await.unwrap();
    assert!(!store.extend(&held.claim, at(0), LEASE).await.unwrap(), "a released lease was extended");
    let job = w.claim(0).await.remove(0);
    assert_eq!(job.attempts, 1);
    assert_ne!(job.claim.token, held.claim.token);
}

pub(super) async fn lost_leases_are_released(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let (one, two, three) = (w.session().await, w.session().await, w.session().await);
    for session in [one, two, three] {
        w.say(session, "m").await;
    }
    let jobs = w.claim(0).await;
    let of = |session| jobs.iter().find(|job| job.session == session).unwrap();
    assert_eq!(store.oldest(at(5_000)).await.unwrap(), Some(Duration::from_secs(5)));
    // One is in progress, one was claimed but got lost, and one waits for its next attempt.
    store.retry(&of(three).claim, at(0), Duration::from_secs(20), "TEST").await.unwrap();
    assert_eq!(store.release_lost(std::slice::from_ref(&of(one).claim), at(1)).await.unwrap(), 1);
    let again = w.claim(1).await;
    assert_eq!(again.iter().map(|job| (job.session, job.attempts)).collect::<Vec<_>>(), [(two, 1)]);
    assert!(store.extend(&of(one).claim, at(1), LEASE).await.unwrap(), "a lease in progress was released");
    assert!(!store.extend(&of(two).claim, at(1), LEASE).await.unwrap());
    assert_eq!(store.release_lost(&[of(one).claim.clone(), again[0].claim.clone()], at(2)).await.unwrap(), 0);
}

pub(super) async fn dead_letter_does_not_block_later_jobs(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let (bad, good) = (w.say(session, "bad").await, w.say(session, "good").await);
    let job = w.claim(0).await.remove(0);
    let letter = event(session);
    store.bury(&w.caller, &job.claim, &letter, "extractor_failed", at(7)).await.unwrap();
    assert_eq!(store.messages_by_id(&w.caller, &[bad.id]).await.unwrap()[0].status, MessageStatus::Failed);
    let last = store.events_after(&w.caller, session, 2, 10).await.unwrap();
    assert_eq!(last.iter().map(|e| (e.seq, e.id, e.created_at)).collect::<Vec<_>>(), [(3, letter.id, at(7))]);
    assert_eq!(store.depth().await.unwrap(), (1, 1));
    let next = w.claim(7).await.remove(0);
    assert_eq!(next.work, JobWork::Understand { message: good.id, answer: false });
    assert!(matches!(store.bury(&w.caller, &job.claim, &event(session), "x", at(8)).await, Err(CommitError::NotOurs)));
    assert!(w.claim(10 * LEASE_MS).await.iter().all(|j| j.claim.job != job.claim.job), "a dead letter came back");

    // A failed answer does not change the status of the question.
    let other = w.session().await;
    let question = w.note(other, "Who?").await;
    w.commit(KnowledgeCommit { follow_up: Some(JobWork::Answer(question.id)), ..w.plan(other).await }).await;
    let job = w.claim(20 * LEASE_MS).await.into_iter().find(|j| j.session == other).unwrap();
    store.bury(&w.caller, &job.claim, &event(other), "answerer_failed", at(9)).await.unwrap();
    assert_eq!(store.messages_by_id(&w.caller, &[question.id]).await.unwrap()[0].status, MessageStatus::Processed);
}

pub(super) async fn long_backlog_does_not_starve_other_session(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let backlog = w.session().await;
    store.append(&w.caller, backlog, (0..50).map(|_| new_message(backlog, "old")).collect()).await.unwrap();
    let quick = w.session().await;
    let message = recall_ports::NewMessage { created_at: at(1_000), ..new_message(quick, "new") };
    w.append(message).await;
    let mut before = 0;
    loop {
        // One worker that claims one job at a time.
        let job = store.claim(at(2_000 + before), LEASE, 1).await.unwrap().remove(0);
        if job.session == quick {
            break;
        }
        before += 1;
        let plan = KnowledgeCommit { now: at(2_000 + before), ..w.plan(backlog).await };
        store.finish(&w.caller, &plan, &job).await.unwrap();
    }
    assert!(before <= 1, "{before} old jobs ran before the new session's first");
}

pub(super) async fn users_take_turns_regardless_of_session_count(store: Arc<dyn Store>) {
    let (busy, late, later) = (World::new(&store), World::new(&store), World::new(&store));
    for _ in 0..200 {
        let session = busy.session().await;
        busy.say(session, "of many").await;
    }
    for w in [&late, &later] {
        for _ in 0..2 {
            let session = w.session().await;
            w.append(recall_ports::NewMessage { created_at: at(1_000), ..new_message(session, "of one") }).await;
        }
    }
    let mut served = Vec::new();
    for _ in 0..6 {
        // One worker that claims one job at a time.
        served.push(store.claim(at(2_000), LEASE, 1).await.unwrap().remove(0).caller.user());
    }
    for (name, w, times) in [("busy", &busy, 2), ("late", &late, 2), ("later", &later, 2)] {
        assert_eq!(served.iter().filter(|user| **user == w.caller.user()).count(), times, "{name}");
    }
    // Only one user has jobs left: taking turns does not idle workers.
    let jobs = store.claim(at(2_000), LEASE, 50).await.unwrap();
    assert!(jobs.len() == 50 && jobs.iter().all(|job| job.caller.user() == busy.caller.user()), "{}", jobs.len());
    // With several jobs per claim, each user gets one first.
    let session = late.session().await;
    late.append(recall_ports::NewMessage { created_at: at(1_000), ..new_message(session, "another") }).await;
    let jobs = store.claim(at(2_000), LEASE, 4).await.unwrap();
    assert_eq!(jobs.iter().filter(|job| job.caller.user() == late.caller.user()).count(), 1);
    assert_eq!(jobs.len(), 4);
    let rest = store.claim(at(2_000), LEASE, 1_000).await.unwrap();
    assert_eq!(rest.len(), 200 - 2 - 50 - 3, "a job was claimed twice or not at all");
    assert!(store.claim(at(2_000), LEASE, 1_000).await.unwrap().is_empty());
}

pub(super) async fn turns_skip_users_without_due_jobs(store: Arc<dyn Store>) {
    let worlds: Vec<_> = (0..5).map(|_| World::new(&store)).collect();
    for w in &worlds {
        let session = w.session().await;
        w.say(session, "to be delayed").await;
    }
    let jobs = store.claim(at(0), LEASE, 10).await.unwrap();
    assert_eq!(jobs.len(), 5);
    for job in &jobs {
        store.retry(&job.claim, at(0), Duration::from_secs(60), "model_unreachable").await.unwrap();
    }
    assert!(store.claim(at(0), LEASE, 10).await.unwrap().is_empty());
    for w in &worlds {
        let session = w.session().await;
        w.say(session, "now").await;
        let job = store.claim(at(0), LEASE, 1).await.unwrap().remove(0);
        assert_eq!((job.caller.user(), job.session), (w.caller.user(), session));
    }
    assert!(store.claim(at(0), LEASE, 10).await.unwrap().is_empty());
}

pub(super) async fn concurrent_workers_never_claim_same_job(store: Arc<dyn Store>) {
    let w = World::new(&store);
    for _ in 0..20 {
        let session = w.session().await;
        store.append(&w.caller, session, (0..3).map(|_| new_message(session, "m")).collect()).await.unwrap();
    }
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let w = w.clone();
            tokio::spawn(async move {
                let mut done = Vec::new();
                loop {
                    let jobs = w.store.claim(at(0), LEASE, 2).await.unwrap();
                    if jobs.is_empty() && w.store.depth().await.unwrap().0 == 0 {
                        return done;
                    }
                    for job in jobs {
                        loop {
                            let plan = w.plan(job.session).await;
                            match w.store.finish(&w.caller, &plan, &job).await {
                                Ok(_) => break,
                                Err(CommitError::Stale) => {}
                                Err(e) => panic!("{e}"),
                            }
                        }
                        done.push((job.session, job.claim.job));
                    }
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for worker in workers {
        all.extend(tokio::time::timeout(Duration::from_secs(60), worker).await.unwrap().unwrap());
    }
    assert_eq!(all.len(), 60);
    assert_eq!(all.iter().map(|(_, job)| job).collect::<HashSet<_>>().len(), 60);
}

pub(super) async fn job_keeps_caller_and_role(store: Arc<dyn Store>) {
    for role in [ViewerRole::Admin, ViewerRole::User, ViewerRole::Anonymous] {
        let w = World { store: store.clone(), caller: Caller::verified(UserId(fresh()), role) };
        store.begin_visit(&w.caller, &super::visits::visit(9, 9), &super::visits::ROOM).await.unwrap();
        let session = w.session().await;
        w.append(recall_ports::NewMessage { created_at: at(3), ..new_message(session, "m") }).await;
        let job = w.claim(3).await.into_iter().find(|j| j.session == session).unwrap();
        assert_eq!((job.caller, job.queued_at), (w.caller, at(3)));
    }
}

pub(super) async fn answer_can_be_cancelled_at_any_stage(store: Arc<dyn Store>) {
    let w = World::new(&store);
    let session = w.session().await;
    let cancel = async |question, ms| store.cancel_answer(&w.caller, question, &event(session), at(ms)).await.unwrap();
    let ask = async |text| w.append(recall_ports::NewMessage { mining: FollowUp::FactsAndAnswer, ..new_message(session, text) }).await;

    // Not processed yet: the messages will be, without an answer. A worker that already read one must not queue it.
    let (first, second) = (ask("1?").await, ask("2?").await);
    let reading = w.claim(0).await.remove(0);
    let head = store.log_state(&w.caller, session).await.unwrap().head;
    for question in [&first, &second] {
        assert!(cancel(question.id, 1).await && !cancel(question.id, 2).await, "a second cancellation found something");
    }
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, head + 2);
    let follow_up = Some(JobWork::Answer(first.id));
    let late = KnowledgeCommit { follow_up, ..w.plan(session).await };
    assert!(matches!(store.finish(&w.caller, &late, &reading).await, Err(CommitError::NotOurs)));
    for question in [&first, &second] {
        let job = w.claim(2).await.remove(0);
        assert_eq!((job.work, job.attempts), (JobWork::Understand { message: question.id, answer: false }, 1));
        store.finish(&w.caller, &w.plan(session).await, &job).await.unwrap();
    }

    // Cancelled while waiting, and while running.
    for (running, text) in [(false, "3?"), (true, "4?")] {
        let (question, next) = (w.note(session, text).await, w.note(session, "and?").await);
        for message in [&question, &next] {
            w.commit(KnowledgeCommit { follow_up: Some(JobWork::Answer(message.id)), ..w.plan(session).await }).await;
        }
        let claim = if running { Some(w.claim(10).await.remove(0)) } else { None };
        assert!(cancel(question.id, 10).await && !cancel(question.id, 10).await);
        if let Some(job) = claim {
            assert_eq!(job.work, JobWork::Answer(question.id));
            assert!(!store.extend(&job.claim, at(10), LEASE).await.unwrap());
        }
        let job = w.claim(10).await.remove(0);
        assert_eq!(job.work, JobWork::Answer(next.id), "the lane stopped");
        assert!(cancel(next.id, 10).await);
    }
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    assert!(!cancel(MessageId(fresh()), 11).await);
}
