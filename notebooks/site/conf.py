"""Configuration of the site: `make docs` builds it from the notebooks, as they are stored, and the pages beside them."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import api_pages  # noqa: E402
import gpuplace  # noqa: E402

api_pages.offer_public_names()

project = "gpuplace"
author = "The gpuplace authors"
version = release = gpuplace.__version__
copyright = "The gpuplace authors, Apache License 2.0"  # noqa: A001
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "api_pages"]
root_doc = "index"
exclude_patterns = ["site", ".ipynb_checkpoints", "**/.ipynb_checkpoints"]

# Lessons are shown with the outputs that they are stored with.
nb_execution_mode = "off"
# Explorers carry data for JupyterLab's extension beside the HTML that the site shows.
suppress_warnings = ["mystnb.unknown_mime_type"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

# Names in docstrings stand in single backquotes: a link where the name is documented, plain code where it is not.
default_role = "named"
autodoc_typehints = "none"  # the arguments' descriptions say what they may be
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
python_trailing_comma_in_multi_line_signatures = False

html_theme = "furo"
html_title = "gpuplace"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # a page opened from a file may not fetch others
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
