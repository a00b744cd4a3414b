"""Files of subscriptions and events to a file of matches, batch by batch, in this process."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from pubmatch.cli.batch_matching import Totals
from pubmatch.cli.match_job import MatchJob, naming, open_job, summary_of, write_refused
from pubmatch.tables import format_of, table_writer
from pubmatch.whole_files import whole_file

if TYPE_CHECKING:
    from pubmatch.cli.match_job import Notify, OpenedJob

__all__ = ["MatchJob", "match_files"]


def match_files(job: MatchJob, notify: Notify) -> dict[str, Any]:
    """Match all events of a file and write the matches; the summary that `--json` writes.

    The file of matches appears when it is complete, and not at all after an error.

    Parameters
    ----------
    job : MatchJob
        Files and options.
    notify : callable
        Takes what is being done and the fraction done.
    """
    opened = open_job(job, notify)
    began = time.perf_counter()
    with contextlib.ExitStack() as files:
        if job.refused is not None:
            write_refused(files.enter_context(whole_file(job.refused)), job.refused, opened.refused)
        out = files.enter_context(whole_file(job.out))
        with naming(job.out):
            totals = _match_all(opened, out, notify)
    return summary_of(opened, "local", totals, time.perf_counter() - began)


def _match_all(opened: OpenedJob, out: Any, notify: Notify) -> Totals:
    job, events, matching = opened.job, opened.events, opened.matching
    totals = Totals()
    with table_writer(out, format_of(job.out), matching.schema) as write:
        for batch in events.batches(opened.columns, job.batch):
            write(matching.rows(opened.matcher, batch, totals.events, totals))
            notify(f"{totals.events:,} events, {totals.matches:,} matches", events.fraction)
    return totals
