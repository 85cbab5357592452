"""How Sphinx makes the site. A link that leads nowhere, or a page that no list has, ends it:

pip install -e '.[docs]' && sphinx-build -W -b html docs build/site
"""

project = "rtsim"
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "furo"
html_title = "rtsim"
html_show_copyright = False
myst_heading_anchors = 4  # links to headings, as GitHub names them
# examples of files may leave values out by three dots, which no lexer knows
suppress_warnings = ["misc.highlighting_failure"]
