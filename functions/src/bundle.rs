//! Makes `lockless.lua` from the sources and the contract.
//!
//! The bundle is one Lua chunk: the contract as a table, then every module, then every function of the contract.
//! Sources stand in it unchanged, and it knows at which line each begins, so that an error can name file and line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::api::{Api, Argument, Function, Kind, Setting, SettingKind};

/// What can go wrong while bundling.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A source is missing or can't be read.
    #[error("can't read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The contract is not valid.
    #[error("{path} is not a valid contract: {source}")]
    Contract {
        /// The file.
        path: PathBuf,
        /// Why.
        source: toml::de::Error,
    },
    /// A source that no contract entry and no line of shared/modules.txt names.
    #[error(
        "{0} is neither listed in src/shared/modules.txt nor the file of a function in api.toml"
    )]
    Stray(PathBuf),
}

const DIGEST_BLANK: &str = "0000000000000000000000000000000000000000";
/// The module that registers functions.
const ENTRY: &str = "entry";
const DIGEST_FIELD: &str = "digest = '";
/// The characters of ids and of languages, as Lua patterns. The common range comes first.
const PRINTABLE: &str = r"^[!-~\128-\255]+$";
const PRINTABLE_LANG: &str = r"^[!-9;-~\128-\255]+$";

/// Bundles the sources under `functions/`.
pub fn bundle(functions_dir: &Path) -> Result<String, BundleError> {
    let api_path = functions_dir.join("api.toml");
    let api = Api::parse(&read(&api_path)?).map_err(|source| BundleError::Contract {
        path: api_path,
        source,
    })?;
    let src = functions_dir.join("src");
    let shared = src.join("shared");
    let modules = read(&shared.join("modules.txt"))?;
    let modules: Vec<&str> = modules.split_whitespace().collect();
    refuse_strays(&shared, |name| name == ENTRY || modules.contains(&name))?;
    refuse_strays(&src, |name| {
        api.functions
            .iter()
            .any(|function| file_of(function) == name)
    })?;

    let mut body = Body::default();
    for module in &modules {
        body.add(
            &shared,
            module,
            &format!("local {module} = (function()"),
            "end)()",
        )?;
    }
    body.add(&shared, ENTRY, "local define = (function()", "end)()")?;
    for function in &api.functions {
        body.add(
            &src,
            file_of(function),
            &format!("define('{}', (function()", function.name),
            "end)())",
        )?;
    }

    let head = head(&api);
    // The source map is one line, so the body starts two lines below the head.
    let body_start = head.lines().count() + 2;
    let map = body
        .files
        .iter()
        .map(|(name, line)| format!("{{'{name}.lua', {}}}", body_start + line))
        .collect::<Vec<_>>()
        .join(", ");
    let text = format!("{head}about.sources = {{{map}}}\n{}", body.text);
    Ok(text.replacen(DIGEST_BLANK, &hex(&Sha256::digest(&text))[..40], 1))
}

/// The digest a bundle carries.
pub fn digest_of(bundle: &str) -> Option<&str> {
    let start = bundle.find(DIGEST_FIELD)? + DIGEST_FIELD.len();
    bundle.get(start..start + DIGEST_BLANK.len())
}

#[derive(Default)]
struct Body {
    text: String,
    lines: usize,
    /// Each source and how many lines of the body stand before its first one.
    files: Vec<(String, usize)>,
}

impl Body {
    fn add(&mut self, src: &Path, name: &str, open: &str, close: &str) -> Result<(), BundleError> {
        let source = read(&src.join(format!("{name}.lua")))?;
        let source = source.trim_end();
        let folder = src.file_name().filter(|folder| *folder != "src");
        let folder = folder.map_or(String::new(), |folder| format!("{}/", folder.display()));
        self.files.push((format!("{folder}{name}"), self.lines + 1));
        let _ = writeln!(self.text, "{open}\n{source}\n{close}");
        self.lines += source.lines().count() + 2;
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, BundleError> {
    std::fs::read_to_string(path).map_err(|source| BundleError::Read {
        path: path.to_owned(),
        source,
    })
}

fn file_of(function: &Function) -> &str {
    function
        .name
        .strip_prefix("lockless_")
        .unwrap_or(&function.name)
}

fn refuse_strays(src: &Path, known: impl Fn(&str) -> bool) -> Result<(), BundleError> {
    let listing = |source| BundleError::Read {
        path: src.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(src).map_err(listing)? {
        let path = entry.map_err(listing)?.path();
        let is_lua = path.extension().is_some_and(|ext| ext == "lua");
        let name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        if is_lua && !name.is_some_and(|name| known(&name)) {
            return Err(BundleError::Stray(path));
        }
    }
    Ok(())
}

fn head(api: &Api) -> String {
    let mut text = format!(
        "#!lua name={}\n\
         -- Generated by `cargo xtask bundle` from functions/src and functions/api.toml: change those, not this.\n\
         local about = {{ version = '{}', schema = {}, {DIGEST_FIELD}{DIGEST_BLANK}' }}\n\
         -- Everything but control characters and the space; the second one without ':', too.\n\
         local PRINTABLE, PRINTABLE_LANG = '{PRINTABLE}', '{PRINTABLE_LANG}'\n\
         local contract = {{}}\n",
        api.library.name,
        crate::VERSION,
        api.library.schema,
    );
    for function in &api.functions {
        let flags = function
            .flags()
            .iter()
            .map(|flag| format!("'{flag}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let args = function
            .args
            .iter()
            .map(rule)
            .collect::<Vec<_>>()
            .join(", ");
        let options = function
            .options
            .iter()
            .map(|option| {
                let keyword = option.keyword.as_deref().unwrap_or_default();
                format!("{keyword} = {}", rule(option))
            })
            .collect::<Vec<_>>()
            .join(", ");
        let keywords = function
            .options
            .iter()
            .filter_map(|option| option.keyword.as_deref())
            .collect::<Vec<_>>()
            .join(", ");
        let required = function
            .options
            .iter()
            .filter(|option| option.required)
            .filter_map(|option| option.keyword.as_deref())
            .map(|keyword| format!("'{keyword}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(
            text,
            "contract.{} = {{ flags = {{{flags}}}, rest = {}, keywords = '{keywords}', positional = {}, may_end = {}, args = {{{args}}}, options = {{{options}}}, required = {{{required}}} }}",
            function.name,
            function.rest.is_some(),
            function.args.len(),
            function.rest.is_none() && required.is_empty(),
        );
        if let Some(quick) = quick(&function.args) {
            let _ = writeln!(
                text,
                "function contract.{}.quick(argv)\n{quick}end",
                function.name
            );
        }
    }
    let settings = api
        .settings
        .iter()
        .map(setting)
        .collect::<Vec<_>>()
        .join(", ");
    let _ = writeln!(text, "local settings = {{{settings}}}");
    text
}

/// One setting as the Lua table that `config.lua` reads.
fn setting(setting: &Setting) -> String {
    let (name, takes) = (&setting.name, setting.takes());
    let (min, max, default) = (setting.min, setting.max, &setting.default);
    match setting.kind {
        SettingKind::Choice => format!(
            "{{ name = '{name}', default = '{default}', text = '{default}', takes = {takes:?}, values = {{{}}} }}",
            words(&setting.values)
        ),
        kind => format!(
            "{{ name = '{name}', default = {default}, text = '{default}', takes = {takes:?}, min = {min}, max = {max}, whole = {} }}",
            kind == SettingKind::Integer
        ),
    }
}

/// A set of words as the inside of a Lua table.
fn words(values: &[String]) -> String {
    values
        .iter()
        .map(|value| format!("['{value}'] = true"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// One argument as the Lua table that `args.lua` reads.
fn rule(argument: &Argument) -> String {
    let (min, max) = argument.limits();
    let kind = match argument.kind {
        Kind::Id => "id",
        Kind::Lang => "lang",
        Kind::Bytes | Kind::Payload => "bytes",
        Kind::Integer => "integer",
        Kind::Percent => "percent",
        Kind::Choice => "choice",
        Kind::Cursor => "cursor",
        Kind::Pair => "pair",
        Kind::Flag => "flag",
    };
    let mut text = format!(
        "{{ name = '{}', kind = '{kind}', min = {min}, max = {max}, takes = {:?}",
        argument.name,
        argument.takes(),
    );
    if argument.dash {
        text.push_str(", dash = true");
    }
    if argument.minus_one {
        text.push_str(", minus_one = true");
    }
    if let Some(many) = argument.many {
        let _ = write!(text, ", many = {many}");
    }
    if !argument.values.is_empty() {
        let _ = write!(text, ", values = {{{}}}", words(&argument.values));
    }
    text.push_str(" }");
    text
}

/// The body of a Lua function that returns the arguments by name when all are as the contract says, and else nothing: in
/// one expression, because the general way costs as much as a command for each. Only for kinds that are taken as they are.
fn quick(arguments: &[Argument]) -> Option<String> {
    let last = arguments.len();
    let mut conditions = (last > 0).then(|| vec![format!("a{last}")])?;
    for (number, argument) in (1..).zip(arguments) {
        let (min, max) = argument.limits();
        let pattern = match argument.kind {
            Kind::Id => Some("PRINTABLE"),
            Kind::Lang => Some("PRINTABLE_LANG"),
            Kind::Bytes | Kind::Payload => None,
            Kind::Choice if !argument.dash => {
                let choices = argument.values.iter();
                let choices = choices.map(|value| format!("a{number} == '{value}'"));
                conditions.push(format!("({})", choices.collect::<Vec<_>>().join(" or ")));
                continue;
            }
            _ => return None,
        };
        if min > u64::from(pattern.is_some()) {
            conditions.push(format!("#a{number} >= {min}"));
        }
        conditions.push(format!("#a{number} <= {max}"));
        conditions.extend(pattern.map(|pattern| format!("a{number}:find({pattern})")));
    }
    let each = |part: fn(usize, &Argument) -> String| {
        let parts = (1..).zip(arguments).map(|(number, it)| part(number, it));
        parts.collect::<Vec<_>>().join(", ")
    };
    Some(format!(
        "  local {} = {}\n  if {} then return {{ {} }} end\n",
        each(|number, _| format!("a{number}")),
        each(|number, _| format!("argv[{number}]")),
        conditions.join(" and "),
        each(|number, it| format!("{} = a{number}", it.name)),
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
