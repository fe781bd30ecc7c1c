"""A privacy budget that outlives the process, and a record of every release."""

from safeselect.ledger.approvals import Proposals
from safeselect.ledger.balance import Balance, Budget
from safeselect.ledger.book import Event, OnEvent
from safeselect.ledger.ledger import Ledger
from safeselect.ledger.replay import Checker, Record, Request, log_lines
from safeselect.ledger.restoring import append, check_log, correct, kept_records, repair, set_aside
from safeselect.ledger.scope import EXTERNAL, Outbox, Pending, Scope
from safeselect.ledger.signing import Ed25519Signer, Proposal, Signer, approve
from safeselect.ledger.store import Journal, Row, Store, Torn
from safeselect.ledger.witness import Witness

__all__ = ["EXTERNAL", "Balance", "Budget", "Checker", "Ed25519Signer", "Event", "Journal"]
__all__ += ["Ledger", "OnEvent", "Outbox", "Pending", "Proposal", "Proposals", "Record", "Request"]
__all__ += ["Row", "Scope", "Signer", "Store", "Torn", "Witness", "append", "approve", "check_log"]
__all__ += ["correct", "kept_records", "log_lines", "repair", "set_aside"]
