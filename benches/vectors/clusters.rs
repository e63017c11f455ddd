//! Vectors that resemble those of texts: mixtures of topics, a few important directions, and a common part.
//! Users share topics, but each prefers others.

/// Number of topics of all users, and of the fields that contain them.
const TOPICS: usize = 2_000;
const FIELDS: usize = 40;

/// Draws vectors; the same seed gives the same vectors.
pub(crate) struct Clusters {
    dimension: usize,
    topics: Vec<Vec<f32>>,
    scale: Vec<f32>,
    signs: Vec<f32>,
    common: Vec<f32>,
    random: Random,
}

/// A linear congruential sequence.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0
    }

    /// Approximately normal, with variance 1.
    fn normal(&mut self) -> f32 {
        (0..4).map(|_| self.uniform() - 0.5).sum::<f32>() * 3.0_f32.sqrt()
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f32) as usize).min(n.saturating_sub(1))
    }
}

impl Clusters {
    pub(crate) fn new(dimension: usize, seed: u64) -> Self {
        let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15);
        let norm = (1..=dimension).map(|k| 1.0 / k as f32).sum::<f32>().sqrt();
        let scale: Vec<f32> = (1..=dimension).map(|k| 1.0 / (k as f32).sqrt() / norm).collect();
        let mut drawn = || scale.iter().map(|s| random.normal() * s).collect::<Vec<f32>>();
        let fields: Vec<Vec<f32>> = (0..FIELDS).map(|_| drawn()).collect();
        let own: Vec<Vec<f32>> = (0..TOPICS).map(|_| drawn()).collect();
        let topics = own.iter().enumerate().map(|(i, own)| own.iter().zip(&fields[i % FIELDS]).map(|(o, f)| 0.8 * o + 0.6 * f).collect());
        let topics = topics.collect();
        let signs = (0..dimension).map(|_| if random.uniform() < 0.5 { -1.0 } else { 1.0 }).collect();
        let common: Vec<f32> = (0..dimension).map(|_| random.normal() * 0.3 / (dimension as f32).sqrt()).collect();
        Self { dimension, topics, scale, signs, common, random }
    }

    /// Draws a unit vector for a message or query of one user.
    pub(crate) fn draw(&mut self, user: usize) -> Vec<f32> {
        // The square makes few topics frequent; each user starts with another topic.
        let u = self.random.uniform();
        let topic = (user * 37 + (u * u * TOPICS as f32) as usize) % TOPICS;
        let spread = 0.3 + 0.2 * self.random.below(3) as f32;
        let mut v: Vec<f32> = (0..self.dimension).map(|k| self.topics[topic][k] + spread * self.scale[k] * self.random.normal()).collect();
        self.turn(&mut v);
        v.iter_mut().zip(&self.common).for_each(|(x, c)| *x += c);
        let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
        v.iter().map(|x| x / norm).collect()
    }

    /// A rotation that spreads the variance over all dimensions: Hadamard transforms over overlapping parts.
    fn turn(&self, v: &mut [f32]) {
        let part = if self.dimension.is_power_of_two() { self.dimension } else { 1 << (usize::BITS - 1 - self.dimension.leading_zeros()) };
        for start in [0, self.dimension - part, 0] {
            v.iter_mut().zip(&self.signs).for_each(|(x, s)| *x *= s);
            let part = &mut v[start..start + part];
            let mut half = 1;
            while half < part.len() {
                for i in (0..part.len()).filter(|i| i & half == 0) {
                    let (a, b) = (part[i], part[i + half]);
                    (part[i], part[i + half]) = (a + b, a - b);
                }
                half *= 2;
            }
            let norm = (part.len() as f32).sqrt();
            part.iter_mut().for_each(|x| *x /= norm);
        }
    }
}

/// Returns the `count` nearest of `all` by exhaustive search.
pub(crate) fn nearest(all: &[Vec<f32>], asked: &[f32], count: usize) -> Vec<usize> {
    let mut scored: Vec<(f32, usize)> =
        all.iter().enumerate().map(|(i, v)| (v.iter().zip(asked).map(|(a, b)| a * b).sum::<f32>(), i)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(count).map(|(_, i)| i).collect()
}
