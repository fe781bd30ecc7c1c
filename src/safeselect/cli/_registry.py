"""`safeselect ledger registry`: an entry for the public registry of deployments, for one scope.

The schema is that of `opendp/deployments-registry-data`, file `schemas/deployments-schema.yaml`, at
the commit that `SCHEMA` names.  What a ledger knows is filled; the rest says that it is missing.
"""

from __future__ import annotations

import argparse
import json

from safeselect.accounting.cost import with_places
from safeselect.audit.theorems import theorem
from safeselect.cli._ledger import FILE, HEAD, PUBLIC_KEYS, SCOPE, checked
from safeselect.cli._options import Command
from safeselect.cli._output import say, write
from safeselect.errors import InputError
from safeselect.ledger import Checker, Record

SCHEMA = "opendp/deployments-registry-data@3e9c812a924cf01d228f26f6c462c59c391c3f2a"
_MISSING = "MISSING: not in the ledger"
_ABSENT = """\
basic.name basic.description basic.intended_use basic.data_product_region basic.data_curators
dp_variant.data_domain dp_variant.unprotected_quantities deployment_model.actors
deployment_model.access_type_details accounting.post_processing implementation.justification
implementation.preprocessing_and_hyperparameter_tuning administrative.registry_authors"""
_LISTS = "basic.data_curators", "administrative.registry_authors"
_VARIANTS = {("epsilon",): "Pure DP", ("rho",): "Zero-concentrated DP", ("rho", "delta"): "Custom"}


def entry(name: str, checker: Checker, records: list[Record]) -> dict[str, object]:
    """Return the entry; epsilon, delta and rho are rounded up, and those of a ceiling if any."""
    balance = checker.balance(name)
    budget = balance.budget
    every = (each.content for each in records if each.content["kind"] == "charged")
    made = [each for each in every if name in [one["scope"] for one in each["charges"]]]
    if not made:
        raise InputError("this scope has no charges to register")
    limits = budget.terms.at(budget.ceiling).limits
    numbers = {limit: float(with_places(value, 4)) for limit, value in limits.items()}
    exact = {"delta": with_places(limits["delta"], 30)} if "delta" in limits else {}
    laws = dict.fromkeys(f"{each['mechanism']}: {theorem(each['mechanism'])}" for each in made)
    filled: dict[str, object] = {
        "basic.data_product_type": "Summary statistics",
        "basic.publication_date": made[0]["utc"][:10],
        "dp_variant.variant_name": _VARIANTS.get((*limits,), "Approximate DP"),
        "privacy_loss.privacy_unit": budget.unit,
        "privacy_loss.privacy_unit_details": f"{budget.neighbours}: {budget.statement()}",
        "privacy_loss.privacy_parameters": {**numbers, **exact},
        "deployment_model.model_name": "Central",
        "deployment_model.release_type": "Many releases" if len(made) > 1 else "One release",
        "deployment_model.release_type_details": f"{len(made)} charges so far. {balance}.",
        "accounting.composition": "Adaptive, by a ledger that refuses what exceeds its caps.",
        "implementation.mechanisms": f"safeselect {checker.library['version']}. {'; '.join(laws)}.",
        "administrative.notes": f"Ledger {checker.ledger}, head {checker.head}; schema {SCHEMA}.",
    }
    filled |= {path: [_MISSING] if path in _LISTS else _MISSING for path in _ABSENT.split()}
    parts: dict[str, dict[str, object]] = {}
    for path, value in filled.items():
        section, _, field = path.partition(".")
        parts.setdefault(section, {})[field] = value
    return {"url_slug": "missing", "status": "Draft", "tier": 2, "deployment": parts}


def _run(options: argparse.Namespace) -> int:
    made = entry(options.scope, *checked(options))
    written = json.dumps(made, indent=2, ensure_ascii=False)
    write(f"{written}\n")
    say(f"{written.count('MISSING')} fields are missing; the file is YAML; schema: {SCHEMA}")
    return 0


REGISTRY = Command(
    "registry",
    "write an entry for the public registry of deployments",
    FILE + SCOPE + PUBLIC_KEYS + HEAD,
    _run,
    "For example: safeselect ledger registry budget.db --scope trips > entry.json\n",
)
