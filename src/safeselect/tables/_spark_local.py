"""Apache Spark on this machine, for the command: a session of our own that reads one Parquet file.

- It reads Parquet only: Spark accepts a damaged CSV file, in which one user's rows could replace
  those of another.
- Java's output is dropped: it quotes cells, and standard output is for the release.
- Spark writes into a fresh directory of mode 0700, which is removed afterwards (`_private`), and
  encrypts what it writes there.  Its ports are open to this machine only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from warnings import catch_warnings

from safeselect.errors import InputError
from safeselect.tables._files import memory_size, reader, regular_file, shown
from safeselect.tables._private import private_directory

_SETTINGS = {
    "spark.app.name": "safeselect",
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.io.encryption.enabled": "true",  # of what it writes to disk between two stages
    "spark.sql.caseSensitive": "true",  # so that "User" and "user" are two columns
}


@contextmanager
def parquet_on_spark(path: str | os.PathLike[str], *, memory: str | None = None) -> Iterator[Any]:
    """Open a Parquet file as a Spark DataFrame, for the length of a `with` block.

    Args:
        path: a regular file whose name ends in .parquet.
        memory: the largest heap that Java may have, such as "2GB"; beyond it Spark uses disk.

    Raises:
        InputError: there is no pyspark or no Java, or the file is not Parquet.
        ParameterError: an argument has the wrong type.
    """
    file = regular_file(path)
    if not file.name.lower().endswith(".parquet"):
        raise InputError(
            f"{shown(file)} must be named .parquet for Spark, which would read a damaged CSV file "
            "without saying so; DuckDB reads .csv and .csv.gz"
        )
    heap = None if memory is None else f"{memory_size(memory) // 1024}k"
    # Warnings are silenced: Spark's own are not for the reader of a release.
    with catch_warnings(action="ignore"), private_directory() as private:
        alias = Path(private, "input.parquet")
        alias.symlink_to(file.resolve())
        session, java = _started(private, heap)
        try:
            yield _read(session, alias, reader(file, alias)[1])
        finally:
            session.stop()
            if java is not None:  # Java ends when its standard input is closed
                java.stdin.close()
                java.wait()


def _started(private: Path, heap: str | None) -> tuple[Any, Any]:
    """Start a session; return it and its Java process."""
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(
            "counting with Spark needs pyspark: install it with pip install 'safeselect[spark]'"
        ) from None
    settings = {
        **_SETTINGS,
        "spark.local.dir": str(private),
        "spark.sql.warehouse.dir": str(private),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={private}",
        **({} if heap is None else {"spark.driver.memory": heap}),
    }
    started = None
    try:
        configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        gateway = launch_gateway(configuration, {"stdout": DEVNULL, "stderr": DEVNULL})
        context = SparkContext(conf=configuration, gateway=gateway)
        started = SparkSession(context), gateway.proc
    except Exception:  # noqa: BLE001 - our own sentence says enough of any error
        started = None
    if started is None:
        raise InputError(
            "Spark cannot be started on this machine; it needs Java 17 and 500MB of memory, or more"
        )
    return started


def _read(session: Any, alias: Path, failure: str) -> Any:
    frame = None
    try:
        frame = session.read.parquet(f"file:{alias}")
    except Exception:  # noqa: BLE001 - any error may quote cells
        frame = None
    if frame is None:
        raise InputError(failure)
    return frame
