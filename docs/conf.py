"""How Sphinx builds these pages; `make docs` runs it and takes every warning for an error."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "pubmatch"
author = "The pubmatch developers"
copyright = author
release = importlib.metadata.version("pubmatch")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "records"]
exclude_patterns = ["_extensions"]
myst_heading_anchors = 3
default_role = "literal"  # docstrings use single backticks for code
python_use_unqualified_type_names = True
add_module_names = False

autodoc_typehints = "none"  # the docstrings name the types in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False  # types are words, not names to link: several packages have a Filter
napoleon_use_rtype = False

# Nothing is loaded from outside: the theme brings its files, letters are those of the reader's system.
html_theme = "furo"
html_title = "pubmatch"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
