//! The content of a message: a text, or a list of parts such as texts, images, recordings and files.

use serde::Deserialize;
use serde_json::Value;

use recall_domain::UserText;
use recall_usecases::{AttachedContent, Attachment};

/// The content of a message.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    /// A text.
    Text(String),
    /// Several parts.
    Parts(Vec<Part>),
    /// Parts that this server does not know.
    UnknownParts(#[allow(dead_code, reason = "only that it is a list counts")] Vec<serde::de::IgnoredAny>),
    /// Something that the protocol does not know.
    Other(serde::de::IgnoredAny),
}

/// Omits the content, which is user data.
impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<content>")
    }
}

/// A part, in the form of chat completions (`image_url`) or of responses (`input_image`).
#[derive(Deserialize)]
pub(super) struct Part {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
    /// An object with `url`, or the address itself.
    #[serde(default)]
    image_url: Value,
    /// `data` in base64, and `format`.
    #[serde(default)]
    input_audio: Value,
    /// `file_data`, a `data:` URI.
    #[serde(default)]
    file: Value,
    #[serde(default)]
    file_data: Value,
    #[serde(default)]
    file_url: Value,
}

impl Content {
    /// Returns the text, without images and the like.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let is_text = |part: &&Part| matches!(part.kind.as_deref(), None | Some("text" | "input_text" | "output_text"));
                parts.iter().filter(is_text).filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n")
            }
            Self::UnknownParts(_) | Self::Other(_) => String::new(),
        }
    }

    /// Takes what is attached to the text. A file that is only named by its id at the model server has no address and is left out.
    pub(super) fn take_attachments(&mut self) -> Vec<Attachment> {
        match self {
            Self::Parts(parts) => parts.iter_mut().filter_map(Part::take_attachment).collect(),
            Self::Text(_) | Self::UnknownParts(_) | Self::Other(_) => Vec::new(),
        }
    }

    /// Whether it is a text or a list.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Other(_))
    }
}

impl Part {
    fn take_attachment(&mut self) -> Option<Attachment> {
        let uri = |value: Option<String>| {
            let content = AttachedContent::Uri(UserText::from(value?));
            Some(Attachment { media_type: None, content })
        };
        match self.kind.as_deref()? {
            "image_url" | "input_image" => match &self.image_url {
                Value::Object(_) => uri(take_text(&mut self.image_url, "url")),
                _ => uri(text_of(self.image_url.take())),
            },
            "input_audio" => {
                let media_type = take_text(&mut self.input_audio, "format").map(|format| audio_type(&format));
                let content = AttachedContent::Base64(UserText::from(take_text(&mut self.input_audio, "data")?));
                Some(Attachment { media_type, content })
            }
            "file" => uri(take_text(&mut self.file, "file_data")),
            "input_file" => uri(text_of(self.file_data.take()).or_else(|| text_of(self.file_url.take()))),
            _ => None,
        }
    }
}

fn take_text(object: &mut Value, field: &str) -> Option<String> {
    text_of(object.get_mut(field)?.take())
}

fn text_of(value: Value) -> Option<String> {
    if let Value::String(text) = value { Some(text) } else { None }
}

/// Returns the media type of a format of recordings.
fn audio_type(format: &str) -> String {
    match format {
        "mp3" => "audio/mpeg".to_owned(),
        format => format!("audio/{format}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_both_forms_are_attachments() {
        let mut content: Content = serde_json::from_value(json!([
            { "type": "text", "text": "a" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA", "detail": "low" } },
            { "type": "input_image", "image_url": "https://example.com/a.png" },
            { "type": "input_audio", "input_audio": { "data": "AAAA", "format": "mp3" } },
            { "type": "file", "file": { "file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf" } },
            { "type": "file", "file": { "file_id": "file-1" } },
            { "type": "input_file", "file_url": "https://example.com/a.pdf" },
            { "type": "image_url", "image_url": 7 },
            { "type": "input_audio" },
        ]))
        .unwrap();
        let uri = |uri: &str| Attachment { media_type: None, content: AttachedContent::Uri(uri.into()) };
        let audio = Attachment { media_type: Some("audio/mpeg".into()), content: AttachedContent::Base64("AAAA".into()) };
        let expected = [
            uri("data:image/png;base64,AAAA"),
            uri("https://example.com/a.png"),
            audio,
            uri("data:application/pdf;base64,AAAA"),
            uri("https://example.com/a.pdf"),
        ];
        assert_eq!(content.text(), "a");
        assert_eq!(content.take_attachments(), expected);
        assert_eq!(content.text(), "a", "the text stays");
    }
}
