//! Figures of a fit: steps with bands, residuals, simulated ramps over measured ones, drift.

use residuum::Key;
use residuum_fit::{Direction, Ramp};

use super::FitReport;
use crate::figure::{Axis, Band, Color, Figure, Legend, Line, Panel, Points, ReferenceLine};
use crate::style::rule_style;

const SIDES: [(Direction, Color, &str); 2] =
    [(Direction::Up, Color::VERMILLION, "up"), (Direction::Down, Color::BLUE, "down")];

impl FitReport {
    /// Every figure with a name for its file and a caption.
    pub fn figures(&self) -> Vec<(&'static str, String, Panel)> {
        let unit = &self.fit.unit;
        vec![
            ("steps", format!("Step of a pulse against the state: binned data with their standard errors, the fitted {} curve, 95 % bands. Unit: {unit}.", self.fit.model_name()), self.steps()),
            ("ramps", "Simulated ramps of the fitted device (lines) over measured ones (points).".into(), self.ramps()),
            ("residuals", "What the measured step differs from the fitted one, in standard deviations of one difference of reads, against the state: binned means with two standard errors.".into(), self.residuals()),
            ("drift", "Where Analog SGD is predicted to end as gradient noise grows, on ½(w − w*)².".into(), self.drift()),
        ]
    }

    /// All of them on one sheet.
    pub fn sheet(&self) -> Figure {
        let title = format!(
            "{}: {}, symmetric point {}",
            self.source,
            self.fit.model_name(),
            self.fit.symmetric_point.kind.word()
        );
        self.figures().into_iter().fold(Figure::new(2).title(title), |sheet, (_, _, panel)| sheet.panel(panel))
    }

    fn g(&self, w: f64) -> f64 {
        self.fit.conductance(w)
    }

    fn steps(&self) -> Panel {
        let f = &self.fit;
        let per = f.per_weight();
        let xs: Vec<f64> = f.band.iter().map(|(w, ..)| self.g(*w)).collect();
        let mut panel = Panel::new("Steps against the state")
            .x_axis(Axis::linear(format!("conductance ({})", f.unit)))
            .y_axis(Axis::linear(format!("step ({})", f.unit)))
            .legend(Legend::Below);
        for (direction, color, word) in SIDES {
            let side = |i: usize| if direction == Direction::Up { f.band[i].1 } else { f.band[i].2 };
            let column =
                |of: &dyn Fn(usize) -> f64| (0..f.band.len()).map(|i| of(i) * per).collect::<Vec<f64>>();
            let (low, high) = (column(&|i| side(i).low), column(&|i| side(i).high));
            panel = panel.band(Band::new(xs.clone(), low, high).color(color).opacity(0.25));
            panel = panel.line(Line::new(xs.clone(), column(&|i| side(i).value)).color(color).label(word));
            let (at, mean, error) = self.binned(direction);
            let at: Vec<f64> = at.into_iter().map(|w| self.g(w)).collect();
            let scaled = |v: Vec<f64>| v.into_iter().map(|x| x * per).collect::<Vec<f64>>();
            panel = panel.points(Points::new(at, scaled(mean)).errors(scaled(error)).color(color).size(2.2));
        }
        if let Some(w) = f.symmetric_point.weight {
            panel = panel.reference(ReferenceLine::vertical(self.g(w.value)).label("w^{⋄}").color(Color::GREY));
        }
        panel
    }

    /// Mean change by a pulse in bins of the state, with standard errors.
    ///
    /// Differences along a ramp share reads, so errors are those between ramps where there are enough of them.
    pub(super) fn binned(&self, direction: Direction) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        const BINS: usize = 24;
        let over = self.fit.visited;
        let width = (over.hi - over.lo) / BINS as f64;
        // Of each ramp in each bin: number, sum and sum of squares of the changes.
        let mut sums: Vec<Vec<[f64; 3]>> = vec![Vec::new(); BINS];
        for ramp in self.fit.ramps.iter().filter(|r| r.direction == direction) {
            let mut own = [[0.0; 3]; BINS];
            for pair in ramp.reads.windows(2).filter(|p| p.iter().all(|y| !y.is_nan())) {
                let at = 0.5 * (pair[0] + pair[1]);
                if over.contains(at) {
                    let bin = (((at - over.lo) / width) as usize).min(BINS - 1);
                    let d = direction.sign() * (pair[1] - pair[0]);
                    own[bin] = [own[bin][0] + 1.0, own[bin][1] + d, own[bin][2] + d * d];
                }
            }
            for (sums, own) in sums.iter_mut().zip(own) {
                sums.extend((own[0] > 0.0).then_some(own));
            }
        }
        let (mut at, mut mean, mut error) = (Vec::new(), Vec::new(), Vec::new());
        for (bin, ramps) in sums.iter().enumerate() {
            let total = |i: usize| ramps.iter().map(|r| r[i]).sum::<f64>();
            let (n, m) = (total(0), total(1) / total(0));
            if n <= 5.0 {
                continue;
            }
            let count = ramps.len() as f64;
            let between = ramps.iter().map(|r| (r[1] - m * r[0]).powi(2)).sum::<f64>() * count / (count - 1.0);
            let single = (total(2) - n * m * m).max(0.0);
            at.push(over.lo + (bin as f64 + 0.5) * width);
            mean.push(m);
            error.push((if ramps.len() >= 8 { between } else { single }).sqrt() / n);
        }
        (at, mean, error)
    }

    fn ramps(&self) -> Panel {
        let f = &self.fit;
        let truth = f.truth();
        let mut panel = Panel::new("Measured and simulated ramps")
            .x_axis(Axis::linear("pulse"))
            .y_axis(Axis::linear(format!("conductance ({})", f.unit)))
            .legend(Legend::Below);
        for (direction, color, word) in SIDES {
            let own: Vec<&Ramp> = f.ramps.iter().filter(|r| r.direction == direction).take(3).collect();
            for (index, ramp) in own.iter().enumerate() {
                let every = (ramp.reads.len() / 120).max(1);
                let shown: Vec<(f64, f64)> = ramp
                    .reads
                    .iter()
                    .enumerate()
                    .step_by(every)
                    .filter(|(_, y)| !y.is_nan())
                    .map(|(t, y)| (t as f64, self.g(*y)))
                    .collect();
                let (xs, ys): (Vec<f64>, Vec<f64>) = shown.into_iter().unzip();
                let points = Points::new(xs, ys).color(color).size(1.4).opacity(0.5);
                panel =
                    panel.points(if index == 0 { points.label(format!("{word}, measured")) } else { points });
                let Some(start) = ramp.reads.iter().copied().find(|y| !y.is_nan()) else { continue };
                let key = Key::new(1).named("shown").fold((10 * index + direction.index()) as u64);
                let (reads, _) = truth.ramp(direction, f.hard_range().clip(start), ramp.reads.len() - 1, key);
                let ts: Vec<f64> = (0..reads.len()).map(|t| t as f64).collect();
                let line = Line::new(ts, reads.iter().map(|y| self.g(*y)).collect::<Vec<f64>>())
                    .color(color)
                    .width(1.0);
                panel = panel.line(if index == 0 { line.label(format!("{word}, simulated")) } else { line });
            }
        }
        panel
    }

    fn residuals(&self) -> Panel {
        let f = &self.fit;
        let mut panel = Panel::new("Residuals of successive reads")
            .x_axis(Axis::linear(format!("conductance ({})", f.unit)))
            .y_axis(Axis::linear("standard deviations"))
            .legend(Legend::Below)
            .reference(ReferenceLine::horizontal(0.0).color(Color::GREY));
        let noise = 2.0 * (f.read_noise.value / f.per_weight()).powi(2)
            + (f.write_noise.value / f.per_weight()).powi(2);
        for (direction, color, word) in SIDES {
            let (at, mean, error) = self.binned(direction);
            let off: Vec<f64> =
                at.iter().zip(&mean).map(|(w, m)| (m - f.curve.step(direction, *w)) / noise.sqrt()).collect();
            let bars: Vec<f64> = error.iter().map(|e| 2.0 * e / noise.sqrt()).collect();
            let xs: Vec<f64> = at.into_iter().map(|w| self.g(w)).collect();
            panel = panel.points(Points::new(xs, off).errors(bars).color(color).size(2.4).label(word));
        }
        panel
    }

    fn drift(&self) -> Panel {
        let mut panel = Panel::new("Predicted end of Analog SGD")
            .x_axis(Axis::linear("gradient noise σ"))
            .y_axis(Axis::linear("weight"))
            .legend(Legend::Below);
        let Some(first) = self.predictions.first() else { return panel };
        panel = panel.reference(ReferenceLine::horizontal(first.minimizer).label("w*").color(Color::GREY));
        if let Some(w) = self.fit.symmetric_point.weight {
            panel = panel.reference(ReferenceLine::horizontal(w.value).label("w^{⋄}").color(Color::GREEN));
        }
        let pairs = |of: fn(&super::Prediction) -> Vec<f64>| -> (Vec<f64>, Vec<f64>) {
            self.predictions.iter().flat_map(|p| of(p).into_iter().map(|w| (p.deviation, w))).unzip()
        };
        let [analog, residual] =
            ["analog", "residual_learning"].map(|rule| rule_style(rule).unwrap_or_default());
        let (xs, ys) = pairs(|p| p.analog.clone());
        panel = panel.line(Line::new(xs.clone(), ys.clone()).color(analog.color).dash(analog.dash));
        panel = panel.points(Points::new(xs, ys).color(analog.color).label("stable"));
        let (xs, ys) = pairs(|p| p.unstable.clone());
        if !xs.is_empty() {
            panel = panel
                .points(Points::new(xs, ys).color(Color::PURPLE).hollow().label("unstable: runs away from it"));
        }
        let (xs, ys) = pairs(|p| p.residual.map(|b| p.minimizer + b).into_iter().collect());
        if !xs.is_empty() {
            panel = panel
                .line(Line::new(xs, ys).color(residual.color).dash(residual.dash).label("Residual Learning"));
        }
        panel
    }
}
