//! Runs learn, measure what they say they measure, and nothing around them changes a bit.

use super::train_common;

use residuum::Key;
use residuum_nn::data::{Batches, Pipeline, embedded};
use residuum_nn::state::Scope;
use residuum_nn::train::{
    CheckpointPolicy, EarlyStop, Outcome, StopMetric, TrainError, Training, Unwatched, evaluate,
};
use residuum_nn::{Sgd, Tensor, TrainStepError};
use train_common::{LOSS, Setup, Spy, checkpoints, events, metrics, timeless};

#[test]
fn records_are_means_over_samples_and_match_steps_taken_by_hand() {
    let setup = Setup::new(2);
    let done = setup.start(None, &mut Unwatched).unwrap();
    assert_eq!((done.summary.outcome.clone(), done.summary.steps), (Outcome::Finished, 92));

    let mut network = setup.network();
    let shape = network.input_shape();
    let mut k = 0;
    for (epoch, record) in done.summary.records.iter().enumerate() {
        let (mut loss, mut correct, mut samples) = (0.0, 0, 0);
        for batch in setup.train.epoch(epoch as u64) {
            let labels = batch.labels.clone();
            let input = Tensor::from_values(shape, batch.images);
            let key = Key::new(setup.seed).named("train");
            let outcome = network.train_step(&input, &labels, LOSS, k, key).unwrap();
            loss += outcome.loss * labels.len() as f64;
            correct += outcome.correct;
            samples += labels.len();
            k += 1;
        }
        assert_eq!((record.epoch, record.steps, samples), (epoch as u64 + 1, k, 1442));
        assert_eq!(record.train_loss.to_bits(), (loss / 1442.0).to_bits());
        assert_eq!(record.train_accuracy, correct as f64 / 1442.0);
        assert_eq!(record.learning_rate, Some(0.05));
        assert!(record.seconds > 0.0 && record.samples_per_second > 0.0);

        // All test images in one batch: the same hits, and the same loss up to the order of the sum.
        let all: Vec<f32> = setup.test.epoch(0).flat_map(|batch| batch.images).collect();
        let labels = setup.test.dataset().labels().to_vec();
        let whole = network.evaluate(&Tensor::from_values(shape, all), &labels, LOSS, Key::new(0));
        assert_eq!(record.test_accuracy, whole.correct as f64 / 355.0);
        assert!((record.test_loss - whole.loss).abs() < 1e-6, "{} {}", record.test_loss, whole.loss);
        let alone = evaluate(&mut network, &setup.test, LOSS, Key::new(5)).unwrap();
        assert_eq!((alone.loss, alone.accuracy, alone.samples), (record.test_loss, record.test_accuracy, 355));
    }
    assert_eq!(network.state(Scope::Everything), done.state);
}

#[test]
fn a_perceptron_learns_the_digits() {
    let setup = Setup::new(12);
    // A last batch of two would be a coarse last word at this rate.
    let train = setup.train.clone().drop_last();
    let records =
        Setup { train, sgd: Sgd::new(0.2), ..setup }.start(None, &mut Unwatched).unwrap().summary.records;
    assert!(records[11].test_accuracy > 0.9, "{:?}", records[11]);
    assert!(records[11].train_loss < 0.5 * records[0].train_loss);
    let lazy =
        Setup { sgd: Sgd::new(0.0), ..Setup::new(2) }.start(None, &mut Unwatched).unwrap().summary.records;
    assert!(lazy[1].test_accuracy < 0.3 && lazy[0].test_loss == lazy[1].test_loss);
}

#[test]
fn evaluation_prefetch_threads_and_files_change_nothing() {
    let setup = Setup::new(2);
    let expected = setup.start(None, &mut Unwatched).unwrap();
    let same = |what: &str, done: train_common::Done| assert_eq!(done.bits(), expected.bits(), "{what}");
    for prefetch in [0, 1, 16] {
        let training = Training { prefetch, ..setup.training };
        same("prefetch", Setup { training, ..Setup::new(2) }.start(None, &mut Unwatched).unwrap());
    }
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| same("threads", setup.start(None, &mut Unwatched).unwrap()));
    }
    let folder = tempfile::tempdir().unwrap();
    let checkpoint =
        CheckpointPolicy { every_steps: Some(7), epoch_ends: false, ..CheckpointPolicy::default() };
    let training = Training { checkpoint, histograms: true, batch_loss_every: Some(3), ..setup.training };
    let busy = Setup { training, ..Setup::new(2) };
    same("files", busy.start(Some(&folder.path().join("new/run")), &mut Unwatched).unwrap());

    // Other test data changes what is measured, not what is learned.
    let digits = embedded::digits().unwrap();
    let pipeline = Pipeline::new(&digits.test, &[]).unwrap();
    let test = Batches::new(digits.test.first_per_class(3).unwrap(), pipeline, 7, Key::new(9)).unwrap();
    let done = Setup { test, ..Setup::new(2) }.start(None, &mut Unwatched).unwrap();
    assert_eq!(done.state, expected.state);
    assert_ne!(done.bits().0, expected.bits().0);
    // The comparison can fail: another seed, another run.
    assert_ne!(Setup { seed: 4, ..Setup::new(2) }.start(None, &mut Unwatched).unwrap().state, expected.state);
}

#[test]
fn a_cancelled_run_resumes_to_the_bit_wherever_it_was_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let training = Training { histograms: true, batch_loss_every: Some(10), ..Setup::new(3).training };
    let setup = Setup { training, ..Setup::new(3) };
    let whole = folder.path().join("whole");
    let mut spy = Spy::default();
    let expected = setup.start(Some(&whole), &mut spy).unwrap();
    assert_eq!(spy.asked.get(), 3 * (46 + 4), "asked at every step and every batch of the evaluation");
    assert_eq!((spy.epochs, spy.checkpoints.len()), (vec![1, 2, 3], 4));

    // Before the first step, within an epoch, at its last step, within an evaluation, at the next epoch's first step.
    for (at, epoch, position) in
        [(1, 1, 0), (20, 1, 19), (46, 1, 45), (47, 1, 46), (49, 1, 46), (51, 2, 0), (120, 3, 19)]
    {
        let directory = folder.path().join(format!("cancelled-{at}"));
        let cancelled = setup.start(Some(&directory), &mut Spy::cancelling_at(at)).unwrap();
        let Outcome::Cancelled { k, resume_from: Some(from) } = cancelled.summary.outcome else { panic!() };
        assert_eq!(k, (epoch - 1) * 46 + position);
        assert_eq!(checkpoints(&directory).last(), Some(&from));
        let mut spy = Spy::default();
        let resumed = setup.resume(&directory, &mut spy).unwrap();
        assert_eq!((spy.resumed, spy.warnings.len()), (Some((epoch, position)), 0));
        assert_eq!(spy.losses.len() as u64, 3 * 46 - k);
        assert_eq!(resumed.bits(), expected.bits(), "cancelled at {at}");
        assert_eq!(resumed.summary.outcome, Outcome::Finished);
        assert_eq!(metrics(&directory), metrics(&whole));
        assert_eq!(timeless(events(&directory)), timeless(events(&whole)));
        assert_eq!(checkpoints(&directory).len(), 2);

        // A finished run just says so.
        let mut spy = Spy::default();
        let again = setup.resume(&directory, &mut spy).unwrap();
        assert_eq!((again.bits(), spy.losses.len(), spy.checkpoints.len()), (expected.bits(), 0, 0));
    }
    let nowhere = setup.start(None, &mut Spy::cancelling_at(5)).unwrap();
    assert_eq!(nowhere.summary.outcome, Outcome::Cancelled { k: 4, resume_from: None });
}

/// The twin: a resumption that forgets the momentum is noticed.
#[test]
fn weights_without_velocities_go_on_differently() {
    let setup = Setup::new(1);
    let rest = |scope: Scope| {
        let mut first = setup.network();
        let mut second = setup.network();
        for (k, batch) in (0..).zip(setup.train.epoch(0)) {
            let network = if k < 20 { &mut first } else { &mut second };
            let labels = batch.labels.clone();
            let input = Tensor::from_values(network.input_shape(), batch.images);
            network.train_step(&input, &labels, LOSS, k, Key::new(setup.seed).named("train")).unwrap();
            if k == 19 {
                second.load(scope, &first.state(scope)).unwrap();
            }
        }
        second.state(Scope::Everything)
    };
    let expected = setup.start(None, &mut Unwatched).unwrap().state;
    assert_eq!(rest(Scope::Everything), expected);
    assert_ne!(rest(Scope::Network), expected);
}

#[test]
fn early_stop_waits_for_its_patience_and_survives_resumption() {
    let folder = tempfile::tempdir().unwrap();
    // Accuracy never improves by 2, so epoch 1 is the best.
    let rule = EarlyStop { metric: StopMetric::TestAccuracy, patience: 3, min_delta: 2.0 };
    let training = Training { early_stop: Some(rule), ..Setup::new(9).training };
    let setup = Setup { training, ..Setup::new(9) };
    let directory = folder.path().join("a");
    let expected = setup.start(Some(&directory), &mut Unwatched).unwrap();
    assert_eq!(expected.summary.outcome, Outcome::Stopped { epoch: 4 });
    assert_eq!(setup.resume(&directory, &mut Unwatched).unwrap().summary, expected.summary);

    let directory = folder.path().join("b");
    setup.start(Some(&directory), &mut Spy::cancelling_at(50 * 2 + 10)).unwrap();
    let resumed = setup.resume(&directory, &mut Unwatched).unwrap();
    assert_eq!(resumed.summary.outcome, Outcome::Stopped { epoch: 4 });
    assert_eq!(resumed.bits(), expected.bits());

    // A loss that falls in every epoch never stops the run; one that must rise stops it at once.
    let rule = EarlyStop { metric: StopMetric::TestLoss, patience: 1, min_delta: 0.0 };
    let training = Training { early_stop: Some(rule), ..Setup::new(4).training };
    let done = Setup { training, ..Setup::new(4) }.start(None, &mut Unwatched).unwrap();
    assert_eq!(done.summary.outcome, Outcome::Finished);
    assert!(done.summary.records.is_sorted_by(|a, b| a.test_loss > b.test_loss));
    let frozen = Setup { training, sgd: Sgd::new(0.0), ..Setup::new(4) }.start(None, &mut Unwatched).unwrap();
    assert_eq!(frozen.summary.outcome, Outcome::Stopped { epoch: 2 });
}

#[test]
fn what_does_not_fit_is_refused_before_the_first_step() {
    let error = |setup: Setup| setup.start(None, &mut Unwatched).unwrap_err().to_string();
    let narrow = Setup { sizes: vec![64, 9], ..Setup::new(1) };
    assert_eq!(
        error(narrow),
        "the network must have a score for each of the 10 classes of the training data, got 9"
    );
    let fashion = embedded::fashion_subset().unwrap().test;
    let pipeline = Pipeline::new(&fashion, &[]).unwrap();
    let test = Batches::new(fashion, pipeline, 7, Key::new(9)).unwrap();
    assert_eq!(
        error(Setup { test, ..Setup::new(1) }),
        "the network takes 8×8×1, but the test data gives 28×28×1"
    );
    let checkpoint = CheckpointPolicy { every_steps: Some(0), epoch_ends: true, ..CheckpointPolicy::default() };
    let training = Training { checkpoint, ..Setup::new(1).training };
    assert_eq!(error(Setup { training, ..Setup::new(1) }), "checkpoint.every_steps must be at least 1, got 0");
    let early_stop = Some(EarlyStop { metric: StopMetric::TestLoss, patience: 1, min_delta: -1.0 });
    let training = Training { early_stop, ..Setup::new(1).training };
    assert_eq!(
        error(Setup { training, ..Setup::new(1) }),
        "min_delta must be zero or positive, and finite, got -1"
    );
}

#[test]
fn divergence_names_the_step_and_leaves_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = residuum::Schedule::Step { initial: 0.05, every: 50, factor: 1e300, warm_up: 0 };
    let setup = Setup { sgd: Sgd::new(schedule), ..Setup::new(3) };
    let error = setup.start(Some(folder.path()), &mut Unwatched).unwrap_err();
    let TrainError::Step { epoch: 2, source: TrainStepError::Diverged { k, .. } } = error else {
        panic!("{error}")
    };
    assert_eq!(k, 51, "the rate explodes at step 50");
    assert!(
        error.to_string().starts_with(&format!("epoch 2: the loss must stay below 1e9, but at step {k} it is"))
    );
    assert_eq!(metrics(folder.path()).len(), 1);
    let calm = Setup { sgd: Sgd::new(0.05), ..Setup::new(3) };
    let done = calm.resume(folder.path(), &mut Unwatched).unwrap();
    assert_eq!((done.summary.outcome, done.summary.records.len()), (Outcome::Finished, 3));
}
