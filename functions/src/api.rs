//! The contract, `api.toml`, in typed form.

use std::fmt;

use serde::Deserialize;

/// Every function of the library and every error it answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// The library itself.
    pub library: Library,
    /// The error codes, in order of precedence.
    #[serde(rename = "error")]
    pub errors: Vec<ErrorCode>,
    /// What lists of records in replies are made of.
    #[serde(rename = "record")]
    pub records: Vec<Record>,
    /// The functions.
    #[serde(rename = "function")]
    pub functions: Vec<Function>,
    /// The settings of a cell, in the order of `lockless_config`'s reply.
    #[serde(rename = "setting")]
    pub settings: Vec<Setting>,
}

/// The library's name and schema.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Its name in `FUNCTION LIST`.
    pub name: String,
    /// The version of the data layout.
    pub schema: u32,
    /// One line for a reader.
    pub summary: String,
}

/// One error code.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorCode {
    /// The first word of the error reply.
    pub code: String,
    /// The HTTP status it maps to.
    pub status: u16,
    /// What it means.
    pub summary: String,
}

/// One Redis function.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name for `FCALL`.
    pub name: String,
    /// What it does.
    pub summary: String,
    /// Whether it changes anything.
    pub mode: Mode,
    /// Whether it may run when Redis has reached `maxmemory`.
    #[serde(default)]
    pub allow_oom: bool,
    /// What makes it safe to send a write call again.
    pub retry: Option<Retry>,
    /// Method and path over HTTP.
    pub http: String,
    /// A second method and path, that takes no arguments.
    pub http_read: Option<String>,
    /// Who may call it over HTTP beside an operator.
    pub roles: Vec<Role>,
    /// What a caller may wait for over HTTP.
    pub wait: Option<Wait>,
    /// How it goes on as a stream of events over HTTP.
    pub stream: Option<Stream>,
    /// The shape of its reply.
    pub reply: ReplyShape,
    /// What is in the reply.
    #[serde(default)]
    pub fields: Vec<Field>,
    /// The error codes it answers.
    pub errors: Vec<String>,
    /// Required arguments, in order.
    #[serde(default)]
    pub args: Vec<Argument>,
    /// Options, in any order after the arguments.
    #[serde(default)]
    pub options: Vec<Argument>,
    /// What the arguments after the required ones are, when they are not options.
    pub rest: Option<String>,
}

/// What makes it safe to send a write call again, when its reply was lost.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// By what the second call is known.
    pub by: RetryBy,
    /// What it replies, where that is not the reply of the first.
    pub again: Option<String>,
}

/// By what a call that was made before is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryBy {
    /// The job's id.
    Job,
    /// The argument `request_id`.
    RequestId,
    /// The option `REQUEST`.
    Request,
    /// What is there already is not done again.
    State,
}

/// What a caller may wait for: the call is made again at each announcement, until its reply says something new.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The argument whose announcements wake the caller.
    pub argument: String,
    /// A reply with a value in one of these fields ends the wait.
    pub until: Vec<String>,
    /// One of these fields ends it soon, because it is said again until it is dealt with.
    #[serde(default)]
    pub soon: Vec<String>,
}

/// How a function goes on as a stream: it is called again with where it was whenever there is news.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The argument that says where to go on. The first field of the reply is its next value.
    pub position: String,
    /// The list whose items are the events: of records that begin with an id and a type.
    pub list: String,
}

/// One value of a reply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: FieldKind,
    /// The name of the record, in a list of records.
    pub of: Option<String>,
}

/// What a value of a reply holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number, which may come as text.
    Number,
    /// 1 or 0, or the words true and false.
    Boolean,
    /// Bytes that a caller gave, kept as given.
    Json,
    /// A list of text.
    Texts,
    /// A list of `src:tgt`.
    Pairs,
    /// A list of records.
    Records,
}

/// What a list of records is made of.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// How it comes: [`ReplyShape::Fields`] or [`ReplyShape::Array`].
    pub shape: ReplyShape,
    /// What is in it.
    pub fields: Vec<Field>,
}

/// Who calls over HTTP. An operator may call everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A worker.
    Node,
    /// Someone who has work done.
    Client,
    /// Someone who runs the system.
    Operator,
}

impl Role {
    const ALL: [Self; 3] = [Self::Node, Self::Client, Self::Operator];

    /// The role of that name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Client => "client",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// One setting of a cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What it takes.
    #[serde(rename = "type")]
    pub kind: SettingKind,
    /// The value of a cell that was not told otherwise.
    pub default: String,
    /// The smallest number.
    #[serde(default)]
    pub min: u64,
    /// The largest number.
    #[serde(default)]
    pub max: u64,
    /// The words a choice takes.
    #[serde(default)]
    pub values: Vec<String>,
    /// One line for a reader.
    pub summary: String,
}

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingKind {
    /// A whole number.
    Integer,
    /// A number, decimals allowed.
    Number,
    /// One of a few words.
    Choice,
}

impl Setting {
    /// Whether it is a choice between the words true and false.
    pub fn is_boolean(&self) -> bool {
        self.kind == SettingKind::Choice && self.values == ["true", "false"]
    }

    /// What it takes, in words that follow "takes".
    pub fn takes(&self) -> String {
        match self.kind {
            SettingKind::Integer => format!("a whole number from {} to {}", self.min, self.max),
            SettingKind::Number => format!("a number from {} to {}", self.min, self.max),
            SettingKind::Choice => format!("one of {}", self.values.join(", ")),
        }
    }
}

/// Whether a function writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Only reads: runs on replicas through `FCALL_RO`.
    Read,
    /// Changes the cell.
    Write,
}

/// The shape of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyShape {
    /// A flat list of field and value.
    Fields,
    /// The status `OK`.
    Ok,
    /// A number.
    Integer,
    /// One value, of the type of the one field.
    Value,
    /// A list with a place for each name.
    Array,
    /// `[next cursor, [item, ...]]`.
    Page,
    /// The same with CURSOR, the list alone without.
    Listing,
}

/// An argument or an option.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Its name in documents and over HTTP.
    pub name: String,
    /// The word that introduces it, for an option.
    pub keyword: Option<String>,
    /// What it takes.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The smallest value, or the least number of bytes.
    pub min: Option<u64>,
    /// The largest value, or the greatest number of bytes.
    pub max: Option<u64>,
    /// Whether `-` is accepted.
    #[serde(default)]
    pub dash: bool,
    /// Whether -1 is accepted.
    #[serde(default)]
    pub minus_one: bool,
    /// The words a choice takes.
    #[serde(default)]
    pub values: Vec<String>,
    /// Whether an option must be given.
    #[serde(default)]
    pub required: bool,
    /// How often the option may be given; once when absent.
    pub many: Option<u32>,
    /// What is sent when it is absent over HTTP.
    pub http_default: Option<String>,
    /// Whether an `Idempotency-Key` stands for it.
    #[serde(default)]
    pub idempotency: bool,
    /// Whether it is any JSON over HTTP, kept as given.
    #[serde(default)]
    pub json: bool,
    /// One line for a reader.
    pub summary: Option<String>,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Printable characters without spaces.
    Id,
    /// A language: an id without `:`.
    Lang,
    /// Any bytes.
    Bytes,
    /// Any bytes, up to the cell's `payload_max_bytes`.
    Payload,
    /// A whole number.
    Integer,
    /// A number from 0 to 100.
    Percent,
    /// One of a few words.
    Choice,
    /// Where a page starts.
    Cursor,
    /// Two languages.
    Pair,
    /// An option without a value.
    Flag,
}

/// Payloads are never longer than this, whatever the cell's setting.
pub const PAYLOAD_LIMIT_BYTES: u64 = 1 << 20;

impl Api {
    /// Reads a contract.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The record of that name.
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}

impl Function {
    /// The flags it is registered with.
    pub fn flags(&self) -> Vec<&'static str> {
        match (self.mode, self.allow_oom) {
            (Mode::Read, _) => vec!["no-writes"],
            (Mode::Write, true) => vec!["allow-oom"],
            (Mode::Write, false) => vec![],
        }
    }
}

impl Argument {
    /// Whether it must be given over HTTP: it has no default there, and no key can be made for it.
    pub fn is_required_over_http(&self) -> bool {
        (self.keyword.is_none() || self.required)
            && self.http_default.is_none()
            && !self.idempotency
    }

    /// Whether it is any JSON over HTTP, kept as given.
    pub fn is_json(&self) -> bool {
        self.json || self.kind == Kind::Payload
    }

    /// The inclusive limits of its value or its length.
    pub fn limits(&self) -> (u64, u64) {
        let (min, max) = match self.kind {
            Kind::Id => (1, 256),
            Kind::Cursor => (1, 1024),
            Kind::Lang | Kind::Pair => (1, 64),
            Kind::Bytes | Kind::Payload => (0, PAYLOAD_LIMIT_BYTES),
            Kind::Integer => (0, (1 << 53) - 1),
            Kind::Percent => (0, 100),
            Kind::Choice | Kind::Flag => (0, 0),
        };
        (self.min.unwrap_or(min), self.max.unwrap_or(max))
    }

    /// What it takes, in words that follow "takes".
    pub fn takes(&self) -> String {
        let (min, max) = self.limits();
        let mut words = match self.kind {
            Kind::Id => format!("{min} to {max} printable characters without spaces"),
            Kind::Cursor => "0, or what the page before returned".to_owned(),
            Kind::Lang => format!("{min} to {max} printable characters without spaces or ':'"),
            Kind::Pair => format!(
                "two languages, each {min} to {max} printable characters without spaces or ':'"
            ),
            Kind::Bytes => format!("{min} to {max} bytes"),
            Kind::Payload => format!("at most {max} bytes"),
            Kind::Integer => format!("a whole number from {min} to {max}"),
            Kind::Percent => format!("a number from {min} to {max}"),
            Kind::Choice => format!("one of {}", self.values.join(", ")),
            Kind::Flag => "no value".to_owned(),
        };
        if self.dash {
            words.push_str(", or '-'");
        }
        if self.minus_one {
            words.push_str(", or -1");
        }
        words
    }
}
