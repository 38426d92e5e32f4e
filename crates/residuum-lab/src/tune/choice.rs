//! Who wins: a new setting replaces the best known one only if seeds that did not pick it say that it is better.
//!
//! The best of several noisy means is too high by about as much as the seeds deviate, the winner's curse: of four finalists that are all
//! alike, the known one has the best mean one time in four. Two things keep a search from trading what is known for luck:
//!
//! * The challenger is picked by the first seeds and judged by later ones. Given who was picked, the differences on these have the
//!   mean of the true difference, whatever picked it.
//! * It wins if their mean m exceeds t₀.₉₅(n − 1)·s/√n, the one-sided quantile of Student's law times the standard error. If it is
//!   no better, that happens once in twenty searches, for any deviation s and any number n ≥ 2 of seeds; few seeds ask for more.
//!
//! What is known has been found by other searches, with other draws: among several known settings the best mean decides.

use residuum::stats::Summary;

use crate::report::paired::Paired;

/// How often a challenger that is no better than what is known may replace it.
pub const LUCK: f64 = 0.05;

/// A setting that is tried with several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalist {
    /// Whether it was there before the search.
    pub known: bool,
    /// The score with each seed; a trial that failed reached nothing.
    pub scores: Vec<(u64, f64)>,
    /// Mean loss, which decides between equal scores.
    pub loss: f64,
}

impl Finalist {
    fn mean(&self) -> f64 {
        Summary::of(self.scores.iter().map(|(_, score)| *score)).mean
    }

    /// Its lead over another one, on the seeds from `fresh` on that both have.
    fn against(&self, other: &Self, fresh: u64) -> Paired {
        let from = |one: &Self| -> Vec<(u64, f64)> {
            one.scores.iter().copied().filter(|(seed, _)| *seed >= fresh).collect()
        };
        Paired::new(&from(self), &from(other))
    }

    /// Whether the lead is more than luck.
    fn leads(&self, other: &Self, fresh: u64) -> bool {
        let paired = self.against(other, fresh);
        // Of the two-sided probability, half belongs to this side.
        paired.difference.mean > 0.0 && paired.p.is_some_and(|p| p / 2.0 <= LUCK)
    }
}

/// The finalist with the best mean; of equal ones that with the smaller loss, then the first.
fn best(finalists: &[Finalist], among: impl Fn(&Finalist) -> bool) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (i, one) in finalists.iter().enumerate().filter(|(_, one)| among(one)) {
        let wins = |at: usize| {
            let order = one.mean().total_cmp(&finalists[at].mean());
            order.then(finalists[at].loss.total_cmp(&one.loss)).is_gt()
        };
        if best.is_none_or(wins) {
            best = Some(i);
        }
    }
    best
}

/// Between whom further seeds must decide: the best of what is new, and of what is known all that the best does not lead. A challenger whom the
/// best known setting leads is out too. What is alone is chosen.
pub fn undecided(finalists: &[Finalist]) -> Vec<usize> {
    let (known, new) = (best(finalists, |one| one.known), best(finalists, |one| !one.known));
    let Some(known) = known else {
        // Nothing is known: the two best of the new.
        let second = best(finalists, |one| new.is_some_and(|first| *one != finalists[first]));
        return new.into_iter().chain(second).collect();
    };
    let stays = |i: usize| {
        let candidate = finalists[i].known || Some(i) == new;
        candidate && (i == known || !finalists[known].leads(&finalists[i], 0))
    };
    (0..finalists.len()).filter(|&i| stays(i)).collect()
}

/// The choice: the best known setting, unless the best new one leads it on the seeds from `fresh` on, which picked neither. Without two such
/// seeds the best mean decides, as it does where nothing is known.
pub fn chosen(finalists: &[Finalist], fresh: u64) -> Option<usize> {
    let (known, new) = (best(finalists, |one| one.known), best(finalists, |one| !one.known));
    let (Some(known), Some(new)) = (known, new) else { return known.or(new) };
    let judged = |one: &Finalist| one.scores.iter().filter(|(seed, _)| *seed >= fresh).count() >= 2;
    if !judged(&finalists[known]) {
        // A challenger that was out before the fresh seeds has none either, but then it is behind.
        return best(finalists, |_| true);
    }
    Some(if finalists[new].leads(&finalists[known], fresh) { new } else { known })
}

/// What decided between the best known setting and the best new one, in words; nothing where no fresh seeds did.
pub fn verdict(finalists: &[Finalist], fresh: u64) -> Option<String> {
    let known = &finalists[best(finalists, |one| one.known)?];
    let new = &finalists[best(finalists, |one| !one.known)?];
    let Summary { n, mean, se, .. } = new.against(known, fresh).difference;
    let lead = format!("{:+.1} ± {:.1} points on {n} seeds that did not pick it", 100.0 * mean, 100.0 * se);
    (n > 1).then(|| {
        if new.leads(known, fresh) {
            format!("a new setting replaces what was known: {lead}")
        } else {
            format!("what was known stays; the best new setting: {lead}")
        }
    })
}
