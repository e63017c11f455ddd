//! Corrects and completes what the rules extract, with a small network.
//!
//! 1. Text to word pieces: `tokens` with `vocabulary`.
//! 2. What the rules read becomes marks on the pieces: `marks`.
//! 3. The network: `network` with `matmul` and `activation`; `weights` reads its file.
//! 4. What it says becomes kind, mentions and facts: `reading` with `coordination`, `quotations`, `sentences`, `unasserted` and `unsettled`.
//!
//! `encoder` encodes passages and questions with another network, which shares the first layer; `projection` makes the vectors of words short.
//! `answers` reads a question together with a text, and tells whether the text answers it.
//!
//! The weights are trained on the messages in `training/`, and are part of the binary. They are mapped, not copied.

mod activation;
mod answers;
mod coordination;
mod encoder;
mod extractor;
mod kinds;
mod layer;
mod marks;
mod matmul;
mod names;
mod network;
mod others;
mod projection;
mod quotations;
mod reading;
mod sentences;
mod stem;
mod tokens;
mod unasserted;
mod unsettled;
mod vocabulary;
mod weights;

pub use answers::MiniLmVerifier;
pub use encoder::MiniLmEncoder;
pub use extractor::NeuralExtractor;
pub use marks::{KINDS, MARKS, POLARITIES, RELATIONS, TYPES, covered, marks};
pub use network::Network;
pub use tokens::{Case, MAX_TOKENS, Token, tokenise};
pub use vocabulary::Vocabulary;
pub use weights::WeightsError;

use recall_domain::{Extraction, Ontology};

impl Network {
    /// Corrects and completes what the rules found in a text. It states only relations of the ontology.
    ///
    /// It never fails: a text without words comes back as the rules read it. The time is linear in the length of the text, of which
    /// the first 128 tokens are read.
    pub fn reread(&self, ontology: &Ontology, text: &str, rules: Extraction) -> Extraction {
        reading::reread(self, ontology, text, rules)
    }
}
