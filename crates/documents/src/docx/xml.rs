//! Reads XML as a stream of tokens. Entities that a document defines are not expanded.

use std::io::BufRead;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, escape::resolve_xml_entity};
use recall_ports::ParseError;

/// A part of an XML document. Names are without their prefix.
pub(super) enum Token<'a> {
    Start(&'a str, &'a BytesStart<'a>),
    End(&'a str),
    Text(&'a str),
}

/// Calls `on` with every token. An empty element has a start and an end.
///
/// # Errors
/// [`ParseError::Damaged`], and those of `on`.
pub(super) fn each_token(source: impl BufRead, mut on: impl FnMut(Token<'_>) -> Result<(), ParseError>) -> Result<(), ParseError> {
    let mut reader = Reader::from_reader(source);
    reader.config_mut().expand_empty_elements = true;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|_| ParseError::Damaged)? {
            Event::Start(element) => on(Token::Start(element.local_name().into_inner(), &element))?,
            Event::End(element) => on(Token::End(element.local_name().into_inner()))?,
            Event::Text(text) => on(Token::Text(&text.xml10_content()))?,
            Event::CData(text) => on(Token::Text(&text.xml10_content()))?,
            Event::GeneralRef(reference) => {
                let mut buffer = [0; 4];
                let text = match reference.resolve_char_ref() {
                    Ok(Some(c)) => &*c.encode_utf8(&mut buffer),
                    _ => resolve_xml_entity(&reference.xml10_content()).unwrap_or(""),
                };
                on(Token::Text(text))?;
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// The value of an attribute, named without its prefix.
pub(super) fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = element.attributes();
    let found = attributes.with_checks(false).flatten().find(|a| a.key.local_name().into_inner() == name)?;
    Some(found.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// Whether an element switches a property on: `<w:vanish/>`, but not `<w:vanish w:val="0"/>`.
pub(super) fn is_on(element: &BytesStart<'_>) -> bool {
    !attribute(element, "val").is_some_and(|value| ["0", "false", "off"].contains(&value.as_str()))
}
