//! Choices that a seed repeats, and numbers that a tester may set.

/// A small generator of random numbers.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Close seeds shall not begin alike, and the state must not be zero.
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.roll(2);
        dice
    }

    /// A number from 0 to `sides` - 1.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides.max(1)
    }

    /// One of some things.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// The number in a variable of the environment.
pub fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{variable} is not a number")))
}
