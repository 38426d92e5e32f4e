use super::super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule, slot};
use super::pair::{rest, samples};
use super::transfer::{Buffer, Carrier, Columns, Read, Transfer, Way};
use super::{at, check, learn, part};
use crate::Key;
use crate::error::{ParameterError, require, same_length};
use crate::schedule::Schedule;
use crate::tile::{Crossbar, Scheme};

/// When the signs of [`ChoppedTikiTaka`] flip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chop {
    /// Probability that a column's sign flips after it was read (0: never), or its inverse the number of reads between flips.
    pub columns: f64,
    /// Whether columns flip at regular times rather than by chance.
    pub regular: bool,
    /// Probability that a row's sign flips after a sweep.
    pub rows: f64,
}

impl Chop {
    /// Reads between two flips of a regular chopper.
    fn period(&self) -> u64 {
        if self.columns > 0.0 { ((1.0 / self.columns).ceil() as u64).max(2) } else { u64::MAX }
    }
}

/// A learning rate that follows the size of the signals: α·length·granularity/(m_x·m_d), with running means m of the largest
/// input and error, so that a sample sends about α·length pulses at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoScale {
    /// Weight of the past in the running means, per sample of a mini-batch of one.
    pub momentum: f64,
    /// Train length to aim at.
    pub length: u32,
}

/// Tiki-Taka with choppers (version 3), and AGAD (version 4): signs that flip turn a bias of P into noise.
///
/// With column signs c, row signs r (all together c_ij = r_i c_j):
///
/// ```text
/// P ← P + A(−α c ⊙ ∇f(W; ξ); P)
/// H_j ← H_j + λ · c ⊙ (read P_j − μ_j)       one column per transfer
/// W_j ← W_j + pulses of H_j;   then c_j may flip
/// ```
/// μ = 0 for version 3. AGAD (Rasch et al. 2023) flips regularly and takes for μ the running mean of the reads
/// when c_j flipped last: P then need not be symmetric about 0. It sends no pulse before one full period.
#[derive(Debug)]
pub struct ChoppedTikiTaka {
    main: Box<dyn Crossbar>,
    residual: Box<dyn Crossbar>,
    way: Way,
    scheme: Scheme,
    learning_rate: Schedule,
    transfer_rate: Schedule,
    auto_scale: Option<AutoScale>,
    choppers: Choppers,
    /// Running means of the largest input and error; 0 before the first.
    peaks: [f32; 2],
    errors: Vec<f32>,
    inputs: Vec<f32>,
}

/// Signs, and what AGAD knows of each cell.
#[derive(Debug)]
struct Choppers {
    chop: Chop,
    columns: Vec<f32>,
    rows: Vec<f32>,
    sweeps: u64,
    reference: Option<Reference>,
}

#[derive(Debug)]
struct Reference {
    /// Weight of the newest read in the running mean.
    newest: f32,
    mean: Vec<f32>,
    /// μ.
    before: Vec<f32>,
    /// 1 where a column flipped after its last read.
    flipped: Vec<f32>,
}

impl ChoppedTikiTaka {
    /// α = `learning_rate`, λ = `transfer_rate` (absolute); `scheme` writes P. The transfer moves one column at a time through
    /// its buffer, whose threshold is the mean step of the *residual* array unless it names another.
    ///
    /// # Errors
    /// If the arrays differ in shape, a rate or probability is impossible, or the transfer has no buffer or more than one column.
    pub fn new(
        main: impl Crossbar + 'static,
        residual: impl Crossbar + 'static,
        learning_rate: impl Into<Schedule>,
        transfer_rate: impl Into<Schedule>,
        scheme: impl Into<Scheme>,
        chop: Chop,
        mut transfer: Transfer,
    ) -> Result<Self, ParameterError> {
        let (rows, cols) = (main.rows(), main.cols());
        same_length("residual rows", rows, residual.rows())?;
        same_length("residual columns", cols, residual.cols())?;
        for (name, p) in [("chop columns", chop.columns), ("chop rows", chop.rows)] {
            require((0.0..=1.0).contains(&p), name, "between 0 and 1", p)?;
        }
        let one = transfer.columns == Columns::Some(1);
        require(
            one,
            "columns",
            "1 per transfer with choppers; given (0 = all)",
            match transfer.columns {
                Columns::All => 0.0,
                Columns::Some(n) => n as f64,
            },
        )?;
        let Carrier::Buffered(Buffer { threshold, .. }) = &mut transfer.carrier else {
            return Err(ParameterError::OutOfDomain {
                name: "carrier",
                must: "buffered with choppers; number of buffers given",
                value: 0.0,
            });
        };
        threshold.get_or_insert(residual.granularity());
        Ok(Self {
            way: Way::new(transfer, rows, cols)?,
            main: Box::new(main),
            residual: Box::new(residual),
            scheme: scheme.into(),
            learning_rate: learning_rate.into().validate()?,
            transfer_rate: transfer_rate.into().validate()?,
            auto_scale: None,
            choppers: Choppers {
                chop,
                // AIHWKIT starts with inverted columns; the sign is a convention.
                columns: vec![-1.0; cols],
                rows: vec![1.0; rows],
                sweeps: 0,
                reference: None,
            },
            peaks: [0.0; 2],
            errors: Vec::new(),
            inputs: Vec::new(),
        })
    }

    /// Lets the learning rate follow the signals.
    ///
    /// # Errors
    /// If the momentum is outside [0, 1) or the length 0.
    pub fn auto_scale(mut self, auto_scale: AutoScale) -> Result<Self, ParameterError> {
        let AutoScale { momentum, length } = auto_scale;
        require((0.0..1.0).contains(&momentum), "momentum", "at least 0 and below 1", momentum)?;
        require(length > 0, "length", "at least 1", f64::from(length))?;
        self.auto_scale = Some(auto_scale);
        Ok(self)
    }

    /// AGAD: reads count from the mean before the last flip. `tail_weight` over the reads per period is the weight of the newest
    /// read in that mean.
    ///
    /// # Errors
    /// If columns do not flip regularly or the weight is not positive.
    pub fn dynamic_reference(mut self, tail_weight: f64) -> Result<Self, ParameterError> {
        let Chop { columns, regular, .. } = self.choppers.chop;
        require(
            regular && columns > 0.0,
            "chop columns",
            "regular and positive for a dynamic reference",
            columns,
        )?;
        crate::error::positive("tail_weight", tail_weight)?;
        let (n, cols) = (self.dim(), self.main.cols());
        self.choppers.reference = Some(Reference {
            newest: (tail_weight / self.choppers.chop.period() as f64).min(1.0) as f32,
            mean: vec![0.0; n],
            before: vec![0.0; n],
            flipped: vec![0.0; cols],
        });
        Ok(self)
    }

    /// The rate of one sample, after its peaks have entered the running means.
    fn sample_rate(&mut self, rate: f32, gradient: Gradient<'_, f32>, batch: usize) -> f32 {
        let (Some(AutoScale { momentum, length }), Gradient::Outer { errors, inputs, .. }) =
            (self.auto_scale, gradient)
        else {
            return rate;
        };
        let newest = (1.0 - momentum) as f32 / batch as f32;
        for (mean, signals) in self.peaks.iter_mut().zip([inputs, errors]) {
            let peak = signals.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            if *mean <= 0.0 {
                *mean = peak;
            } else if peak > 0.0 {
                *mean += newest * (peak - *mean);
            }
        }
        let size = self.peaks[0] * self.peaks[1];
        let pulses = rate * length as f32 * self.residual.granularity();
        if size > 0.0 { pulses / size } else { pulses }
    }
}

impl Choppers {
    /// c ⊙ gradient, in the buffers.
    fn chop<'a>(
        &self,
        gradient: Gradient<'a, f32>,
        errors_out: &'a mut Vec<f32>,
        inputs_out: &'a mut Vec<f32>,
    ) -> Gradient<'a, f32> {
        let (rows, cols) = (&self.rows, &self.columns);
        errors_out.clear();
        inputs_out.clear();
        match gradient {
            Gradient::Dense(gradient) => {
                for (row, r) in gradient.chunks_exact(cols.len()).zip(rows) {
                    errors_out.extend(row.iter().zip(cols).map(|(g, c)| r * c * g));
                }
                Gradient::Dense(errors_out)
            }
            Gradient::Outer { batch, errors, inputs } => {
                errors_out.extend(errors.iter().zip(rows.iter().cycle()).map(|(e, r)| e * r));
                inputs_out.extend(inputs.iter().zip(cols.iter().cycle()).map(|(x, c)| x * c));
                Gradient::Outer { batch, errors: errors_out, inputs: inputs_out }
            }
        }
    }

    /// c ⊙ (read − μ); notes the read, and flips what is due.
    fn read(&mut self, Read { column, last, values }: Read<'_>, key: Key) {
        let (cols, period) = (self.columns.len(), self.chop.period());
        if let Some(reference) = &mut self.reference {
            let flipped = std::mem::replace(&mut reference.flipped[column], 0.0) == 1.0;
            for (i, v) in values.iter_mut().enumerate() {
                let cell = i * cols + column;
                let read = *v;
                if flipped {
                    reference.before[cell] = reference.mean[cell];
                }
                *v -= reference.before[cell];
                reference.mean[cell] += reference.newest * (read - reference.mean[cell]);
            }
        }
        for (v, r) in values.iter_mut().zip(&self.rows) {
            *v *= self.columns[column] * r;
        }
        let flips = if self.chop.regular {
            self.sweeps % period + 1 == period
        } else {
            key.named("chop columns").uniform_at(column as u64) < self.chop.columns
        };
        if flips && self.chop.columns > 0.0 {
            self.columns[column] *= -1.0;
            if let Some(reference) = &mut self.reference {
                reference.flipped[column] = 1.0;
            }
        }
        if last {
            if self.chop.rows > 0.0 {
                for (i, r) in self.rows.iter_mut().enumerate() {
                    if key.named("chop rows").uniform_at(i as u64) < self.chop.rows {
                        *r *= -1.0;
                    }
                }
            }
            self.sweeps += 1;
        }
    }

    /// Whether reads mean nothing yet.
    fn warming_up(&self) -> bool {
        self.reference.is_some() && self.sweeps <= self.chop.period()
    }
}

impl UpdateRule<f32> for ChoppedTikiTaka {
    fn dim(&self) -> usize {
        self.main.weights().len()
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.copy_from_slice(self.main.weights());
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_, f32>, key: Key) -> Result<(), StepError> {
        check(gradient, self.main.rows(), self.main.cols()).map_err(at("residual", k))?;
        let samples = samples(gradient);
        let mut from = 0;
        while from < samples {
            // The rate may change with every sample.
            let most = if self.auto_scale.is_some() { 1 } else { self.way.pace.room() };
            let to = samples.min(from.saturating_add(most));
            let key = key.fold(from as u64);
            let gradient = part(gradient, from, to);
            let rate = self.sample_rate(self.learning_rate.at(k) as f32, gradient, samples);
            let chopped = self.choppers.chop(gradient, &mut self.errors, &mut self.inputs);
            learn(&mut *self.residual, -rate, chopped, self.scheme, key.named("residual"))
                .map_err(at("residual", k))?;
            if self.way.pace.is_due(to - from, to == samples) {
                let key = key.named("main");
                self.way.muted = self.choppers.warming_up();
                let choppers = &mut self.choppers;
                let rate = self.transfer_rate.at(k) as f32;
                self.way
                    .run(rate, &*self.residual, &mut *self.main, key, &mut |read| choppers.read(read, key))
                    .map_err(at("main", k))?;
            }
            from = to;
        }
        Ok(())
    }

    fn program(&mut self, weights: &[f32], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        rest(&mut *self.residual, None, key.named("residual"))?;
        self.way.forget();
        self.peaks = [0.0; 2];
        self.choppers.sweeps = 0;
        if let Some(reference) = &mut self.choppers.reference {
            reference.mean.fill(0.0);
            reference.before.fill(0.0);
            reference.flipped.fill(0.0);
        }
        Ok(())
    }

    fn range(&self) -> Option<[f32; 2]> {
        Some(self.main.range())
    }

    fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        vec![("main", self.main.weights()), ("residual", self.residual.weights())]
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        EffectiveRates {
            learning: self.learning_rate.at(k),
            transfer: Some(self.transfer_rate.at(k) * self.way.share()),
            sweep: self.way.sweep(),
        }
    }

    fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
        self.residual.age(key.named("residual"));
    }

    fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent() + self.residual.pulses_sent()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
        self.residual.slots(&mut slot::within("residual", visit));
        self.way.state(&mut slot::within("transfer", visit));
        visit("peaks", Slot::Floats(&mut self.peaks));
        visit("chop.columns", Slot::Floats(&mut self.choppers.columns));
        visit("chop.rows", Slot::Floats(&mut self.choppers.rows));
        visit("chop.sweeps", Slot::Count(&mut self.choppers.sweeps));
        if let Some(reference) = &mut self.choppers.reference {
            visit("reference.mean", Slot::Floats(&mut reference.mean));
            visit("reference.before", Slot::Floats(&mut reference.before));
            visit("reference.flipped", Slot::Floats(&mut reference.flipped));
        }
    }

    fn label(&self) -> String {
        if self.choppers.reference.is_some() { "AGAD".into() } else { "Chopped Tiki-Taka v2".into() }
    }
}
