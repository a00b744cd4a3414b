"""Files of tables, in batches: Parquet, Arrow IPC, CSV and JSON lines, told apart by their suffix.

A reader knows the columns and their types before the first batch, reads only the columns asked for and never
holds more than a few batches; needs pyarrow.
"""

from __future__ import annotations

from pubmatch.tables.formats import SUFFIXES, format_of
from pubmatch.tables.opening import open_table
from pubmatch.tables.reader import TableReader
from pubmatch.tables.writer import table_writer

__all__ = ["SUFFIXES", "TableReader", "format_of", "open_table", "table_writer"]
