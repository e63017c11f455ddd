//! Finds the resources of a message: what the client attached, and the links in the text. Pure.

use std::collections::HashSet;

use data_url::{DataUrl, forgiving_base64};
use linkify::{LinkFinder, LinkKind};
use ring::digest::{Context, SHA256};
use url::Url;
use uuid::Uuid;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use recall_domain::{
    Resource, ResourceOrigin, UserText,
    resource::{MAX_RESOURCES, MAX_URI_BYTES},
};

/// Longest media type, in bytes.
const MAX_MEDIA_TYPE_BYTES: usize = 100;

/// Something that a client sends with a text, such as an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attachment {
    /// The media type that the client names.
    pub media_type: Option<String>,
    /// The content.
    pub content: AttachedContent,
}

/// How a client sends the content of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttachedContent {
    /// Its address, or the content as a `data:` URI.
    Uri(UserText),
    /// The content in base64.
    Base64(UserText),
}

impl Attachment {
    /// Returns the content as the client wrote it.
    pub(super) fn as_written(&self) -> &str {
        let (AttachedContent::Uri(text) | AttachedContent::Base64(text)) = &self.content;
        text.as_str()
    }

    /// Describes it; `None` if it cannot be read.
    fn describe(&self) -> Option<Description> {
        let named = self.media_type.as_deref().and_then(media_type);
        match &self.content {
            AttachedContent::Uri(uri) if is_data(uri.as_str()) => {
                let data = DataUrl::process(uri.as_str()).ok()?;
                let mut content = Content::new();
                data.decode::<_, ()>(|bytes| {
                    content.add(bytes);
                    Ok(())
                })
                .ok()?;
                let written = data.mime_type();
                Some(content.describe(named.or_else(|| media_type(&format!("{}/{}", written.type_, written.subtype)))))
            }
            AttachedContent::Uri(uri) => {
                let uri = standard_uri(uri.as_str())?;
                Some(Description { uri, media_type: named, bytes: None, sha256: None })
            }
            AttachedContent::Base64(text) => {
                let mut content = Content::new();
                let mut decoder = forgiving_base64::Decoder::new(|bytes: &[u8]| {
                    content.add(bytes);
                    Ok::<_, ()>(())
                });
                decoder.feed(text.as_str().as_bytes()).ok()?;
                decoder.finish().ok()?;
                Some(content.describe(named))
            }
        }
    }
}

/// A resource without its identity.
struct Description {
    uri: String,
    media_type: Option<String>,
    bytes: Option<u64>,
    sha256: Option<String>,
}

/// A content of which digest and size are computed while it is read.
struct Content {
    digest: Context,
    bytes: u64,
}

impl Content {
    fn new() -> Self {
        Self { digest: Context::new(&SHA256), bytes: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn describe(self, media_type: Option<String>) -> Description {
        let digest = self.digest.finish();
        let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let uri = format!("ni:///sha-256;{}", URL_SAFE_NO_PAD.encode(digest));
        Description { uri, media_type, bytes: Some(self.bytes), sha256: Some(hex) }
    }
}

/// Describes attachments, each once. Reads their whole content.
pub(super) fn describe(attachments: &[Attachment], fresh: impl FnMut() -> Uuid) -> Vec<Resource> {
    let mut all = Vec::new();
    add(&mut all, ResourceOrigin::Part, attachments.iter().filter_map(Attachment::describe), fresh);
    all
}

/// Adds the links in a text to its resources.
pub(super) fn add_links(all: &mut Vec<Resource>, text: &str, fresh: impl FnMut() -> Uuid) {
    let link = |uri| Description { uri, media_type: None, bytes: None, sha256: None };
    add(all, ResourceOrigin::Link, links(text).into_iter().map(link), fresh);
}

fn add(all: &mut Vec<Resource>, origin: ResourceOrigin, found: impl Iterator<Item = Description>, mut fresh: impl FnMut() -> Uuid) {
    let mut seen: HashSet<String> = all.iter().map(|r| r.uri.as_str().to_owned()).collect();
    let resource =
        |d: Description| Resource { id: fresh(), uri: d.uri.into(), media_type: d.media_type, bytes: d.bytes, sha256: d.sha256, origin };
    let room = MAX_RESOURCES.saturating_sub(all.len());
    all.extend(found.filter(|d| seen.insert(d.uri.clone())).take(room).map(resource));
}

/// Returns the web addresses in a text, in standard form and in order.
fn links(text: &str) -> Vec<String> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let web = finder.links(text).filter(|link| is_web(link.as_str()));
    web.filter_map(|link| standard_uri(link.as_str())).collect()
}

/// Returns a link of a document in standard form: an address, or the path of a file on Windows as `file:`. `None` if it is neither.
///
/// A path that begins with `/` is none: in pages it is a path of their site.
pub fn standard_link(link: &str) -> Option<String> {
    let link = link.trim();
    let is_drive = matches!(link.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    if !is_drive && !link.starts_with("\\\\") {
        return standard_uri(link);
    }
    let path = link.replace('%', "%25").replace('?', "%3F").replace('#', "%23").replace('\\', "/");
    standard_uri(&if is_drive { format!("file:///{path}") } else { format!("file:{path}") })
}

/// Returns an absolute URI in the form of the URL standard, without a password and a fragment, so that equal resources have equal URIs.
/// `None` if it is not one, or too long.
fn standard_uri(uri: &str) -> Option<String> {
    let mut uri = Url::parse(uri.trim()).ok()?;
    uri.set_fragment(None);
    // The parts before the host are credentials. An address that cannot have them needs no change.
    let _ = uri.set_password(None).and_then(|()| uri.set_username(""));
    let uri = String::from(uri);
    (uri.len() <= MAX_URI_BYTES).then_some(uri)
}

fn is_data(uri: &str) -> bool {
    starts_with(uri.trim_start(), "data:")
}

fn is_web(uri: &str) -> bool {
    starts_with(uri, "http://") || starts_with(uri, "https://")
}

fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// Returns a media type without its parameters, in lower case; `None` if it is not one.
fn media_type(given: &str) -> Option<String> {
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |token: &str| !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b));
    let (kind, subtype) = essence.split_once('/')?;
    (essence.len() <= MAX_MEDIA_TYPE_BYTES && is_token(kind) && is_token(subtype)).then_some(essence)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn uri(uri: &str) -> Attachment {
        Attachment { media_type: None, content: AttachedContent::Uri(uri.into()) }
    }

    fn found(text: &str, attachments: &[Attachment]) -> Vec<Resource> {
        let mut all = describe(attachments, Uuid::nil);
        add_links(&mut all, text, Uuid::nil);
        all
    }

    fn uris(found: &[Resource]) -> Vec<&str> {
        found.iter().map(|r| r.uri.as_str()).collect()
    }

    #[test]
    fn content_is_named_by_its_digest() {
        // The example of RFC 6920, section 8.1.
        let hello = "data:Text/Plain;charset=utf-8;base64,SGVsbG8gV29ybGQh";
        let audio = Attachment { media_type: Some("audio/wav".into()), content: AttachedContent::Base64("SGVsbG8g\nV29ybGQh".into()) };
        let all = found("", &[uri(hello), uri("data:,Hello%20World!"), uri("data:image/png;base64,AAAA"), audio]);
        assert_eq!(
            uris(&all),
            ["ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", all[1].uri.as_str()],
            "the same content is listed once"
        );
        let first = &all[0];
        assert_eq!((first.media_type.as_deref(), first.bytes, first.origin), (Some("text/plain"), Some(12), ResourceOrigin::Part));
        assert_eq!(first.sha256.as_deref(), Some("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069"));
        assert_eq!((all[1].media_type.as_deref(), all[1].bytes), (Some("image/png"), Some(3)));
    }

    #[test]
    fn addresses_are_standardised_and_lose_credentials() {
        let all = found("", &[uri("HTTPS://User:secret@Example.COM:443/a/../b?q=ü#x"), uri("s3://bucket/key")]);
        assert_eq!(uris(&all), ["https://example.com/b?q=%C3%BC", "s3://bucket/key"]);
        assert!(all.iter().all(|r| r.bytes.is_none() && r.sha256.is_none() && r.origin == ResourceOrigin::Part));
    }

    #[test]
    fn equal_links_have_one_form() {
        for (link, expected) in [
            ("HTTP://Example.COM:80", "http://example.com/"),
            ("https://example.com:443/a#part", "https://example.com/a"),
            ("https://example.com:8443/a/./b/../c", "https://example.com:8443/a/c"),
            ("file:/home/Ann/a.md", "file:///home/Ann/a.md"),
            ("file://localhost/home/Ann/a.md", "file:///home/Ann/a.md"),
            ("C:\\Users\\Ann\\50% #1.pdf", "file:///C:/Users/Ann/50%25%20%231.pdf"),
            ("c:/x.pdf", "file:///c:/x.pdf"),
            ("\\\\Server\\share\\a.docx", "file://server/share/a.docx"),
        ] {
            assert_eq!(standard_link(link).as_deref(), Some(expected), "{link}");
            assert_eq!(standard_link(expected).as_deref(), Some(expected));
        }
        for none in ["", "/a/b", "a.md", "#x", "http://"] {
            assert_eq!(standard_link(none), None, "{none}");
        }
    }

    proptest::proptest! {
        #[test]
        fn standard_form_of_a_link_is_stable(link in "(https?://|file:|C:\\\\|\\\\\\\\)?[a-zA-Z:/#?%.\\\\ä0-9 ]{0,30}") {
            if let Some(standard) = standard_link(&link) {
                proptest::prop_assert!(!standard.contains('#'));
                proptest::prop_assert_eq!(standard_link(&standard), Some(standard));
            }
        }
    }

    #[test]
    fn links_of_a_text_are_found_once() {
        let text = "See https://example.com/a_(b), (HTTP://example.com) and https://example.com/a_(b). Not ftp://x.org, example.org or mailto:a@b.c";
        let all = found(text, &[uri("http://example.com/")]);
        assert_eq!(uris(&all), ["http://example.com/", "https://example.com/a_(b)"]);
        assert_eq!(all.iter().map(|r| r.origin).collect::<Vec<_>>(), [ResourceOrigin::Part, ResourceOrigin::Link]);
    }

    #[test]
    fn unreadable_and_excessive_attachments_are_left_out() {
        let broken = Attachment { media_type: None, content: AttachedContent::Base64("a".into()) };
        let long = format!("https://example.com/{}", "x".repeat(MAX_URI_BYTES));
        assert!(found(&long, &[uri("/api/files/1"), uri("data:image/png;base64,a"), uri(""), broken, uri(&long)]).is_empty());
        let many: String = (0..2 * MAX_RESOURCES).map(|n| format!("https://example.com/{n} ")).collect();
        assert_eq!(found(&many, &[]).len(), MAX_RESOURCES);
        let odd = Attachment { media_type: Some("image/png\r\nx: y".into()), content: AttachedContent::Base64("AAAA".into()) };
        assert_eq!(found("", &[odd])[0].media_type, None);
    }
}
