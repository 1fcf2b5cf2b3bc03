"""File input and output: size limits, encodings, and atomic writing that leaves the old file intact on failure."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...core.report import FormatError, Message, Report

#: Bytes. No real model file is larger; one that is would only exhaust the memory.
MAX_FILE_SIZE = 256 * 2**20
#: Limits for elements of XML and for objects and lists of JSON: enough for a model of fifty thousand bodies and joints.
#: A small file may hold more, each of a few letters, and every one may become a body of two thousand bytes.
MAX_ELEMENTS, MAX_VALUES = 2_500_000, 1_000_000
#: Limit for XML elements that are a body or a shape by themselves. These take up to 2700 bytes each while they are
#: read, all others less than a thousand: at both limits a file takes less than 4 GB.
MAX_RECORDS, RECORD_TAGS = 1_000_000, ("<body", "<geom")

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: Byte-order marks by encoding.
BOM_BY_ENCODING = {name: mark for mark, name in _BOMS}
_DECLARED = re.compile(r"\A<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a whole file.

    Raises:
        FormatError: there is no readable, non-empty regular file of at most ``MAX_FILE_SIZE``.
    """
    name = os.fspath(path)
    try:
        if os.path.isdir(name):
            raise FormatError("this is a folder, not a file", path=name, remedy="Choose a file inside it.")
        check_size(name)
        with open(name, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "Choose another file."
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            remedy = "Check the spelling of its name and folder."
        elif isinstance(error, PermissionError):
            remedy = "Ask its owner for read permission or a copy."
        raise FormatError(f"the file cannot be read: {reason}", path=name, remedy=remedy) from error
    if not data.lstrip():
        raise FormatError("the file is empty", path=name, remedy="Save it again in the program that wrote it.")
    return data


def check_size(path: str | os.PathLike[str]) -> None:
    """Raise a FormatError for a file that is too large, or of unknown size.

    Pipes and devices have no known size and may never end or never begin.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(
            "this is a pipe or a device, not a file", path=os.fspath(path), remedy="Save its content to a file first."
        )
    if found.st_size > MAX_FILE_SIZE:
        raise FormatError(
            f"the file is larger than {MAX_FILE_SIZE // 2**20} MB", path=os.fspath(path),
            remedy="Split it into several files, or delete what is not needed.",
        )  # fmt: skip


def check_count(count: int, most: int, what: str, path: str) -> None:
    """Raise a FormatError where a document has more than ``most`` of something."""
    if count > most:
        raise FormatError(
            f"the file has {count:,} {what}; at most {most:,} are supported",
            path=path,
            remedy="Split it into several files.",
        )


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause Python's cyclic garbage collection.

    Reading and building create many objects and discard few: the collector takes a third of the time of a reading and a
    tenth of a build.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def decode(data: bytes, report: Report) -> tuple[str, str]:
    """Decode a document; returns the text and the name of its encoding.

    Tried in this order: byte-order mark, XML declaration, UTF-8, else the Windows code page 1252, in which Juice writes
    names (reported).
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_with_bom(data.removeprefix(mark), _without_bom(encoding), report), encoding
    declared = declared_encoding(data[:200].decode("latin-1"))
    line = None
    for encoding in filter(None, (declared, "utf-8")):
        try:
            text = data.decode(encoding)
            # escapes, shifts and letters with two codes would not survive a round trip
            if encoding == "utf-8" or text.encode(encoding) == data:
                return text, encoding
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
        except UnicodeError:  # raised by some codecs (idna, for one) for any long text
            continue
    report.warn("decoded-8-bit", "the text is not UTF-8; it was read in the Windows code page 1252", line)
    return data.decode("cp1252", "knuckle.latin"), "cp1252"


def _decode_with_bom(data: bytes, encoding: str, report: Report) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        report.warn(
            "decoded-damaged",
            Message("some characters are not {}; they are replaced by question marks", encoding.upper()),
            line,
        )
        return data.decode(encoding, "replace")


def declared_encoding(text: str) -> str | None:
    """Return the codec that an XML declaration names, if Python knows it and it is ASCII-compatible."""
    match = _DECLARED.match(text)
    if match is None:
        return None
    try:
        codec = codecs.lookup(match[1]).name
        return codec if "<".encode(codec) == b"<" else None
    except (LookupError, UnicodeError):
        return None


def encode_text(text: str, encoding: str, as_read: bool = False) -> bytes:
    """Encode a text in the encoding that it declares, else in the given one, else in UTF-8.

    A character that the encoding lacks becomes a character reference. A text that is unchanged (``as_read``) is in the
    given encoding, whatever it declares.
    """
    name = encoding.lower().replace("_", "-")
    mark = BOM_BY_ENCODING.get(name, b"")
    declared = "" if as_read and encoding else declared_encoding(text)
    codec = _without_bom(name) if mark else declared or encoding or "utf-8"
    try:
        is_1252 = codecs.lookup(codec).name == "cp1252"
        return mark + text.encode(codec, "knuckle.reference" if is_1252 else "xmlcharrefreplace")
    except LookupError:
        return text.encode("utf-8", "replace")


def encode_like(text: str, original: str, encoding: str) -> bytes:
    """Encode a document that read ``original`` in an encoding before it was edited.

    The result has that encoding, though the text may declare another in which it could not be read, unless the
    declaration has changed since.
    """
    return encode_text(text, encoding, as_read=declared_encoding(text) == declared_encoding(original))


def _without_bom(encoding: str) -> str:
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a temporary file beside the target, then rename it: after a failure the old file is intact."""
    with replacement_file(path) as beside:
        Path(beside).write_bytes(data)


@contextlib.contextmanager
def replacement_file(path: str | os.PathLike[str], ending: str = "") -> Iterator[str]:
    """Yield the path of an empty file beside ``path``, to be filled, that replaces ``path`` on leaving.

    On leaving it is synced to disk and renamed, or removed after an error; within ``write_transaction`` it is renamed
    when that ends. A process that is killed meanwhile leaves the hidden temporary file and the old file intact; a later
    write to the same path removes leftovers older than an hour.

    Args:
        path: the file to replace.
        ending: suffix of the temporary file's name.

    Raises:
        FormatError: the file cannot be written.
    """
    check_writable(path)
    check_folder_exists(path)
    target = Path(os.path.realpath(os.fspath(path)))
    temporary = None
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        prefix = f".{target.name[:_MAX_PREFIX_LENGTH]}."  # the name may already have the maximum length
        _remove_leftovers(target.parent, prefix)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=_PART + ending)
        os.close(handle)
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        if _transactions:
            _transactions[-1].waiting.append((temporary, target))
            temporary = None
        else:
            os.replace(temporary, target)
    except OSError as error:
        raise write_error(error, path) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise a FormatError where it is already certain that a file cannot be written; call it before long work too.

    The folder may be created meanwhile: see ``check_folder_exists``.
    """
    name = os.fspath(path)
    if not os.path.basename(name):
        what = "this is a folder, not a file" if name else "the file name is missing"
        raise FormatError(what, path=name, remedy="Enter a file name.")
    try:
        target = Path(os.path.realpath(name))
        is_folder, is_there, folder_is_there = target.is_dir(), target.exists(), target.parent.is_dir()
        is_file = target.is_file()
    except (OSError, ValueError) as error:  # a name with a NUL or a lone surrogate
        raise write_error(error, path) from error
    if is_folder:
        raise FormatError("this is a folder, not a file", path=str(path), remedy="Enter a file name.")
    if is_there and not is_file:  # a rename would destroy it
        raise FormatError(
            "this is a pipe or a device, not a file", path=str(path),
            remedy="Enter a file name. Where a command can write to standard output, - stands for it.",
        )  # fmt: skip
    if is_there and not _may_write(target):  # a rename needs permission for the folder only
        raise write_error(PermissionError(errno.EACCES, "it is read-only"), path)
    if folder_is_there and not _may_write(target.parent):
        raise write_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path)


def check_folder_exists(path: str | os.PathLike[str]) -> None:
    """Raise a FormatError where the folder that a file is to be written into does not exist."""
    folder = os.path.dirname(os.fspath(path))
    try:
        is_there = os.path.isdir(folder or os.curdir)
    except ValueError as error:
        raise write_error(error, path) from error
    if not is_there:
        what = f"the folder {printable(folder)!r} does not exist"
        raise FormatError(what, path=printable(path), remedy="Create it first, or choose another.")


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and its parents unless they exist.

    Raises:
        FormatError: the folder cannot be created.
    """
    folder = Path(path)
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _os_error("the folder cannot be made", error, path) from error
    for together in _transactions[-1:]:
        together.folders += reversed(missing)


@dataclass
class _Transaction:
    """Pending writes: temporary files with their targets, and the folders created for them."""

    waiting: list[tuple[str, Path]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    def put(self) -> None:
        """Commit: rename all temporary files to their targets; on an error remove the files that were new."""
        placed: list[Path] = []
        while self.waiting:
            temporary, target = self.waiting[0]
            was_there = target.exists()
            try:
                os.replace(temporary, target)
            except OSError as error:
                for each in placed:
                    each.unlink(missing_ok=True)
                raise write_error(error, target) from error
            self.waiting.pop(0)
            if not was_there:
                placed.append(target)

    def drop(self) -> None:
        """Roll back: remove the temporary files and the empty folders."""
        for temporary, _target in self.waiting:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        for folder in reversed(self.folders):
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()


#: Open transactions, the innermost last.
_transactions: list[_Transaction] = []


@contextlib.contextmanager
def write_transaction() -> Iterator[None]:
    """Write several interdependent files as one transaction.

    They take their places one after the other when it ends. If it ends with an error, nothing is written and the
    folders created for it are removed. Nested transactions join the outer one.
    """
    mine = _Transaction()
    _transactions.append(mine)
    try:
        try:
            yield
        finally:
            _transactions.remove(mine)
        if _transactions:
            _transactions[-1].waiting += mine.waiting
            _transactions[-1].folders += mine.folders
        else:
            mine.put()
    except BaseException:
        mine.drop()
        raise


def write_error(error: OSError | ValueError, path: str | os.PathLike[str]) -> FormatError:
    """Build the FormatError for an error of the operating system while writing: file, reason and remedy."""
    return _os_error("the file cannot be written", error, path)


def _os_error(what: str, error: OSError | ValueError, path: str | os.PathLike[str]) -> FormatError:
    number = getattr(error, "errno", None)
    reason = getattr(error, "strerror", None) or str(error)
    if number == errno.ENOENT and os.path.isdir(os.path.dirname(os.fspath(path)) or os.curdir):
        number = errno.EACCES  # /proc: the folder exists but takes no files
    remedy = next((remedies for numbers, remedies in _REMEDIES if number in numbers), "Choose another place.")
    return FormatError(f"{what}: {reason}", path=printable(path), remedy=remedy)


def disk_full_error() -> OSError:
    """Return the OSError of a full disk (ENOSPC), for callers whose writes do not raise it themselves."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def printable(path: str | os.PathLike[str]) -> str:
    """Return a path with unprintable characters escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


_REMEDIES = (
    (
        {errno.ENOSPC, errno.EDQUOT, errno.EFBIG},
        "Free space on that disk, or choose another. The old file is unchanged.",
    ),
    ({errno.EACCES, errno.EPERM, errno.EROFS}, "Choose another name, or a folder with write permission."),
    ({errno.ENAMETOOLONG}, "Choose a shorter name."),
    ({errno.ENOENT, errno.ENOTDIR, errno.EEXIST}, "Create the folder first, or choose another."),
)
_PART = ".part"
#: Rest of the names of temporary files: ``tempfile``'s eight letters, and ``.blend`` where Blender writes, with an "@"
#: behind it while it does.
_LEFTOVER = re.compile(r"[a-z0-9_]{8}" + re.escape(_PART) + r"(\.blend@?)?")
#: Letters of a file's name with which its temporary name begins.
_MAX_PREFIX_LENGTH = 40
#: Seconds after which a temporary file is abandoned: the process that wrote it was killed.
_STALE_SECONDS = 3600.0


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove temporary files of this target that killed processes left behind."""
    with contextlib.suppress(OSError):
        for each in os.scandir(folder):
            if each.name.startswith(prefix) and _LEFTOVER.fullmatch(each.name, len(prefix)):
                with contextlib.suppress(OSError):
                    if time.time() - each.stat().st_mtime > _STALE_SECONDS:
                        os.unlink(each.path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _decode_unassigned(error: UnicodeError) -> tuple[str, int]:
    """Decode the five bytes that code page 1252 leaves unassigned as Latin-1 (codec error handler)."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


def _encode_reference(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encode characters that code page 1252 lacks as references, its unassigned bytes as themselves.

    Error handler of the codec.
    """
    if isinstance(error, UnicodeEncodeError):
        letters = error.object[error.start : error.end]
        if all(letter in _UNASSIGNED_IN_1252 for letter in letters):
            return letters.encode("latin-1"), error.end
    return codecs.xmlcharrefreplace_errors(error)


_UNASSIGNED_IN_1252 = "\x81\x8d\x8f\x90\x9d"
codecs.register_error("knuckle.latin", _decode_unassigned)
codecs.register_error("knuckle.reference", _encode_reference)
