//! Which cells the gateway serves.

use hyper::HeaderMap;

use crate::problem::Problem;
use lockless_client::backend::Cell;

/// The header that names a request's cell.
pub const CELL_HEADER: &str = "lockless-cell";
const CELL_BYTES: usize = 256;
/// The parameter of a query that does the same.
pub const CELL_PARAMETER: &str = "cell";

/// The cells that may be named, and the one for requests that name none.
#[derive(Debug, Clone)]
pub struct Cells {
    default: Cell,
    /// Those that are written out.
    known: Vec<Cell>,
    /// What stands before and after the `*` of the others.
    patterns: Vec<(String, String)>,
}

impl Cells {
    /// The first one is the default. `*` in the others stands for any text: `tenant:{*}`.
    pub fn new(given: &[String]) -> Result<Self, String> {
        let mut known = Vec::new();
        let mut patterns = Vec::new();
        for root in given {
            if !is_cell(root) {
                return Err(format!(
                    "the cell '{root}' must end in a non-empty hash tag, such as scheduler:{{main}}"
                ));
            }
            match root.split_once('*') {
                Some((before, after)) => patterns.push((before.to_owned(), after.to_owned())),
                None => known.push(Cell::new(root)),
            }
        }
        match (given.first(), known.first()) {
            (Some(first), Some(default)) if first == default.root() => Ok(Self {
                default: default.clone(),
                known,
                patterns,
            }),
            _ => {
                Err("the first cell is the default one, and must be written without '*'".to_owned())
            }
        }
    }

    /// The cells that are known from the start.
    pub fn known(&self) -> &[Cell] {
        &self.known
    }

    /// Those that requests may name beside them, with `*` for any text.
    pub fn patterns(&self) -> impl Iterator<Item = String> {
        let patterns = self.patterns.iter();
        patterns.map(|(before, after)| format!("{before}*{after}"))
    }

    /// The cell of a request's header; the default one when it has none.
    pub fn of_headers(&self, headers: &HeaderMap) -> Result<Cell, Problem> {
        let Some(value) = headers.get(CELL_HEADER) else {
            return Ok(self.default.clone());
        };
        let root = value
            .to_str()
            .map_err(|_| Problem::bad_argument("the header Lockless-Cell is not printable text"))?;
        self.named(root)
    }

    /// The cell of that name, if it is served.
    pub fn named(&self, root: &str) -> Result<Cell, Problem> {
        if let Some(cell) = self.known.iter().find(|cell| cell.root() == root) {
            return Ok(cell.clone());
        }
        let fits = |(before, after): &(String, String)| {
            is_cell(root)
                && root.len() > before.len() + after.len()
                && root.starts_with(before.as_str())
                && root.ends_with(after.as_str())
        };
        if self.patterns.iter().any(fits) {
            return Ok(Cell::new(root));
        }
        Err(Problem::new(
            "UNKNOWN_CELL",
            "this gateway does not serve that cell: its cells are named with --cell",
        ))
    }
}

/// What the library takes for a cell, of printable characters.
fn is_cell(root: &str) -> bool {
    let tag = root
        .split_once('{')
        .and_then(|(_, rest)| rest.strip_suffix('}'));
    let is_tag = tag.is_some_and(|tag| !tag.is_empty() && !tag.contains('}'));
    is_tag && root.len() <= CELL_BYTES && root.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(given: &[&str]) -> Result<Cells, String> {
        Cells::new(
            &given
                .iter()
                .map(|cell| (*cell).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn only_named_cells_and_those_of_a_pattern_are_served() {
        let cells = cells(&["scheduler:{main}", "tenant:{*}"]).expect("cells");
        let serves = |root: &str| cells.named(root).is_ok();
        assert!(serves("scheduler:{main}") && serves("tenant:{a}"));
        let long = format!("tenant:{{{}}}", "a".repeat(300));
        assert!(
            !serves("tenant:{a}b}")
                && !serves(
                    "tenant:{a
b}"
                )
                && !serves(&long)
        );
        assert!(!serves("scheduler:{other}") && !serves("tenant:{}") && !serves("tenant:{a}:x"));
        let default = cells.of_headers(&HeaderMap::new()).expect("the default");
        assert_eq!(default.root(), "scheduler:{main}");
    }

    #[test]
    fn a_cell_that_redis_would_refuse_is_refused_at_the_start() {
        for given in [
            &["scheduler"][..],
            &["scheduler:{}"],
            &["tenant:{*}"],
            &[],
            &["*{a}", "b{a}"],
        ] {
            assert!(cells(given).is_err(), "{given:?}");
        }
    }
}
