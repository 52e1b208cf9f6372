//! The library on each primary: whether it is the right one, and loading it where it is not.

use lockless_functions::{LIBRARY, VERSION, digest};
use lockless_topology::Primary;
use semver::Version;

use super::server::Server;
use crate::backend::{Call, Cell, Durability, Failure, Reply};

/// Looks after the library.
pub(super) struct Keeper {
    /// The URL without its secrets.
    url: String,
    may_deploy: bool,
}

/// What a primary has.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Own,
    Nothing,
    /// Another version, or the same with another digest.
    Other {
        version: String,
    },
}

impl Keeper {
    pub(super) fn new(url: String, may_deploy: bool) -> Self {
        Self { url, may_deploy }
    }

    /// Makes sure of the library on a primary; otherwise says what is wrong.
    pub(super) async fn ensure(&self, primary: &Primary, server: &Server) -> Result<(), String> {
        // A primary without slots is never called.
        let Some(key) = primary.own_key() else {
            return Ok(());
        };
        let mut found = self.look(server, &key).await?;
        if let Some(mode) = self.load_mode(&found) {
            self.load(server, mode).await?;
            found = self.look(server, &key).await?;
        }
        self.judge(server, &found)
    }

    async fn look(&self, server: &Server, key: &str) -> Result<Found, String> {
        let call = Call {
            function: "lockless_version",
            writes: false,
            cell: Cell::new(key),
            arguments: Vec::new(),
        };
        let mut replies = server.send(&[&call], Durability::Primary).await;
        match replies
            .pop()
            .map(|reply| reply.map_err(super::answer::Trouble::failure))
        {
            Some(Ok(reply)) => Ok(found(&reply)),
            Some(Err(Failure::LibraryMissing)) => Ok(Found::Nothing),
            // Why there is no connection names the server already.
            Some(Err(Failure::Away(why))) if why.contains(&server.address.to_string()) => Err(why),
            Some(Err(failure)) => Err(format!("{}: {failure}", server.address)),
            None => Err(format!("{} did not answer", server.address)),
        }
    }

    /// How it is to be loaded, if at all.
    fn load_mode(&self, found: &Found) -> Option<Option<&'static str>> {
        match found {
            _ if !self.may_deploy => None,
            Found::Own => None,
            // Without REPLACE: a library of this name that lacks our functions is someone else's.
            Found::Nothing => Some(None),
            Found::Other { version } => is_older(version).then_some(Some("REPLACE")),
        }
    }

    async fn load(&self, server: &Server, mode: Option<&str>) -> Result<(), String> {
        let mut load = redis::cmd("FUNCTION");
        load.arg("LOAD").arg(mode).arg(LIBRARY);
        match server.ask(load).await {
            Ok(_) => {
                tracing::info!(address = %server.address, version = VERSION, "loaded the library");
                Ok(())
            }
            Err(failure) => Err(format!(
                "{}: the library could not be loaded: {failure}",
                server.address
            )),
        }
    }

    fn judge(&self, server: &Server, found: &Found) -> Result<(), String> {
        let (address, url) = (&server.address, &self.url);
        let deploy = format!("cargo xtask deploy-functions --url {url}");
        match found {
            Found::Own => Ok(()),
            Found::Nothing => Err(format!(
                "{address} does not have the library: run {deploy}, or start a gateway with --deploy"
            )),
            Found::Other { version } if version == VERSION => Err(format!(
                "{address} has another build of version {version} of the library: run {deploy}"
            )),
            Found::Other { version } if is_older(version) => Err(format!(
                "{address} has version {version} of the library and this program is of version {VERSION}: run {deploy}, or start a gateway with --deploy"
            )),
            Found::Other { version } => Err(format!(
                "{address} has version {version} of the library and this program is of version {VERSION}: upgrade this program; a newer library is not replaced"
            )),
        }
    }
}

fn found(reply: &Reply) -> Found {
    let (version, build) = (reply.field("version"), reply.field("digest"));
    if version.as_deref() == Some(VERSION) && build.as_deref() == digest() {
        return Found::Own;
    }
    Found::Other {
        version: version.unwrap_or_else(|| "unknown".to_owned()),
    }
}

fn is_older(version: &str) -> bool {
    match (Version::parse(version), Version::parse(VERSION)) {
        (Ok(there), Ok(own)) => there < own,
        _ => false,
    }
}
