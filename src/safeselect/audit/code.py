"""The code that runs: the functions that are loaded, compared with what their source compiles to.

Python runs compiled code, which it may have read from a `.pyc` file whose time and size match those
of the source, while the source says something else.  So a hash of source files does not say which
code runs.  Here each loaded function's code object is taken from memory: its instructions,
constants, names and flags, with those of all functions inside it.  It is compared with what the
source file compiles to now.  What a module does when it is imported is compared too, in the code
that an import would run.

Not seen are changes of values that are no functions, made after the import, and whoever changes
this module, the interpreter or a library.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_PACKAGE = "safeselect"
_CACHED = type(lru_cache(len))
_HOLDERS = (
    *(FunctionType, MethodType, staticmethod, classmethod, property, cached_property, partial),
    _CACHED,
)
_HELD = "__wrapped__", "__func__", "func", "fget", "fset", "fdel"
"""The names under which these hold what they call."""

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Running:
    """What is loaded.

    Attributes:
        modules: the digest of each module's loaded functions, by its name.
        functions: how many functions there are.
        differing: the places where the loaded code is not that of the source.
    """

    modules: Mapping[str, str]
    functions: int
    differing: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the digests of all modules."""
        digest = hashlib.sha256(b"safeselect/loaded-code/2\x00")
        for name, each in sorted(self.modules.items()):
            digest.update(f"{name} {each}\n".encode())
        return digest.hexdigest()


def running() -> Running:
    """Look at all modules of the package that are loaded."""
    modules = {
        name: module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] == _PACKAGE and isinstance(module, ModuleType)
    }
    differing: list[str] = []
    compiled: dict[str, list[tuple[CodeType, str]]] = {}
    for name, module in modules.items():
        code = _from_source(module)
        if code is None:
            differing.append(f"{name}, which has no source")
            continue
        compiled[name] = [(each, code_digest(each)) for each in _inside(code)]
        if code_digest(_as_imported(module)) != compiled[name][0][1]:
            differing.append(f"{name} as it is imported")
    right = {codes[0][0].co_filename: {known for _, known in codes} for codes in compiled.values()}
    digests, functions = {}, 0
    for name, codes in compiled.items():
        lines, own = [], dict[str, set[str]]()
        for where, each in _loaded(vars(modules[name]), name, ""):
            found, file = code_digest(each), each.co_filename
            lines.append(f"{where} {found}")
            if each.co_qualname == where:
                own.setdefault(where, set()).add(found)
            # Its file's, or of the standard library's decorators.
            if found not in right.get(file, ()) and (file in right or not _of_library(file)):
                differing.append(f"{name}.{where}")
        # The functions outside of functions; overloads have several.  What is inside of them, such
        # as lambdas, is a part of what is compared as a whole.
        known: dict[str, set[str]] = {}
        for each, digest in codes:
            if each.co_flags & CO_OPTIMIZED and "<" not in each.co_qualname:
                known.setdefault(each.co_qualname, set()).add(digest)
        # Nothing else stands under its name, be it another function of the same file.
        wrong = (each for each in known if not own.get(each) or own[each] - known[each])
        differing += (f"{name}.{each}" for each in wrong)
        functions += len(known)
        digests[name] = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
    return Running(digests, functions, tuple(dict.fromkeys(differing)))


def code_digest(code: CodeType) -> str:
    """SHA-256 of all that decides what a code object does; neither its place nor its lines."""
    return hashlib.sha256(_encoded(code)).hexdigest()


def _encoded(value: object) -> bytes:
    """The content of a constant, with its type, so that 1, True and 1.0 differ."""
    if isinstance(value, CodeType):
        # Names, numbers and bytes alone: what Python writes for them is theirs alone.
        plain: list[object] = [value.co_name, value.co_qualname, value.co_code, value.co_flags]
        plain += [value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount]
        plain += [value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars]
        plain += [value.co_exceptiontable, value.co_stacksize]
        return b"code" + _sized(repr(plain).encode()) + _encoded(value.co_consts)
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_sized, map(_encoded, value))) + b")"
    if isinstance(value, frozenset):
        return b"{" + b"".join(map(_sized, sorted(map(_encoded, value)))) + b"}"
    content = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
    return type(value).__name__.encode() + b" " + content


def _sized(content: bytes) -> bytes:
    return b"%d " % len(content) + content


def _from_source(module: ModuleType) -> CodeType | None:
    """What the source file compiles to, read now."""
    place = getattr(module, "__file__", None)
    try:
        content = Path(str(place)).read_bytes()
    except OSError:
        return None
    return compile(content, str(place), "exec", dont_inherit=True)


def _as_imported(module: ModuleType) -> CodeType:
    """What an import of the module runs: from its `.pyc` file, if that passes for the source's."""
    spec: Any = module.__spec__
    own: Any = SourceFileLoader(spec.name, spec.origin)  # pytest loads its plugins with another
    code: CodeType = getattr(spec.loader, "get_code", own.get_code)(spec.name)
    return code


def _inside(code: CodeType) -> Iterator[CodeType]:
    """A code object and all code objects in it, at any depth."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _inside(inner)


def _of_library(file: str) -> bool:
    """Whether this is a file of the standard library, which may hold a folder of other packages.

    Functions that `dataclasses` and `collections` write have no file.
    """
    inside = file.startswith(_LIBRARY) and not any(name in file for name in _PACKAGES)
    return inside or file.startswith("<frozen ") or file == "<string>"


def _loaded(held: Mapping[str, object], name: str, within: str) -> Iterator[tuple[str, CodeType]]:
    """All functions of a module's own names and own classes, each with its qualified name."""
    for key, value in held.items():
        where = f"{within}{key}"
        if not isinstance(value, type):
            if within or _is_own(value, name):
                yield from ((where, code) for code in _codes(value))
        elif value.__module__ == name and (not within or value.__qualname__ == where):
            yield from _loaded(vars(value), name, f"{where}.")


def _is_own(value: object, name: str) -> bool:
    """Whether something that a module holds is not simply imported from a library."""
    if str(getattr(value, "__module__", name)).partition(".")[0] == _PACKAGE:
        return True
    if not isinstance(value, FunctionType):
        return False
    file = value.__code__.co_filename
    return not _of_library(file) and not any(part in file for part in _PACKAGES)


def _codes(value: object) -> Iterator[CodeType]:
    """The code of a function, and of what its decorators hold."""
    seen: dict[int, object] = {}  # they stay, so that no two share an identity
    waiting: list[object] = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or not isinstance(each, _HOLDERS):
            continue
        seen[id(each)] = each
        if isinstance(each, FunctionType):
            yield each.__code__
            for cell in each.__closure__ or ():
                with suppress(ValueError):  # it is empty
                    waiting.append(cell.cell_contents)
        waiting += [getattr(each, name, None) for name in _HELD]
        waiting += each.args if isinstance(each, partial) else ()
