//! Finds the singular of a noun, by rules and a list of irregular plurals.

/// Returns the singular of a noun.
pub(crate) fn singular(word: &str) -> String {
    match word {
        "people" => return "person".into(),
        "children" => return "child".into(),
        "grandchildren" => return "grandchild".into(),
        "stepchildren" => return "stepchild".into(),
        "godchildren" => return "godchild".into(),
        "men" => return "man".into(),
        "women" => return "woman".into(),
        "mice" => return "mouse".into(),
        "feet" => return "foot".into(),
        "teeth" => return "tooth".into(),
        "geese" => return "goose".into(),
        "wives" => return "wife".into(),
        "knives" => return "knife".into(),
        "lives" => return "life".into(),
        "calves" => return "calf".into(),
        "wolves" => return "wolf".into(),
        "puppies" => return "puppy".into(),
        "movies" => return "movie".into(),
        "cookies" => return "cookie".into(),
        "zombies" => return "zombie".into(),
        "pies" => return "pie".into(),
        "ties" => return "tie".into(),
        "hobbies" => return "hobby".into(),
        "canvas" | "chess" | "news" | "series" | "species" | "physics" | "boss" | "class" | "glass" | "bus" | "gas" | "less" => {
            return word.to_owned();
        }
        _ => {}
    }
    if word.len() <= 3 || word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") || word.ends_with("ics") {
        return word.to_owned();
    }
    if let Some(s) = word.strip_suffix("ies") {
        return format!("{s}y");
    }
    for end in ["ches", "shes", "sses", "xes", "zes", "toes", "oes"] {
        if word.ends_with(end) {
            return word[..word.len() - 2].to_owned();
        }
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_nouns_become_singular() {
        for (word, one) in
            [("cats", "cat"), ("puppies", "puppy"), ("wives", "wife"), ("boxes", "box"), ("chess", "chess"), ("movies", "movie")]
        {
            assert_eq!(singular(word), one);
        }
    }
}
