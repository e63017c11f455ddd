//! Recognizes questions about the memory itself, such as "how are you", and replies to them.

use recall_domain::FirstPerson;

use super::words::words;

const ABOUT_ITSELF: &str = "I am a memory, not a person: I keep what you tell me and answer from it, naming where I have it from.";

/// Returns the reply to a question about the memory itself, or `None` for any other question.
pub(super) fn reply(question: &str) -> Option<&'static str> {
    let words: Vec<String> = words(question).into_iter().map(|w| w.plain).collect();
    let words: Vec<&str> =
        words.iter().map(String::as_str).skip_while(|w| matches!(*w, "hi" | "hey" | "hello" | "so" | "and" | "ok" | "well")).collect();
    let itself = matches!(
        words.as_slice(),
        ["how", "are" | "were", "you", ..]
            | ["how", "it" | "things", "going", ..]
            | ["how", "is" | "are", "it" | "things", "going", ..]
            | ["how", "do" | "does", "you" | "this", "work" | "feel", ..]
            | ["who" | "what", "are", "you"]
            | ["what", "up"]
            | ["what", "is", "up"]
            | ["what", "can" | "do", "you", "do", ..]
            | ["what", "is", "your", ..]
            | ["what", "your", ..]
            | ["can" | "could" | "will" | "would", "you", "help", ..]
            | ["are", "you", ..]
            | ["do", "you", "like" | "love" | "have" | "want" | "feel" | "think" | "speak", ..]
            | ["where", "are", "you", ..]
            | ["how", "old", "are", "you", ..]
    );
    // "What is your record of my address" is about the user.
    (itself && !words.iter().filter_map(|w| FirstPerson::of(w)).any(|p| !p.plural && p.acts_or_owns())).then_some(ABOUT_ITSELF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_the_memory_itself_are_recognized() {
        for text in
            ["How are you?", "hey, how are you doing today?", "Who are you?", "What can you do?", "Can you help me?", "Are you human?"]
        {
            assert!(reply(text).is_some(), "{text}");
        }
        for text in [
            "How are you going to find my keys?",
            "How is my sister?",
            "Who is John?",
            "What do you know about Ida?",
            "Can you tell me where Otis lives?",
            "",
        ] {
            assert!(reply(text).is_none(), "{text}");
        }
    }
}
