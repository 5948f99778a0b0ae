"""The field of a file's schema that names a model file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from ukctrl.core.fields import InputFile
from ukctrl.core.files import zoo


def _model_file(value: object) -> object:
    return zoo.find(value) if isinstance(value, str) and zoo.is_zoo(value) else value


ModelFile = Annotated[InputFile, BeforeValidator(_model_file)]
"""A model file, relative to the file that names it; or ``zoo:NAME``, a model of the zoo."""
