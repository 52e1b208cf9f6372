//! Runs every spec on every host: `<host>::<file>::<groups>::<it>`.

use std::{
    env, fs,
    path::Path,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use libtest_mimic::{Arguments, Failed, Trial};
use lockless_functions::LIBRARY;
use lockless_lua_tests::{
    Error, Host, InProcess, Real,
    spec::{HOSTS, SpecFile},
};
use lockless_servers::{Cluster, Standalone};

const PRIMARIES: usize = 3;

/// Names a file to test instead of the built-in library, for trying a change, or a deliberate mistake.
const LIBRARY_VARIABLE: &str = "LOCKLESS_TEST_LIBRARY";

/// The servers of this process: each is started when the first test asks for it and stopped at the end.
struct Servers {
    library: String,
    standalone: Mutex<Option<Result<Standalone, String>>>,
    cluster: Mutex<Option<Result<Cluster, String>>>,
}

impl Servers {
    fn new() -> Result<Servers, String> {
        let library = match env::var_os(LIBRARY_VARIABLE) {
            Some(path) => fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", Path::new(&path).display()))?,
            None => LIBRARY.to_owned(),
        };
        Ok(Servers {
            library,
            standalone: Mutex::default(),
            cluster: Mutex::default(),
        })
    }

    fn connect(&self, host: &str) -> Result<Box<dyn Host>, Failed> {
        Ok(match host {
            "standalone" => Box::new(self.standalone()?),
            "cluster" => Box::new(self.cluster()?),
            _ => Box::new(InProcess::new(&self.library)?),
        })
    }

    fn standalone(&self) -> Result<Real, Failed> {
        let mut slot = self
            .standalone
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let started = slot.get_or_insert_with(|| {
            let server = Standalone::start().map_err(|error| error.to_string())?;
            let loaded = Real::standalone(&server.url())
                .and_then(|mut host| host.load_library(&self.library));
            loaded.map(|()| server).map_err(|error| error.to_string())
        });
        Ok(Real::standalone(&started.as_ref()?.url())?)
    }

    fn cluster(&self) -> Result<Real, Failed> {
        let mut slot = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let started = slot.get_or_insert_with(|| {
            let servers = Cluster::start(PRIMARIES).map_err(|error| error.to_string())?;
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

fn trial(host: &'static str, file: &Arc<SpecFile>, index: usize, servers: &Arc<Servers>) -> Trial {
    let name = format!("{host}::{}::{}", file.name(), file.tests()[index].name);
    let file = Arc::clone(file);
    let servers = Arc::clone(servers);
    Trial::test(name, move || {
        Ok(file.run(index, servers.connect(host)?, &fresh_root())??)
    })
}

fn trials(servers: &Arc<Servers>) -> Result<Vec<Trial>, Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs");
    let mut trials = Vec::new();
    for file in SpecFile::read_folder(&folder)?.into_iter().map(Arc::new) {
        for host in HOSTS {
            let tests = file.tests().iter().enumerate();
            let wanted = tests.filter(|(_, test)| test.hosts.contains(&host));
            trials.extend(wanted.map(|(index, _)| trial(host, &file, index, servers)));
        }
    }
    Ok(trials)
}

fn main() -> Result<ExitCode, String> {
    let arguments = Arguments::from_args();
    let servers = Arc::new(Servers::new()?);
    let trials = trials(&servers).map_err(|error| error.to_string())?;
    let conclusion = libtest_mimic::run(&arguments, trials);
    servers.stop();
    Ok(conclusion.exit_code())
}
