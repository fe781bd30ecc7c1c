"""A privacy budget that outlives the process, and a record of every release."""

from safeselect.ledger.anchor import Anchor, Receiver
from safeselect.ledger.asking import Outbox
from safeselect.ledger.events import Event, OnEvent
from safeselect.ledger.external import EXTERNAL, ExternalRelease
from safeselect.ledger.kept import kept_records
from safeselect.ledger.ledger import Ledger
from safeselect.ledger.pending import Pending
from safeselect.ledger.proposals import Proposals
from safeselect.ledger.records.approvals import Proposal, approve
from safeselect.ledger.records.balance import Balance
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.lines import check_log, log_lines
from safeselect.ledger.records.record import Record
from safeselect.ledger.records.replay import Checker
from safeselect.ledger.records.requests import Request
from safeselect.ledger.records.signatures import HmacSigner, Signer, Verifier
from safeselect.ledger.restoring import append, repair, set_aside
from safeselect.ledger.scope import Scope
from safeselect.ledger.store import Journal, Row, Store, Torn

__all__ = [
    "EXTERNAL",
    "Anchor",
    "Balance",
    "Budget",
    "Checker",
    "Event",
    "ExternalRelease",
    "HmacSigner",
    "Journal",
    "Ledger",
    "OnEvent",
    "Outbox",
    "Pending",
    "Proposal",
    "Proposals",
    "Receiver",
    "Record",
    "Request",
    "Row",
    "Scope",
    "Signer",
    "Store",
    "Torn",
    "Verifier",
    "append",
    "approve",
    "check_log",
    "kept_records",
    "log_lines",
    "repair",
    "set_aside",
]
