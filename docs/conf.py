"""Build the site from the pages of this folder: `make docs`; warnings are errors."""

import equilabel

project = "equilabel"
author = "the equilabel developers"
copyright = "2026, the equilabel developers"  # noqa: A001 - Sphinx asks for this name
version = release = equilabel.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_templates", "images"]
templates_path = ["_templates"]
default_role = "py:obj"  # `names` in docstrings

# Pages are read on the web page of the repository, too: they link to headings and files as there.
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "dollarmath"]

autosummary_generate = True
equilabel.Image.__name__ = "Image"  # which has another name inside, and would be an alias
autodoc_typehints = "none"  # numpydoc's sections say it better
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "generated/examples",  # which examples show a function, on its page
    "doc_module": ("equilabel",),
    "inspect_global_variables": False,  # only what examples call
    "filename_pattern": r"plot_",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "thumbnail_size": (640, 360),
    "abort_on_example_error": True,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"equilabel {version}"
html_logo = html_favicon = "../src/equilabel/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": "equilabel"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without pages below them have nothing to show at their side.
html_sidebars = {name: [] for name in ("index", "install", "napari", "performance")}
html_show_sourcelink = False
