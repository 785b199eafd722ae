"""The options of `hellofresh collect weather`; read for every `--help`, so it imports nothing large."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from collectors import LivingTask
from hellofresh.runs.evaluation import Option

_FILE = Option("weather: number, time, text and verdict as CSV (forecasts.csv)", "FILE", parse=Path)


@dataclass(frozen=True, slots=True)
class Asked:
    file: Annotated[Path, _FILE] = Path("forecasts.csv")


LIVING = LivingTask("weather", "Collect forecasts from a table.", "weather:jobs", (Asked,))
