//! Tests difficult text: long, foreign, in capitals, with markup. The work must stay linear in its length.

use super::*;
use crate::steps;

fn cost(text: &str, previous: &[&str]) -> u64 {
    let previous = previous.iter().map(|&t| UserText::from(t)).collect();
    steps::taken();
    let found = pipeline().extract(&ExtractInput { previous, ..input(text) });
    check_sound(text, &found);
    steps::taken()
}

#[test]
fn work_is_linear_in_the_length_of_the_text() {
    for unit in [
        "word ",
        "I like tea. ",
        "\"",
        "```",
        "~~~\n",
        "> ",
        "[a](",
        "and Tom ",
        "my sister's ",
        "😀",
        "’s ",
        "not ",
        "to ",
        ", ",
        "https://",
        "`",
        "a.b.",
        "who ",
        "she likes it and ",
        "Ann met Bob, who likes Cid. ",
        "we named him Rex, ",
        "if ",
        "- I use Vim\n",
        "(",
        "'",
        "like ",
        "Tom and Anna met. They ",
        "where do you live, ",
        "ich habe ",
        "我喜欢",
        "is called ",
        "used to ",
        "I love and hate ",
        "X, my boss, ",
    ] {
        let of = |bytes: usize| unit.repeat(bytes / unit.len());
        let (half, whole) = (cost(&of(8_192), &[]), cost(&of(16_384), &[]));
        assert!(whole <= half * 9 / 4 + 1000, "{unit:?}: {half} steps, then {whole}");
        // The steps cover the work: neither too few, nor more than some hundreds for each character.
        assert!((2_500..=16_384 * 400).contains(&whole), "{unit:?}: {whole}");
    }
}

#[test]
fn pasted_book_takes_linear_work() {
    let page = "My friend Otto, who lives in Graz, plays chess. He loves it, and we use Kafka at work, so they met there. ";
    let (part, whole) = (cost(&page.repeat(80), &[]), cost(&page.repeat(640), &[]));
    assert!(page.len() * 640 > 65_536 && whole <= part * 9, "{part} steps, then {whole}");
}

#[test]
fn work_for_earlier_messages_is_linear() {
    let before = "Tom met Ann. ".repeat(1_000);
    let one = cost("She likes tea.", &["Tom met Ann."]);
    let long = cost("She likes tea.", &[&before, &before]);
    assert!(long <= (one + 1) * 4_000, "{one}, then {long}");
}

#[test]
fn other_languages_make_no_facts() {
    for text in [
        "Ich habe zwei Hunde und wohne in Berlin.",
        "Meine Schwester arbeitet bei Siemens und mag Schokolade.",
        "Ich mag Kaffee, aber ich hasse Tee.",
        "J'adore le fromage et je déteste la pluie.",
        "Mon frère travaille chez Airbus à Toulouse.",
        "J'ai deux chats et un chien.",
        "Vivo en Madrid con mi mujer y dos gatos.",
        "Me encanta la música, odio el ruido.",
        "Trabajo en Google desde hace tres años.",
        "Ho due cani e abito a Roma.",
        "Mio fratello lavora per la Fiat.",
        "Adoro o Rio de Janeiro e a minha família.",
        "Eu trabalho na Petrobras e tenho um gato.",
        "Ik woon in Utrecht en werk bij Philips.",
        "Mijn zus heeft een hond en houdt van koffie.",
        "我在谷歌工作，我有两只猫。",
        "私は猫が好きです。東京に住んでいます。",
        "Я работаю в Яндексе и люблю кофе.",
        "У меня есть собака, её зовут Рекс.",
        "Mieszkam w Warszawie i mam psa, ale nie lubię kotów.",
    ] {
        let found = pipeline().read(text);
        assert_eq!(fact_lines(&found), Vec::<String>::new(), "{text}");
        assert_eq!(found.kind, MessageKind::Other, "{text}");
        check_sound(text, &found);
    }
}

#[test]
fn code_and_addresses_make_no_certain_facts() {
    for text in [
        "```rust\n// I love Rust\nlet x = 1;\n```",
        "~~~\nI use Perl\n~~~",
        "> I hate Mondays\n> and I live in Oslo",
        "https://example.org/I-use-Vim",
        "see [this](https://a.example/i-love-go)",
        "`git commit -m \"I love it\"`",
        "www.example.org/my-sister-anna likes",
    ] {
        let found = pipeline().read(text);
        assert!(found.facts.iter().all(|f| f.confidence < 0.7), "{text}: {:?}", fact_lines(&found));
        check_sound(text, &found);
    }
}

#[test]
fn capitals_and_markup_do_not_change_facts() {
    for text in [
        "I LOVE SUSHI AND I USE VIM",
        "i love sushi and i use vim",
        "I **love** *sushi* and I use `Vim`",
        "I love sushi 🍣 and I use Vim!!!",
    ] {
        let found: Vec<String> = facts(text).iter().map(|f| f.to_lowercase()).collect();
        assert_eq!(found, ["user likes sushi affirmed", "user uses vim affirmed"], "{text}");
    }
}

#[test]
fn what_is_only_asked_doubted_or_shown_states_nothing() {
    for text in [
        "Al doubts that Mia works for Bosch.",
        "e.g. My name is Al Berg",
        "Enter your city: I live in Rome",
        "which parcel weighs 7 kg",
        "which python version do i need",
        "may i bring my own laptop",
    ] {
        let is_stated = |line: &String| !line.contains("NOTE");
        assert!(!facts(text).iter().any(is_stated), "{text}: {:?}", facts(text));
    }
    for text in ["e.g. My name is Al Berg", "which python version do i need", "may i bring my own laptop"] {
        assert!(pipeline().read(text).facts.is_empty(), "{text}");
    }
    // A verb before "that" is no part of the name.
    let read = pipeline().read("Al doubts that Mia works for Bosch.");
    assert!(read.mentions.iter().any(|m| m.name == "Al"), "{:?}", read.mentions);
}

#[test]
fn owners_without_names_own_nothing() {
    for text in ["Cats may come in. Their owners must register them.", "Cats sleep here on Fridays. Their owners register them."] {
        assert!(!facts(text).iter().any(|f| f.contains("OWNS")), "{text}: {:?}", facts(text));
    }
}

#[test]
fn codes_and_currencies_are_no_names() {
    let names = |text: &str| pipeline().read(text).mentions.into_iter().map(|m| m.name).collect::<Vec<_>>();
    assert!(names("Choose B7 or Q2. Pay in SEK.").is_empty(), "{:?}", names("Choose B7 or Q2. Pay in SEK."));
    assert_eq!(names("Anna sings."), ["Anna"]);
}

#[test]
fn nouns_of_a_table_row_are_no_people() {
    let names = |text: &str| pipeline().read(text).mentions.into_iter().map(|m| m.name).collect::<Vec<_>>();
    assert!(names("| Tokens | Field Width | Extra Choices |").is_empty(), "{:?}", names("| Tokens | Field Width | Extra Choices |"));
    assert_eq!(names("| Anna Berg | developer |"), ["Anna Berg"]);
}
