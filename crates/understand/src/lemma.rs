//! Finds the lemma and the gerund of a verb, by rules and a table of irregular forms.

use super::lexicon::{VerbForm, lexicon};

/// Returns lemma and form if the word can be a form of a known verb.
///
/// `extra` recognises verbs beyond the word list, such as those of the ontology.
pub(crate) fn known_verb(word: &str, extra: &dyn Fn(&str) -> bool) -> Option<(String, VerbForm)> {
    let lex = lexicon();
    if let Some((lemma, form)) = lex.irregular(word) {
        return Some((lemma.to_owned(), form));
    }
    let known = |w: &str| lex.is_verb(w) || extra(w);
    if known(word) {
        return Some((word.to_owned(), VerbForm::Base));
    }
    candidates(word).into_iter().find(|(lemma, _)| known(lemma))
}

/// Returns lemma and form of a word tagged as a verb; guesses them if the verb is unknown.
pub(crate) fn verb(word: &str, extra: &dyn Fn(&str) -> bool) -> (String, VerbForm) {
    known_verb(word, extra).or_else(|| candidates(word).into_iter().next()).unwrap_or_else(|| (word.to_owned(), VerbForm::Base))
}

/// Returns the possible analyses of a regular form, the likeliest first.
fn candidates(word: &str) -> Vec<(String, VerbForm)> {
    let mut out = Vec::new();
    let mut stem = |s: &str, form: VerbForm| {
        if s.chars().count() < 2 {
            return;
        }
        let mut last = s.chars().rev();
        if let (Some(a), Some(b)) = (last.next(), last.next())
            && a == b
            && !matches!(a, 'l' | 's' | 'e' | 'o')
        {
            out.push((s[..s.len() - a.len_utf8()].to_owned(), form));
        }
        out.push((s.to_owned(), form));
        out.push((format!("{s}e"), form));
        if s.ends_with("ll") {
            out.push((s[..s.len() - 1].to_owned(), form));
        }
    };
    if let Some(s) = word.strip_suffix("ing") {
        stem(s, VerbForm::Gerund);
    } else if let Some(s) = word.strip_suffix("in'") {
        stem(s, VerbForm::Gerund);
    } else if let Some(s) = word.strip_suffix("ied") {
        out.push((format!("{s}y"), VerbForm::Past));
    } else if let Some(s) = word.strip_suffix("ed") {
        stem(s, VerbForm::Past);
    } else if let Some(s) = word.strip_suffix("ies") {
        out.push((format!("{s}y"), VerbForm::ThirdPerson));
    } else if let Some(s) = word.strip_suffix('s')
        && !s.ends_with('s')
    {
        out.push((s.to_owned(), VerbForm::ThirdPerson));
        if let Some(s) = s.strip_suffix('e') {
            out.push((s.to_owned(), VerbForm::ThirdPerson));
        }
    }
    out
}

/// Returns the gerund of a verb: "hike" to "hiking".
pub(crate) fn gerund(lemma: &str) -> String {
    if lemma == "travel" {
        return lemma.to_owned();
    }
    let chars: Vec<char> = lemma.chars().collect();
    let vowel = |c: char| "aeiou".contains(c);
    if let Some(s) = lemma.strip_suffix("ie") {
        return format!("{s}ying");
    }
    if lemma.ends_with('e') && !lemma.ends_with("ee") && !lemma.ends_with("ye") && !lemma.ends_with("oe") && chars.len() > 2 {
        return format!("{}ing", &lemma[..lemma.len() - 1]);
    }
    if let [.., a, b, c] = chars[..]
        && !vowel(c)
        && vowel(b)
        && !vowel(a)
        && !"wxy".contains(c)
        && (chars.len() <= 4 || matches!(lemma, "begin" | "forget" | "program"))
        && !lemma.ends_with("en")
    {
        return format!("{lemma}{c}ing");
    }
    format!("{lemma}ing")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn verb_forms_have_their_lemma() {
        for (word, lemma) in [
            ("uses", "use"),
            ("using", "use"),
            ("stopped", "stop"),
            ("stopping", "stop"),
            ("loved", "love"),
            ("studies", "study"),
            ("wrote", "write"),
            ("left", "leave"),
            ("watches", "watch"),
            ("enrolled", "enroll"),
            ("switched", "switch"),
            ("played", "play"),
        ] {
            assert_eq!(verb(word, &|_| false).0, lemma, "{word}");
        }
        assert!(known_verb("kitchen", &|_| false).is_none());
        assert_eq!(known_verb("blorps", &|w| w == "blorp"), Some(("blorp".into(), VerbForm::ThirdPerson)));
    }

    #[test]
    fn gerunds_are_spelled_correctly() {
        for (lemma, ing) in
            [("hike", "hiking"), ("paint", "painting"), ("swim", "swimming"), ("knit", "knitting"), ("ski", "skiing"), ("draw", "drawing")]
        {
            assert_eq!(gerund(lemma), ing);
        }
    }
}
