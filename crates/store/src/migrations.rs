//! Decides whether a database has the schema of this program.

use super::Refusal;

/// Compares the numbers of the migrations in a database with those of this program.
///
/// It compares the sets, not only the highest numbers: files of several branches arrive in any order, and a gap is a missing table.
///
/// # Errors
/// `NewerDatabase` if the database has an unknown migration, `OlderDatabase` if it lacks one.
pub fn check_migrations(known: &[i64], applied: &[i64]) -> Result<(), Refusal> {
    if let Some(unknown) = applied.iter().find(|version| !known.contains(version)) {
        return Err(Refusal::NewerDatabase(*unknown));
    }
    match known.iter().all(|version| applied.contains(version)) {
        true => Ok(()),
        false => Err(Refusal::OlderDatabase),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_migration_below_the_highest_is_detected() {
        let all = [1, 2, 5, 7, 13, 21];
        assert_eq!(check_migrations(&all, &all), Ok(()));
        for missing in all {
            let rest: Vec<i64> = all.into_iter().filter(|v| *v != missing).collect();
            assert_eq!(check_migrations(&all, &rest), Err(Refusal::OlderDatabase), "{missing}");
        }
        let unknown: Vec<i64> = all.into_iter().chain([9_999]).collect();
        assert_eq!(check_migrations(&all, &unknown), Err(Refusal::NewerDatabase(9_999)));
        assert_eq!(check_migrations(&all, &[]), Err(Refusal::OlderDatabase));
    }
}
