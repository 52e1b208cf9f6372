//! Decides what happens to a primary.

use lockless_topology::Address;
use semver::Version;

use super::installed::Installed;
use super::problem::Problem;

/// What happens to a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has exactly this library.
    Keep,
    /// It has none.
    Install,
    /// It has another one.
    Replace,
}

/// Decides between them, or refuses what only `--force` may do.
pub(crate) fn decide(
    address: &Address,
    installed: &Installed,
    force: bool,
) -> Result<Step, Problem> {
    let foreign = || Problem::Foreign {
        address: address.clone(),
    };
    match installed {
        Installed::Nothing => Ok(Step::Install),
        Installed::Library { code, .. } if code == lockless_functions::LIBRARY.as_bytes() => {
            Ok(Step::Keep)
        }
        Installed::Library { .. } | Installed::Foreign { .. } if force => Ok(Step::Replace),
        Installed::Foreign { .. } => Err(foreign()),
        Installed::Library { release, .. } => {
            let own = lockless_functions::VERSION;
            let there = Version::parse(&release.version).map_err(|_| foreign())?;
            // Our own version is Cargo's, which is always one.
            if Version::parse(own).is_ok_and(|own| there > own) {
                return Err(Problem::Newer {
                    address: address.clone(),
                    installed: there.to_string(),
                    own,
                });
            }
            Ok(Step::Replace)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::installed::Release;
    use super::*;

    fn decided(installed: &Installed, force: bool) -> Option<Step> {
        decide(
            &Address {
                host: "host".to_owned(),
                port: 1,
            },
            installed,
            force,
        )
        .ok()
    }

    fn library(version: &str, code: &str) -> Installed {
        let release = Release {
            version: version.to_owned(),
            digest: "00".to_owned(),
        };
        Installed::Library {
            release,
            code: code.into(),
        }
    }

    #[test]
    fn only_force_replaces_what_is_newer_or_foreign() {
        let own = lockless_functions::VERSION;
        let table = [
            (Installed::Nothing, Some(Step::Install), Some(Step::Install)),
            (
                library(own, lockless_functions::LIBRARY),
                Some(Step::Keep),
                Some(Step::Keep),
            ),
            (
                library(own, "other"),
                Some(Step::Replace),
                Some(Step::Replace),
            ),
            (
                library("0.0.1", "older"),
                Some(Step::Replace),
                Some(Step::Replace),
            ),
            (
                library(&format!("{own}-rc.1"), "before"),
                Some(Step::Replace),
                Some(Step::Replace),
            ),
            (library("99.0.0", "newer"), None, Some(Step::Replace)),
            (library("nonsense", "other"), None, Some(Step::Replace)),
            (
                Installed::Foreign {
                    code: b"x".to_vec(),
                },
                None,
                Some(Step::Replace),
            ),
        ];
        for (installed, plain, forced) in table {
            assert_eq!(
                (decided(&installed, false), decided(&installed, true)),
                (plain, forced),
                "{installed}"
            );
        }
    }
}
