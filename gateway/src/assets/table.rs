//! The one table of pages and what they load.

/// A page, or something that pages load.
pub struct Asset {
    /// Where it is asked for.
    pub path: &'static str,
    /// Its source, seen from `gateway/pages/`.
    pub file: &'static str,
    /// What it was when the gateway was built.
    pub bytes: &'static [u8],
}

macro_rules! page {
    ($path:expr, $file:literal) => {
        Asset {
            path: $path,
            file: $file,
            bytes: include_bytes!(concat!("../../pages/", $file)),
        }
    };
}

macro_rules! asset {
    ($file:literal) => {
        page!(concat!("/assets/", $file), $file)
    };
}

/// All of them.
pub const ASSETS: &[Asset] = &[
    page!("/", "index.html"),
    page!("/playground", "playground.html"),
    asset!("icon.svg"),
    asset!("style.css"),
    asset!("dashboard.css"),
    asset!("dashboard/api.js"),
    asset!("dashboard/chart.js"),
    asset!("dashboard/confirm.js"),
    asset!("dashboard/deployments.js"),
    asset!("dashboard/event-words.js"),
    asset!("dashboard/events.js"),
    asset!("dashboard/explain.js"),
    asset!("dashboard/fleet-map.js"),
    asset!("dashboard/history.js"),
    asset!("dashboard/job.js"),
    asset!("dashboard/jobs.js"),
    asset!("dashboard/list.js"),
    asset!("dashboard/main.js"),
    asset!("dashboard/node.js"),
    asset!("dashboard/nodes.js"),
    asset!("dashboard/overview-panels.js"),
    asset!("dashboard/overview.js"),
    asset!("dashboard/parts.js"),
    asset!("dashboard/repeat.js"),
    asset!("dashboard/router.js"),
    asset!("dashboard/search.js"),
    asset!("dashboard/session.js"),
    asset!("dashboard/shell.js"),
    asset!("dashboard/slots.js"),
    asset!("dashboard/store.js"),
    asset!("dashboard/stream.js"),
    asset!("dashboard/subject.js"),
    asset!("dashboard/timeline.js"),
    asset!("dashboard/views.js"),
    asset!("shared/dom.js"),
    asset!("shared/format.js"),
    asset!("shared/theme.js"),
    asset!("playground/app.js"),
    asset!("playground/engine/agenda.js"),
    asset!("playground/engine/cell.js"),
    asset!("playground/engine/chaos.js"),
    asset!("playground/engine/fleet.js"),
    asset!("playground/engine/frame.js"),
    asset!("playground/engine/line.js"),
    asset!("playground/engine/machine.js"),
    asset!("playground/engine/ours.js"),
    asset!("playground/engine/presets.js"),
    asset!("playground/engine/questions.js"),
    asset!("playground/engine/random.js"),
    asset!("playground/engine/runner.js"),
    asset!("playground/engine/scenario.js"),
    asset!("playground/engine/share.js"),
    asset!("playground/engine/side.js"),
    asset!("playground/engine/simulation.js"),
    asset!("playground/engine/story.js"),
    asset!("playground/engine/theirs.js"),
    asset!("playground/engine/workload.js"),
    asset!("playground/playground.css"),
    asset!("playground/remote.js"),
    asset!("playground/seed.lua"),
    asset!("playground/view/calls.js"),
    asset!("playground/view/chart.js"),
    asset!("playground/view/clock.js"),
    asset!("playground/view/colours.js"),
    asset!("playground/view/dom.js"),
    asset!("playground/view/faults.js"),
    asset!("playground/view/forms.js"),
    asset!("playground/view/geometry.js"),
    asset!("playground/view/groups.js"),
    asset!("playground/view/legend.js"),
    asset!("playground/view/nodes.js"),
    asset!("playground/view/paint.js"),
    asset!("playground/view/scores.js"),
    asset!("playground/view/settings.js"),
    asset!("playground/view/stage.js"),
    asset!("playground/view/story.js"),
    asset!("playground/worker.js"),
    // The library itself and its host are where they are made.
    page!("/assets/playground/host.js", "../../wasm/js/lockless.mjs"),
    page!(
        "/assets/playground/lockless.wasm",
        "../../wasm/lockless.wasm"
    ),
];

impl Asset {
    /// What it is, by the end of its name.
    pub fn media_type(&self) -> &'static str {
        match self.file.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js" | "mjs") => "text/javascript; charset=utf-8",
            Some("json") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("lua") => "text/plain; charset=utf-8",
            Some("wasm") => "application/wasm",
            _ => "application/octet-stream",
        }
    }

    /// Whether it is the playground or one of its parts, which run the library in the browser.
    pub fn needs_wasm(&self) -> bool {
        self.path.starts_with("/playground") || self.path.starts_with("/assets/playground/")
    }

    /// The name that its requests are counted under.
    pub fn counted_as(&self) -> &'static str {
        match self.path {
            "/" => "dashboard",
            "/playground" => "playground",
            _ => "assets",
        }
    }
}
