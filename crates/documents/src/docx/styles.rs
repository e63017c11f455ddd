//! Reads the styles of a document: which are headings.

use std::collections::HashMap;

use recall_ports::ParseError;

use super::xml::{Token, attribute};

/// Longest chain of styles that are based on each other.
const MAX_CHAIN: usize = 20;

/// A style of paragraphs.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    /// Its name in lower case. It is English in every language of the program.
    pub(super) name: String,
    based_on: Option<String>,
    /// The depth of the heading, from 1.
    pub(super) level: Option<u8>,
    /// The list and the level of its items.
    pub(super) numbering: Option<(String, usize)>,
}

/// The styles of a document by their id.
pub(super) type Styles = HashMap<String, Style>;

/// Reads the part with the styles.
#[derive(Default)]
pub(super) struct Reader {
    styles: Styles,
    open: Option<(String, Style)>,
}

impl Reader {
    pub(super) fn read(
        part: impl FnOnce(&mut dyn FnMut(Token<'_>) -> Result<(), ParseError>) -> Result<bool, ParseError>,
    ) -> Result<Styles, ParseError> {
        let mut reader = Self::default();
        part(&mut |token| {
            reader.token(token);
            Ok(())
        })?;
        Ok(resolve(&reader.styles))
    }

    fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Start("style", element) => self.open = attribute(element, "styleId").map(|id| (id, Style::default())),
            Token::Start(name, element) => {
                let Some((_, style)) = &mut self.open else { return };
                let Some(value) = attribute(element, "val") else { return };
                match name {
                    "name" => style.name = value.to_lowercase(),
                    "basedOn" => style.based_on = Some(value),
                    "outlineLvl" => style.level = level(&value),
                    "numId" => style.numbering.get_or_insert_default().0 = value,
                    "ilvl" => style.numbering.get_or_insert_default().1 = value.parse().unwrap_or(0),
                    _ => {}
                }
            }
            Token::End("style") => {
                if let Some((id, style)) = self.open.take() {
                    self.styles.insert(id, style);
                }
            }
            _ => {}
        }
    }
}

/// The depth of a heading from the value of an outline level, where 9 is body text.
pub(super) fn level(value: &str) -> Option<u8> {
    value.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

/// Gives each style what it inherits.
fn resolve(styles: &Styles) -> Styles {
    let inherited = |style: &Style| {
        let mut result = style.clone();
        let mut at = style;
        for _ in 0..MAX_CHAIN {
            let by_name = at.name.strip_prefix("heading ").and_then(|n| n.parse::<u8>().ok()).filter(|n| (1..=9).contains(n));
            let by_name = by_name.or((at.name == "title").then_some(1));
            result.level = result.level.or(at.level).or(by_name);
            result.numbering = result.numbering.or_else(|| at.numbering.clone());
            match at.based_on.as_ref().and_then(|id| styles.get(id)) {
                Some(base) => at = base,
                None => break,
            }
        }
        result
    };
    styles.iter().map(|(id, style)| (id.clone(), inherited(style))).collect()
}
