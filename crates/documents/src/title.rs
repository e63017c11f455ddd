//! Decides whether what a file states as its title is one.
//!
//! Programs write there what they know: the address or the file that was printed, the name of a template, or a placeholder.

/// What programs write when nobody has given a title, without numbers, in small letters.
const PLACEHOLDERS: &[&str] = &[
    "untitled",
    "untitled document",
    "unnamed",
    "unnamed document",
    "no title",
    "anonymous",
    "unspecified",
    "not specified",
    "not set",
    "noname",
    "no name",
    "default",
    "draft",
    "entwurf",
    "ohne titel",
    "unbenannt",
    "sans titre",
    "sin título",
    "senza titolo",
    "sem título",
    "document",
    "dokument",
    "documento",
    "new document",
    "new page",
    "word document",
    "presentation",
    "powerpoint presentation",
    "spreadsheet",
    "title",
    "document title",
    "page",
    "print",
    "blank",
    "template",
    "null",
    "none",
    "undefined",
    "unknown",
    "index",
];
/// Endings of names of files.
const ENDINGS: &[&str] = &[
    "bak", "csv", "doc", "docm", "docx", "dot", "dotx", "dvi", "eps", "fm", "htm", "html", "indd", "jpeg", "jpg", "key", "log", "md",
    "odg", "odp", "ods", "odt", "pages", "pdf", "png", "ppt", "pptx", "ps", "pub", "qxd", "rst", "rtf", "svg", "tex", "tif", "tiff", "tmp",
    "txt", "wpd", "wps", "xhtml", "xls", "xlsx", "xml",
];
/// Fewest letters of a title.
const MIN_LETTERS: usize = 3;
/// Digits for each letter from which on a text is a number or a code.
const DIGITS_PER_LETTER: usize = 2;

/// Returns a stated title, or nothing if it is no title: a placeholder, an address, a path, the name of a file, or a code.
pub(crate) fn stated(title: Option<String>) -> Option<String> {
    title.filter(|title| is_title(title))
}

/// Whether a text may be the title of a document.
pub(crate) fn is_title(title: &str) -> bool {
    let title = title.trim();
    let letters = title.chars().filter(|c| c.is_alphabetic()).count();
    let digits = title.chars().filter(char::is_ascii_digit).count();
    // A letter of Chinese is a word.
    let least = if title.is_ascii() { MIN_LETTERS } else { MIN_LETTERS - 1 };
    letters >= least && digits <= DIGITS_PER_LETTER * letters && !is_placeholder(title) && !is_address(title) && !is_file(title)
}

/// Whether it is what a program writes instead of a title: "Untitled-1", "Document2", "Microsoft Word - letter".
fn is_placeholder(title: &str) -> bool {
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let printed = lower.split_once(" - ").is_some_and(|(program, _)| program.starts_with("microsoft "));
    printed || PLACEHOLDERS.contains(&words.join(" ").as_str())
}

/// Whether it is an address or a path: "about:blank", "https://example.com", "C:\\Letters\\a", "/home/anna/a".
fn is_address(title: &str) -> bool {
    let is_one_word = !title.contains(char::is_whitespace);
    let scheme = title.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
            && (rest.starts_with("//") || (is_one_word && !rest.is_empty()))
    });
    let is_path = title.contains('\\') || title.starts_with(['/', '~']) || (is_one_word && title.matches('/').count() > 1);
    scheme || is_path || (is_one_word && (title.starts_with("www.") || title.contains('@')))
}

/// Whether it is the name of a file, with or without its ending, or an identifier: "letter.docx", "final_report_v3", "a3f-99b-2c".
fn is_file(title: &str) -> bool {
    let lower = title.to_lowercase();
    let has_ending = lower.rsplit_once('.').is_some_and(|(name, ending)| !name.is_empty() && ENDINGS.contains(&ending));
    let is_joined = !title.contains(char::is_whitespace) && (title.contains('_') || title.matches('-').count() > 1);
    // Letters within digits: a hash or an id.
    let turns = title.as_bytes().windows(2).filter(|w| matches!(w, [a, b] if a.is_ascii_digit() && b.is_ascii_alphabetic())).count();
    let is_code = !title.contains(char::is_whitespace) && turns > 1;
    has_ending || is_joined || is_code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_addresses_files_and_codes_are_no_titles() {
        for title in [
            "",
            "12",
            "about:blank",
            "data:text/html,x",
            "https://example.com/a page",
            "file:///tmp/a.html",
            "www.example.com",
            "Untitled",
            "(anonymous)",
            "(unspecified)",
            "untitled-1",
            "Untitled Document 2",
            "Document1",
            "Dokument 3",
            "Ohne Titel",
            "Microsoft Word - a.docx",
            "Microsoft PowerPoint - Budget",
            "PowerPoint Presentation",
            "thesis.dvi",
            "Final report (2).docx",
            "C:\\Users\\Anna Berg\\letter",
            "/home/anna/my letter",
            "drafts/2024/letter",
            "final_report_v3",
            "tenancy-agreement-2024",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "9f86d081884c7d65",
            "2024-03-12 10:00 x",
        ] {
            assert!(!is_title(title), "{title}");
        }
    }

    #[test]
    fn titles_of_people_are_titles() {
        for title in [
            "A guide",
            "Tenancy Agreement: Elm Court",
            "TCP/IP",
            "Terms and/or conditions",
            "Self-Evaluation",
            "COVID-19 rules",
            "ISO 9001",
            "Node.js in practice",
            "Index of names",
            "Microsoft and Linux",
            "Étude",
            "计划",
        ] {
            assert!(is_title(title), "{title}");
        }
    }
}
