"""How a result is shown: figures, pages, templates."""
