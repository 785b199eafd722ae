"""Accuracy of matching pictures of pages to posts: made scenes, changed in ways that must match or must not.

    python benchmarks/pictures.py [--scenes 40]

A scene is sixty shapes and words at different distances. It comes back at another size, compressed, cropped, in other
colours, captioned, mirrored or turned; the same scene from another place moves near objects more than far ones; and
another scene has none of it. The table has the similarity of each kind, and the share that passes by threshold.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

from hellofresh.evidence.vision import PictureMatcher

WIDTH, HEIGHT = 800, 600
STEPS = {"moved a little": 0.03, "moved": 0.1, "moved far": 0.3}
"""Camera movements between two photos of a scene, in picture widths for the nearest objects."""
THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


def scene(seed: int, moved: float = 0.0) -> Image.Image:
    """Shapes and words from far to near, seen from a place moved to the side, with noise."""
    draws = np.random.default_rng(seed)
    picture = Image.new("RGB", (WIDTH, HEIGHT), tuple(draws.integers(60, 200, 3).tolist()))
    pen = ImageDraw.Draw(picture)
    for nearness in np.sort(draws.uniform(0.1, 1, 60)):
        left, top = draws.uniform(-50, (WIDTH, HEIGHT)) + np.array([moved * nearness * WIDTH, 0])
        size, shape = draws.uniform(20, 160), draws.uniform(0.5, 1.5)
        colour, kind = tuple(draws.integers(0, 255, 3).tolist()), draws.integers(4)
        box = [left, top, left + size, top + size * shape]
        if kind == 0:
            pen.rectangle(box, fill=colour)
        elif kind == 1:
            pen.ellipse(box, fill=colour)
        elif kind == 2:
            pen.polygon([(left, top), (left + size, top + size * shape / 3), (left + size / 2, box[3])], fill=colour)
        else:
            pen.text((left, top), "".join(map(chr, draws.integers(65, 90, 6))), fill=colour, font_size=size / 3 + 8)
    seen = np.asarray(picture) + np.random.default_rng([seed, int(1000 * moved)]).normal(0, 6, (HEIGHT, WIDTH, 3))
    return Image.fromarray(seen.clip(0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.8))


def written(picture: Image.Image, quality: int = 90) -> bytes:
    """A picture in the decoder's format."""
    content = BytesIO()
    picture.save(content, "JPEG", quality=quality)
    return content.getvalue()


def made(seed: int) -> Iterator[tuple[str, bool, bytes]]:
    """Pictures to compare with a scene: the change, whether the picture is the same, and its bytes."""
    whole = scene(seed)
    captioned = whole.copy()
    pen = ImageDraw.Draw(captioned)
    pen.rectangle([0, HEIGHT * 0.8, WIDTH, HEIGHT], fill="black")
    pen.text((20, HEIGHT * 0.85), "BREAKING: THE OLD BRIDGE FELL", fill="white", font_size=36)
    faded = ImageEnhance.Color(ImageEnhance.Brightness(whole).enhance(1.4)).enhance(0.3)
    yield "resized", True, written(whole.resize((WIDTH // 3, HEIGHT // 3)))
    yield "compressed", True, written(whole, 30)
    yield "cropped", True, written(whole.crop((WIDTH // 4, HEIGHT // 5, WIDTH * 9 // 10, HEIGHT * 9 // 10)))
    yield "half of it", True, written(whole.crop((0, 0, WIDTH // 2, HEIGHT)))
    yield "grey", True, written(whole.convert("L").convert("RGB"))
    yield "recoloured", True, written(faded)
    yield "captioned", True, written(captioned)
    kept = captioned.crop((WIDTH // 6, HEIGHT // 6, WIDTH, HEIGHT)).resize((400, 300))
    yield "all of it", True, written(ImageEnhance.Brightness(kept).enhance(1.3), 40)
    yield "mirrored", True, written(whole.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    yield "turned", True, written(whole.rotate(5))
    yield from ((kind, False, written(scene(seed, moved))) for kind, moved in STEPS.items())
    yield "another scene", False, written(scene(seed + 10_000))


def similarities(seeds: range) -> tuple[Mapping[str, list[float]], Mapping[str, bool]]:
    """By kind, the similarity of each pair, and whether it is the same picture; 0 if there are too few features."""
    found: dict[str, list[float]] = {}
    same: dict[str, bool] = {}
    for seed in seeds:
        matcher = PictureMatcher([written(scene(seed))])
        for kind, is_same, content in made(seed):
            same[kind] = is_same
            found.setdefault(kind, []).append(matcher.similarity(content) or 0.0)
    return found, same


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--scenes", type=int, default=40)
    found, same = similarities(range(parser.parse_args().scenes))
    print(f"{'':15} same  least  median  most " + " ".join(f">={least:<5}" for least in THRESHOLDS))
    for kind, values in found.items():
        shares = [np.mean([value >= least for value in values]) for least in THRESHOLDS]
        figures = " ".join(f"{figure:6.2f} " for figure in (min(values), np.median(values), max(values), *shares))
        print(f"{kind:15} {'yes' if same[kind] else 'no':5}{figures}")


if __name__ == "__main__":
    main()
