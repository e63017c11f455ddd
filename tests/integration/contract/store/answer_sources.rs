//! Where the answer to a message may look, which is stored with the message.

use std::sync::Arc;

use recall_domain::{
    DocumentId,
    context::{SearchSource, SearchSources},
};
use recall_ports::{FollowUp, NewMessage, Store};

use super::given::{World, at, fresh, new_message};

pub(super) async fn sources_of_an_answer_are_kept_with_its_question(store: Arc<dyn Store>) {
    let (w, other) = (World::new(&store), World::new(&store));
    let session = w.session().await;
    let sources = SearchSources {
        of: vec![SearchSource::Documents],
        collections: vec!["work".into(), "home".into()],
        documents: vec![DocumentId(fresh()), DocumentId(fresh())],
    };
    let asked = NewMessage { answer_from: sources.clone(), mining: FollowUp::FactsAndAnswer, ..new_message(session, "Which?") };
    let asked = w.append(asked).await;
    let everywhere = w.append(NewMessage { mining: FollowUp::FactsAndAnswer, ..new_message(session, "And what?") }).await;
    let of = async |w: &World, id| store.answer_sources(&w.caller, id).await.unwrap();
    assert_eq!((of(&w, asked.id).await, of(&w, everywhere.id).await), (sources, SearchSources::default()));
    assert_eq!(of(&other, asked.id).await, SearchSources::default(), "another user's row was read");
    assert_eq!(store.holdings(&w.caller).await.unwrap().get("answer_sources"), Some(&1));
    store.delete_session(&w.caller, session, at(9), &|_, _| None).await.unwrap();
    assert_eq!(store.holdings(&w.caller).await.unwrap().get("answer_sources"), None);
}
