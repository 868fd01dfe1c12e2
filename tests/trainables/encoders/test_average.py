"""Averages of saved models."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from trainables.encoders.average import average_models
from trainables.errors import UserError

GENERATOR = torch.Generator().manual_seed(3)


def model(folder: Path, dtype: torch.dtype = torch.float32, rows: int = 3) -> dict[str, torch.Tensor]:
    """A folder with two files of weights, and what it holds."""
    weights = {
        "model.safetensors": {"a": torch.randn(rows, 2, generator=GENERATOR).to(dtype), "ids": torch.arange(4)},
        "2_Dense/model.safetensors": {"b": torch.randn(2, generator=GENERATOR).to(dtype)},
    }
    for file, tensors in weights.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, folder / file, {"format": "pt"})
    (folder / "modules.json").write_text("[]")
    (folder / "README.md").write_text("a card")
    return {name: tensor for tensors in weights.values() for name, tensor in tensors.items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_weights_are_a_mean_mixed_with_the_untrained_ones(tmp_path: Path, share: float, dtype: torch.dtype) -> None:
    first, second, third = (model(tmp_path / name, dtype) for name in "abc")
    untrained = model(tmp_path / "untrained", dtype)
    average_models([tmp_path / name for name in "abc"], tmp_path / "untrained", share, tmp_path / "averaged")
    averaged = load_file(tmp_path / "averaged/model.safetensors") | load_file(
        tmp_path / "averaged/2_Dense/model.safetensors"
    )
    for name in ("a", "b"):
        for place in range(untrained[name].numel()):
            values = [float(each[name].flatten()[place]) for each in (first, second, third)]
            expected = (1 - share) * float(untrained[name].flatten()[place]) + share * sum(values) / 3
            near = 1e-6 if dtype == torch.float32 else 1e-2
            assert float(averaged[name].flatten()[place]) == pytest.approx(expected, abs=near, rel=near)
        assert averaged[name].dtype == dtype
    assert torch.equal(averaged["ids"], torch.arange(4))
    assert {path.name for path in (tmp_path / "averaged").iterdir()} == {"model.safetensors", "2_Dense", "modules.json"}


def test_an_adapter_that_is_merged_already_is_left_out(tmp_path: Path) -> None:
    for name in ("a", "b"):
        model(tmp_path / name)
        model(tmp_path / name / "adapter")
    model(tmp_path / "untrained")
    average_models([tmp_path / "a", tmp_path / "b"], tmp_path / "untrained", 0.5, tmp_path / "averaged")
    assert not (tmp_path / "averaged/adapter").exists()


def test_models_that_are_not_alike_have_no_average(tmp_path: Path) -> None:
    model(tmp_path / "a")
    model(tmp_path / "untrained", rows=4)
    with pytest.raises(UserError, match="the weights a differ in size"):
        average_models([tmp_path / "a"], tmp_path / "untrained", 0.5, tmp_path / "averaged")
    shutil.rmtree(tmp_path / "untrained/2_Dense")
    with pytest.raises(UserError, match="do not hold the same files"):
        average_models([tmp_path / "a"], tmp_path / "untrained", 0.5, tmp_path / "other")
    model(tmp_path / "untrained")
    save_file({"c": torch.zeros(2)}, tmp_path / "untrained/2_Dense/model.safetensors")
    with pytest.raises(UserError, match="holds other weights"):
        average_models([tmp_path / "a"], tmp_path / "untrained", 0.5, tmp_path / "third")
