//! GraphQL type `FactValue`.

use async_graphql::{Enum, InputObject, SimpleObject};

use recall_domain::{FactValue, ValueData, value};
use recall_usecases::AssertedValue;

/// The type of a value.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ValueType")]
pub(crate) enum ValueType {
    /// Words.
    Text,
    /// A number, with or without a unit.
    Number,
    /// A day, a month, a year or a period.
    Date,
    /// An amount in a currency.
    Money,
    /// An e-mail address, a phone number or a web address.
    Contact,
}

/// The kind of a contact.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "value::ContactKind")]
pub(crate) enum ContactKind {
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// A web address.
    Url,
}

/// A value that a fact states of its subject.
#[derive(SimpleObject)]
#[graphql(name = "FactValue")]
pub(crate) struct FactValueNode {
    /// The type.
    r#type: ValueType,
    /// The value as people read it, such as "7" or "€1,200".
    text: String,
    /// What of the subject the value measures, such as "rent".
    label: Option<String>,
    /// The number, or the amount of money.
    number: Option<f64>,
    /// The unit of the number in the singular, such as "kg".
    unit: Option<String>,
    /// The currency in ISO 4217, such as "EUR".
    currency: Option<String>,
    /// The date in ISO 8601, as exact as it is known: `2026-03-01`, `2026-03`, `2026`, `--03-01` for a yearly day, or `A/B` for a period.
    date: Option<String>,
    /// The kind of the contact.
    contact: Option<ContactKind>,
    /// The normalized address or number of the contact.
    address: Option<String>,
}

impl From<&FactValue> for FactValueNode {
    fn from(value: &FactValue) -> Self {
        let mut node = Self {
            r#type: value.value_type().into(),
            text: value.text.as_str().to_owned(),
            label: value.label.as_ref().map(|l| l.as_str().to_owned()),
            number: None,
            unit: None,
            currency: None,
            date: None,
            contact: None,
            address: None,
        };
        match &value.data {
            ValueData::Text => {}
            ValueData::Number { number, unit } => (node.number, node.unit) = (Some(number.as_f64()), unit.clone()),
            ValueData::Date { date } => node.date = Some(date.as_str().to_owned()),
            ValueData::Money { amount, currency } => (node.number, node.currency) = (Some(amount.as_f64()), Some(currency.clone())),
            ValueData::Contact { contact, address } => {
                (node.contact, node.address) = (Some((*contact).into()), Some(address.as_str().to_owned()))
            }
        }
        node
    }
}

/// A value that the viewer states.
#[derive(InputObject)]
pub(crate) struct FactValueInput {
    /// The value in words, such as "7", "12 kg", "3 March 2026", "€1,200" or an e-mail address.
    text: String,
    /// What of the subject the value measures, such as "rent".
    label: Option<String>,
}

impl From<FactValueInput> for AssertedValue {
    fn from(input: FactValueInput) -> Self {
        Self { text: input.text, label: input.label }
    }
}
