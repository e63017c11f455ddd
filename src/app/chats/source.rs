//! Reads the file of an export: JSON, or a ZIP archive with it. Holds one element at a time, because exports can be large.

use std::{
    fmt,
    fs::File,
    io::{BufReader, Read, Seek},
    path::Path,
};

use anyhow::Context;
use serde::{
    Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use zip::ZipArchive;

/// The first bytes of a ZIP archive.
const ZIP: [u8; 4] = *b"PK\x03\x04";
/// Names under which an export contains its list, if it is not a list itself.
const LISTS: [&str; 4] = ["results", "memories", "conversations", "data"];
/// Why a file is refused that is JSON and no export.
const NO_LIST: &str = "this is not an export: it contains no list";
/// Bytes read at a time.
const BUFFER: usize = 1 << 20;

/// Calls `each` with the JSON of every element of an export, until it returns false.
///
/// # Errors
/// If the file cannot be read or is not an export.
pub(super) fn for_each_element(path: &Path, each: &mut dyn FnMut(&str) -> bool) -> anyhow::Result<()> {
    let named = || format!("{} cannot be read", path.display());
    let mut file = BufReader::with_capacity(BUFFER, File::open(path).with_context(named)?);
    let mut start = Vec::new();
    file.by_ref().take(ZIP.len() as u64).read_to_end(&mut start).with_context(named)?;
    file.rewind().with_context(named)?;
    if start != ZIP {
        return read_list(file, each).with_context(named);
    }
    let mut archive = ZipArchive::new(file).with_context(named)?;
    let mut names = Vec::new();
    for n in 0..archive.len() {
        let name = archive.name_for_index(n).transpose().with_context(named)?.unwrap_or_default().into_owned();
        if is_conversations(&name) {
            names.push((name, n));
        }
    }
    anyhow::ensure!(!names.is_empty(), "{} contains no conversations.json", path.display());
    // Large exports are split into conversations-000.json and so on.
    names.sort();
    for (name, n) in names {
        let entry = archive.by_index(n).with_context(named)?;
        read_list(BufReader::with_capacity(BUFFER, entry), each).with_context(|| format!("{name} in {}", path.display()))?;
    }
    Ok(())
}

fn is_conversations(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.starts_with("conversations") && file.ends_with(".json")
}

fn read_list(input: impl Read, each: &mut dyn FnMut(&str) -> bool) -> anyhow::Result<()> {
    let mut json = serde_json::Deserializer::from_reader(input);
    let mut stopped = false;
    match (Elements { each, stopped: &mut stopped }).deserialize(&mut json) {
        _ if stopped => Ok(()),
        read => Ok(read.and_then(|()| json.end())?),
    }
}

/// A list, or an object that contains one. Its elements are not kept.
struct Elements<'e> {
    each: &'e mut dyn FnMut(&str) -> bool,
    stopped: &'e mut bool,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of exported conversations or memories")
    }

    // The default would repeat the text in the error.
    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Err(E::custom(NO_LIST))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<Box<RawValue>>()? {
            if !(self.each)(element.get()) {
                *self.stopped = true;
                return Err(de::Error::custom("stopped"));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut has_list = false;
        while let Some(name) = object.next_key::<String>()? {
            if LISTS.contains(&name.as_str()) {
                has_list = true;
                object.next_value_seed(Elements { each: &mut *self.each, stopped: &mut *self.stopped })?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        if has_list { Ok(()) } else { Err(de::Error::custom(NO_LIST)) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    fn elements(content: &[u8]) -> Result<Vec<String>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let mut found = Vec::new();
        let mut each = |element: &str| {
            found.push(element.to_owned());
            true
        };
        for_each_element(file.path(), &mut each).map(|()| found).map_err(|e| format!("{e:#}"))
    }

    fn zip(files: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(content.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn lists_are_found_in_every_form() {
        assert_eq!(elements(br#"[{"a":1}, 2]"#).unwrap(), [r#"{"a":1}"#, "2"]);
        assert_eq!(elements(br#"{"results":[3],"relations":[4]}"#).unwrap(), ["3"]);
        let files = [
            ("conversations-001.json", "[2]"),
            ("shared_conversations.json", "[9]"),
            ("x/conversations-000.json", "[1]"),
            ("user.json", "{}"),
        ];
        assert_eq!(elements(&zip(&files)).unwrap(), ["2", "1"]);
        assert!(elements(&zip(&[("user.json", "{}")])).unwrap_err().contains("contains no conversations.json"));
    }

    #[test]
    fn damaged_files_are_refused_without_their_text() {
        for wrong in ["", "{\"a\":[1]}", "[1,", "[1] secret", "\"secret\"", "PK\u{3}\u{4}secret"] {
            let refused = elements(wrong.as_bytes()).unwrap_err();
            assert!(refused.contains("cannot be read") && !refused.contains("secret"), "{wrong}: {refused}");
        }
        assert!(for_each_element(Path::new("/nonexistent.json"), &mut |_| true).is_err());
    }

    #[test]
    fn reading_stops_on_request() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"[1,2,3]").unwrap();
        let mut seen = 0;
        for_each_element(file.path(), &mut |_| {
            seen += 1;
            seen < 2
        })
        .unwrap();
        assert_eq!(seen, 2);
    }
}
