//! A conversation with a server of its own, for tests.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Server, TIMEOUT};

/// A session on a new server, which `recall serve` runs in a process of its own.
pub(crate) struct Chat {
    pub(crate) server: Server,
    pub(crate) session: String,
    /// The server's data.
    pub(crate) folder: tempfile::TempDir,
}

impl Chat {
    /// Starts a server and tells it these messages.
    pub(crate) async fn of(texts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path());
        let session = server.create_session().await;
        let chat = Self { server, session, folder };
        for text in texts {
            chat.say(text).await;
        }
        chat
    }

    /// Sends a message and waits until it is processed. Returns its id.
    pub(crate) async fn say(&self, text: &str) -> String {
        self.say_at(text, None).await
    }

    /// The same for a message that was said at another time.
    pub(crate) async fn say_at(&self, text: &str, at: Option<&str>) -> String {
        let sent = self.server.send(json!({ "sessionId": self.session, "text": text, "sentAt": at })).await.unwrap();
        self.server.settle(&self.session).await;
        sent["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the answer to a question: its `text` and `citations`.
    pub(crate) async fn answer(&self, question: &str) -> Value {
        let id = self.say(question).await;
        let query = "query($id: ID!) { message(id: $id) { answer { text citations { excerpt } } } }";
        let started = Instant::now();
        loop {
            let data = self.server.graphql(query, json!({ "id": id })).await;
            if !data["message"]["answer"].is_null() {
                return data["message"]["answer"].clone();
            }
            assert!(started.elapsed() < TIMEOUT, "no answer to {question}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the text of the answer to a question.
    pub(crate) async fn ask(&self, question: &str) -> String {
        self.answer(question).await["text"].as_str().unwrap_or_default().to_owned()
    }
}
