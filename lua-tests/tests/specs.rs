//! Runs every spec on every host: `<host>::<file>::<groups>::<it>`.
//!
//! `LOCKLESS_TEST_SERVERS` names further server programs, separated by `:`. What is for a server runs on each of them too, as the host
//! `<program>-<version>`, and what is for a Cluster as `<program>-<version>-cluster`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use libtest_mimic::{Arguments, Failed, Trial};
use lockless_functions::LIBRARY;
use lockless_lua_tests::{
    Error, Host, InProcess, Real, Wasm,
    spec::{HOSTS, SpecFile},
};
use lockless_servers::{Cluster, Standalone, named_programs};

const PRIMARIES: usize = 3;

/// Names a file to test instead of the built-in library, for trying a change, or a deliberate mistake.
const LIBRARY_VARIABLE: &str = "LOCKLESS_TEST_LIBRARY";

/// The servers of this process, of one program: each is started when the first test asks for it and stopped at the end.
struct Servers {
    /// What its hosts are called after; nothing for the program that is found.
    name: Option<String>,
    program: Option<PathBuf>,
    library: Arc<str>,
    standalone: Mutex<Option<Result<Standalone, String>>>,
    cluster: Mutex<Option<Result<Cluster, String>>>,
}

/// All there are: those of the program that is found, and those of the programs that are named.
fn all_servers() -> Result<Vec<Arc<Servers>>, String> {
    let library: Arc<str> = match env::var_os(LIBRARY_VARIABLE) {
        Some(path) => fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", Path::new(&path).display()))?
            .into(),
        None => LIBRARY.into(),
    };
    let servers = |name, program| {
        Arc::new(Servers {
            name,
            program,
            library: Arc::clone(&library),
            standalone: Mutex::default(),
            cluster: Mutex::default(),
        })
    };
    let named = named_programs().map_err(|error| error.to_string())?;
    let named = named
        .into_iter()
        .map(|one| servers(Some(one.name), Some(one.path)));
    Ok([servers(None, None)].into_iter().chain(named).collect())
}

impl Servers {
    /// How a host is called when it is one of these; nothing when these have no such host.
    fn called(&self, host: &str) -> Option<String> {
        match (&self.name, host) {
            (None, host) => Some(host.to_owned()),
            (Some(name), "standalone") => Some(name.clone()),
            (Some(name), "cluster") => Some(format!("{name}-cluster")),
            (Some(_), _) => None,
        }
    }

    fn connect(&self, host: &str) -> Result<Box<dyn Host>, Failed> {
        Ok(match host {
            "standalone" => Box::new(self.standalone()?),
            "cluster" => Box::new(self.cluster()?),
            "wasm" => Box::new(Wasm::new(&self.library)?),
            _ => Box::new(InProcess::new(&self.library)?),
        })
    }

    fn standalone(&self) -> Result<Real, Failed> {
        let mut slot = self
            .standalone
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let started = slot.get_or_insert_with(|| {
            let mut builder = Standalone::builder();
            if let Some(program) = &self.program {
                builder = builder.program(program);
            }
            let server = builder.start().map_err(|error| error.to_string())?;
            let loaded = Real::standalone(&server.url())
                .and_then(|mut host| host.load_library(&self.library));
            loaded.map(|()| server).map_err(|error| error.to_string())
        });
        Ok(Real::standalone(&started.as_ref()?.url())?)
    }

    fn cluster(&self) -> Result<Real, Failed> {
        let mut slot = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let started = slot.get_or_insert_with(|| {
            let mut builder = Cluster::builder(PRIMARIES);
            if let Some(program) = &self.program {
                builder = builder.program(program);
            }
            let servers = builder.start().map_err(|error| error.to_string())?;
            let loaded = Real::cluster(&servers.urls())
                .and_then(|mut host| host.load_library(&self.library));
            loaded.map(|()| servers).map_err(|error| error.to_string())
        });
        Ok(Real::cluster(&started.as_ref()?.urls())?)
    }

    fn stop(&self) {
        *self
            .standalone
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
        *self.cluster.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A root key that no other test has; its tag differs too, so that cells spread over the primaries of a Cluster.
fn fresh_root() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    format!("t{process}-{n}:{{{process}-{n}}}")
}

fn trial(
    called: &str,
    host: &'static str,
    file: &Arc<SpecFile>,
    index: usize,
    servers: &Arc<Servers>,
) -> Trial {
    let name = format!("{called}::{}::{}", file.name(), file.tests()[index].name);
    let file = Arc::clone(file);
    let servers = Arc::clone(servers);
    Trial::test(name, move || {
        Ok(file.run(index, servers.connect(host)?, &fresh_root())??)
    })
}

fn trials(all: &[Arc<Servers>]) -> Result<Vec<Trial>, Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let mut trials = Vec::new();
    for file in SpecFile::read_folder(&folder)?.into_iter().map(Arc::new) {
        for servers in all {
            for host in HOSTS {
                let Some(called) = servers.called(host) else {
                    continue;
                };
                let tests = file.tests().iter().enumerate();
                let wanted = tests.filter(|(_, test)| test.hosts.contains(&host));
                trials.extend(wanted.map(|(index, _)| trial(&called, host, &file, index, servers)));
            }
        }
    }
    Ok(trials)
}

fn main() -> Result<ExitCode, String> {
    let arguments = Arguments::from_args();
    let all = all_servers()?;
    let trials = trials(&all).map_err(|error| error.to_string())?;
    let conclusion = libtest_mimic::run(&arguments, trials);
    for servers in &all {
        servers.stop();
    }
    Ok(conclusion.exit_code())
}
