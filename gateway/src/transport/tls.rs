//! The certificate: read at the start, and again on demand.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, ServerConfig};

use super::TlsFiles;

/// Reads the certificate and its key again, for new connections.
#[derive(Clone)]
pub struct TlsReloader {
    files: TlsFiles,
    now: Arc<RwLock<Arc<ServerConfig>>>,
}

impl fmt::Debug for TlsReloader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TlsReloader")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl TlsReloader {
    pub(super) fn new(files: &TlsFiles) -> Result<Self, String> {
        Ok(Self {
            now: Arc::new(RwLock::new(load(files)?)),
            files: files.clone(),
        })
    }

    /// Reads both files again. After a mistake what was there stays.
    pub fn reload(&self) -> Result<(), String> {
        let config = load(&self.files)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(super) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn load(files: &TlsFiles) -> Result<Arc<ServerConfig>, String> {
    let (cert, key) = (files.cert.display(), files.key.display());
    let text = read(&files.cert, "certificate")?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate file {cert} is not sound PEM: {error}"))?;
    if chain.is_empty() {
        return Err(format!(
            "there is no certificate in {cert}: it takes PEM with BEGIN CERTIFICATE"
        ));
    }
    let private =
        PrivateKeyDer::from_pem_slice(&read(&files.key, "key")?).map_err(|error| match error {
            PemError::NoItemsFound => {
                format!("there is no key in {key}: it takes PEM with BEGIN PRIVATE KEY")
            }
            error => format!("the key file {key} is not sound PEM: {error}"),
        })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be set up: {error}"))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                format!("the key in {key} does not belong to the certificate in {cert}")
            }
            error => {
                format!("the certificate in {cert} with the key in {key} can't be used: {error}")
            }
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(file: &Path, what: &str) -> Result<Vec<u8>, String> {
    fs::read(file)
        .map_err(|error| format!("the {what} file {} can't be read: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn pems() -> (String, String) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        (cert.pem(), signing_key.serialize_pem())
    }

    #[test]
    fn each_mistake_has_its_sentence() {
        let dir = tempfile::tempdir().expect("a directory");
        let ((cert, key), (_, other_key)) = (pems(), pems());
        let files = TlsFiles {
            cert: dir.path().join("cert.pem"),
            key: dir.path().join("key.pem"),
        };
        let write = |cert: &str, key: &str| {
            fs::write(&files.cert, cert).expect("written");
            fs::write(&files.key, key).expect("written");
        };
        let error = |expected: &str| {
            let error = TlsReloader::new(&files).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        };
        error("cert.pem can't be read");
        write("nothing", &key);
        error("no certificate in");
        write(&key, &key);
        error("no certificate in");
        write(&cert, &cert);
        error("no key in");
        write(&cert, &other_key);
        error("does not belong to the certificate");
        write(
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            &key,
        );
        error("can't be used");
        fs::remove_file(&files.key).expect("removed");
        write(&cert, &key);
        TlsReloader::new(&files).expect("sound");
    }

    #[test]
    fn after_a_mistake_the_old_certificate_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let (cert, key) = pems();
        let files = TlsFiles {
            cert: dir.path().join("cert.pem"),
            key: dir.path().join("key.pem"),
        };
        fs::write(&files.cert, cert).expect("written");
        fs::write(&files.key, key).expect("written");
        let reloader = TlsReloader::new(&files).expect("sound");
        let before = reloader.current();
        fs::write(&files.cert, "").expect("written");
        reloader.reload().expect_err("empty");
        assert!(Arc::ptr_eq(&before, &reloader.current()));
    }
}
