"""A privacy budget that outlives the process, and a record of every release."""

from safeselect.ledger._ledger import Ledger
from safeselect.ledger._ledger_budget import Budget
from safeselect.ledger._ledger_kept import kept_records
from safeselect.ledger._ledger_old import convert
from safeselect.ledger._ledger_scope import Scope
from safeselect.ledger._ledger_store import Journal, Row, Store, Torn
from safeselect.ledger._pending_release import Pending
from safeselect.ledger._record_log import check_log, log_lines
from safeselect.ledger._record_replay import Checker
from safeselect.ledger._record_scope import Balance
from safeselect.ledger._record_sign import HmacSigner, Signer, Verifier
from safeselect.ledger.record import Record

__all__ = [
    "Balance",
    "Budget",
    "Checker",
    "HmacSigner",
    "Journal",
    "Ledger",
    "Pending",
    "Record",
    "Row",
    "Scope",
    "Signer",
    "Store",
    "Torn",
    "Verifier",
    "check_log",
    "convert",
    "kept_records",
    "log_lines",
]
