//! What it takes to reach Redis.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockless_topology::{Login, Way, parse};

use super::access::{Access, Tls};

/// Where Redis is and how it is spoken to.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://`, `rediss://`, `redis+sentinel://host[,host]/name` or `rediss+sentinel://`.
    pub url: String,
    /// The user, if the URL names none.
    pub user: Option<String>,
    /// The password, if the URL has none.
    pub password: Option<String>,
    /// The user at the Sentinels.
    pub sentinel_user: Option<String>,
    /// The password at the Sentinels.
    pub sentinel_password: Option<String>,
    /// The authority to trust, as PEM, instead of the system's.
    pub tls_ca: Option<PathBuf>,
    /// Our certificate, as PEM.
    pub tls_cert: Option<PathBuf>,
    /// Its key, as PEM.
    pub tls_key: Option<PathBuf>,
    /// Trust any certificate.
    pub insecure: bool,
    /// Connections for ordinary calls of each thread, to each primary.
    pub pool_size: usize,
    /// The time making a connection may take.
    pub connect_timeout: Duration,
    /// The time a call may take.
    pub call_timeout: Duration,
    /// The time a replica has to confirm.
    pub wait_timeout: Duration,
    /// Load the library where it is missing or older.
    pub deploy: bool,
}

impl RedisSettings {
    /// The defaults, for this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            user: None,
            password: None,
            sentinel_user: None,
            sentinel_password: None,
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
            insecure: false,
            pool_size: 1,
            connect_timeout: Duration::from_secs(1),
            call_timeout: Duration::from_secs(2),
            wait_timeout: Duration::from_secs(1),
            deploy: false,
        }
    }

    /// Reads the URL and the files.
    pub(super) fn resolve(&self) -> Result<Resolved, BadSettings> {
        let mut location = parse(&self.url)?;
        let shown = location.shown();
        let tls = self.tls(location.uses_tls)?;
        let access = |login| Access::new(login, tls.clone(), self.connect_timeout);
        let (first, sentinels) = match &mut location.way {
            Way::Server(address) => (Some(&*address), Login::default()),
            Way::Sentinels {
                sentinels, login, ..
            } => {
                let beside = login_of(&self.sentinel_user, &self.sentinel_password);
                (sentinels.first(), std::mem::take(login).or(beside))
            }
        };
        let servers = access(location.login.or(login_of(&self.user, &self.password)));
        if let Some(address) = first {
            servers
                .check(address)
                .map_err(|error| BadSettings::Tls(error.to_string()))?;
        }
        Ok(Resolved {
            sentinels: access(sentinels),
            way: location.way,
            servers,
            shown,
        })
    }

    fn tls(&self, uses_tls: bool) -> Result<Option<Tls>, BadSettings> {
        let options = [
            ("--redis-tls-ca", self.tls_ca.is_some()),
            ("--redis-tls-cert", self.tls_cert.is_some()),
            ("--redis-tls-key", self.tls_key.is_some()),
            ("--redis-insecure", self.insecure),
        ];
        if !uses_tls {
            // Going on in the clear when someone asked for a certificate to be checked would betray the password.
            return match options.iter().find(|(_, given)| *given) {
                Some((option, _)) => Err(BadSettings::TlsOptionWithoutTls(option)),
                None => Ok(None),
            };
        }
        let cert = read("--redis-tls-cert", self.tls_cert.as_deref())?;
        let client = match (cert, read("--redis-tls-key", self.tls_key.as_deref())?) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(BadSettings::HalfClientCertificate),
        };
        Ok(Some(Tls {
            authority: read("--redis-tls-ca", self.tls_ca.as_deref())?,
            client,
            insecure: self.insecure,
        }))
    }
}

impl fmt::Debug for RedisSettings {
    // There are passwords in it, the URL included.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisSettings")
            .finish_non_exhaustive()
    }
}

/// Settings as they are used.
pub(super) struct Resolved {
    pub(super) way: Way,
    pub(super) servers: Access,
    pub(super) sentinels: Access,
    /// The URL without its secrets.
    pub(super) shown: String,
}

fn login_of(user: &Option<String>, password: &Option<String>) -> Login {
    Login {
        user: user.clone(),
        password: password.clone(),
    }
}

fn read(option: &'static str, path: Option<&Path>) -> Result<Option<Vec<u8>>, BadSettings> {
    let Some(path) = path else {
        return Ok(None);
    };
    match fs::read(path) {
        Ok(pem) => Ok(Some(pem)),
        Err(source) => Err(BadSettings::TlsFile {
            option,
            path: path.to_owned(),
            source,
        }),
    }
}

/// Why Redis can't even be looked for.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// The URL.
    #[error(transparent)]
    Url(#[from] lockless_topology::BadUrl),
    /// A file.
    #[error("{option} {path} could not be read: {source}")]
    TlsFile {
        /// The flag that named it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A flag that makes sense with TLS only.
    #[error("{0} needs TLS: the URL must begin with rediss:// or rediss+sentinel://")]
    TlsOptionWithoutTls(&'static str),
    /// A certificate without its key, or the other way round.
    #[error("--redis-tls-cert and --redis-tls-key are given together or not at all")]
    HalfClientCertificate,
    /// A file that is not what it should be.
    #[error("the files of --redis-tls-ca, --redis-tls-cert and --redis-tls-key can't be used: {0}")]
    Tls(String),
}
