"""What is inside a wheel and a source archive: plain files with plain names, each once.

Every byte of an archive belongs to what is listed: what one reader skips, another may unpack.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
import zlib
from typing import NamedTuple

LIMIT = 64 * 2**20
"""Bytes of all files of an archive; a release has about four million."""


class Refused(Exception):
    """The release is not what it should be."""


class File(NamedTuple):
    """A plain file."""

    content: bytes
    executable: bool = False


def of_wheel(data: bytes) -> dict[str, bytes]:
    """The files of a wheel."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > LIMIT:
                raise Refused("the archive is too large")
            files = {entry.filename: archive.read(entry) for entry in entries}
            comments = archive.comment
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, zlib.error):
        raise Refused("it cannot be read as an archive") from None
    if len(files) != len(entries):
        raise Refused("the archive holds two files of one name")
    for entry in entries:
        check_name(entry.filename)
        # Installers may read a name or a kind where zipfile does not look: behind a null character,
        # in an extra field, in the bits of the mode.
        if entry.orig_filename != entry.filename or entry.extra or entry.comment:
            raise Refused(f"the archive says more about {entry.filename} than its name")
        if entry.external_attr >> 16 & ~0o100666:
            raise Refused(f"{entry.filename} is not a plain file")
    if comments:
        raise Refused("the archive has a comment")
    if _zipped(entries, data) != data:
        raise Refused("the archive holds bytes that belong to no file of its list")
    return files


def _zipped(entries: list[zipfile.ZipInfo], data: bytes) -> bytes:
    """These entries, as they are packed in `data`, and nothing else."""
    again = io.BytesIO()
    with zipfile.ZipFile(again, "w") as archive:
        for entry in entries:
            header = entry.FileHeader()
            content = data[again.tell() + len(header) :][: entry.compress_size]
            if entry.header_offset != again.tell() or not _is_whole(entry, content):
                return b""
            again.write(header + content)
        archive.filelist, archive.start_dir, archive.comment = entries, again.tell(), b""
    return again.getvalue()


def _is_whole(entry: zipfile.ZipInfo, content: bytes) -> bool:
    """Whether the packed content ends where it says."""
    if entry.compress_type == zipfile.ZIP_STORED:
        return len(content) == entry.file_size
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    stream.decompress(content)
    return stream.eof and not stream.unused_data


def of_sdist(data: bytes) -> dict[str, File]:
    """The files of a source archive."""
    files: dict[str, File] = {}
    again = bytearray()  # the same files, and nothing else
    try:
        stream = zlib.decompressobj(zlib.MAX_WBITS + 16)
        plain = stream.decompress(data, LIMIT + 1)
        if len(plain) > LIMIT:
            raise Refused("the archive is too large")
        if not stream.eof:
            raise Refused("it cannot be read as an archive")
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
            for entry in archive:
                check_name(entry.name)
                if entry.type != tarfile.REGTYPE or entry.mode not in (0o644, 0o755):
                    raise Refused(f"{entry.name} is not a plain file")
                if entry.name in files:
                    raise Refused("the archive holds two files of one name")
                content = archive.extractfile(entry)
                again += entry.tobuf(tarfile.PAX_FORMAT) + plain[entry.offset_data :][: entry.size]
                again += bytes(-len(again) % tarfile.BLOCKSIZE)
                files[entry.name] = File(content.read() if content else b"", entry.mode == 0o755)
    except (OSError, EOFError, tarfile.TarError, ValueError, zlib.error):
        raise Refused("it cannot be read as an archive") from None
    again += bytes(2 * tarfile.BLOCKSIZE)
    again += bytes(-len(again) % tarfile.RECORDSIZE)
    if stream.unused_data or data[3] or plain != again:
        raise Refused("the archive holds bytes that belong to no file of its list")
    return files


def check_name(name: str) -> None:
    """A name that stays where it is unpacked."""
    parts = name.split("/")
    if "\\" in name or not name.isprintable() or not all(parts) or {".", ".."} & set(parts):
        raise Refused("the archive holds a file whose name leads elsewhere")


def digest(content: bytes) -> str:
    """A hash as RECORD writes it."""
    raw = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={raw.decode().rstrip('=')}"


def listed(names: object) -> str:
    """A few names, for a message."""
    ordered = sorted(map(str, names))  # type: ignore[call-overload]
    return ", ".join(ordered[:3]) + (f" and {len(ordered) - 3} more" if ordered[3:] else "")
