//! From values to places, and the values worth a line.

use crate::harness::terminal::short;
use crate::results::Scale;

/// Names on an axis are at least this far apart.
const TICK_STEP: f64 = 36.0;

/// An axis from a lowest to a highest value, drawn from one place to another.
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// One that holds all values: on a log scale to the next round figure, on a linear one from 0.
    pub(super) fn around(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        places: (f64, f64),
    ) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| can_show(scale, *value)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match scale {
            Scale::Log => {
                low = round_figure(low, f64::floor);
                high = round_figure(high, f64::ceil);
                if low >= high {
                    high = low * 10.0;
                }
            }
            Scale::Linear => {
                low = low.min(0.0);
                let step = step(high - low);
                high = (high / step).ceil() * step;
                if low >= high {
                    high = low + 1.0;
                }
            }
        }
        Axis {
            scale,
            low,
            high,
            from: places.0,
            to: places.1,
        }
    }

    /// The same from the lowest to the highest value, without room at the ends.
    pub(super) fn exactly(
        values: impl Iterator<Item = f64>,
        scale: Scale,
        places: (f64, f64),
    ) -> Self {
        let shown: Vec<f64> = values.filter(|value| can_show(scale, *value)).collect();
        let mut axis = Self::around(shown.iter().copied(), scale, places);
        let low = shown.iter().copied().fold(f64::INFINITY, f64::min);
        let high = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low < high {
            (axis.low, axis.high) = (low, high);
        }
        axis
    }

    /// Where a value is drawn, if the axis can show it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            _ if !can_show(self.scale, value) => return None,
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Linear => (value - self.low) / (self.high - self.low),
        };
        Some(self.from + part * (self.to - self.from))
    }

    /// The values worth a line, with their names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let mut values = Vec::new();
        match self.scale {
            Scale::Log => {
                let decades = (self.high / self.low).log10();
                let digits: &[f64] = if decades > 3.0 {
                    &[1.0]
                } else if decades > 1.5 {
                    &[1.0, 3.0]
                } else {
                    &[1.0, 2.0, 5.0]
                };
                let mut decade = 10_f64.powf(self.low.log10().floor());
                while decade <= self.high * 1.001 {
                    values.extend(digits.iter().map(|digit| digit * decade));
                    decade *= 10.0;
                }
            }
            Scale::Linear => {
                let step = step(self.high - self.low);
                let mut value = (self.low / step).ceil() * step;
                while value <= self.high + step / 1000.0 {
                    values.push(value);
                    value += step;
                }
            }
        }
        let is_inside = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
        values.retain(is_inside);
        values
            .into_iter()
            .map(|value| (value, name(value)))
            .collect()
    }

    /// The values that something was measured at, when they are few and far enough apart to be named; else the usual ones.
    pub(super) fn ticks_at(&self, measured_at: impl Iterator<Item = f64>) -> Vec<(f64, String)> {
        let mut values: Vec<f64> = measured_at
            .filter(|value| can_show(self.scale, *value))
            .collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let places: Vec<f64> = values.iter().filter_map(|it| self.place(*it)).collect();
        let is_legible = places
            .windows(2)
            .all(|pair| (pair[1] - pair[0]).abs() >= TICK_STEP);
        if values.is_empty() || !is_legible {
            return self.ticks();
        }
        values
            .into_iter()
            .map(|value| (value, name(value)))
            .collect()
    }
}

fn can_show(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

/// 1, 2 or 5 times a power of ten, about a fifth of the range.
fn step(range: f64) -> f64 {
    let rough = (range / 5.0).max(f64::MIN_POSITIVE);
    let decade = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * decade >= rough);
    digit.unwrap_or(10.0) * decade
}

/// The next 1, 2 or 5 times a power of ten, downwards or upwards.
fn round_figure(value: f64, towards: fn(f64) -> f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let is_down = towards(0.5) < 0.5;
    let digits = [1.0, 2.0, 5.0, 10.0];
    let digit = value / decade;
    let found = if is_down {
        digits.into_iter().rev().find(|it| *it <= digit * 1.0001)
    } else {
        digits.into_iter().find(|it| *it >= digit * 0.9999)
    };
    found.unwrap_or(1.0) * decade
}

fn name(value: f64) -> String {
    if value == 0.0 || (value.abs() >= 1.0 && value.fract() == 0.0 && value.abs() < 1000.0) {
        return format!("{value:.0}");
    }
    if value.abs() < 0.01 {
        return format!("{value}");
    }
    short(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_axis_reaches_the_next_round_figures() {
        let axis = Axis::around([3.0, 420.0].into_iter(), Scale::Log, (0.0, 100.0));
        assert_eq!((axis.low, axis.high), (2.0, 500.0));
        assert_eq!(axis.place(2.0), Some(0.0));
        assert_eq!(axis.place(500.0), Some(100.0));
        assert_eq!(axis.place(0.0), None);
    }

    #[test]
    fn a_linear_axis_starts_at_nothing_and_has_round_ticks() {
        let axis = Axis::around([3.0, 42.0].into_iter(), Scale::Linear, (0.0, 100.0));
        let names: Vec<String> = axis.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["0", "10", "20", "30", "40", "50"]);
    }
}
