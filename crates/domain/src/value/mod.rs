//! Values: what a fact states of its subject if that is not an entity, such as an age, an e-mail address or a price.

mod date;
mod decimal;
mod parse;
mod past;

pub use date::{RelativeDate, SpokenDate, ValueDate};
pub use decimal::Decimal;
pub use past::{past_date, past_year};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;

use super::{Timestamp, UserText};

/// Longest text of a value, in code points.
pub const MAX_TEXT: usize = 300;
/// Longest label or unit of a value, in code points.
pub const MAX_LABEL: usize = 40;

/// The type of a value.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ValueType {
    /// Words: "nurse".
    Text,
    /// A number, with or without a unit: "7", "12 kg".
    Number,
    /// A day, a month, a year or a period.
    Date,
    /// An amount in a currency.
    Money,
    /// An e-mail address, a phone number or a web address.
    Contact,
}

/// The kind of a contact.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ContactKind {
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// A web address.
    Url,
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
pub struct FactValue {
    /// The value as people read it: "7", "nurse", "€1,200".
    pub text: UserText,
    /// What of the subject the value measures, if the relation does not say it: "rent", "work".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<UserText>,
    /// The value for programs.
    #[serde(flatten)]
    pub data: ValueData,
}

/// A value for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ValueData {
    /// The words are the value.
    Text,
    /// A number.
    Number {
        /// The number.
        number: Decimal,
        /// Its unit in the singular: "kg", "year".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// A date or a period.
    Date {
        /// The date in ISO 8601, as exact as it is known.
        date: ValueDate,
    },
    /// An amount of money.
    Money {
        /// The amount.
        amount: Decimal,
        /// The currency in ISO 4217: "EUR".
        currency: String,
    },
    /// A contact.
    Contact {
        /// Its kind.
        contact: ContactKind,
        /// The normalized address or number.
        address: UserText,
    },
}

impl FactValue {
    /// Makes a value of words. Control characters become spaces, and the text is cut to [`MAX_TEXT`].
    pub fn of_text(text: &str) -> Self {
        Self::new(text, ValueData::Text)
    }

    /// Makes a value with its words.
    pub fn new(text: &str, data: ValueData) -> Self {
        Self { text: plain(text, MAX_TEXT).into(), label: None, data }
    }

    /// Returns the value with a label.
    #[must_use]
    pub fn labelled(self, label: Option<&str>) -> Self {
        let label = label.map(|l| plain(l, MAX_LABEL)).filter(|l| !l.is_empty());
        Self { label: label.map(UserText::from), ..self }
    }

    /// Returns the type.
    pub fn value_type(&self) -> ValueType {
        match self.data {
            ValueData::Text => ValueType::Text,
            ValueData::Number { .. } => ValueType::Number,
            ValueData::Date { .. } => ValueType::Date,
            ValueData::Money { .. } => ValueType::Money,
            ValueData::Contact { .. } => ValueType::Contact,
        }
    }

    /// Returns the words with the label: "rent €900".
    pub fn shown(&self) -> String {
        match &self.label {
            Some(label) => format!("{} {}", label.as_str(), self.text.as_str()),
            None => self.text.as_str().to_owned(),
        }
    }

    /// Returns the normalized value. Two facts with the same subject, relation and key are the same fact.
    pub fn key(&self) -> String {
        let value = match &self.data {
            ValueData::Text => format!("text {}", normalized(self.text.as_str())),
            ValueData::Number { number, unit } => format!("number {} {}", number.as_str(), unit.as_deref().unwrap_or_default()),
            ValueData::Date { date } => format!("date {}", date.as_str()),
            ValueData::Money { amount, currency } => format!("money {} {currency}", amount.as_str()),
            ValueData::Contact { address, .. } => format!("contact {}", address.as_str()),
        };
        match &self.label {
            Some(label) => format!("{value} [{}]", normalized(label.as_str())),
            None => value,
        }
    }

    /// Whether both values measure the same of their subject.
    pub fn same_label(&self, other: &Self) -> bool {
        let of = |v: &Self| v.label.as_ref().map(|l| normalized(l.as_str()));
        of(self) == of(other)
    }

    /// Returns the form in which stores keep the value: with its key, and with the text that searches look in.
    pub fn stored(&self) -> StoredValue<'_> {
        StoredValue { key: self.key(), search: self.shown().to_lowercase(), value: self }
    }

    /// Whether a text of JSON is the stored form of a valid value.
    pub fn is_stored(json: &str) -> bool {
        let (Ok(value), Ok(all)) = (serde_json::from_str::<Self>(json), serde_json::from_str::<serde_json::Value>(json)) else {
            return false;
        };
        value.is_valid() && serde_json::to_value(value.stored()).is_ok_and(|stored| stored == all)
    }

    /// Whether the value is one that this program makes: bounded, with valid parts and without control characters.
    pub fn is_valid(&self) -> bool {
        let fits = |text: &str, most: usize| !text.is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control);
        let data = match &self.data {
            ValueData::Text | ValueData::Date { .. } => true,
            ValueData::Number { unit, .. } => unit.as_ref().is_none_or(|u| fits(u, MAX_LABEL)),
            ValueData::Money { currency, .. } => currency.len() == 3 && currency.bytes().all(|b| b.is_ascii_uppercase()),
            ValueData::Contact { address, .. } => fits(address.as_str(), MAX_TEXT),
        };
        data && fits(self.text.as_str(), MAX_TEXT) && self.label.as_ref().is_none_or(|l| fits(l.as_str(), MAX_LABEL))
    }
}

/// The stored form of a value.
#[derive(Serialize)]
pub struct StoredValue<'v> {
    key: String,
    search: String,
    #[serde(flatten)]
    value: &'v FactValue,
}

impl std::fmt::Debug for StoredValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.value, f)
    }
}

/// The value of a candidate fact. A date may depend on the day of the message, which extraction does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateValue {
    /// The value itself.
    Known(FactValue),
    /// A statement that is kept because it fits no relation.
    Note(FactValue),
    /// A date relative to the day of the message.
    Relative {
        /// The words.
        text: UserText,
        /// Which day.
        date: RelativeDate,
    },
}

impl CandidateValue {
    /// Returns the value for a message of this time.
    pub fn resolve(&self, at: Timestamp) -> FactValue {
        match self {
            Self::Known(value) | Self::Note(value) => value.clone(),
            Self::Relative { date, .. } => FactValue::from(date.resolve(at.date_naive())),
        }
    }

    /// Returns the words.
    pub fn text(&self) -> &UserText {
        match self {
            Self::Known(value) | Self::Note(value) => &value.text,
            Self::Relative { text, .. } => text,
        }
    }
}

impl From<ValueDate> for FactValue {
    fn from(date: ValueDate) -> Self {
        Self::new(&date.words(), ValueData::Date { date })
    }
}

/// Returns a text on one line, without control characters, at most this long.
fn plain(text: &str, most: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(most).collect::<String>().trim_end().to_owned()
}

/// Returns a text in lower case, without articles at its beginning and punctuation at its end.
fn normalized(text: &str) -> String {
    let lower = text.to_lowercase();
    let bare = lower.trim_matches(|c: char| c.is_whitespace() || ".,!?;:\"“”".contains(c));
    let mut words: Vec<&str> = bare.split_whitespace().collect();
    while words.len() > 1 && matches!(words[0], "the" | "a" | "an") {
        words.remove(0);
    }
    words.join(" ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(text: &str, of: ValueType) -> FactValue {
        FactValue::parse(text, &[of]).unwrap()
    }

    #[test]
    fn same_value_in_other_words_has_the_same_key() {
        for (of, a, b) in [
            (ValueType::Text, "a Nurse", "nurse."),
            (ValueType::Number, "7 years", "7 year"),
            (ValueType::Number, "1,200", "1200.0"),
            (ValueType::Money, "€1,200", "1200 euros"),
            (ValueType::Money, "$50k", "50,000 dollars"),
            (ValueType::Date, "3 March 2026", "March 3rd, 2026"),
            (ValueType::Contact, "Ann@Example.ORG", "Ann@example.org"),
            (ValueType::Contact, "+49 30 123-456 78", "+49 (30) 12345678"),
        ] {
            assert_eq!(parsed(a, of).key(), parsed(b, of).key(), "{a} and {b}");
        }
        assert_ne!(parsed("7 kg", ValueType::Number).key(), parsed("7", ValueType::Number).key());
        let rent = parsed("€900", ValueType::Money).labelled(Some("rent"));
        assert_ne!(rent.key(), parsed("€900", ValueType::Money).key());
        assert!(!rent.same_label(&parsed("€900", ValueType::Money)));
        assert_eq!(rent.shown(), "rent €900");
    }

    #[test]
    fn values_read_back_from_json_and_ignore_other_fields() {
        let value = parsed("12.5 kg", ValueType::Number).labelled(Some("shoe"));
        let json = serde_json::to_value(&value).unwrap();
        assert_eq!(json, serde_json::json!({"text": "12.5 kg", "label": "shoe", "type": "number", "number": "12.5", "unit": "kg"}));
        let mut more = json;
        more["more"] = "anything".into();
        assert_eq!(serde_json::from_value::<FactValue>(more).unwrap(), value);
    }

    #[test]
    fn stored_form_is_checked() {
        let value = parsed("€1,200", ValueType::Money).labelled(Some("Rent"));
        let json = serde_json::to_string(&value.stored()).unwrap();
        assert!(json.starts_with(r#"{"key":"money 1200 EUR [rent]","search":"rent €1,200","#), "{json}");
        assert!(FactValue::is_stored(&json));
        assert!(!FactValue::is_stored(&json.replace("1200 EUR", "1300 EUR")));
        assert!(!FactValue::is_stored(&serde_json::to_string(&value).unwrap()));
        assert!(!FactValue::is_stored(r#"{"key":"text a\u0000","search":"a\u0000","text":"a\u0000","type":"text"}"#));
    }

    #[test]
    fn long_texts_and_control_characters_are_cleaned() {
        let value = FactValue::of_text(&format!("a\u{0}b\n{}", "x".repeat(400)));
        assert!(value.is_valid());
        assert_eq!(value.text.as_str().chars().count(), MAX_TEXT);
        assert!(!FactValue { text: "a\u{0}".into(), label: None, data: ValueData::Text }.is_valid());
    }
}
