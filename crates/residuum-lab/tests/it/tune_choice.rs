//! Who wins a search: luck must not replace what is known.

use residuum::Key;
use residuum::stats::Z;
use residuum_lab::tune::{Finalist, LUCK, chosen, undecided, verdict};

/// Finalists of one search: the first is known, the others are new and better by `gain`. Accuracies around 0.9 that deviate by `deviation`
/// between seeds, of which half is common to all settings, as it is where seeds decide devices and data.
struct Race {
    key: Key,
    gain: f64,
    deviation: f64,
    new: usize,
}

impl Race {
    fn score(&self, setting: usize, seed: u64) -> f64 {
        let gain = if setting == 0 { 0.0 } else { self.gain };
        let own = self.key.named("own").fold(setting as u64).normal_at(seed);
        let common = self.key.named("common").normal_at(seed);
        0.9 + gain + self.deviation * (own + common) / 2f64.sqrt()
    }

    fn finalists(&self, seeds: u64) -> Vec<Finalist> {
        let scores = |setting: usize| (0..seeds).map(|seed| (seed, self.score(setting, seed))).collect();
        (0..=self.new).map(|i| Finalist { known: i == 0, scores: scores(i), loss: 0.0 }).collect()
    }

    /// Whether a new setting wins: the seeds before `fresh` pick the challenger, and `last` trials in all judge it.
    fn replaced(&self, fresh: u64, last: usize) -> bool {
        let all = self.finalists(fresh);
        let mut left: Vec<usize> = (0..all.len()).collect();
        let mut now = all;
        let (mut seed, mut spent) = (fresh, 0);
        loop {
            let stay = undecided(&now);
            left = stay.iter().map(|&i| left[i]).collect();
            now = stay.iter().map(|&i| now[i].clone()).collect();
            spent += left.len();
            if left.len() < 2 || spent > last {
                break;
            }
            now.iter_mut().zip(&left).for_each(|(one, &i)| one.scores.push((seed, self.score(i, seed))));
            seed += 1;
        }
        left[chosen(&now, fresh).unwrap()] != 0
    }

    /// The rule that the best mean over three seeds wins, with as many trials.
    fn replaced_by_the_mean(&self, seeds: u64) -> bool {
        let sum = |one: &Finalist| one.scores.iter().map(|(_, score)| score).sum::<f64>();
        let all = self.finalists(seeds);
        all[1..].iter().any(|new| sum(new) > sum(&all[0]))
    }
}

const RACES: u64 = 4000;

fn share(gain: f64, deviation: f64, won: impl Fn(&Race) -> bool) -> f64 {
    let key = Key::new(7).named("races");
    let races = (0..RACES).map(|i| Race { key: key.fold(i), gain, deviation, new: 4 });
    races.filter(won).count() as f64 / RACES as f64
}

/// The tolerance of a share that should be p.
fn tolerance(p: f64) -> f64 {
    Z * (p * (1.0 - p) / RACES as f64).sqrt()
}

#[test]
fn luck_replaces_what_is_known_once_in_twenty_searches_at_most() {
    // Settings that are all alike: whichever is chosen is luck. Small, large and huge deviations, and few seeds.
    for (deviation, fresh, last) in [(0.003, 2, 12), (0.03, 2, 12), (0.2, 2, 12), (0.03, 2, 6), (0.03, 3, 4)] {
        let ours = share(0.0, deviation, |race| race.replaced(fresh, last));
        assert!(ours <= LUCK + tolerance(LUCK), "deviation {deviation}, {last} trials: {ours}");
        // The broken twin: of five that are alike, one of the four new ones has the best mean four times in five.
        let mean = share(0.0, deviation, |race| race.replaced_by_the_mean(3));
        assert!((mean - 0.8).abs() <= tolerance(0.8) && mean > LUCK + tolerance(LUCK), "{mean}");
        // A second twin: the seeds that picked the challenger judge it as well.
        let cursed = share(0.0, deviation, |race| {
            let all = race.finalists(fresh + 4);
            let pick = (1..all.len()).max_by(|&a, &b| total(&all[a]).total_cmp(&total(&all[b]))).unwrap();
            chosen(&[all[0].clone(), all[pick].clone()], 0) == Some(1)
        });
        assert!(cursed > LUCK + tolerance(LUCK), "{cursed}");
    }
}

fn total(one: &Finalist) -> f64 {
    one.scores.iter().map(|(_, score)| score).sum()
}

#[test]
fn a_search_ends_far_below_what_is_known_less_often_than_by_the_mean() {
    // All new settings are worse by 2 points, and seeds deviate by 3. The best mean of three seeds takes one of them if the largest of four
    // differences, each with the deviation √(2·(3²/2)/3) = 1.73 points and half of it in common, exceeds 2 points: Φ̄(2/1.73) = 0.124 for one
    // alone, so between that and four times it.
    let mean = share(-0.02, 0.03, |race| race.replaced_by_the_mean(3));
    assert!(mean > 0.124 && mean < 4.0 * 0.124, "{mean}");
    let ours = share(-0.02, 0.03, |race| race.replaced(2, 12));
    // A challenger that is worse needs more luck than one that is as good: less than one in twenty, less than a tenth of the mean's rate.
    assert!(ours < 0.1 * mean && ours < LUCK, "{ours} against {mean}");
}

#[test]
fn what_is_better_wins() {
    // 3 points, seeds that deviate by 1: six fresh seeds see 3·√6 standard errors and more.
    let ours = share(0.03, 0.01, |race| race.replaced(2, 12));
    assert!(ours > 0.99, "{ours}");
}

#[test]
fn seeds_go_where_they_decide() {
    let one = |known: bool, scores: &[f64]| Finalist {
        known,
        scores: scores.iter().enumerate().map(|(seed, score)| (seed as u64, *score)).collect(),
        loss: 1.0,
    };
    // A known setting that the other leads at once gets no more seeds, nor does a second challenger.
    let all = [
        one(true, &[0.20, 0.21]),
        one(false, &[0.93, 0.95]),
        one(true, &[0.92, 0.94]),
        one(false, &[0.92, 0.92]),
    ];
    assert_eq!(undecided(&all), [1, 2]);
    // Nothing to decide: the challenger is far behind.
    assert_eq!(undecided(&[one(true, &[0.92, 0.94]), one(false, &[0.50, 0.51])]), [0]);
    // Nothing is known: the two best, and in the end the better mean. Of equal scores the smaller loss.
    let new = [one(false, &[0.5, 0.6]), one(false, &[0.8, 0.9]), one(false, &[0.7, 0.9])];
    assert_eq!(undecided(&new), [1, 2]);
    assert_eq!(chosen(&new, 0), Some(1));
    let lower = Finalist { loss: 0.5, ..one(false, &[0.8, 0.9]) };
    assert_eq!(chosen(&[one(false, &[0.8, 0.9]), lower], 0), Some(1));
    // Without two fresh seeds there is no deviation to measure by, and the mean decides.
    assert_eq!(chosen(&[one(true, &[0.5]), one(false, &[0.6])], 0), Some(1));
    assert_eq!(chosen(&[one(true, &[0.5, 0.5]), one(false, &[0.6, 0.4])], 0), Some(0));
    // A difference that is always the same has no deviation either, and what is known stays.
    assert_eq!(chosen(&[one(true, &[0.5, 0.25]), one(false, &[0.75, 0.5])], 0), Some(0));
    assert_eq!(chosen(&[], 0), None);
    // The report says why.
    let ends = [one(true, &[0.5, 0.9, 0.8]), one(false, &[0.9, 0.95, 0.87])];
    let wins = "a new setting replaces what was known: +6.0 ± 1.0 points on 2 seeds that did not pick it";
    let stays = "what was known stays; the best new setting: +6.0 ± 1.0 points on 2 seeds that did not pick it";
    // 6 standard errors are too few for two seeds, for which the quantile is 6.3.
    assert_eq!((verdict(&ends, 1).unwrap().as_str(), chosen(&ends, 1)), (stays, Some(0)));
    let ends = [one(true, &[0.5, 0.9, 0.8, 0.8]), one(false, &[0.9, 0.95, 0.86, 0.87])];
    assert_eq!(verdict(&ends, 1).unwrap().as_str(), wins.replace("1.0", "0.6").replace("2 seeds", "3 seeds"));
    assert_eq!(verdict(&ends, 3), None);
}
