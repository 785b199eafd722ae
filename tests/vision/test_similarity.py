"""A picture is known again however it was edited, and another scene is not taken for it."""

from __future__ import annotations

import importlib.util
import sys
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest

from hellofresh.core.errors import UsageError
from hellofresh.evidence import vision
from hellofresh.evidence.vision import PictureMatcher
from hellofresh.runs.regimes.correction.post import CorrectionSettings

pytest.importorskip("cv2")
PIL = pytest.importorskip("PIL.Image")
LEAST = CorrectionSettings().image_similarity


@pytest.fixture(scope="module")
def made() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "pictures.py"
    spec = importlib.util.spec_from_file_location("made_pictures", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["made_pictures"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_default_threshold_parts_edited_pictures_from_others(made: ModuleType) -> None:
    found, same = made.similarities(range(100, 103))
    assert {kind for kind, is_same in same.items() if is_same} >= {"resized", "cropped", "recoloured", "captioned"}
    for kind, values in found.items():
        if same[kind]:
            assert min(values) >= LEAST, kind
    assert max(found["another scene"]) < LEAST / 2 < min(found["moved a little"])


def test_of_several_pictures_the_nearest_counts_and_of_empty_ones_none(made: ModuleType) -> None:
    pictures = [made.written(made.scene(seed)) for seed in (1, 2)]
    assert PictureMatcher(pictures).similarity(pictures[1]) == 1.0
    blank, narrow = BytesIO(), BytesIO()
    PIL.new("RGB", (200, 200), "white").save(blank, "JPEG")
    PIL.effect_noise((1568, 1), 90).save(narrow, "JPEG")
    for content in (blank.getvalue(), narrow.getvalue(), b"no picture"):
        assert PictureMatcher(pictures).similarity(content) is None
        assert PictureMatcher([content]).similarity(pictures[0]) is None


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="comparing pictures needs OpenCV") as caught:
        PictureMatcher([])
    assert "rapidocr==3.10.0" in str(caught.value)
