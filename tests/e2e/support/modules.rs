//! The modules of a crate and their uses of each other, read from the tokens of the source files.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::sources::SourceFile;

/// The names from the crate root down to a module; empty for the root itself.
pub type ModulePath = Vec<String>;

/// A use of one module's item by another.
pub struct Use {
    pub from: ModulePath,
    pub to: ModulePath,
    /// The item of `to`.
    pub item: String,
}

/// All modules of a crate, without its tests.
#[derive(Default)]
pub struct Modules {
    files: BTreeSet<ModulePath>,
    modules: BTreeMap<ModulePath, Module>,
}

/// The names in one module, which is a file or an inline module.
#[derive(Default)]
struct Module {
    imports: Vec<Import>,
    /// The paths of two names or more outside of imports.
    paths: Vec<Vec<String>>,
    /// All names outside of imports.
    words: BTreeSet<String>,
}

#[derive(Clone)]
struct Import {
    path: Vec<String>,
    /// The name within the module.
    name: String,
    is_public: bool,
}

impl Modules {
    /// Reads the modules of the crate whose sources are in the directory `root`, such as `src`.
    pub fn read(files: &[SourceFile], root: &str) -> Self {
        let mut modules = Self::default();
        for file in files.iter().filter(|file| !file.is_test()) {
            let Some(path) = file.path.strip_prefix(&format!("{root}/")) else { continue };
            let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
            let path: ModulePath =
                path.split('/').filter(|name| *name != "lib").map(str::to_owned).collect();
            let tokens = file.text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.path));
            modules.files.insert(path.clone());
            modules.read_tokens(&path, tokens);
        }
        modules
    }

    /// The files with other files below them: each is the parent of a folder.
    pub fn folders(&self) -> BTreeSet<ModulePath> {
        self.files.iter().filter_map(|file| file.split_last()).map(|(_, it)| it.to_vec()).collect()
    }

    /// All uses of one file by another. Re-exports from files below are not uses.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (path, module) in &self.modules {
            let imports = module.imports.iter().map(|import| (&import.path, Some(import)));
            let paths = module.paths.iter().map(|path| (path, None));
            for (used, import) in imports.chain(paths) {
                let Some((to, item)) = self.resolve(path, used, &mut BTreeSet::new()) else {
                    continue;
                };
                let (from, to) = (self.file_of(path), self.file_of(&to));
                let is_passed_on = import.is_some_and(|import| {
                    import.is_public
                        && to.starts_with(&from)
                        && !module.words.contains(&import.name)
                });
                // For an imported module, the paths show the used items.
                if let Some(item) = item
                    && from != to
                    && !is_passed_on
                {
                    uses.push(Use { from, to, item });
                }
            }
        }
        uses
    }

    /// The file that contains a module.
    fn file_of(&self, module: &[String]) -> ModulePath {
        let mut above = (0..=module.len()).rev().map(|length| &module[..length]);
        above.find(|path| self.files.contains(*path)).unwrap_or_default().to_vec()
    }

    /// The module that defines the item at this path as seen from `module`, with the item's name
    /// there unless it is the module itself. `None` for items that are local or of another crate.
    fn resolve(
        &self,
        module: &[String],
        path: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<(ModulePath, Option<String>)> {
        let mut at = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" | "cargo_rbench" => at.clear(),
            "self" => {}
            "super" => {
                while rest.get(1).is_some_and(|name| name == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
                at.pop();
            }
            first => return self.find(module, first, &rest[1..], seen),
        }
        match rest[1..].split_first() {
            Some((name, rest)) => {
                let found = self.find(&at, name, rest, seen);
                Some(found.unwrap_or_else(|| (at, Some(name.clone()))))
            }
            None => Some((at, None)),
        }
    }

    /// Like [`resolve`](Self::resolve), for a path whose first name is a module below `module` or
    /// imported by it.
    fn find(
        &self,
        module: &[String],
        name: &str,
        rest: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<(ModulePath, Option<String>)> {
        let below = [module, &[name.to_owned()]].concat();
        if self.modules.contains_key(&below) {
            return match rest.split_first() {
                Some((name, rest)) => {
                    let found = self.find(&below, name, rest, seen);
                    Some(found.unwrap_or_else(|| (below, Some(name.clone()))))
                }
                None => Some((below, None)),
            };
        }
        if !seen.insert((module.to_vec(), name.to_owned())) {
            return None;
        }
        let import = self.modules.get(module)?.imports.iter().find(|it| it.name == name)?;
        let path = [&import.path, rest].concat();
        self.resolve(module, &path, seen)
    }

    fn read_tokens(&mut self, path: &[String], tokens: TokenStream) {
        self.modules.entry(path.to_vec()).or_default();
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = self.read_at(path, &tokens, at);
        }
    }

    /// Reads the item at this token; returns the position of the next.
    fn read_at(&mut self, path: &[String], tokens: &[TokenTree], at: usize) -> usize {
        match &tokens[at] {
            TokenTree::Group(group) => self.read_tokens(path, group.stream()),
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.get(at + 1)
                    && group.stream().to_string().replace(' ', "") == "cfg(test)"
                {
                    return after_item(tokens, at + 2);
                }
            }
            TokenTree::Ident(word) => return self.read_word(path, tokens, at, &word.to_string()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at + 1
    }

    fn read_word(&mut self, path: &[String], tokens: &[TokenTree], at: usize, word: &str) -> usize {
        let next = tokens.get(at + 1);
        if word == "use" && !next.is_some_and(|next| is_punct(next, '<')) {
            let end = at + tokens[at..].iter().take_while(|token| !is_punct(token, ';')).count();
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            let is_public = before.is_some_and(|token| match token {
                TokenTree::Ident(word) => word == "pub",
                TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
                _ => false,
            });
            let imports = &mut self.modules.entry(path.to_vec()).or_default().imports;
            read_imports(&tokens[at + 1..end], &[], is_public, imports);
            return end + 1;
        }
        if word == "mod"
            && let Some(TokenTree::Ident(name)) = next
        {
            if let Some(TokenTree::Group(group)) = tokens.get(at + 2) {
                let below = [path, &[name.to_string()]].concat();
                self.read_tokens(&below, group.stream());
            }
            return at + 3;
        }
        let mut names = vec![word.to_owned()];
        let mut end = at + 1;
        while is_separator(tokens, end)
            && let Some(TokenTree::Ident(name)) = tokens.get(end + 2)
        {
            names.push(name.to_string());
            end += 3;
        }
        let module = self.modules.entry(path.to_vec()).or_default();
        // Names after generic arguments belong to the type before them.
        if at < 2 || !is_separator(tokens, at - 2) {
            module.words.insert(word.to_owned());
            if names.len() > 1 {
                module.paths.push(names);
            }
        }
        end
    }
}

/// The end of the item that begins at this token.
fn after_item(tokens: &[TokenTree], at: usize) -> usize {
    let is_import = tokens[at..].iter().take(3).any(|it| it.to_string() == "use");
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => !is_import && group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';'),
    };
    at + tokens[at..].iter().take_while(|token| !ends(token)).count() + 1
}

/// Reads the imports of a `use` declaration, or of the part of it in braces after `prefix`.
fn read_imports(
    tokens: &[TokenTree],
    prefix: &[String],
    is_public: bool,
    imports: &mut Vec<Import>,
) {
    for part in tokens.split(|token| is_punct(token, ',')) {
        let mut path = prefix.to_vec();
        let mut alias = None;
        let mut is_list = false;
        for (at, token) in part.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    alias = part.get(at + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    read_imports(&inner, &path, is_public, imports);
                    is_list = true;
                }
                token if is_punct(token, '*') => path.push("*".to_owned()),
                _ => {}
            }
        }
        if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        if let Some(last) = path.last().cloned()
            && !part.is_empty()
            && !is_list
        {
            imports.push(Import { path, name: alias.unwrap_or(last), is_public });
        }
    }
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// True if `::` begins at this token.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let first = matches!(tokens.get(at), Some(TokenTree::Punct(punct))
        if punct.as_char() == ':' && punct.spacing() == Spacing::Joint);
    first && tokens.get(at + 1).is_some_and(|token| is_punct(token, ':'))
}
