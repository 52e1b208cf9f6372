//! Servers in containers, for machines that have Docker and no `redis-server`.
//!
//! A container is removed when its handle is dropped. Docker knows no parent-death signal, so one stays behind when
//! this process is killed outright.

use std::collections::HashMap;
use std::time::Duration;

use testcontainers::bollard::models::PortBinding;
use testcontainers::core::IntoContainerPort;
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, ContainerRequest, GenericImage, ImageExt};

use crate::Error;
use crate::docker::Network;

const START_TIMEOUT: Duration = Duration::from_secs(120);
/// The port inside a container that has a network of its own.
const INNER_PORT: u16 = 6379;

/// A server in a container, and the port it answers on.
pub(crate) struct RunningContainer {
    container: Container<GenericImage>,
    port: u16,
}

impl RunningContainer {
    /// Starts `redis-server` with these arguments; the port and the address to listen on are added here.
    pub(crate) fn start(
        image: &str,
        network: &Network,
        arguments: &[String],
    ) -> Result<Self, Error> {
        let failed = |reason: String| Error::Container {
            image: image.to_owned(),
            reason,
        };
        let (name, tag) = split_image(image);
        let generic = GenericImage::new(name.to_owned(), tag.to_owned());
        let mut command = vec!["redis-server".to_owned()];
        command.extend(arguments.iter().cloned());
        let request: ContainerRequest<GenericImage> = match *network {
            Network::Mapped(wanted) => {
                // Requests arrive from Docker's bridge, which protected mode would refuse.
                command.extend(["--bind", "0.0.0.0", "--protected-mode", "no"].map(str::to_owned));
                command.extend(["--port".to_owned(), INNER_PORT.to_string()]);
                generic
                    .with_exposed_port(INNER_PORT.tcp())
                    .with_host_config_modifier(move |config| {
                        // Docker would publish the port to the whole network, and this server asks for no password.
                        let binding = PortBinding {
                            host_ip: Some("127.0.0.1".to_owned()),
                            host_port: wanted.map(|port| port.to_string()),
                        };
                        let ports =
                            HashMap::from([(format!("{INNER_PORT}/tcp"), Some(vec![binding]))]);
                        config.publish_all_ports = Some(false);
                        config.port_bindings = Some(ports);
                    })
            }
            Network::Host(port) => {
                command.extend([
                    "--bind".to_owned(),
                    "127.0.0.1".to_owned(),
                    "--port".to_owned(),
                    port.to_string(),
                ]);
                generic.with_network("host")
            }
        };
        let container = request
            .with_cmd(command)
            .with_startup_timeout(START_TIMEOUT)
            .start()
            .map_err(|error| failed(error.to_string()))?;
        let port = match *network {
            Network::Host(port) => port,
            Network::Mapped(_) => {
                container
                    .get_host_port_ipv4(INNER_PORT.tcp())
                    .map_err(|error| {
                        // A container that ended has no ports; its log says why it did.
                        failed(format!("{error}; its log:\n{}", log_of(&container)))
                    })?
            }
        };
        Ok(Self { container, port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn has_ended(&self) -> bool {
        !self.container.is_running().unwrap_or(false)
    }

    pub(crate) fn log(&self) -> String {
        log_of(&self.container)
    }
}

/// A server that refuses its arguments says so on standard error.
fn log_of(container: &Container<GenericImage>) -> String {
    let mut log = container.stdout_to_vec().unwrap_or_default();
    log.extend(container.stderr_to_vec().unwrap_or_default());
    String::from_utf8_lossy(&log).into_owned()
}

/// A registry's port also has a colon, so only one after the last slash begins the tag.
fn split_image(image: &str) -> (&str, &str) {
    let name_start = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[name_start..].rfind(':') {
        Some(colon) => (
            &image[..name_start + colon],
            &image[name_start + colon + 1..],
        ),
        None => (image, "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::split_image;

    #[test]
    fn an_image_is_split_at_its_tag_and_not_at_a_port() {
        assert_eq!(split_image("redis:7-alpine"), ("redis", "7-alpine"));
        assert_eq!(split_image("redis"), ("redis", "latest"));
        assert_eq!(
            split_image("host:5000/valkey/valkey"),
            ("host:5000/valkey/valkey", "latest")
        );
        assert_eq!(split_image("host:5000/valkey:8"), ("host:5000/valkey", "8"));
    }
}
