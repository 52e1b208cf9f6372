//! Where the browser, its driver and axe-core come from.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use lockless_servers::debian;

/// The packages of Debian, with a font: a page without letters has nothing to look at.
const PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];
const AXE_VERSION: &str = "4.14.0";

/// The browser and its driver.
pub(super) struct Programs {
    pub(super) browser: PathBuf,
    pub(super) driver: PathBuf,
}

impl Programs {
    fn on_path() -> Option<Self> {
        let browsers = ["chromium", "chromium-browser", "google-chrome"];
        Some(Self {
            browser: browsers.into_iter().find_map(debian::program)?,
            driver: debian::program("chromedriver")?,
        })
    }

    /// Finds them; on a Debian where this is root they are installed. All tests wait for the first to do so: programs are
    /// on the PATH before everything that they need is installed.
    pub(super) fn find() -> &'static Self {
        static FOUND: OnceLock<Programs> = OnceLock::new();
        FOUND.get_or_init(Self::find_or_install)
    }

    fn find_or_install() -> Self {
        if let Some(found) = Self::on_path() {
            return found;
        }
        assert!(
            debian::can_install(),
            "these tests need a browser, and none was found: install Chromium and its ChromeDriver \
             (Debian: apt-get install {})",
            PACKAGES.join(" ")
        );
        let is_there = || Self::on_path().is_some();
        debian::install(&PACKAGES, "No browser was found", is_there).unwrap();
        Self::on_path().expect("Debian's packages bring chromium and chromedriver")
    }
}

/// The source of axe-core, which looks for what keeps people from using a page. It is fetched once, by its name.
pub(super) fn axe() -> String {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let file = dir.join("node_modules/axe-core/axe.min.js");
    if !file.is_file() {
        std::fs::create_dir_all(&dir).unwrap();
        let package = format!("axe-core@{AXE_VERSION}");
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund"]);
        npm.args(["--prefix", ".", &package]).current_dir(&dir);
        let output = npm.output().unwrap_or_else(|error| {
            panic!(
                "axe-core is fetched with npm, which can't be run ({error}): install Node and npm"
            )
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "axe-core was not fetched: {said}");
    }
    std::fs::read_to_string(file).unwrap()
}
