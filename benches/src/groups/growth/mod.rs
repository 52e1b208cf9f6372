//! What a dispatch costs as the cell grows.

mod classes;
mod finished;
mod heartbeats;
mod labels;
mod nodes;

use crate::Error;
use crate::harness::Context;
use crate::results::{Figure, GroupResult, Line, Table, Target};
use crate::rounds::Measured;

/// Few, so that few jobs are in flight and noise that comes and goes hits all sizes alike.
const CALLS: usize = 20;

pub(super) fn run(context: &mut Context) -> Result<GroupResult, Error> {
    let mut result = GroupResult::default();
    nodes::run(context, &mut result)?;
    labels::run(context, &mut result)?;
    classes::run(context, &mut result)?;
    finished::run(context, &mut result)?;
    Ok(result)
}

/// The name of the line of a call that does nothing.
const NOTHING: &str = "an empty FCALL";

/// What sizes are called, and which one is held to what.
struct Sweep<'a> {
    id: &'a str,
    sizes: &'a [usize],
    unit: &'a str,
    target: Option<(usize, Target)>,
}

impl Sweep<'_> {
    /// A row for every size, each beside the smallest.
    fn rows(&self, context: &mut Context, table: &mut Table, measured: &Measured) {
        let Some(smallest) = self.sizes.first() else {
            return;
        };
        for (side, size) in self.sizes.iter().enumerate().skip(1) {
            let what = format!(
                "{} {}, to {}",
                grouped(*size),
                self.unit,
                grouped(*smallest)
            );
            let id = format!("growth/{}-{size}", self.id);
            let mut figure = Figure::compared(&id, what, measured.side(side), measured.side(0));
            if let Some((_, target)) = self.target.filter(|(held, _)| held == size) {
                figure = figure.held_to(target);
            }
            context.add(table, figure);
        }
    }

    /// The side after the last size, which does not depend on sizes, as a level line.
    fn level(&self, name: &str, measured: &Measured) -> Line {
        let value = measured.median(self.sizes.len());
        Line {
            name: name.to_owned(),
            points: self
                .sizes
                .iter()
                .map(|size| (*size as f64, value))
                .collect(),
        }
    }

    /// The medians over the sizes.
    fn line(&self, name: &str, measured: &Measured) -> Line {
        let points = self.sizes.iter().enumerate();
        Line {
            name: name.to_owned(),
            points: points
                .map(|(side, size)| (*size as f64, measured.median(side)))
                .collect(),
        }
    }
}

fn grouped(size: usize) -> String {
    if size < 1000 {
        size.to_string()
    } else {
        crate::harness::terminal::short(size as f64)
    }
}
