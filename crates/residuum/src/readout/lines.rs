//! Fixed properties of the output lines and cells of one array: drawn from the key of the array, never stored with
//! the readout, and kept between reads only because drawing them again would cost time.

use super::Shape;
use super::product::ReadDirection;
use super::settings::Settings;
use crate::Key;
use crate::normal32::{CHUNK, normals};
use crate::simd::{self, Kernel};

/// The lines of one array in one direction. Empty vectors stand for properties that no line has.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    drawn_for: Option<(Settings, Key, ReadDirection, usize)>,
    /// Deviation of the output noise.
    pub noise: Vec<f32>,
    /// Voltage offsets `v_i`.
    pub offsets: Vec<f32>,
    /// Coefficients `n_i` of the characteristic.
    pub nonlinearity: Vec<f32>,
    /// Digital factor that calibrates the mean characteristic.
    pub gain: f32,
}

impl Lines {
    /// Draws the lines, unless these are the right ones already.
    pub fn update(&mut self, settings: &Settings, array: Key, to: ReadDirection, n_out: usize) {
        if settings.lines_are_alike() {
            // Nothing to draw; to see that the settings are those of the last read would take as long as a small read.
            self.drawn_for = None;
            for properties in [&mut self.noise, &mut self.offsets, &mut self.nonlinearity] {
                properties.clear();
            }
            self.gain = 1.0;
            return;
        }
        let wanted = Some((*settings, array, to, n_out));
        if self.drawn_for == wanted {
            return;
        }
        self.drawn_for = wanted;
        let key = array.named(match to {
            ReadDirection::Forward => "forward lines",
            ReadDirection::Transposed => "transposed lines",
        });
        let spread = settings.output_noise_spread as f32;
        let lines = if spread > 0.0 { n_out } else { 0 };
        draw(key.named("noise"), lines, &mut self.noise);
        let noise = settings.output.noise as f32;
        self.noise.iter_mut().for_each(|xi| *xi = noise * (1.0 + spread * *xi).abs());

        let spread = settings.output_line.map_or(0.0, |line| line.offset_spread as f32);
        let lines = settings.output_line.map_or(0, |_| n_out);
        draw(key.named("offset"), lines, &mut self.offsets);
        // AIHWKIT writes max(spread·ξ, 0), but its `MAX` is a macro that evaluates the greater side again, so that a
        // positive first draw is replaced by a second one of either sign. The arrays it simulates are these.
        for (i, xi) in self.offsets.iter_mut().enumerate() {
            let chosen = key.named("offset chosen").uniform_at(i as u64) < 0.5;
            *xi = if chosen { spread * *xi } else { 0.0 };
        }

        let bound = settings.output.bound.unwrap_or(1.0);
        let (strength, spread) =
            settings.nonlinearity.map_or((0.0, 0.0), |c| ((c.strength / bound) as f32, c.spread as f32));
        draw(key.named("nonlinearity"), settings.nonlinearity.map_or(0, |_| n_out), &mut self.nonlinearity);
        self.nonlinearity.iter_mut().for_each(|xi| *xi = strength * (1.0 + spread * *xi).abs());

        let mean = self.nonlinearity.iter().map(|n| f64::from(*n)).sum::<f64>() / n_out as f64;
        let resistance = settings.output_line.map_or(0.0, |line| line.series_resistance);
        let slope = 1.0 + (mean + resistance) * settings.slope_calibration * bound;
        self.gain = (slope * slope) as f32;
    }
}

/// The weights that negative inputs see.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    drawn_for: Option<(u64, Key, Shape)>,
    factors: Vec<f32>,
    /// Every weight times the factor of its cell.
    pub weights: Vec<f32>,
}

impl Cells {
    /// Scales the weights, after drawing the factors `1 + asymmetry·ξ` unless they are drawn already. A cell is the same in
    /// both directions; AIHWKIT draws another factor for each.
    pub fn update(&mut self, asymmetry: f64, array: Key, shape: Shape, weights: &[f32]) {
        let wanted = Some((asymmetry.to_bits(), array, shape));
        if self.drawn_for != wanted {
            self.drawn_for = wanted;
            draw(array.named("cells"), weights.len(), &mut self.factors);
            self.factors.iter_mut().for_each(|xi| *xi = 1.0 + asymmetry as f32 * *xi);
        }
        self.weights.clear();
        self.weights.extend(weights.iter().zip(&self.factors).map(|(w, factor)| w * factor));
    }
}

/// `n` standard normal draws.
fn draw(key: Key, n: usize, out: &mut Vec<f32>) {
    struct Draw<'a>(Key, &'a mut [f32]);
    impl Kernel for Draw<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            for (chunk, out) in self.1.chunks_mut(CHUNK).enumerate() {
                out.copy_from_slice(&normals(self.0, chunk as u64)[..out.len()]);
            }
        }
    }
    out.resize(n, 0.0);
    simd::dispatch(Draw(key, out));
}
