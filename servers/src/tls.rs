//! Certificates for a TLS server: an authority of its own and a certificate for 127.0.0.1 signed by it.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::Error;

/// The files of one TLS server.
pub(crate) struct Certificates {
    pub(crate) authority: PathBuf,
    pub(crate) authority_pem: Vec<u8>,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificates {
    /// Makes an authority and a certificate signed by it, and puts both into the directory.
    pub(crate) fn make_in(dir: &Path) -> Result<Self, Error> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority
            .distinguished_name
            .push(DnType::CommonName, "Lockless test authority");
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_key = KeyPair::generate()?;
        let authority_pem = authority.self_signed(&authority_key)?.pem().into_bytes();
        let issuer = Issuer::new(authority, authority_key);

        let mut server =
            CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        server
            .distinguished_name
            .push(DnType::CommonName, "Lockless test server");
        server.use_authority_key_identifier_extension = true;
        // A test's client may show the same certificate.
        server.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let server_key = KeyPair::generate()?;
        let server_pem = server.signed_by(&server_key, &issuer)?.pem();

        Ok(Self {
            authority: write(dir, "ca.crt", &authority_pem)?,
            certificate: write(dir, "server.crt", server_pem.as_bytes())?,
            key: write(dir, "server.key", server_key.serialize_pem().as_bytes())?,
            authority_pem,
        })
    }

    /// The arguments that make a server listen with TLS alone.
    pub(crate) fn arguments(&self, port: u16) -> Vec<String> {
        let path = |path: &Path| path.display().to_string();
        [
            ("--port", "0".to_owned()),
            ("--tls-port", port.to_string()),
            ("--tls-cert-file", path(&self.certificate)),
            ("--tls-key-file", path(&self.key)),
            ("--tls-ca-cert-file", path(&self.authority)),
            ("--tls-auth-clients", "no".to_owned()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect()
    }
}

fn write(dir: &Path, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
    let path = dir.join(name);
    match fs::write(&path, content) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Directory { path, source }),
    }
}
