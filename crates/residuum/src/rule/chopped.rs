use super::transfer::{Buffer, Carrier, Columns, Link, Read, Transfer};
use super::{EffectiveRates, Gradient, Inspect, Operations, Rates, Rule, StepError, UpdateRule, of};
use crate::array::Array;
use crate::error::{ParameterError, positive, require, same_length};
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// When the signs of [`ChoppedTikiTaka`] flip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chop {
    /// Probability that a column's sign flips after it was read (0: never), or its inverse the number of reads between flips.
    pub columns: f64,
    /// Whether columns flip at regular times rather than at random.
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

/// Tiki-Taka with choppers (version 3), and AGAD (version 4): flipping signs turns a bias of P into noise.
///
/// With column signs c and row signs r (combined c_ij = r_i c_j):
///
/// ```text
/// P ← P + A(−α c ⊙ ∇f(W; ξ); P)
/// H_j ← H_j + λ · c ⊙ (read P_j − μ_j)       one column per transfer
/// W_j ← W_j + pulses of H_j;   then c_j may flip
/// ```
/// μ = 0 for version 3. AGAD (Rasch et al. 2023) flips regularly and takes for μ the running mean of the reads
/// when c_j flipped last: P then need not be symmetric about 0. It sends no pulse before one full period.
#[derive(Debug)]
pub struct ChoppedTikiTaka<T: Scalar = f64> {
    main: Box<dyn Array<T>>,
    residual: Box<dyn Array<T>>,
    link: Link<T>,
    auto_scale: Option<AutoScale>,
    choppers: Choppers<T>,
    /// Running means of the largest input and error; 0 before the first.
    peaks: [T; 2],
    errors: Vec<T>,
    inputs: Vec<T>,
}

/// Settings of [`ChoppedTikiTaka`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChoppedConfig {
    /// When signs flip.
    pub chop: Chop,
    /// From P to W: one column at a time through a buffer, whose threshold defaults to the mean step of the *residual*
    /// array.
    pub transfer: Transfer,
    /// Whether the learning rate adapts to the signals.
    pub auto_scale: Option<AutoScale>,
    /// AGAD: reads are relative to the mean before the last flip, and this over the reads per period is the weight of the newest
    /// read in that mean. Columns must flip regularly.
    pub tail_weight: Option<f64>,
}

impl Default for ChoppedConfig {
    /// Random flips after one read in ten, one column at a time, no AGAD.
    fn default() -> Self {
        let carrier = Carrier::Buffered(Buffer::default());
        Self {
            chop: Chop { columns: 0.1, regular: false, rows: 0.0 },
            transfer: Transfer { columns: Columns::Some(1), carrier, ..Transfer::default() },
            auto_scale: None,
            tail_weight: None,
        }
    }
}

/// Signs, and AGAD's estimate for each cell.
#[derive(Debug)]
struct Choppers<T> {
    chop: Chop,
    columns: Vec<T>,
    rows: Vec<T>,
    sweeps: u64,
    reference: Option<Reference<T>>,
}

#[derive(Debug)]
struct Reference<T> {
    /// Weight of the newest read in the running mean.
    newest: T,
    mean: Vec<T>,
    /// μ.
    before: Vec<T>,
    /// 1 where a column flipped after its last read.
    flipped: Vec<T>,
}

impl<T: Scalar> ChoppedTikiTaka<T> {
    /// Trains `main` (W) with `residual` (P); λ is absolute.
    ///
    /// # Errors
    /// If the arrays differ in shape, a probability or weight is invalid, or the transfer has no buffer or more than one
    /// column.
    pub fn new(
        main: impl Array<T> + 'static,
        residual: impl Array<T> + 'static,
        config: ChoppedConfig,
    ) -> Result<Self, ParameterError> {
        let ChoppedConfig { chop, mut transfer, auto_scale, tail_weight } = config;
        let shape = main.shape();
        same_length("residual rows", shape.rows, residual.shape().rows)?;
        same_length("residual columns", shape.cols, residual.shape().cols)?;
        for (name, p) in [("chop columns", chop.columns), ("chop rows", chop.rows)] {
            require((0.0..=1.0).contains(&p), name, "between 0 and 1", p)?;
        }
        let columns = match transfer.columns {
            Columns::All => 0.0,
            Columns::Some(n) => n as f64,
        };
        let one = columns == 1.0 || shape.cols == 1;
        require(one, "columns", "1 per transfer with choppers (0 means all)", columns)?;
        let Carrier::Buffered(Buffer { threshold, .. }) = &mut transfer.carrier else {
            let message = "carrier must be buffered with choppers, got direct".into();
            return Err(ParameterError::Other { message });
        };
        threshold.get_or_insert(residual.granularity().to_f64());
        if let Some(AutoScale { momentum, length }) = auto_scale {
            require((0.0..1.0).contains(&momentum), "momentum", "at least 0 and below 1", momentum)?;
            require(length > 0, "length", "at least 1", f64::from(length))?;
        }
        let reference = match tail_weight {
            Some(weight) => Some(Reference::new(chop, weight, shape.rows * shape.cols, shape.cols)?),
            None => None,
        };
        Ok(Self {
            link: Link::new(&transfer, shape)?,
            main: Box::new(main),
            residual: Box::new(residual),
            auto_scale,
            choppers: Choppers {
                chop,
                // AIHWKIT starts with inverted columns; the sign is a convention.
                columns: vec![-T::ONE; shape.cols],
                rows: vec![T::ONE; shape.rows],
                sweeps: 0,
                reference,
            },
            peaks: [T::ZERO; 2],
            errors: Vec::new(),
            inputs: Vec::new(),
        })
    }

    /// The rate of one sample, after its peaks have entered the running means.
    fn sample_rate(&mut self, rate: T, gradient: Gradient<'_, T>, batch: usize) -> T {
        let (Some(AutoScale { momentum, length }), Gradient::Outer { errors, inputs, .. }) =
            (self.auto_scale, gradient)
        else {
            return rate;
        };
        let newest = T::from_f64(1.0 - momentum) / T::from_f64(batch as f64);
        for (mean, signals) in self.peaks.iter_mut().zip([inputs, errors]) {
            let peak = signals.iter().fold(T::ZERO, |m, v| m.max(v.abs()));
            if *mean <= T::ZERO {
                *mean = peak;
            } else if peak > T::ZERO {
                *mean += newest * (peak - *mean);
            }
        }
        let size = self.peaks[0] * self.peaks[1];
        let pulses = rate * T::from_f64(f64::from(length)) * self.residual.granularity();
        if size > T::ZERO { pulses / size } else { pulses }
    }
}

impl<T: Scalar> Reference<T> {
    fn new(chop: Chop, tail_weight: f64, cells: usize, cols: usize) -> Result<Self, ParameterError> {
        let Chop { columns, regular, .. } = chop;
        let possible = regular && columns > 0.0;
        require(possible, "chop columns", "positive, with regular flips, for a dynamic reference", columns)?;
        positive("tail_weight", tail_weight)?;
        Ok(Self {
            newest: T::from_f64((tail_weight / chop.period() as f64).min(1.0)),
            mean: vec![T::ZERO; cells],
            before: vec![T::ZERO; cells],
            flipped: vec![T::ZERO; cols],
        })
    }
}

impl<T: Scalar> Choppers<T> {
    /// c ⊙ gradient, in the buffers.
    fn chop<'a>(
        &self,
        gradient: Gradient<'a, T>,
        errors_out: &'a mut Vec<T>,
        inputs_out: &'a mut Vec<T>,
    ) -> Gradient<'a, T> {
        let (rows, cols) = (&self.rows, &self.columns);
        errors_out.clear();
        inputs_out.clear();
        match gradient {
            Gradient::Dense(gradient) => {
                for (row, r) in gradient.chunks_exact(cols.len()).zip(rows) {
                    errors_out.extend(row.iter().zip(cols).map(|(g, c)| *r * *c * *g));
                }
                Gradient::Dense(errors_out)
            }
            Gradient::Outer { batch, errors, inputs } => {
                errors_out.extend(errors.iter().zip(rows.iter().cycle()).map(|(e, r)| *e * *r));
                inputs_out.extend(inputs.iter().zip(cols.iter().cycle()).map(|(x, c)| *x * *c));
                Gradient::Outer { batch, errors: errors_out, inputs: inputs_out }
            }
        }
    }

    /// c ⊙ (read − μ); records the read and flips the signs that are due.
    fn read(&mut self, Read { column, last, values }: Read<'_, T>, key: Key) {
        let (cols, period) = (self.columns.len(), self.chop.period());
        if let Some(reference) = &mut self.reference {
            let flipped = std::mem::replace(&mut reference.flipped[column], T::ZERO) == T::ONE;
            for (i, v) in values.iter_mut().enumerate() {
                let cell = i * cols + column;
                let read = *v;
                if flipped {
                    reference.before[cell] = reference.mean[cell];
                }
                *v -= reference.before[cell];
                let mean = reference.mean[cell];
                reference.mean[cell] += reference.newest * (read - mean);
            }
        }
        for (v, r) in values.iter_mut().zip(&self.rows) {
            *v *= self.columns[column] * *r;
        }
        let flips = if self.chop.regular {
            self.sweeps % period + 1 == period
        } else {
            key.named("chop columns").uniform_at(column as u64) < self.chop.columns
        };
        if flips && self.chop.columns > 0.0 {
            self.columns[column] = -self.columns[column];
            if let Some(reference) = &mut self.reference {
                reference.flipped[column] = T::ONE;
            }
        }
        if last {
            if self.chop.rows > 0.0 {
                for (i, r) in self.rows.iter_mut().enumerate() {
                    if key.named("chop rows").uniform_at(i as u64) < self.chop.rows {
                        *r = -*r;
                    }
                }
            }
            self.sweeps += 1;
        }
    }

    /// Whether reads are not meaningful yet.
    fn warming_up(&self) -> bool {
        self.reference.is_some() && self.sweeps <= self.chop.period()
    }
}

impl<T: Scalar> UpdateRule<T> for ChoppedTikiTaka<T> {
    fn effective_weights(&self) -> &[T] {
        self.main.weights()
    }

    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError> {
        self.residual.check_gradient(gradient).map_err(of("residual"))?;
        let samples = gradient.samples();
        let mut from = 0;
        while from < samples {
            // The rate may change with every sample.
            let most = if self.auto_scale.is_some() { 1 } else { self.link.pace.samples_until_check() };
            let to = samples.min(from.saturating_add(most));
            let key = gradient.key(key, from);
            let gradient = gradient.chunk(from, to);
            let rate = -self.sample_rate(T::from_f64(rates.learning), gradient, samples);
            let written = match self.choppers.chop(gradient, &mut self.errors, &mut self.inputs) {
                Gradient::Dense(chopped) => self.residual.increment(rate, chopped, key.named("residual")),
                Gradient::Outer { errors, inputs, .. } => {
                    self.residual.update(rate, errors, inputs, key.named("residual"))
                }
            };
            written.map_err(of("residual"))?;
            if self.link.pace.is_due(to - from, to == samples) {
                let key = key.named("main");
                self.link.muted = self.choppers.warming_up();
                let (choppers, rate) = (&mut self.choppers, T::from_f64(rates.transfer[0]));
                self.link
                    .run(rate, &*self.residual, &mut *self.main, key, &mut |read| choppers.read(read, key))
                    .map_err(of("main"))?;
            }
            from = to;
        }
        Ok(())
    }
}

impl<T: Scalar> Inspect<T> for ChoppedTikiTaka<T> {
    fn label(&self) -> String {
        if self.choppers.reference.is_some() { "AGAD".into() } else { "Chopped Tiki-Taka v2".into() }
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        vec![("main", &*self.main), ("residual", &*self.residual)]
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let mut sum = Operations::outer(self.main.shape(), samples);
        let mut transfers = self.link.operations(self.link.pace.times(steps, samples));
        // A sign, and with a reference three more and two words of memory, for every number that is read.
        let numbers = transfers.analog_to_digital;
        transfers.digital += numbers;
        if self.choppers.reference.is_some() {
            transfers.digital += 4 * numbers;
            transfers.bytes += 4 * 4 * numbers;
        }
        sum += transfers;
        sum
    }

    fn effective_rates(&self, rates: &Rates, batch: usize) -> EffectiveRates {
        EffectiveRates {
            learning: rates.learning,
            transfer: Some(rates.transfer[0] * self.link.fraction_per_step(batch)),
            sweep: self.link.sweep(batch),
        }
    }
}

impl<T: Scalar> State for ChoppedTikiTaka<T> {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.nest("main", self.main.tensors());
        tensors.nest("residual", self.residual.tensors());
        tensors.nest("transfer", self.link.tensors());
        tensors.vector("peaks", &self.peaks);
        tensors.vector("chop.columns", &self.choppers.columns);
        tensors.vector("chop.rows", &self.choppers.rows);
        tensors.count("chop.sweeps", self.choppers.sweeps);
        if let Some(reference) = &self.choppers.reference {
            tensors.vector("reference.mean", &reference.mean);
            tensors.vector("reference.before", &reference.before);
            tensors.vector("reference.flipped", &reference.flipped);
        }
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        self.main.load(&from.within("main"))?;
        self.residual.load(&from.within("residual"))?;
        self.link.load(&from.within("transfer"))?;
        from.read("peaks", &mut self.peaks);
        from.read("chop.columns", &mut self.choppers.columns);
        from.read("chop.rows", &mut self.choppers.rows);
        from.read_count("chop.sweeps", &mut self.choppers.sweeps);
        if let Some(reference) = &mut self.choppers.reference {
            from.read("reference.mean", &mut reference.mean);
            from.read("reference.before", &mut reference.before);
            from.read("reference.flipped", &mut reference.flipped);
        }
        Ok(())
    }
}

impl<T: Scalar> Rule<T> for ChoppedTikiTaka<T> {
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        self.residual.program(&vec![T::ZERO; weights.len()], key.named("residual"))?;
        self.link.forget();
        self.peaks = [T::ZERO; 2];
        self.choppers.sweeps = 0;
        if let Some(reference) = &mut self.choppers.reference {
            reference.mean.fill(T::ZERO);
            reference.before.fill(T::ZERO);
            reference.flipped.fill(T::ZERO);
        }
        Ok(())
    }

    fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
        self.residual.age(key.named("residual"));
    }
}
