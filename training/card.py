"""The card of a tuning: what was tuned on what, by which versions, how it went, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hellofresh.core.files import read_model, write_bytes, write_json
from hellofresh.training.log import LogRow, Trend

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningCard:
    """What a tuning was.

    Attributes:
        method: `sft`, `rloo`, `grpo`, `ppo` or `dpo`.
        model, model_sha256: what it began with, as the user named it, and a hash of its files.
        data, data_sha256: name and hash of the file of exchanges.
        prompt_sha256: of the wordings that the model was shown.
        learnt_from, held_out, left_out: exchanges by what became of them; those left out are too long.
        recipe: every setting.
        rewards: what identifies each reward model, by name; `judge` is the untrained one.
        versions: of the libraries.
        device: type and name of the processor or GPU, and threads.
        parameters: that were tuned.
        steps: taken.
        seconds: since the tuning was started or went on after a kill.
        peak_mib: memory of the process, or of the GPU where there is one.
        trends: of reward, judge, KL and length over the steps.
        flags: what a reader must know; empty where there is nothing.
        log: every row.
        format: of this card.
    """

    method: str
    model: str
    model_sha256: str
    data: str
    data_sha256: str
    prompt_sha256: str
    learnt_from: int
    held_out: int
    left_out: int
    recipe: dict[str, str | int | float | bool | list[str]]
    rewards: dict[str, str]
    versions: dict[str, str]
    device: str
    parameters: int
    steps: int
    seconds: float
    peak_mib: int
    trends: dict[str, Trend]
    flags: list[str]
    log: list[LogRow]
    format: int = _FORMAT

    @property
    def losses(self) -> tuple[float, float] | None:
        """Held-out loss before and after; None where it was not measured."""
        found = [row.held_out_loss for row in self.log if row.held_out_loss is not None]
        return (found[0], found[-1]) if len(found) > 1 else None


def write_card(folder: Path, card: TuningCard) -> None:
    """Write `card.json` for programs and `card.md` for people."""
    write_json(folder / "card.json", asdict(card))
    write_bytes(folder / "card.md", _text(card).encode())


def read_card(folder: Path) -> TuningCard:
    """Read a card.

    Raises:
        DataError: if it is missing or malformed.
    """
    return read_model(folder / "card.json", TuningCard)


def _text(card: TuningCard) -> str:
    about: Mapping[str, object] = {
        "Begins with": f"{card.model} (SHA-256 {card.model_sha256[:16]})",
        "Data": f"{card.data} (SHA-256 {card.data_sha256[:16]})",
        "Wordings": f"evidence-response (SHA-256 {card.prompt_sha256[:16]})",
        "Exchanges": f"{card.learnt_from} to learn from, {card.held_out} held out, {card.left_out} too long",
        **{f"Reward {name}": identity for name, identity in card.rewards.items()},
        "Steps": card.steps,
        "Tuned parameters": f"{card.parameters:,}",
        "Time": f"{card.seconds:.0f} s on {card.device}",
        "Peak memory": f"{card.peak_mib:,} MiB",
        "Versions": ", ".join(f"{name} {number}" for name, number in card.versions.items()),
        "Recipe": ", ".join(f"{name} = {value}" for name, value in card.recipe.items()),
    }
    lines = [f"# Tuning by {card.method}", ""]
    lines += [f"> **{flag}**\n" for flag in card.flags]
    cells = {name: str(value).replace("|", "\\|").replace("\n", " ") for name, value in about.items()}
    lines += ["| | |", "| --- | --- |", *(f"| {name} | {cell} |" for name, cell in cells.items()), ""]
    if card.losses is not None:
        lines += [f"Loss of held-out responses: {card.losses[0]:.4f} before, {card.losses[1]:.4f} after.", ""]
    if card.trends:
        lines += ["| | first fifth | last fifth | change along the line | 95% interval |"]
        lines += ["| --- | ---: | ---: | ---: | --- |"]
        for name, one in card.trends.items():
            interval = f"[{one.low:.3f}, {one.high:.3f}]"
            lines.append(f"| {name} | {one.first:.3f} | {one.last:.3f} | {one.change:+.3f} | {interval} |")
        lines.append("")
    lines += ["Curves: `log.jsonl`, `curves.svg`. Weights: `model/`.", ""]
    return "\n".join(lines)
