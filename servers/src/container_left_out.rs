//! Stands in for containers in a build without the feature `docker`.

use std::convert::Infallible;

use crate::Error;
use crate::docker::Network;

/// A container that cannot be.
pub(crate) struct RunningContainer(Infallible);

impl RunningContainer {
    pub(crate) fn start(
        _image: &str,
        _network: &Network,
        _arguments: &[String],
    ) -> Result<Self, Error> {
        Err(Error::DockerLeftOut)
    }

    pub(crate) fn port(&self) -> u16 {
        match self.0 {}
    }

    pub(crate) fn has_ended(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn log(&self) -> String {
        match self.0 {}
    }
}
