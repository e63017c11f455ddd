//! Shows how sentences are read: words with their tags, phrases and clauses. For the authors of rules.

use std::fmt::Write;

use super::clauses::Subject;
use super::phrases::ChunkKind;
use super::{Pipeline, chunker, clause_finder, sentences, tokens};

impl Pipeline {
    /// Describes how a text is read, one paragraph for each sentence.
    pub fn trace(&self, text: &str) -> String {
        let clean = super::normalise::clean(text);
        let mut out = String::new();
        for mut sentence in sentences::split(tokens::tokenise(&clean)) {
            self.prepare(&mut sentence);
            let phrases = chunker::chunk(&sentence.tokens);
            let words: Vec<String> = sentence.tokens.iter().map(|t| format!("{}/{:?}", t.text, t.pos)).collect();
            let word = |from: usize, to: usize| sentence.tokens[from..to].iter().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ");
            let chunks: Vec<String> = phrases
                .chunks
                .iter()
                .map(|c| {
                    let kind = match c.kind {
                        ChunkKind::Noun(n) => format!("Noun<{}>", sentence.tokens[phrases.nouns[n].head].text),
                        ChunkKind::Verb(v) => format!("Verb<{}>", phrases.verbs[v].lemma),
                        kind => format!("{kind:?}"),
                    };
                    format!("{kind}[{}]", word(c.start, c.end))
                })
                .collect();
            let _ = writeln!(out, "{}\n{}", words.join(" "), chunks.join(" "));
            for c in clause_finder::find_clauses(&sentence.tokens, &phrases) {
                let subject = match &c.subject {
                    Subject::Nouns(nouns) => {
                        nouns.iter().map(|&n| sentence.tokens[phrases.nouns[n].head].text.as_str()).collect::<Vec<_>>().join("+")
                    }
                    other => format!("{other:?}"),
                };
                let g = &phrases.verbs[c.verb];
                let _ = writeln!(
                    out,
                    "  {subject} / {}{}{}{} / {}",
                    g.lemma,
                    if g.negated { " not" } else { "" },
                    if c.unasserted { " (unasserted)" } else { "" },
                    c.hedged.as_deref().map_or_else(String::new, |h| format!(" (said: {h})")),
                    word(c.start_token, phrases.chunks[c.end.max(1) - 1].end)
                );
            }
        }
        out
    }
}
