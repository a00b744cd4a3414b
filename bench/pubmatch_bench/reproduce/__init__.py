"""The papers' experiments, run again: series for each figure, plots, and every claim checked."""
