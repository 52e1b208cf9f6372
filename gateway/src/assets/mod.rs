//! The pages for people, and what they load. All of it is inside the program, so that a gateway needs no files.
//!
//! The sources are under `gateway/pages/`, plain files that need no build; whoever works on them has the gateway read
//! them from there with `--pages`.

mod table;

use std::collections::HashMap;
use std::path::PathBuf;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use sha2::{Digest, Sha256};

use crate::problem::Problem;
use crate::transport::Body;

pub use table::{ASSETS, Asset};

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");
const TAG_BYTES: usize = 16;

/// What a page may load and run: what is here, and nothing else.
pub const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// The same, for the page that runs the library itself, as WebAssembly.
pub const POLICY_WITH_WASM: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Answers requests for pages and what they load.
pub struct Pages {
    /// Where the sources are, if they are not to be those inside the program.
    directory: Option<PathBuf>,
    tags: HashMap<&'static str, HeaderValue>,
}

impl Pages {
    /// The pages inside the program, or those of a directory.
    pub fn new(directory: Option<PathBuf>) -> Self {
        let tags = ASSETS.iter().map(|asset| (asset.path, tag(asset.bytes)));
        Self {
            tags: tags.collect(),
            directory,
        }
    }

    /// The page or file, or word that the reader's own copy is still good.
    pub fn answer(&self, asset: &Asset, headers: &HeaderMap) -> Result<Response<Body>, Problem> {
        let (bytes, tag) = match &self.directory {
            Some(directory) => {
                let file = directory.join(asset.file);
                let bytes = std::fs::read(&file).map_err(|error| {
                    Problem::new("INTERNAL", format!("{}: {error}", file.display()))
                })?;
                let tag = tag(&bytes);
                (Bytes::from(bytes), tag)
            }
            None => {
                let known = self.tags.get(asset.path);
                let tag = known.map_or_else(|| tag(asset.bytes), HeaderValue::clone);
                (Bytes::from_static(asset.bytes), tag)
            }
        };
        let mut response = if has(headers, &tag) {
            let mut response = Response::new(Body::full(Bytes::new()));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = Response::new(Body::full(bytes));
            let kind = HeaderValue::from_static(asset.media_type());
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        };
        let own = response.headers_mut();
        own.insert(ETAG, tag);
        // A reader asks each time, and is answered in a word: a newer gateway's pages are there at once.
        own.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let policy = if asset.needs_wasm() {
            POLICY_WITH_WASM
        } else {
            POLICY
        };
        own.insert(CONTENT_SECURITY_POLICY, policy);
        own.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        own.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        own.insert(
            CROSS_ORIGIN_RESOURCE_POLICY,
            HeaderValue::from_static("same-origin"),
        );
        Ok(response)
    }
}

/// The page or file of a path.
pub fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// Names the content, whatever its path.
fn tag(bytes: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(bytes);
    let text = format!("\"{}\"", HEXLOWER.encode(&digest[..TAG_BYTES]));
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the reader has the content of this tag. A tag that a proxy made weak is as good.
fn has(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let given = headers.get_all(IF_NONE_MATCH).iter();
    let given = given.filter_map(|value| value.to_str().ok());
    let mut given = given.flat_map(|value| value.split(',')).map(str::trim);
    let own = tag.to_str().unwrap_or_default();
    given.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == own)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files_under(dir: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).expect("the directory of pages") {
            let entry = entry.expect("an entry");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                files_under(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_the_directory_is_in_the_table_and_the_other_way_round() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("pages");
        let mut found = BTreeSet::new();
        files_under(&dir, "", &mut found);
        let listed = ASSETS.iter().map(|asset| asset.file.to_owned());
        let listed: BTreeSet<String> = listed.filter(|file| !file.starts_with("..")).collect();
        assert_eq!(found, listed);
        let paths: BTreeSet<&str> = ASSETS.iter().map(|asset| asset.path).collect();
        assert_eq!(paths.len(), ASSETS.len(), "a path is there twice");
        for asset in ASSETS {
            assert!(dir.join(asset.file).is_file(), "{}", asset.file);
        }
    }

    #[test]
    fn pages_have_no_script_and_no_style_inside_them() {
        for asset in ASSETS.iter().filter(|asset| asset.file.ends_with(".html")) {
            let text = std::str::from_utf8(asset.bytes).expect("text");
            assert!(!text.contains("<style"), "{}", asset.file);
            assert!(!text.contains(" style="), "{}", asset.file);
            for attribute in text.split(" on").skip(1) {
                let name = attribute.split(|c: char| !c.is_ascii_lowercase()).next();
                let handler = name.is_some_and(|name| attribute[name.len()..].starts_with('='));
                assert!(!handler, "a handler in {}: on{attribute:.20}", asset.file);
            }
            for script in text.split("<script").skip(1) {
                let tag = script.split('>').next().unwrap_or_default();
                assert!(tag.contains("src="), "{}: {tag}", asset.file);
            }
        }
    }

    #[test]
    fn a_copy_that_is_still_good_is_told_by_its_tag() {
        let own = tag(b"abc");
        let sent = |text: &str| {
            let value = HeaderValue::try_from(text).expect("a header");
            has(&HeaderMap::from_iter([(IF_NONE_MATCH, value)]), &own)
        };
        let text = own.to_str().expect("text");
        assert!(sent(text) && sent("*") && sent(&format!("W/{text}")));
        assert!(sent(&format!("\"other\", {text}")));
        assert!(!sent("\"other\"") && !has(&HeaderMap::new(), &own));
    }
}
