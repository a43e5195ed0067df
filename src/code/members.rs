//! The objects among the inputs of a link: files of their own, and members of archives.

use object::read::archive::ArchiveFile;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::elf::Unreadable;

/// A link input, or a member of one, whose code nothing is known about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotComparable {
    /// The input's name, with `(member)` if it is an archive's.
    pub input: String,
    /// Why.
    pub reason: Unreadable,
}

/// An object file, or a file that should be one.
pub(super) struct Member<'data> {
    pub(super) origin: String,
    pub(super) bytes: &'data [u8],
    /// Whether it is in an archive, so that the linker may leave it there.
    pub(super) archived: bool,
}

/// An input that could not be read, with the digest of its bytes.
pub(super) type Unread = (NotComparable, Digest);

/// Lists the objects of link inputs, in order.
pub(super) fn members<'data, N: AsRef<str>>(
    inputs: impl IntoIterator<Item = (N, &'data [u8])>,
) -> (Vec<Member<'data>>, Vec<Unread>) {
    let mut members = Vec::new();
    let mut not_comparable = Vec::new();
    for (name, bytes) in inputs {
        let name = name.as_ref();
        let expanded = match bytes {
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => expand(name, bytes, &mut members),
            [b'!', b'<', b't', b'h', b'i', b'n', b'>', ..] => Err(Unreadable::ThinArchive),
            _ => {
                members.push(Member { origin: name.to_owned(), bytes, archived: false });
                Ok(())
            }
        };
        if let Err(reason) = expanded {
            let unread = NotComparable { input: name.to_owned(), reason };
            not_comparable.push((unread, Digest::of(bytes)));
        }
    }
    (members, not_comparable)
}

fn expand<'data>(
    name: &str,
    bytes: &'data [u8],
    members: &mut Vec<Member<'data>>,
) -> Result<(), Unreadable> {
    for member in ArchiveFile::parse(bytes)?.members() {
        let member = member?;
        // A crate's metadata, which rustc keeps beside the objects.
        if member.name().starts_with(b"lib.rmeta") {
            continue;
        }
        let origin = format!("{name}({})", String::from_utf8_lossy(member.name()));
        members.push(Member { origin, bytes: member.data(bytes)?, archived: true });
    }
    Ok(())
}
