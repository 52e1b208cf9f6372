//! The report: one page of tables and plots, drawn from the kept results of all groups.

mod markdown;
mod notes;
mod readme;
mod svg;
mod table;

use std::path::Path;

use crate::Error;
use crate::harness::Group;
use crate::results::{Kept, Store};

pub use notes::Notes;
pub use readme::with_figures;

/// The mark beside a missed target; Markdown itself has no colours.
const MISSED_MARK: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="58" height="18" role="img" aria-label="missed"><rect width="58" height="18" rx="4" fill="#c62828"/><text x="29" y="13" font-family="sans-serif" font-size="11" font-weight="bold" text-anchor="middle" fill="#ffffff">missed</text></svg>
"##;

/// Writes the page and the plots of everything that is kept; of the committed results also the table in README.
pub fn write(groups: &[Group], store: &Store, repository: &Path) -> Result<(), Error> {
    let notes = Notes::read(&repository.join("benches/notes.toml"))?;
    let mut kept: Vec<(&Group, Kept)> = Vec::new();
    for group in groups {
        if let Some(one) = store.read(group.name)? {
            kept.push((group, one));
        }
    }
    let results = store.results();
    for (_, one) in &kept {
        for plot in &one.result.plots {
            let path = results.join(format!("{}.svg", plot.file));
            store.write(&path, &svg::draw(plot))?;
        }
    }
    store.write(&results.join("missed.svg"), MISSED_MARK)?;
    store.write(&store.page(), &markdown::page(&kept, &notes))?;
    if store.page() == repository.join("benches/RESULTS.md") {
        let path = repository.join("README.md");
        let text = std::fs::read_to_string(&path).map_err(|source| Error::File {
            path: path.display().to_string(),
            source,
        })?;
        let kept: Vec<&Kept> = kept.iter().map(|(_, one)| one).collect();
        store.write(&path, &with_figures(&text, &kept)?)?;
    }
    Ok(())
}
