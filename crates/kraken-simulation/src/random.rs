//! Random choices that follow from a seed: of schedules, and of the requests of a comparison.

use std::time::Duration;

use kraken_runtime::random::Stream;

/// A stream of random choices.
#[derive(Clone, Debug)]
pub(crate) struct Random(Stream);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Stream::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.number()
    }

    /// From 0 to one less than `end`; 0 if `end` is.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True with this probability in percent.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them; `None` of nothing.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// One of a list that is never empty.
    pub(crate) fn one<T: Copy, const N: usize>(&mut self, items: [T; N]) -> T {
        const { assert!(N > 0) };
        items[self.below(N)]
    }

    /// One of them, each as often as its weight says; `None` if all weights are 0.
    pub(crate) fn weighted<T: Copy>(&mut self, items: &[(T, usize)]) -> Option<T> {
        let weights: Vec<usize> = items.iter().map(|(_, weight)| *weight).collect();
        if weights.iter().all(|weight| *weight == 0) {
            return None;
        }
        items.get(self.index(&weights)).map(|(item, _)| *item)
    }

    /// The index of one of these weights, each as likely as it is heavy; 0 if all are 0.
    pub(crate) fn index(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }

    /// A time between the two, in milliseconds, distributed logarithmically.
    pub(crate) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        let millis = |duration: Duration| usize::try_from(duration.as_millis()).unwrap_or(usize::MAX);
        let (mut low, high) = (millis(least).max(1), millis(most).max(1));
        // Doublings between the two; one of them is chosen, then a time within it.
        let mut octaves = 0;
        while low < high {
            low = low.saturating_mul(2);
            octaves += 1;
        }
        let start = millis(least).max(1) << self.below(octaves.max(1));
        let chosen = self.between(start, start.saturating_mul(2)).min(high);
        Duration::from_millis(u64::try_from(chosen).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_depends_on_the_seed_alone() {
        let stream = |seed| {
            std::iter::repeat_with({
                let mut rng = Random::new(seed);
                move || rng.next()
            })
            .take(5)
            .collect::<Vec<_>>()
        };
        assert_eq!(stream(1), stream(1));
        assert_ne!(stream(1), stream(2));
    }

    #[test]
    fn times_stay_within_their_bounds() {
        let mut rng = Random::new(3);
        let (least, most) = (Duration::from_millis(50), Duration::from_mins(1));
        for _ in 0..1000 {
            let time = rng.time(least, most);
            assert!(time >= least && time <= most, "{time:?}");
        }
    }

    #[test]
    fn weights_decide_how_often_one_is_chosen() {
        let mut rng = Random::new(3);
        let chosen = (0..1000).filter_map(|_| rng.weighted(&[('a', 9), ('b', 1), ('c', 0)]));
        let (a, b): (Vec<char>, Vec<char>) = chosen.partition(|letter| *letter == 'a');
        assert!(a.len() > 800 && b.len() > 50 && !b.contains(&'c'), "{} {}", a.len(), b.len());
        assert_eq!(rng.weighted::<char>(&[]), None);
    }
}
