//! Sentences about anything, whose mean vector is what all texts of a model have in common.
//!
//! In most models the vectors of any two texts are similar: with the built-in one, chunks about dogs and about taxes have a cosine of
//! 0.95. Less what all texts have in common it is 0, and that of two texts about dogs is 0.7.

/// The sentences, each about something else.
pub(super) const SENTENCES: &[&str] = &[
    "The child plays with a ball in the garden and laughs.",
    "Our company sold more products in the last quarter than in the year before.",
    "The doctor prescribed a medicine against the fever and the cough.",
    "Add the flour and the eggs, stir well, and bake for thirty minutes.",
    "The train to the city leaves at nine from the second platform.",
    "The court decided that the contract was not valid.",
    "The team won the match with three goals in the second half.",
    "Water boils at a lower temperature in the mountains.",
    "The program reads a file and writes the result to the screen.",
    "She studied history at the university and wrote a book about the war.",
    "The engine needs oil, and the brakes must be checked every year.",
    "The parliament voted for the new law on energy.",
    "Birds fly south in autumn and return in spring.",
    "The painting hangs in the museum next to the entrance.",
    "He plays the guitar in a band and sings on weekends.",
    "The bank offers a loan with low interest for families.",
    "The house has three rooms, a kitchen and a small balcony.",
    "Plants need light, water and minerals to grow.",
    "The teacher explained the exercise to the class once more.",
    "The patient shall take part in the meeting on Monday.",
    "Please send me the report before the end of the week.",
    "I would like to book a table for four people this evening.",
    "The storm damaged many roofs along the coast.",
    "My grandmother tells stories about her village.",
    "The price of bread rose again in the last month.",
    "Click the button and enter your password to log in.",
    "The scientists measured the distance between two stars.",
    "We walked along the river and had lunch under a tree.",
    "The factory makes parts of steel for machines.",
    "This chapter describes the rules and the exceptions to them.",
    "The police look for witnesses of the accident.",
    "Wash the shirt in cold water and do not iron it.",
    "The ship carries containers across the ocean.",
    "Her new job begins in September in another town.",
    "The table shows the number of visitors for each month.",
    "The film tells of two friends who cross the desert.",
    "The insurance pays if the damage was an accident.",
    "The dog sleeps in the kitchen, and the cat on the sofa.",
    "Use a strong rope and tie it with two knots.",
    "The council plans a new road around the old town.",
];

/// Returns the mean of vectors after scaling each to unit length; `None` if none has a direction.
pub(super) fn mean(vectors: &[Vec<f32>]) -> Option<Vec<f32>> {
    let units: Vec<Vec<f32>> = vectors.iter().filter_map(|v| unit(v)).collect();
    let mut sum = vec![0.0; units.first()?.len()];
    for vector in &units {
        sum.iter_mut().zip(vector).for_each(|(s, v)| *s += v / units.len() as f32);
    }
    Some(sum)
}

/// Returns what a vector has besides the mean; `None` if it has no direction or another length.
pub(super) fn without(vector: &[f32], mean: &[f32]) -> Option<Vec<f32>> {
    let vector = unit(vector).filter(|v| v.len() == mean.len())?;
    unit(&vector.iter().zip(mean).map(|(v, m)| v - m).collect::<Vec<_>>())
}

/// Returns the vector of unit length in the same direction; `None` if it has none.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    (length.is_finite() && length > 1e-6).then(|| vector.iter().map(|v| v / length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_lose_what_all_have_in_common() {
        let common = mean(&[vec![10.0, 1.0, 0.0], vec![5.0, -0.5, 0.0]]).unwrap_or_default();
        let [up, down] = [[1.0, 0.3, 0.0], [1.0, -0.3, 0.0]].map(|v| without(&v, &common).unwrap_or_default());
        assert!(up[1] > 0.9 && down[1] < -0.9, "{up:?} {down:?}");
        assert_eq!((without(&[0.0; 3], &common), without(&[1.0], &common), mean(&[])), (None, None, None));
    }
}
