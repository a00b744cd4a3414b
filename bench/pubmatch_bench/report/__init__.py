"""One HTML page of the latest recorded results: `pubmatch report`."""

from pubmatch_bench.report.page import build
from pubmatch_bench.report.records import NoRecordsError, default_folder

__all__ = ["NoRecordsError", "build", "default_folder"]
