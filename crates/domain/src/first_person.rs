//! Lists the pronouns of the first person.

/// A pronoun of the first person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstPerson {
    /// Whether it is a form of "we".
    pub plural: bool,
    /// Its form.
    pub form: PronounForm,
}

/// The form of a pronoun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PronounForm {
    /// "I"
    Subject,
    /// "me"
    Object,
    /// "my"
    Determiner,
    /// "mine"
    Possessive,
    /// "myself"
    Reflexive,
}

impl FirstPerson {
    /// Returns the pronoun that a lower-case word is. A contraction such as "i'm" is none; pass its first part.
    pub fn of(word: &str) -> Option<Self> {
        let (plural, form) = match word {
            "i" => (false, PronounForm::Subject),
            "me" => (false, PronounForm::Object),
            "my" => (false, PronounForm::Determiner),
            "mine" => (false, PronounForm::Possessive),
            "myself" => (false, PronounForm::Reflexive),
            "we" => (true, PronounForm::Subject),
            "us" => (true, PronounForm::Object),
            "our" => (true, PronounForm::Determiner),
            "ours" => (true, PronounForm::Possessive),
            "ourselves" => (true, PronounForm::Reflexive),
            _ => return None,
        };
        Some(Self { plural, form })
    }

    /// Whether the person acts or owns something. "me" and "myself" also occur in mere requests: "remind me".
    pub fn acts_or_owns(self) -> bool {
        matches!(self.form, PronounForm::Subject | PronounForm::Determiner | PronounForm::Possessive)
    }

    /// Whether a word is the subject: "I" or "we".
    pub fn is_subject(word: &str) -> bool {
        Self::of(word).is_some_and(|p| p.form == PronounForm::Subject)
    }

    /// Whether a word is the determiner: "my" or "our".
    pub fn is_determiner(word: &str) -> bool {
        Self::of(word).is_some_and(|p| p.form == PronounForm::Determiner)
    }
}

/// Whether a name stands for the user who gives it: "user", or "I" in any form but "mine", which is also a given name.
pub fn names_user(name: &str) -> bool {
    let name = name.to_lowercase();
    name == "user" || FirstPerson::of(&name).is_some_and(|p| !p.plural && p.form != PronounForm::Possessive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pronouns_are_distinguished_by_number_and_form() {
        assert_eq!(FirstPerson::of("ours"), Some(FirstPerson { plural: true, form: PronounForm::Possessive }));
        assert_eq!(FirstPerson::of("you"), None);
        assert!(FirstPerson::is_subject("we") && !FirstPerson::is_subject("us"));
        assert!(FirstPerson::is_determiner("my") && !FirstPerson::is_determiner("mine"));
    }

    #[test]
    fn name_stands_for_the_user_in_any_case() {
        assert!(["I", "me", "My", "myself", "User"].into_iter().all(names_user));
        assert!(!["we", "Mine", "you", "Ada"].into_iter().any(names_user));
    }
}
