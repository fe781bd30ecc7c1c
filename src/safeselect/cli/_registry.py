"""`safeselect ledger registry`: an entry for the public registry of deployments, for one scope.

The schema is that of `opendp/deployments-registry-data`, file `schemas/deployments-schema.yaml`, at
the commit that `SCHEMA` names.  What a ledger knows is filled; the rest says that it is missing.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from safeselect.accounting.cost import with_places
from safeselect.audit.theorems import theorem
from safeselect.cli._ledger import FILE, HEAD, PUBLIC_KEYS, SCOPE, checked
from safeselect.cli._options import Command
from safeselect.cli._output import say, write
from safeselect.errors import InputError
from safeselect.ledger import Balance, Checker, Record

SCHEMA = "opendp/deployments-registry-data@3e9c812a924cf01d228f26f6c462c59c391c3f2a"
_MISSING = "MISSING: the ledger does not know it"
_ABSENT = dict.fromkeys(("name", "description", "intended_use", "data_product_region"), _MISSING)
_VARIANTS = {("epsilon",): "Pure DP", ("rho",): "Zero-concentrated DP", ("rho", "delta"): "Custom"}


def entry(name: str, checker: Checker, records: list[Record]) -> dict[str, Any]:
    """Return the entry; epsilon, delta and rho are rounded up, and those of a ceiling if any."""
    balance: Balance = checker.balance(name)
    budget, made = balance.budget, [
        each.content
        for each in records
        if each.content["kind"] == "charged"
        and name in [charge["scope"] for charge in each.content["charges"]]
    ]  # fmt: skip
    if not made:
        raise InputError("nothing was charged to this scope, so there is nothing to register")
    limits = budget.terms.at(budget.ceiling).limits
    numbers: dict[str, float | str] = {
        limit: float(with_places(value, 4)) for limit, value in limits.items()
    }
    if "delta" in limits:
        numbers["delta"] = with_places(limits["delta"], 30)
    laws = dict.fromkeys(f"{each['mechanism']}: {theorem(each['mechanism'])}" for each in made)
    deployment = {
        "basic": _ABSENT | {
            "data_curators": [_MISSING],
            "data_product_type": "Summary statistics",
            "publication_date": made[0]["utc"][:10],
        },
        "dp_variant": {
            "variant_name": _VARIANTS.get((*limits,), "Approximate DP"),
            "data_domain": _MISSING,
            "unprotected_quantities": _MISSING,
        },
        "privacy_loss": {
            "privacy_unit": budget.unit,
            "privacy_unit_details": f"Neighbours: {budget.neighbours}. {budget.statement()}",
            "privacy_parameters": numbers,
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": _MISSING,
            "release_type": "Many releases" if len(made) > 1 else "One release",
            "release_type_details": f"{len(made)} charges so far. {balance}.",
            "access_type_details": _MISSING,
        },
        "accounting": {
            "composition": "Adaptive, by a ledger that refuses what exceeds its caps.",
            "post_processing": _MISSING,
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _MISSING,
            "mechanisms": f"safeselect {records[-1].library['version']}. {'; '.join(laws)}.",
            "justification": _MISSING,
        },
        "administrative": {
            "notes": f"Made from ledger {checker.ledger}, head {checker.head}; schema: {SCHEMA}.",
            "registry_authors": [_MISSING],
        },
    }  # fmt: skip
    return {"url_slug": "missing", "status": "Draft", "tier": 2, "deployment": deployment}


def _run(options: argparse.Namespace) -> int:
    made = entry(options.scope, *checked(options))
    written = json.dumps(made, indent=2, ensure_ascii=False)
    write(f"{written}\n")
    say(f"{written.count('MISSING')} fields are missing; the file is YAML; schema: {SCHEMA}")
    return 0


REGISTRY = Command(
    "registry",
    "write an entry for the public registry of deployments, for one scope",
    FILE + SCOPE + PUBLIC_KEYS + HEAD,
    _run,
)
