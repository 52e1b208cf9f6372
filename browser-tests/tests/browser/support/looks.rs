//! How a page looks: its theme, the size of its window, and pictures of it for the documents.

use std::path::PathBuf;

use data_encoding::BASE64;
use serde_json::json;

use super::Browser;

/// Names the directory that pictures are written to. Without it none is, so that running tests changes no file.
const PICTURES: &str = "LOCKLESS_PICTURES";

/// Width and height.
pub(crate) type Size = (u32, u32);
pub(crate) const DESKTOP: Size = (1280, 900);
pub(crate) const PHONE: Size = (360, 740);

/// What the system prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl Browser {
    pub(crate) fn set_size(&self, (width, height): Size) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    pub(crate) fn set_theme(&self, theme: Theme) {
        let value = if theme == Theme::Light {
            "light"
        } else {
            "dark"
        };
        let features = json!([
            { "name": "prefers-color-scheme", "value": value },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    }

    /// Lets pages that are opened from now on believe that they are a thousand times younger than they are.
    pub(crate) fn slow_down_the_clock(&self) {
        let source =
            "const now = performance.now.bind(performance); performance.now = () => now() / 1000";
        self.devtools(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": source }),
        );
    }

    pub(crate) fn wants_pictures(&self) -> bool {
        std::env::var_os(PICTURES).is_some()
    }

    /// Takes a picture of the window for the documents, if they are wanted.
    pub(crate) fn picture(&self, name: &str) {
        let Some(dir) = std::env::var_os(PICTURES) else {
            return;
        };
        let taken = self.devtools("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = BASE64.decode(taken["data"].as_str().unwrap().as_bytes());
        let dir = PathBuf::from(dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("{name}.png")), bytes.unwrap()).unwrap();
    }

    /// The same for the whole page, however long.
    pub(crate) fn whole_picture(&self, name: &str) {
        if std::env::var_os(PICTURES).is_none() {
            return;
        }
        let script = "return [innerWidth, document.documentElement.scrollHeight, innerHeight]";
        let size = self.script(script, &[]);
        let pixels = |at: usize| u32::try_from(size[at].as_u64().unwrap()).unwrap();
        self.set_size((pixels(0), pixels(1).min(6000)));
        self.picture(name);
        self.set_size((pixels(0), pixels(2)));
    }
}
