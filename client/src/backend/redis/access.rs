//! How connections to servers are made.

use std::time::Duration;

use lockless_topology::{Address, Login};
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ErrorKind, IntoConnectionInfo,
    ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError, RedisResult, TlsCertificates,
};
use tokio::sync::mpsc::UnboundedSender;

/// How to talk TLS.
#[derive(Clone)]
pub(super) struct Tls {
    /// The authority to trust, as PEM; without one, those of the system.
    pub(super) authority: Option<Vec<u8>>,
    /// Our certificate and key, as PEM.
    pub(super) client: Option<(Vec<u8>, Vec<u8>)>,
    /// Trust any certificate.
    pub(super) insecure: bool,
}

/// What it takes to connect to one of the servers.
#[derive(Clone)]
pub(crate) struct Access {
    login: Login,
    tls: Option<Tls>,
    connect_timeout: Duration,
}

impl Access {
    pub(super) fn new(login: Login, tls: Option<Tls>, connect_timeout: Duration) -> Self {
        Self {
            login,
            tls,
            connect_timeout,
        }
    }

    pub(super) fn uses_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether the files can be used at all.
    pub(super) fn check(&self, address: &Address) -> RedisResult<()> {
        self.client(address).map(drop)
    }

    /// Makes a connection. Its end is told as a push of the kind `Disconnection`, which takes RESP3.
    pub(super) async fn open(
        &self,
        address: &Address,
        pushes: UnboundedSender<PushInfo>,
    ) -> Result<MultiplexedConnection, String> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            // Callers have deadlines of their own.
            .set_response_timeout(None)
            .set_push_sender(pushes);
        let opening = async {
            let client = self.client(address)?;
            client
                .get_multiplexed_async_connection_with_config(&config)
                .await
        };
        // The client's own limit leaves out the handshake in some cases.
        match tokio::time::timeout(self.connect_timeout, opening).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(reason(address, &error)),
            Err(_) => Err(format!(
                "{address} did not answer within {} ms",
                self.connect_timeout.as_millis()
            )),
        }
    }

    fn client(&self, address: &Address) -> RedisResult<Client> {
        let (host, port) = (address.host.clone(), address.port);
        let mut settings = RedisConnectionInfo::default()
            .set_skip_set_lib_name()
            .set_protocol(ProtocolVersion::RESP3);
        if let Some(user) = &self.login.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.login.password {
            settings = settings.set_password(password);
        }
        let address = match &self.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(tls) => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: tls.insecure,
                tls_params: None,
            },
        };
        let info = address
            .into_connection_info()?
            .set_tcp_settings(TcpSettings::default().set_nodelay(true))
            .set_redis_settings(settings);
        let Some(tls) = &self.tls else {
            return Client::open(info);
        };
        // An error means that a provider was chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        if tls.authority.is_none() && tls.client.is_none() {
            return Client::open(info);
        }
        let client_tls = tls
            .client
            .clone()
            .map(|(client_cert, client_key)| ClientTlsConfig {
                client_cert,
                client_key,
            });
        Client::build_with_tls(
            info,
            TlsCertificates {
                client_tls,
                root_cert: tls.authority.clone(),
            },
        )
    }
}

/// Why there is no connection, as a sentence without a password.
fn reason(address: &Address, error: &RedisError) -> String {
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS")) => {
            format!("{address} refused the user and password")
        }
        (_, Some("NOAUTH")) => format!("{address} asks for a password"),
        _ => format!(
            "{address}: {}",
            error.to_string().lines().next().unwrap_or_default()
        ),
    }
}
