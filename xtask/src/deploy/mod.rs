//! `cargo xtask deploy-functions`: loads the library where it is needed.

mod backup;
mod info;
mod installed;
mod link;
mod outcome;
mod plan;
mod primaries;
mod problem;
mod rollback;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use installed::{Installed, Release};
use link::{Access, Link, Tls};
use lockless_topology::{Login, Primary, Way, parse};
use outcome::{Change, Outcome};
use plan::Step;
pub(crate) use problem::Problem;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// redis://, rediss://, redis+sentinel://host[,host]/name or rediss+sentinel://; of a Cluster any node will do
    #[arg(
        long,
        env = "LOCKLESS_REDIS_URL",
        hide_env_values = true,
        default_value = "redis://127.0.0.1:6379"
    )]
    url: String,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace a newer version, or another library called lockless
    #[arg(long)]
    force: bool,
    /// Put back what was there before the last deployment
    #[arg(long, conflicts_with = "force")]
    rollback: bool,
    /// Where backups are kept
    #[arg(long, value_name = "DIR", default_value = ".lockless/backups")]
    backup_dir: PathBuf,
    /// The authority to trust, as PEM, instead of the system's
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// This client's certificate, as PEM
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// This client's key, as PEM
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Trust any certificate
    #[arg(long)]
    insecure: bool,
}

/// Deploys, or rolls back, as the arguments say.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mut location = parse(&arguments.url)?;
    let tls = tls_settings(arguments, location.uses_tls)?;
    let login = location
        .login
        .or(login_of("LOCKLESS_REDIS_USER", "LOCKLESS_REDIS_PASSWORD"));
    if let Way::Sentinels { login: own, .. } = &mut location.way {
        *own = std::mem::take(own).or(login_of(
            "LOCKLESS_SENTINEL_USER",
            "LOCKLESS_SENTINEL_PASSWORD",
        ));
    }
    let access = Access { login, tls };
    let found = primaries::find(&location.way, &access)?;
    let outcomes = if arguments.rollback {
        rollback::run(&found, &access, &arguments.backup_dir, arguments.dry_run)?
    } else {
        deploy(&found, &access, arguments)?
    };
    outcome::conclude(outcomes, arguments.dry_run)
}

/// Loads the library into a server of our own, without backups or words.
pub(crate) fn load_quietly(url: &str) -> Result<(), Problem> {
    let location = parse(url)?;
    let access = Access {
        login: location.login,
        tls: None,
    };
    for primary in primaries::find(&location.way, &access)? {
        let mut link = access.connect(&primary.address)?;
        load_and_verify(&mut link, &primary)?;
    }
    Ok(())
}

fn deploy(
    found: &[Primary],
    access: &Access,
    arguments: &Arguments,
) -> Result<Vec<Outcome>, Problem> {
    println!("This is lockless {}.", own_release());
    // Every primary is looked at before any is changed, so that a refusal leaves all of them as they were.
    let mut planned = Vec::with_capacity(found.len());
    for primary in found {
        let looked_at = look_at(primary, access);
        if let Ok((link, installed)) = &looked_at {
            let step = plan::decide(&link.address, installed, arguments.force);
            describe(link, installed, step.as_ref().ok());
            planned.push((primary, looked_at, Some(step?)));
        } else {
            println!("{}: failed.", primary.address);
            planned.push((primary, looked_at, None));
        }
    }
    let time = backup::timestamp();
    let mut outcomes = Vec::with_capacity(planned.len());
    for (primary, looked_at, step) in planned {
        let result = looked_at.and_then(|(mut link, installed)| match step {
            None | Some(Step::Keep) => Ok(Change::Unchanged),
            Some(_) if arguments.dry_run => Ok(Change::Changed),
            Some(_) => change(&mut link, primary, &installed, &arguments.backup_dir, &time),
        });
        outcomes.push(Outcome {
            address: primary.address.clone(),
            result,
        });
    }
    Ok(outcomes)
}

fn look_at(primary: &Primary, access: &Access) -> Result<(Link, Installed), Problem> {
    let mut link = access.connect(&primary.address)?;
    primaries::check(&mut link)?;
    let installed = installed::read(&mut link, primary)?;
    Ok((link, installed))
}

fn describe(link: &Link, installed: &Installed, step: Option<&Step>) {
    let action = match step {
        Some(Step::Keep) => "up to date",
        Some(Step::Install) => "to be installed",
        Some(Step::Replace) => "to be replaced",
        None => "refused",
    };
    println!("{}: has {installed}; {action}.", link.address);
}

fn change(
    link: &mut Link,
    primary: &Primary,
    before: &Installed,
    backup_dir: &Path,
    time: &str,
) -> Result<Change, Problem> {
    let kept = backup::write(link, backup_dir, time, before, &own_release().digest)?;
    println!(
        "{}: what was there is kept in {}.",
        link.address,
        kept.display()
    );
    load_and_verify(link, primary)?;
    println!("{}: loaded and verified.", link.address);
    Ok(Change::Changed)
}

fn load_and_verify(link: &mut Link, primary: &Primary) -> Result<(), Problem> {
    let code = lockless_functions::LIBRARY.as_bytes();
    rollback::load(link, code)?;
    match installed::read(link, primary)? {
        Installed::Library {
            release,
            code: there,
        } if release == own_release() && there == code => Ok(()),
        other => Err(Problem::NotVerified {
            address: link.address.clone(),
            found: other.to_string(),
        }),
    }
}

fn own_release() -> Release {
    Release {
        version: lockless_functions::VERSION.to_owned(),
        digest: lockless_functions::digest().unwrap_or_default().to_owned(),
    }
}

fn login_of(user: &str, password: &str) -> Login {
    let read = |name| env::var(name).ok().filter(|value| !value.is_empty());
    Login {
        user: read(user),
        password: read(password),
    }
}

fn tls_settings(arguments: &Arguments, uses_tls: bool) -> Result<Option<Tls>, Problem> {
    let options = [
        ("--tls-ca", arguments.tls_ca.is_some()),
        ("--tls-cert", arguments.tls_cert.is_some()),
        ("--tls-key", arguments.tls_key.is_some()),
        ("--insecure", arguments.insecure),
    ];
    if !uses_tls {
        // Going on in the clear when someone asked for a certificate to be checked would betray the password.
        return match options.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Problem::TlsOptionWithoutTls(option)),
            None => Ok(None),
        };
    }
    let read = |option: &'static str, path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| {
                fs::read(path).map_err(|source| Problem::TlsFile {
                    option,
                    path: path.clone(),
                    source,
                })
            })
            .transpose()
    };
    let client = match (
        read("--tls-cert", &arguments.tls_cert)?,
        read("--tls-key", &arguments.tls_key)?,
    ) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(Problem::HalfClientCertificate),
    };
    let authority = read("--tls-ca", &arguments.tls_ca)?;
    Ok(Some(Tls {
        authority,
        client,
        insecure: arguments.insecure,
    }))
}
