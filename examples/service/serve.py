"""Runs the service in several processes: `python examples/service/serve.py PORT WORKERS`.

`uvicorn --workers` imports everything anew in each worker, so it takes seconds to replace a killed
worker.  Here, one process imports everything once, listens, and forks, so a replacement takes a few
milliseconds.  The parent opens neither the ledger nor a connection, because its children could not
use them.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import NoReturn

import uvicorn
from app import app

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 30.0  # seconds before a worker is started anew
STARTED = 10.0  # seconds after which a worker has started


def main(port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT; start a new worker for each one that dies."""
    children: dict[int, float] = {}  # when each was started
    failures = 0
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(4096)

    def end(*_: object) -> NoReturn:
        for call in (
            lambda child: os.kill(child, signal.SIGTERM),
            lambda child: os.waitpid(child, 0),
        ):
            for child in children:
                with suppress(ProcessLookupError, ChildProcessError):  # it has just died
                    call(child)
        sys.exit()

    ending = {signal.SIGTERM, signal.SIGINT}
    for each in ending:
        signal.signal(each, end)
    while True:
        # A signal between the fork and the note of the child would leave the child running.
        signal.pthread_sigmask(signal.SIG_BLOCK, ending)
        while len(children) < workers:
            child = os.fork()
            if child == 0:
                for each in ending:
                    signal.signal(each, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
                work(listener)
            children[child] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        died, status = os.wait()
        lived = time.monotonic() - children.pop(died)
        # A killed worker is replaced at once.  If workers cannot start, for example because the
        # database is unavailable, or if they die at once, each pause is twice as long as the last.
        cannot_start = not os.WIFSIGNALED(status) or lived < 0.5
        failures = failures + 1 if cannot_start and lived < STARTED else 0
        time.sleep(min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**failures))


def work(listener: socket.socket) -> NoReturn:
    """Run one worker: a uvicorn server on the socket that all workers share."""
    status = 1
    try:
        config = uvicorn.Config(app, access_log=False, timeout_keep_alive=30)
        uvicorn.Server(config).run(sockets=[listener])
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
