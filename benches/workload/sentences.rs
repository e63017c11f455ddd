//! Generated chat: statements with facts, and questions about the same people and things.
//! A seed determines the text. Words have uneven frequencies, as in speech, for postings of every length.

const FIRST: &[&str] = &[
    "Anna", "Boris", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Irene", "James", "Karin", "Lukas", "Maria", "Nora", "Oscar",
    "Paula", "Quentin", "Rosa", "Simon", "Tina", "Ulrich", "Vera", "Walter", "Yvonne", "Zoe", "Aaron", "Bella", "Carlos", "Diana", "Elias",
];
const LAST: &[&str] = &[
    "Abbott", "Becker", "Castillo", "Dawson", "Eriksson", "Fischer", "Garcia", "Hansen", "Ivanov", "Jensen", "Kowalski", "Lindgren",
    "Moreau", "Novak", "Olsen", "Petrov", "Quinn", "Rossi", "Schmidt", "Tanaka", "Ueda", "Vasquez", "Weber", "Young", "Zimmer",
];
const PLACES: &[&str] = &[
    "Berlin", "Paris", "Madrid", "Oslo", "Vienna", "Prague", "Lisbon", "Dublin", "Athens", "Warsaw", "Helsinki", "Zurich", "Boston",
    "Chicago", "Denver", "Seattle", "Toronto", "Kyoto", "Osaka", "Sydney", "Lyon", "Porto", "Krakow", "Bergen", "Graz", "Leipzig",
];
const THINGS: &[&str] = &[
    "hiking",
    "pottery",
    "chess",
    "jazz",
    "gardening",
    "sailing",
    "photography",
    "baking",
    "cycling",
    "yoga",
    "poetry",
    "painting",
    "climbing",
    "coffee",
    "green tea",
    "mushrooms",
    "old maps",
    "board games",
    "opera",
    "swimming",
    "history",
    "astronomy",
    "knitting",
    "football",
    "tennis",
    "archery",
    "origami",
    "calligraphy",
    "beekeeping",
    "woodwork",
    "surfing",
    "skiing",
    "cooking",
    "dancing",
];
const TOOLS: &[&str] = &[
    "Rust",
    "Python",
    "PostgreSQL",
    "Kubernetes",
    "Docker",
    "Grafana",
    "Figma",
    "Blender",
    "Excel",
    "Terraform",
    "Kafka",
    "Redis",
    "React",
];
const NOUNS: &[&str] = &[
    "meeting",
    "garden",
    "recipe",
    "train",
    "letter",
    "bicycle",
    "concert",
    "invoice",
    "holiday",
    "budget",
    "dinner",
    "lecture",
    "project",
    "contract",
    "kitchen",
    "window",
    "museum",
    "exhibition",
    "deadline",
    "storm",
    "festival",
    "neighbour",
    "library",
    "market",
    "river",
    "mountain",
    "violin",
    "camera",
    "ticket",
    "passport",
    "suitcase",
    "birthday",
    "wedding",
    "interview",
    "report",
    "server",
    "release",
    "migration",
    "backup",
    "newspaper",
    "puzzle",
    "blanket",
    "lantern",
    "harbour",
    "bridge",
    "forest",
    "meadow",
    "orchard",
    "workshop",
];
const ADJECTIVES: &[&str] = &[
    "lovely",
    "noisy",
    "long",
    "quiet",
    "cheap",
    "expensive",
    "strange",
    "wonderful",
    "boring",
    "difficult",
    "short",
    "bright",
    "cold",
    "crowded",
    "old",
    "modern",
    "famous",
    "forgotten",
    "colourful",
    "gentle",
    "heavy",
    "urgent",
    "unexpected",
    "delayed",
    "perfect",
];
const VERBS: &[&str] = &[
    "cancelled",
    "planned",
    "missed",
    "enjoyed",
    "repaired",
    "painted",
    "finished",
    "forgot",
    "postponed",
    "visited",
    "described",
    "remembered",
    "organised",
    "recorded",
    "photographed",
    "cleaned",
    "found",
    "lost",
    "borrowed",
    "returned",
    "tested",
    "reviewed",
];
const DAYS: &[&str] = &["yesterday", "last week", "on Monday", "in March", "this morning", "two days ago", "last summer", "on Friday"];
const SYLLABLES: &[&str] = &[
    "ar", "bel", "cor", "dan", "el", "fin", "gor", "hal", "is", "jun", "kal", "lor", "mir", "nor", "os", "pel", "quor", "ras", "sol", "tav",
];
/// Number of speakers in the conversations.
const SPEAKERS: usize = 40;

/// Generates statements and questions.
pub(crate) struct Writer(u64);

impl Writer {
    pub(crate) fn new() -> Self {
        Self::another(0)
    }

    /// Returns a writer with other sentences for each `n`.
    pub(crate) fn another(n: u64) -> Self {
        Self(0x5eed ^ (n << 32))
    }

    /// splitmix64 (Steele et al. 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`; smaller numbers are more frequent (product of two uniform draws).
    fn skewed(&mut self, n: usize) -> usize {
        let unit = |v: u64| (v >> 11) as f64 / (1_u64 << 53) as f64;
        let (a, b) = (unit(self.next()), unit(self.next()));
        ((a * b * n as f64) as usize).min(n.saturating_sub(1))
    }

    fn of(&mut self, words: &'static [&'static str]) -> &'static str {
        let at = self.skewed(words.len());
        words.get(at).copied().unwrap_or_default()
    }

    fn person(&mut self) -> String {
        format!("{} {}", self.of(FIRST), self.of(LAST))
    }

    /// Returns one of a few thousand invented company names.
    fn company(&mut self) -> String {
        let name: String = (0..3).map(|_| self.of(SYLLABLES)).collect();
        let mut letters = name.chars();
        let initial = letters.next().map(|c| c.to_ascii_uppercase());
        initial.into_iter().chain(letters).collect()
    }

    /// Returns a person's home, almost always the same: otherwise people would contradict themselves all the time.
    fn home(&mut self, name: &str) -> &'static str {
        if self.next().is_multiple_of(20) {
            return self.of(PLACES);
        }
        let at = name.bytes().fold(0_usize, |sum, b| sum.wrapping_mul(31).wrapping_add(usize::from(b))) % PLACES.len();
        PLACES.get(at).copied().unwrap_or_default()
    }

    /// Returns a speaker and a statement.
    pub(crate) fn statement(&mut self) -> (String, String) {
        let speaker = self.skewed(SPEAKERS);
        let speaker = FIRST.get(speaker % FIRST.len()).copied().unwrap_or_default().to_owned();
        let small_talk = |w: &mut Self| format!("The {} {} was {}", w.of(ADJECTIVES), w.of(NOUNS), w.of(ADJECTIVES));
        let text = match self.next() % 16 {
            0 => format!("I live in {} now, and the {} here is {}.", self.home(&speaker), self.of(NOUNS), self.of(ADJECTIVES)),
            1 => format!("{} works at {}.", self.person(), self.company()),
            2 => format!("I really like {}. {} {}.", self.of(THINGS), small_talk(self), self.of(DAYS)),
            3 => format!("{} likes {} and {}.", self.person(), self.of(THINGS), self.of(THINGS)),
            4 => format!("We use {} at {} for the {}.", self.of(TOOLS), self.company(), self.of(NOUNS)),
            5 => {
                let person = self.person();
                format!("{person} moved to {} {}.", self.home(&person), self.of(DAYS))
            }
            6 => format!("I no longer use {}, the {} was too {}.", self.of(TOOLS), self.of(NOUNS), self.of(ADJECTIVES)),
            7 => {
                let sister = self.of(FIRST);
                format!("My sister {sister} lives in {}.", self.home(sister))
            }
            8 => format!("I {} the {} {} {}.", self.of(VERBS), self.of(ADJECTIVES), self.of(NOUNS), self.of(DAYS)),
            9 => format!("{} {} the {} with {}.", self.person(), self.of(VERBS), self.of(NOUNS), self.of(FIRST)),
            10 => format!("Did you hear that {} {} the {}?", self.person(), self.of(VERBS), self.of(NOUNS)),
            11 => format!("{}, but the {} made up for it.", small_talk(self), self.of(NOUNS)),
            12 => format!("I don't like {} any more, I prefer {}.", self.of(THINGS), self.of(THINGS)),
            13 => format!("{} and I are working on {} for the {}.", self.of(FIRST), self.company(), self.of(NOUNS)),
            14 => format!("Haha, thanks! {} {}.", small_talk(self), self.of(DAYS)),
            _ => {
                let (n, v) = (self.of(NOUNS), self.of(VERBS));
                format!("We {v} the {n} in {} and took a {} {} home.", self.of(PLACES), self.of(ADJECTIVES), self.of(NOUNS))
            }
        };
        (speaker, text)
    }

    /// Returns a question about something that may have been said.
    pub(crate) fn question(&mut self) -> String {
        match self.next() % 8 {
            0 => format!("Where does {} live?", self.person()),
            1 => format!("Who works at {}?", self.company()),
            2 => format!("What does {} like?", self.of(FIRST)),
            3 => format!("Who {} the {} {}?", self.of(VERBS), self.of(NOUNS), self.of(DAYS)),
            4 => format!("What did {} say about the {} {}?", self.of(FIRST), self.of(ADJECTIVES), self.of(NOUNS)),
            5 => format!("Which tools do we use for the {}?", self.of(NOUNS)),
            6 => format!("When did {} move to {}?", self.person(), self.of(PLACES)),
            _ => format!("Do I like {} or {}?", self.of(THINGS), self.of(THINGS)),
        }
    }
}
