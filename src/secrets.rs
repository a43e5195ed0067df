//! The secrets of this process: kept from code of commits, which inherits an environment without them, and replaced in
//! all output that this code writes.
//!
//! [`start`] takes everything out of the environment of the process that code does not inherit, so that nothing that is
//! started later can have it, whoever starts it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    path::Path,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::{
    error::{Context as _, Exit, Result},
    model::{
        OF_BASE,
        secret::{Redactor, SecretValues, may_be_address},
        variables::{
            Inheritance, PassedNames, SSH_AGENT, is_essential, is_never_passed, looks_secret,
        },
    },
};

static SECRETS: RwLock<Secrets> = RwLock::new(Secrets::new());

struct Secrets {
    values: Option<SecretValues>,
    redactor: Option<Arc<Redactor>>,
    inheritance: Inheritance,
    /// True if the base of a comparison decides about what a change must not decide about itself.
    base_decides: bool,
    /// The variables that code does not inherit.
    withheld: BTreeMap<OsString, OsString>,
    /// Those of them that bench.toml passes.
    passed: BTreeMap<OsString, OsString>,
}

impl Secrets {
    const fn new() -> Self {
        Self {
            values: None,
            redactor: None,
            inheritance: Inheritance::AllButSecrets,
            base_decides: false,
            withheld: BTreeMap::new(),
            passed: BTreeMap::new(),
        }
    }
}

impl Secrets {
    fn hide(&mut self, values: SecretValues) {
        self.redactor = Some(Arc::new(Redactor::new(&values)));
        self.values = Some(values);
    }
}

fn read() -> RwLockReadGuard<'static, Secrets> {
    SECRETS.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Secrets> {
    SECRETS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the variables that code of commits does not inherit out of the environment of this process, and hides its
/// memory if there is a secret. Must be called before there are other threads.
#[expect(unsafe_code, reason = "there is no safe way to remove a variable")]
pub fn start(inheritance: Inheritance) -> Result<()> {
    let variables: Vec<(OsString, OsString)> = env::vars_os().collect();
    let values = values(&variables);
    let mut secrets = write();
    for (name, value) in variables {
        let (text, value_text) = (name.to_string_lossy(), value.to_string_lossy());
        // rbench reads its own variables later; nothing that it starts for a commit inherits them.
        let is_own =
            text.starts_with("RBENCH_") && !looks_secret(&text) && !values.are_in(&value_text);
        if !is_own && !inheritance.includes(&text, &value_text, &values) {
            // SAFETY: there is no other thread yet that could read the environment.
            unsafe { env::remove_var(&name) };
            secrets.withheld.insert(name, value);
        }
    }
    secrets.inheritance = inheritance;
    secrets.base_decides = inheritance == Inheritance::Listed;
    let has_secret = !values.is_empty();
    secrets.hide(values);
    drop(secrets);
    if has_secret { hide_memory() } else { Ok(()) }
}

/// The values of secrets in these variables. The path of a file is no secret, even if the file has one.
fn values(variables: &[(OsString, OsString)]) -> SecretValues {
    let texts =
        variables.iter().map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()));
    let mut values = SecretValues::of_variables(
        texts.filter(|(_, value)| !(value.starts_with('/') && Path::new(&**value).exists())),
    );
    // An address that is written wrongly is refused, and may have a password.
    let place = variables.iter().find(|(name, _)| name == "RBENCH_SHARED");
    let place = place.map(|(_, value)| value.to_string_lossy());
    let is_wrong = |place: &&Cow<'_, str>| may_be_address(place) && !place.contains("://");
    if let Some(place) = place.as_ref().filter(is_wrong) {
        values.add(place);
    }
    let seen = variables.iter().filter(|(name, _)| is_essential(&name.to_string_lossy()));
    let seen: Vec<String> = seen.map(|(_, value)| value.to_string_lossy().into_owned()).collect();
    values.remove_parts_of(&seen);
    values
}

pub fn add(secret: &str) -> Result<()> {
    let mut secrets = write();
    let mut values = secrets.values.take().unwrap_or_default();
    values.add(secret);
    secrets.hide(values);
    drop(secrets);
    hide_memory()
}

/// Adds the passwords in values that are no secrets as a whole, such as addresses.
pub fn add_passwords_in(texts: &[String]) -> Result<()> {
    let mut secrets = write();
    let mut values = secrets.values.take().unwrap_or_default();
    for text in texts {
        values.add_passwords_in(text);
    }
    let has_secret = !values.is_empty();
    secrets.hide(values);
    drop(secrets);
    if has_secret { hide_memory() } else { Ok(()) }
}

/// Keeps other processes of the same user from reading the memory of this one and its initial environment, unless they
/// may trace any process; a shell that started it may still have the secret.
fn hide_memory() -> Result<()> {
    let what = || "cannot hide a secret from other processes";
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context(Exit::Internal, what)
}

pub fn redactor() -> Arc<Redactor> {
    read().redactor.clone().unwrap_or_default()
}

/// Captured output as text without secrets; invalid UTF-8 is replaced.
pub fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(&redactor().redact(output)).into_owned()
}

/// A variable as rbench itself got it, even if nothing inherits it.
pub fn variable(name: &str) -> Option<OsString> {
    let withheld = read().withheld.get(OsStr::new(name)).cloned();
    withheld.or_else(|| env::var_os(name))
}

/// The variables that nothing inherits, for programs of the user's that run no code of a commit: git asks agents and
/// helpers for passwords.
pub fn withheld() -> Vec<(OsString, OsString)> {
    read().withheld.clone().into_iter().collect()
}

/// True if code inherits only listed variables.
fn is_listed() -> bool {
    read().inheritance == Inheritance::Listed
}

/// Leaves it to the base of a comparison what code inherits: no file of the working tree decides from now on.
pub fn leave_to_base() {
    write().base_decides = true;
}

/// True if the base of a comparison decides about what a change must not decide about itself.
pub fn base_decides() -> bool {
    read().base_decides
}

/// What follows the name bench.toml in advice on settings that the base of a comparison decides about, if it does.
pub fn of_base() -> &'static str {
    if base_decides() { OF_BASE } else { "" }
}

/// Passes variables that bench.toml names to code from now on.
pub fn pass(names: &PassedNames) {
    let mut secrets = write();
    let Secrets { values, withheld, passed, .. } = &mut *secrets;
    let Some(values) = values else { return };
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    let is_passed =
        |(name, value): &(&OsString, &OsString)| names.include(&text(name), &text(value), values);
    *passed = withheld
        .iter()
        .filter(is_passed)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
}

/// The names of variables that look like secrets, and that bench.toml passes.
pub fn passed_secrets() -> Vec<String> {
    let secrets = read();
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    let is_secret = |(name, value): &(&OsString, &OsString)| {
        let is_in_value = secrets.values.as_ref().is_some_and(|values| values.are_in(&text(value)));
        is_in_value || looks_secret(&text(name))
    };
    secrets.passed.iter().filter(is_secret).map(|(name, _)| text(name)).collect()
}

/// The variables that bench.toml passes to code that does not inherit them.
pub fn passed() -> Vec<(OsString, OsString)> {
    read().passed.clone().into_iter().collect()
}

pub fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().chain(passed()).collect()
}

/// The environment of cargo. At the desk, it may fetch dependencies by SSH as the user does; build scripts then can ask
/// the agent too.
pub fn environment_of_cargo() -> Vec<(OsString, OsString)> {
    let agent = variable(SSH_AGENT).filter(|_| !is_listed());
    let agent = agent.map(|agent| (SSH_AGENT.into(), agent));
    environment().into_iter().chain(agent).collect()
}

/// The names of variables that code does not inherit, sorted.
pub fn withheld_names() -> Vec<String> {
    let secrets = read();
    let names = secrets.withheld.keys().filter(|name| !secrets.passed.contains_key(*name));
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Advice for a failure whose output names variables that were withheld.
pub fn advice(output: &str) -> Option<String> {
    /// As many as a user reads.
    const MOST: usize = 3;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> =
        output.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let mut names = withheld_names();
    names.retain(|name| words.contains(name.as_str()) && !is_never_passed(name));
    names.truncate(MOST);
    let are = match names.len() {
        0 => return None,
        1 => "is",
        _ => "are",
    };
    let list: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    Some(format!(
        "{} {are} not passed to code of a commit: add `pass-environment = [{}]` to bench.toml{}",
        names.join(", "),
        list.join(", "),
        of_base()
    ))
}
