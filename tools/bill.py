"""The software bill of materials of a release, CycloneDX JSON: `python tools/bill.py dist`.

It names what the wheel requires, in the releases and with the hashes of requirements/runtime.lock,
and the compiled libraries in use: those that the wheels of these bring, and OpenSSL, which comes
with Python.  They are asked for their versions, so the locked releases must be installed where this
runs.  One commit, one minor version of Python and one OpenSSL give the same bytes.
"""

from __future__ import annotations

import json
import ssl
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Any

import declared
from archives import Refused

ROOT = Path(__file__).parents[1]


def bill(project: dict[str, Any], lock: str, openssl: str | None = None) -> bytes:
    """The bill of a project whose requirements are pinned by `lock`.

    `openssl`: the version to name, instead of that of the OpenSSL in use.

    Raises:
        Refused: another release is installed than is pinned.
    """
    pins = declared.pinned(lock)
    wheels = [wheel(name, *pin) for name, pin in sorted(pins.items())]
    bundled = {name: list(libraries(name)) for name in sorted(pins)}
    name, number = ssl.OPENSSL_VERSION.split()[:2]
    cryptography = library(name, openssl or number, "comes with Python, whose ssl module uses it")
    root = {
        "bom-ref": f"{project['name']}@{project['version']}",
        "type": "library",
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "purl": f"pkg:pypi/{project['name']}@{project['version']}",
        "licenses": [{"expression": project["license"]}],
    }
    parts = [*wheels, *(each for several in bundled.values() for each in several), cryptography]
    graph = {root["bom-ref"]: [each["bom-ref"] for each in (*wheels, cryptography)]}
    for each in wheels:
        graph[each["bom-ref"]] = [part["bom-ref"] for part in bundled[each["name"]]]
    content = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": root,
            "properties": [
                {"name": "safeselect:python", "value": "{}.{}".format(*sys.version_info)}
            ],
        },
        "components": parts,
        "dependencies": [
            {"ref": ref, "dependsOn": graph.get(ref, [])} for ref in refs(root, parts)
        ],
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def refs(root: dict[str, Any], parts: list[dict[str, Any]]) -> list[str]:
    """The references of all components."""
    return [each["bom-ref"] for each in (root, *parts)]


def wheel(name: str, release: str, hashes: list[str]) -> dict[str, Any]:
    """A package in its pinned release; any of its files may be the one that is installed."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        installed = "none"
    if installed != release:
        raise Refused(f"{name} {release} is pinned, but {installed} is installed where this runs")
    purl = f"pkg:pypi/{name}@{release}"
    distribution = {
        "type": "distribution",
        "url": f"https://pypi.org/project/{name}/{release}/#files",
        "comment": "the files of this release, one for each platform",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }
    component = {
        "bom-ref": purl,
        "type": "library",
        "name": name,
        "version": release,
        "purl": purl,
        "externalReferences": [distribution],
    }
    if licence := metadata(name).get("License-Expression"):
        component["licenses"] = [{"expression": licence, "acknowledgement": "declared"}]
    return component


def libraries(name: str) -> list[dict[str, Any]]:
    """The compiled libraries that a wheel brings."""
    if name == "gmpy2":
        import gmpy2

        said = (gmpy2.mp_version(), gmpy2.mpfr_version(), gmpy2.mpc_version())
        return [library(*each.split()[:2], "comes in the wheel of gmpy2") for each in said]
    if name == "numpy":
        import numpy as np

        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        known = "OpenBLAS" if "openblas" in blas["name"] else blas["name"]
        return [library(known, blas["version"], "comes in the wheel of numpy")]
    raise Refused(f"nobody has said which compiled libraries the wheel of {name} brings")


def library(name: str, number: str, description: str) -> dict[str, Any]:
    """A compiled library in use."""
    purl = f"pkg:generic/{name.lower()}@{number}"
    return {
        "bom-ref": purl,
        "type": "library",
        "name": name,
        "version": number,
        "description": description,
        "purl": purl,
    }


def main() -> int:
    """Write the bill of the checkout into the folder that is named; 1 if it is not CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    try:
        content = bill(project, (ROOT / "requirements" / "runtime.lock").read_text())
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(content.decode()):
        print(f"not CycloneDX: {wrong}", file=sys.stderr)
        return 1
    place = Path(sys.argv[1], f"{project['name']}-{project['version']}.cdx.json")
    place.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
