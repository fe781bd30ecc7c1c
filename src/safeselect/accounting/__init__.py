"""Adding up guarantees, finding the rate that a total allows, and keeping both on record."""

from safeselect.accounting._ledger_budget import Budget
from safeselect.accounting._ledger_kept import kept_records
from safeselect.accounting._ledger_old import convert
from safeselect.accounting._ledger_scope import Pending, Scope
from safeselect.accounting._ledger_store import Journal, Row, Store, Torn
from safeselect.accounting._record_log import check_log, log_lines
from safeselect.accounting._record_replay import Checker
from safeselect.accounting._record_scope import Standing
from safeselect.accounting._record_sign import HmacSigner, Signer, Verifier
from safeselect.accounting.calibration import calibrate, per_draw_epsilon
from safeselect.accounting.composition import Composition, compose, composed_epsilon
from safeselect.accounting.ledger import Ledger
from safeselect.accounting.optimal import optimal_pure_delta
from safeselect.accounting.ranges import optimal_bounded_range_delta
from safeselect.accounting.record import Record
from safeselect.guarantees.written import Charge, Receipt

__all__ = [
    "Budget",
    "Charge",
    "Checker",
    "Composition",
    "HmacSigner",
    "Journal",
    "Ledger",
    "Pending",
    "Receipt",
    "Record",
    "Row",
    "Scope",
    "Signer",
    "Standing",
    "Store",
    "Torn",
    "Verifier",
    "calibrate",
    "check_log",
    "compose",
    "composed_epsilon",
    "convert",
    "kept_records",
    "log_lines",
    "optimal_bounded_range_delta",
    "optimal_pure_delta",
    "per_draw_epsilon",
]
