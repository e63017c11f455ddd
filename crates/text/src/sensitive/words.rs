//! Lists of English words that decide whether a number or a word is sensitive.

/// Whether a list contains a word in small letters.
pub(super) fn contains(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|known| known == word)
}

/// Words before a number that say it is a card.
pub(super) const CARD_WORDS: &str = "amex card cards cc credit debit discover jcb maestro mastercard rupay unionpay visa";

/// Words before a number that is no card, however it is written.
pub(super) const CODE_WORDS: &str = "barcode ean gtin iccid imei isbn meid serial tracking upc";

/// Words before a number that is probably no card.
pub(super) const RECORD_WORDS: &str = "\
    article booking call case client contract customer fax id ids invoice item member membership mobile model order orders parcel part \
    phone policy ref reference rma shipment sku tel ticket transaction user";

/// Words between such a word and the number.
pub(super) const FILLERS: &str = "a an are code is my no nr num number numbers our s the was your";

/// Words about passwords in sentences and code.
pub(super) const COMMON_WORDS: &str = "\
    a about above all already also always an any anything as ask at attached available bad because behind being below between blank \
    bool boolean both broken by bytes case char check choose complex complicated compromised contains correct default different done \
    down dyn easy empty encrypted enough enter expired false fine for forgotten from given going gone good great hard hashed he her \
    here hers hidden his how i if impl important in incorrect input insecure inside int integer invalid it its just kept known leaked \
    like locked long lost made mandatory masked max maximum min mine minimum missing must mut my n/a necessary needed needs never new \
    nil no none not nothing now nowhere null number object obvious of off ok okay old on one only option optional or our ours out \
    outdated outside over personal please pretty private public put quite random ready really redacted removed required right safe \
    same saved secret secure see sent set shared she short should silly simple so some something somewhere still stolen stored str \
    string strong stupid tbd terrible text than that the their there these they this to todo too true type unchanged undefined under \
    unique unknown unset up use valid varchar vec very visible was we weak what when where which who why with written wrong yes you \
    your yours";

/// Words that can follow a password in a sentence.
pub(super) const CONNECTIVES: &str = "again and at but by everywhere for i if in now on or since so too which with";

/// What a number counts, as in "12 characters".
pub(super) const UNITS: &str = "\
    attempts bits bytes characters chars days digit digits hours letters lines minutes months people percent seconds signs symbols \
    times tries weeks words years";

/// First names in expressions of code that read a password from elsewhere.
pub(super) const CODE_ROOTS: &str = "args config ctx data env os params process req request self settings this";

/// Technical names with letters and digits.
pub(super) const TECHNICAL_NAMES: &str = "\
    1password argon2 argon2i argon2id base32 base64 ipv4 ipv6 keepass2 oauth2 pbkdf2 pkcs12 sha1 sha224 sha256 sha384 sha512 utf16";

/// Kinds of codes that are no secret.
pub(super) const PUBLIC_CODES: &str = "\
    airport area bar booking class color colour country coupon currency customer discount dress error exit gift invitation invite \
    language order post postal product promo qr referral sort source status swift tax tracking training voucher zip";
