"""Writes every published schema to ``docs/schemas``."""

import sys

from quizapp.util.atomic import write_atomic
from tools.schemas import FOLDER, SCHEMAS, schema_text

for name in SCHEMAS:
    write_atomic(FOLDER / f"{name}.json", schema_text(name))
    sys.stdout.write(f"{FOLDER / name}.json\n")
