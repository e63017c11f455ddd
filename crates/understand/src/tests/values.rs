//! Tests facts with values and notes.

use super::*;

#[test]
fn ages_are_read() {
    for (text, expected) in [
        ("Leo is 7.", "Leo AGE 7 affirmed"),
        ("My son Leo is 7 years old.", "Leo AGE 7 affirmed"),
        ("I'm 34.", "user AGE 34 affirmed"),
        ("I turned 35 yesterday.", "user AGE 35 affirmed"),
        ("I am 34 years old and live in Leeds.", "user AGE 34 affirmed"),
        ("My daughter Mia turned four on Sunday.", "Mia AGE 4 affirmed"),
        ("Our dog Rex is 5 months old.", "Rex AGE 5 months affirmed"),
        ("My sister's age is 41.", "sister AGE 41 affirmed"),
        ("My grandmother is ninety-one.", "grandmother AGE 91 affirmed"),
    ] {
        assert_eq!(values(text), [expected], "{text}");
    }
}

#[test]
fn other_numbers_are_no_ages() {
    for text in [
        "I'm 5 minutes away.",
        "We are 7.",
        "Leo is almost 7.",
        "I was 7 back then.",
        "If I were 34 I would stay.",
        "I'm 80% done.",
        "Is Leo 7?",
        "Leo is number 7 on the list.",
        "I am 2 of 3 done.",
        "Maybe Leo is 7.",
        "It's 7 already.",
        "The meeting is at 7.",
    ] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn occupations_are_read() {
    for (text, expected) in [
        ("I'm a nurse.", "user OCCUPATION nurse affirmed"),
        ("I am a software engineer at Nokia.", "user OCCUPATION software engineer affirmed"),
        ("I work as a paramedic.", "user OCCUPATION paramedic affirmed"),
        ("My sister Anna is a primary school teacher.", "Anna OCCUPATION primary school teacher affirmed"),
        ("My brother works as a plumber in Leeds.", "brother OCCUPATION plumber affirmed"),
        ("I used to be a nurse.", "user OCCUPATION nurse ended"),
    ] {
        assert_eq!(values(text), [expected], "{text}");
    }
    for text in [
        "I'm a friend of Tom.",
        "He's a great driver.",
        "I want to be a nurse.",
        "I'm a morning person.",
        "She is a big fan.",
        "Are you a nurse?",
    ] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn allergies_and_diets_are_read() {
    for (text, expected) in [
        ("I'm allergic to peanuts.", &["user ALLERGIC_TO peanuts affirmed"][..]),
        ("I'm not allergic to cats.", &["user ALLERGIC_TO cats negated"]),
        ("Mia is allergic to peanuts and shellfish.", &["Mia ALLERGIC_TO peanuts affirmed", "Mia ALLERGIC_TO shellfish affirmed"]),
        ("I have a peanut allergy.", &["user ALLERGIC_TO peanuts affirmed"]),
        ("Mia is allergic to cashews, not peanuts.", &["Mia ALLERGIC_TO cashews affirmed", "Mia ALLERGIC_TO peanuts negated"]),
        ("My wife is lactose intolerant.", &["wife ALLERGIC_TO lactose affirmed"]),
        ("I'm vegetarian.", &["user DIET vegetarian affirmed"]),
        ("I am a vegan.", &["user DIET vegan affirmed"]),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
    assert_eq!(type_of("I'm allergic to peanuts.", "peanuts"), Some(EntityType::Thing), "it can be found as a thing");
    assert_eq!(values("We went to a vegan restaurant."), Vec::<String>::new());
}

#[test]
fn dates_are_read() {
    for (text, expected) in [
        ("My birthday is 3 March.", "user BIRTHDAY 3 March affirmed"),
        ("My birthday is on March 3rd.", "user BIRTHDAY 3 March affirmed"),
        ("I was born on 3 March 1990.", "user BIRTHDAY 3 March 1990 affirmed"),
        ("Anna was born in 1990.", "Anna BIRTHDAY 1990 affirmed"),
        ("Anna's birthday is 12 June.", "Anna BIRTHDAY 12 June affirmed"),
        ("The deadline for Phoenix is Friday.", "Phoenix DUE (Friday) affirmed"),
        ("Phoenix is due on 1 December 2026.", "Phoenix DUE 1 December 2026 affirmed"),
        ("The deadline for Phoenix slipped to 1 December 2026.", "Phoenix DUE 1 December 2026 affirmed"),
        ("The deadline for Phoenix was moved to 1 December 2026.", "Phoenix DUE 1 December 2026 affirmed"),
    ] {
        assert_eq!(values(text), [expected], "{text}");
    }
}

#[test]
fn contacts_are_read() {
    for (text, expected) in [
        ("My email is ann.lee@example.org.", "user EMAIL ann.lee@example.org affirmed"),
        ("You can reach me at ann@example.org", "user EMAIL ann@example.org affirmed"),
        ("My phone number is +49 30 1234567.", "user PHONE +49 30 1234567 affirmed"),
        ("Tom's number is 0171 2345678", "Tom PHONE 0171 2345678 affirmed"),
        ("My website is https://example.org/ann", "user WEBSITE https://example.org/ann affirmed"),
    ] {
        assert_eq!(values(text), [expected], "{text}");
    }
}

#[test]
fn amounts_versions_sizes_and_languages_are_read() {
    for (text, expected) in [
        ("My rent is €900.", &["user AMOUNT rent €900 affirmed"][..]),
        ("The budget of Phoenix is 20,000 euros.", &["Phoenix AMOUNT budget 20,000 euros affirmed"]),
        ("Phoenix has a budget of $20k.", &["Phoenix AMOUNT budget $20k affirmed"]),
        ("The budget for Phoenix was cut to $15,000.", &["Phoenix AMOUNT budget $15,000 affirmed"]),
        ("Netflix costs $15.", &["Netflix PRICE $15 affirmed"]),
        ("The current version of Django is 5.2.", &["Django VERSION 5.2 affirmed"]),
        ("My shoe size is 42.", &["user SIZE shoe size 42 affirmed"]),
        ("I'm 1.80 m tall.", &["user SIZE height 1.80 m affirmed"]),
        ("I speak German and some French.", &["user SPEAKS French affirmed", "user SPEAKS German affirmed"]),
        ("My name is Tomasz.", &["user NAME Tomasz affirmed"]),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
}

/// Returns the subjects of the notes in a text.
fn notes(text: &str) -> Vec<String> {
    let e = pipeline().read(text);
    let name = |p: Party| match p {
        Party::Speaker => "user".to_owned(),
        Party::Mention(i) => e.mentions[i].name.clone(),
    };
    let notes = e.facts.iter().filter(|f| matches!(f.value, Some(CandidateValue::Note(_))));
    notes.map(|f| format!("{}: {}", name(f.subject), f.value.as_ref().unwrap().text().as_str())).collect()
}

#[test]
fn statements_without_facts_are_notes_about_what_they_name() {
    assert_eq!(notes("Leo plays the drums on Tuesdays."), ["Leo: Leo plays the drums on Tuesdays."]);
    assert_eq!(notes("Leo is 7."), Vec::<String>::new(), "a fact is no note");
    assert_eq!(notes("Thanks a lot!"), Vec::<String>::new());
    assert_eq!(notes("Does Leo play the drums?"), Vec::<String>::new());
    let found = pipeline().read("Leo plays the drums on Tuesdays.");
    assert_eq!(found.mentions.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["Leo"]);
}

#[test]
fn what_the_speaker_asks_to_remember_is_kept() {
    for (text, note) in [
        ("Remember that the gate code is 4471.", "the gate code is 4471."),
        ("please remember that bins go out on Mondays", "bins go out on Mondays"),
    ] {
        let found = pipeline().read(text);
        let notes: Vec<_> = found.facts.iter().filter_map(|f| f.value.as_ref()).map(|v| v.text().as_str().to_owned()).collect();
        assert_eq!(notes, [note], "{text}");
        assert_eq!((found.facts[0].subject, found.kind), (Party::Speaker, MessageKind::Statement), "{text}");
    }
}

#[test]
fn values_of_further_subjects_are_read() {
    for (text, expected) in [
        ("my dad is 70 and my mum 68", ["dad AGE 70 affirmed", "mum AGE 68 affirmed"]),
        ("my sister is 30, my brother 25", ["brother AGE 25 affirmed", "sister AGE 30 affirmed"]),
        ("my mum is a nurse and my dad a baker", ["dad OCCUPATION baker affirmed", "mum OCCUPATION nurse affirmed"]),
        ("Anna's birthday is 3 may, Ben's is 4 june", ["Anna BIRTHDAY 3 May affirmed", "Ben BIRTHDAY 4 June affirmed"]),
        ("Anna's number is 0151 7788, mine is 0151 9900", ["Anna PHONE 0151 7788 affirmed", "user PHONE 0151 9900 affirmed"]),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
    assert_eq!(facts("my dad is 70 and my mum 68"), ["user FAMILY_OF dad affirmed", "user FAMILY_OF mum affirmed"]);
    assert_eq!(values("my dad is 70 and my mum drives 68 miles"), ["dad AGE 70 affirmed"]);
}

#[test]
fn new_contacts_are_read() {
    for (text, expected) in [
        ("my number changed, it's 0151 7788", "user PHONE 0151 7788 affirmed"),
        ("got a new number, 0151 7788", "user PHONE 0151 7788 affirmed"),
        ("I have a new number, it's 0151 7788", "user PHONE 0151 7788 affirmed"),
        ("I have a new number now: 0151 7788", "user PHONE 0151 7788 affirmed"),
        ("I changed my number, it's 0151 7788", "user PHONE 0151 7788 affirmed"),
        ("new email, al@y.org", "user EMAIL al@y.org affirmed"),
    ] {
        assert_eq!(values(text), [expected], "{text}");
    }
    for text in ["I need a new number, 0151 7788 is full of spam", "my number didn't change, it's late", "the shop got a new number"] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}
