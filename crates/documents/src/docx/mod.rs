//! Reads DOCX: Office Open XML text in a ZIP archive.

mod body;
mod numbering;
mod running;
mod styles;
mod xml;

use std::{
    collections::{HashMap, HashSet},
    io::{BufReader, Cursor, Read},
};

use recall_ports::ParseError;
use zip::{ZipArchive, result::ZipError};

use crate::draft::{Block, Draft, Kind};
use crate::title;
use body::Body;
use running::Running;
use xml::{Token, attribute, each_token};

/// Largest size of the main part when it is unpacked, in bytes. More is a bomb.
const MAX_MAIN: u64 = 256 << 20;
/// Largest size of another part.
const MAX_PART: u64 = 32 << 20;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Whether a ZIP archive is a document, and not a spreadsheet or another archive.
///
/// # Errors
/// [`ParseError::Damaged`] if it is no archive.
pub(crate) fn is_document(bytes: &[u8]) -> Result<bool, ParseError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| ParseError::Damaged)?;
    let target = main_part(&mut archive)?;
    Ok(archive.index_for_name(&target).is_some() && target.starts_with("word/"))
}

/// Reads a document.
///
/// # Errors
/// [`ParseError::Damaged`], [`ParseError::TooComplex`], [`ParseError::Encrypted`].
pub(crate) fn read(bytes: &[u8]) -> Result<Draft, ParseError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| ParseError::Damaged)?;
    let main = main_part(&mut archive)?;
    let (folder, file) = main.rsplit_once('/').unwrap_or(("", &main));
    let beside = |name: &str| format!("{folder}/{name}");

    let (mut links, mut running_parts) = (HashMap::new(), Vec::new());
    each_in(&mut archive, &format!("{folder}/_rels/{file}.rels"), MAX_PART, |token| {
        if let Token::Start("Relationship", element) = token
            && attribute(element, "TargetMode").as_deref() == Some("External")
            && let (Some(id), Some(target)) = (attribute(element, "Id"), attribute(element, "Target"))
        {
            links.insert(id, target);
        } else if let Token::Start("Relationship", element) = token
            && attribute(element, "Type").is_some_and(|kind| kind.ends_with("/header") || kind.ends_with("/footer"))
        {
            running_parts.extend(attribute(element, "Target").filter(|_| running_parts.len() < running::MAX_PARTS));
        }
        Ok(())
    })?;
    let styles = styles::Reader::read(|on| each_in(&mut archive, &beside("styles.xml"), MAX_PART, on))?;
    let numbering = numbering::Numbering::read(|on| each_in(&mut archive, &beside("numbering.xml"), MAX_PART, on))?;
    let mut notes = HashMap::new();
    for (part, element) in [("footnotes.xml", "footnote"), ("endnotes.xml", "endnote")] {
        body::read_notes(element, &mut notes, |on| each_in(&mut archive, &beside(part), MAX_PART, on))?;
    }
    let mut body = Body::new(styles, numbering, notes, links);
    if !each_in(&mut archive, &main, MAX_MAIN, |token| body.token(token))? {
        return Err(ParseError::Damaged);
    }
    let mut draft = body.finish();
    let mut running = Running::default();
    running_parts.sort_by_key(|part| (!part.contains("header"), part.clone()));
    for part in running_parts {
        // A target may be absolute: "/word/header1.xml".
        let part = part.trim_start_matches('/');
        let part = part.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(part);
        // Without a damaged one, the document is still read.
        each_in(&mut archive, &beside(part), MAX_PART, |token| running.token(token)).ok();
        running = running.next_part();
    }
    // The text may repeat them, as most title pages do.
    let told: HashSet<&str> = draft.blocks.iter().map(|block| block.text.trim()).collect();
    running.texts.retain(|text| !told.contains(text.as_str()));
    draft.blocks.splice(0..0, running.texts.into_iter().map(|text| Block::new(Kind::Paragraph, text)));
    if let Some(title) = title::stated(stated_title(&mut archive)?) {
        draft.title = Some(title);
    }
    Ok(draft)
}

/// The name of the main part, which the relations of the package tell.
fn main_part(archive: &mut Archive<'_>) -> Result<String, ParseError> {
    let mut main = None;
    each_in(archive, "_rels/.rels", MAX_PART, |token| {
        if let Token::Start("Relationship", element) = token
            && attribute(element, "Type").is_some_and(|kind| kind.ends_with("/officeDocument"))
        {
            main = attribute(element, "Target").map(|target| target.trim_start_matches('/').to_owned());
        }
        Ok(())
    })?;
    Ok(main.unwrap_or_else(|| "word/document.xml".to_owned()))
}

fn stated_title(archive: &mut Archive<'_>) -> Result<Option<String>, ParseError> {
    let (mut title, mut inside) = (String::new(), false);
    each_in(archive, "docProps/core.xml", MAX_PART, |token| {
        match token {
            Token::Start(name, _) => inside = name == "title",
            Token::Text(text) if inside => title.push_str(text),
            Token::Text(_) => {}
            Token::End(_) => inside = false,
        }
        Ok(())
    })?;
    Ok(Some(title.trim().to_owned()).filter(|title| !title.is_empty()))
}

/// Calls `on` with every token of a part. Returns false if there is no such part.
fn each_in(
    archive: &mut Archive<'_>,
    part: &str,
    limit: u64,
    on: impl FnMut(Token<'_>) -> Result<(), ParseError>,
) -> Result<bool, ParseError> {
    let entry = match archive.by_name(part) {
        Ok(entry) => entry,
        Err(ZipError::FileNotFound) => return Ok(false),
        Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => return Err(ParseError::Encrypted),
        Err(_) => return Err(ParseError::Damaged),
    };
    // The size that the archive states may be wrong.
    let mut limited = entry.take(limit);
    let read = each_token(BufReader::with_capacity(1 << 16, &mut limited), on);
    if limited.limit() == 0 {
        return Err(ParseError::TooComplex);
    }
    read.map(|()| true)
}

#[cfg(test)]
mod tests;
