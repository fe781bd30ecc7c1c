"""Adding up guarantees, and finding the rate that a total allows.  Knows no mechanism."""

from safeselect.accounting._ledger_book import Pending, Scope
from safeselect.accounting._ledger_budget import Budget
from safeselect.accounting._ledger_store import Journal, Row, Store
from safeselect.accounting._record_check import Checker, Standing
from safeselect.accounting._record_log import check_log, log_lines
from safeselect.accounting._record_sign import HmacSigner, Signer, Verifier
from safeselect.accounting.calibration import per_draw_epsilon
from safeselect.accounting.composition import composed_epsilon
from safeselect.accounting.ledger import Ledger
from safeselect.accounting.record import Charge, Receipt, Record

__all__ = [
    "Budget",
    "Charge",
    "Checker",
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
    "Verifier",
    "check_log",
    "composed_epsilon",
    "log_lines",
    "per_draw_epsilon",
]
