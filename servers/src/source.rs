//! Where a server comes from: a running one that was named, the program on PATH, Docker, or Debian's package.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{Error, debian, docker};

/// The environment variable that names a running server to use as it is.
pub const URL_VARIABLE: &str = "LOCKLESS_TEST_REDIS_URL";
/// The environment variable that names another Docker image.
pub const IMAGE_VARIABLE: &str = "LOCKLESS_TEST_REDIS_IMAGE";
/// The Docker image used when none is named.
pub const DEFAULT_IMAGE: &str = "redis:7-alpine";

/// Where a server comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A running server, used as it is: never stopped, never flushed.
    External {
        /// Its address.
        url: String,
    },
    /// The program `redis-server` on this machine.
    Program(PathBuf),
    /// A container of this image.
    Docker {
        /// The image's name, with its tag.
        image: String,
    },
}

/// Looks for a server: `LOCKLESS_TEST_REDIS_URL`, then `redis-server` on PATH, then a Docker daemon that answers,
/// then (as root, where apt is) Debian's package, which is installed for the purpose.
pub fn find_server() -> Result<Source, Error> {
    find(&Machine, true)
}

/// Like [`find_server`], for servers that need settings of their own, which a running server does not take.
pub(crate) fn find_startable() -> Result<Source, Error> {
    find(&Machine, false)
}

/// The program itself, for what a container cannot give.
pub(crate) fn find_program(what: &'static str) -> Result<PathBuf, Error> {
    match find_startable()? {
        Source::Program(program) => Ok(program),
        Source::External { .. } | Source::Docker { .. } => Err(Error::NeedsProgram { what }),
    }
}

/// What the search looks at; the tests put their own in its place.
trait Surroundings {
    fn variable(&self, name: &str) -> Option<OsString>;
    fn docker_answers(&self) -> bool;
    fn can_install(&self) -> bool;
    fn install(&self) -> Result<(), Error>;
}

struct Machine;

impl Surroundings for Machine {
    fn variable(&self, name: &str) -> Option<OsString> {
        env::var_os(name)
    }

    fn docker_answers(&self) -> bool {
        docker::answers()
    }

    fn can_install(&self) -> bool {
        debian::can_install()
    }

    fn install(&self) -> Result<(), Error> {
        debian::install_redis()
    }
}

fn find(surroundings: &dyn Surroundings, accept_external: bool) -> Result<Source, Error> {
    let text = |name| {
        surroundings
            .variable(name)
            .and_then(|value| value.into_string().ok())
            .filter(|v| !v.is_empty())
    };
    if accept_external && let Some(url) = text(URL_VARIABLE) {
        return Ok(Source::External { url });
    }
    let program = || {
        surroundings
            .variable("PATH")
            .and_then(|path| program_on(&path))
    };
    if let Some(program) = program() {
        return Ok(Source::Program(program));
    }
    if surroundings.docker_answers() {
        return Ok(Source::Docker {
            image: text(IMAGE_VARIABLE).unwrap_or_else(|| DEFAULT_IMAGE.to_owned()),
        });
    }
    if surroundings.can_install() {
        surroundings.install()?;
        return program().map(Source::Program).ok_or(Error::NoServer);
    }
    Err(Error::NoServer)
}

fn program_on(path: &OsString) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|dir| dir.join("redis-server"))
        .find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs;
    use tempfile::TempDir;

    /// A machine whose every property the test sets; installing puts the program into its PATH.
    struct Imagined {
        url: Option<&'static str>,
        image: Option<&'static str>,
        docker: bool,
        root: bool,
        bin: TempDir,
        installed: Cell<bool>,
    }

    impl Imagined {
        fn bare() -> Self {
            let bin = TempDir::new().unwrap();
            Self {
                url: None,
                image: None,
                docker: false,
                root: false,
                bin,
                installed: Cell::new(false),
            }
        }

        fn program(&self) -> PathBuf {
            self.bin.path().join("redis-server")
        }

        fn put_program(&self, mode: u32) {
            fs::write(self.program(), "").unwrap();
            fs::set_permissions(self.program(), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    impl Surroundings for Imagined {
        fn variable(&self, name: &str) -> Option<OsString> {
            match name {
                URL_VARIABLE => self.url.map(Into::into),
                IMAGE_VARIABLE => self.image.map(Into::into),
                "PATH" => Some(self.bin.path().into()),
                _ => None,
            }
        }

        fn docker_answers(&self) -> bool {
            self.docker
        }

        fn can_install(&self) -> bool {
            self.root
        }

        fn install(&self) -> Result<(), Error> {
            self.installed.set(true);
            self.put_program(0o755);
            Ok(())
        }
    }

    #[test]
    fn a_named_server_comes_first() {
        let machine = Imagined {
            url: Some("redis://example:1"),
            docker: true,
            root: true,
            ..Imagined::bare()
        };
        machine.put_program(0o755);
        assert_eq!(
            find(&machine, true).unwrap(),
            Source::External {
                url: "redis://example:1".to_owned()
            }
        );
    }

    #[test]
    fn a_named_server_is_passed_over_when_settings_are_needed() {
        let machine = Imagined {
            url: Some("redis://example:1"),
            ..Imagined::bare()
        };
        machine.put_program(0o755);
        assert_eq!(
            find(&machine, false).unwrap(),
            Source::Program(machine.program())
        );
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let machine = Imagined {
            url: Some(""),
            image: Some(""),
            docker: true,
            ..Imagined::bare()
        };
        assert_eq!(
            find(&machine, true).unwrap(),
            Source::Docker {
                image: DEFAULT_IMAGE.to_owned()
            }
        );
    }

    #[test]
    fn the_program_comes_before_docker() {
        let machine = Imagined {
            docker: true,
            root: true,
            ..Imagined::bare()
        };
        machine.put_program(0o755);
        assert_eq!(
            find(&machine, true).unwrap(),
            Source::Program(machine.program())
        );
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let machine = Imagined {
            docker: true,
            ..Imagined::bare()
        };
        machine.put_program(0o644);
        assert_eq!(
            find(&machine, true).unwrap(),
            Source::Docker {
                image: DEFAULT_IMAGE.to_owned()
            }
        );
    }

    #[test]
    fn docker_comes_before_installing_and_takes_the_named_image() {
        let machine = Imagined {
            docker: true,
            root: true,
            image: Some("valkey/valkey:8"),
            ..Imagined::bare()
        };
        assert_eq!(
            find(&machine, true).unwrap(),
            Source::Docker {
                image: "valkey/valkey:8".to_owned()
            }
        );
        assert!(!machine.installed.get());
    }

    #[test]
    fn root_installs_the_package_when_nothing_else_is_there() {
        let machine = Imagined {
            root: true,
            ..Imagined::bare()
        };
        assert_eq!(
            find(&machine, true).unwrap(),
            Source::Program(machine.program())
        );
        assert!(machine.installed.get());
    }

    #[test]
    fn with_nothing_at_all_the_error_says_what_to_install() {
        let error = find(&Imagined::bare(), true).unwrap_err();
        assert!(matches!(error, Error::NoServer));
        assert!(error.to_string().contains("install redis-server"));
    }
}
