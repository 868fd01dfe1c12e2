"""A GPU that is only pretended, on which code for a GPU runs and is held to its rules without one.

A `Pretended` tensor says that it lies on cuda:0, and computes on the CPU by the tensor that it holds. What a GPU
refuses is refused: an operation on tensors of both devices, but for a CPU's number without dimensions in arithmetic,
an index on the CPU, and a copy; a generator of the CPU; `numpy`; pinning what is not on the CPU. Random numbers come
from a stream of the GPU's own. What makes this process wait until a GPU has done its work is counted in `WAITS`:
numbers of it that are read, sizes that depend on them, and copies that were not pinned. Not to be seen here: which
operations a GPU has no kernel for, when its work is done, its memory, and what several GPUs tell each other.
Attention goes the way that it goes where no GPU's kernel can do it, and autocast is the CPU's; `inference_mode` is
`no_grad`.

    def test_something(pretended_gpu):      # a fixture of tests/project/test_pretended_gpu.py
        torch.ones(2, device="cuda") + torch.ones(2)        # RuntimeError
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from trainables.encoders import packed

GPU = torch.device("cuda:0")
DEVICES = {"cuda": torch.device("ipu:0"), "cpu": torch.device("ipu:1")}
"""What a call in Python asks for, for torch: to torch both kinds of tensors lie on the CPU, so that autograd works."""
INDEXED = {"index", "index_put", "index_put_", "_unsafe_index", "_index_put_impl_"}
"""Their indices may lie on the CPU."""
ACROSS = {"copy_", "_to_copy"}
PINNING = {"is_pinned", "_pin_memory"}
TAKES_NUMBERS = {*INDEXED, "masked_fill", "masked_fill_", "fill", "fill_"}
"""These take a number of the CPU, beside all that is done element by element."""
DRAWN = torch.Generator()
"""The GPU's stream."""
READING = {
    *("_local_scalar_dense", "bincount", "equal", "masked_select", "nonzero"),
    *("_unique2", "unique_consecutive", "unique_dim"),
}
"""Their numbers, or how many these are, are awaited."""
WAITS = Counter[str]()
"""Waits for the GPU until now, by what waits."""


class Pretended(Tensor):
    """Says that it lies on the GPU; `held` is on the CPU."""

    held: Tensor
    device, is_cuda, is_cpu = GPU, True, False
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> Pretended:
        made = Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _compute(op, args, kwargs or {})

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, value: Pretended) -> None:
        Tensor.data.__set__(self, value)
        self.held = value.held

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copy = self.detach().clone().requires_grad_(self.requires_grad)
        copy._is_param = getattr(self, "_is_param", False)
        memo[id(self)] = copy
        return copy

    def tolist(self) -> Any:
        WAITS["tolist"] += 1
        return self.held.tolist()

    def untyped_storage(self) -> Any:
        return self.held.untyped_storage()

    def numpy(self, *, force: bool = False) -> Any:
        if not force:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        return self.held.numpy(force=True)

    def __repr__(self, **_: Any) -> str:
        return f"Pretended({self.held!r})"


class _Calls(TorchFunctionMode):
    """Calls in Python: they name devices."""

    inside = threading.local()
    """`gpu`: a tensor of the GPU was given to the call that this thread is in."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        before = getattr(self.inside, "gpu", False)
        self.inside.gpu = _on_gpu((args, kwargs))
        try:
            if func is Tensor.backward:
                with self:  # for hooks, and backward passes that are written in Python
                    return torch.autograd.backward(args[0], kwargs.pop("gradient", None), **kwargs)
            if func in (Tensor.to, Tensor.cpu, Tensor.cuda):
                kwargs |= {} if func is Tensor.to else {"device": func.__name__.replace("cuda", "cuda:0")}
                return _to(*args, **kwargs)
            if func is Tensor.new_tensor:
                kwargs = {"dtype": args[0].dtype, "device": args[0].device, **kwargs}
                func, args = torch.tensor, args[1:]
            if kwargs.get("device") is not None:
                kwargs["device"] = _device(kwargs["device"])
                if func in (torch.tensor, torch.as_tensor, torch.asarray):
                    return Tensor.to(func(*args, **{**kwargs, "device": None}), kwargs["device"])
            return func(*args, **kwargs)
        finally:
            self.inside.gpu = before


def _to(tensor: Tensor, *where: Any, **kwargs: Any) -> Tensor:
    """`Tensor.to`, whose device may be another tensor's, or none at all."""
    if where and isinstance(where[0], Tensor):
        where = (where[0].device, where[0].dtype, *where[1:])
    elif where and isinstance(where[0], torch.dtype):
        where = (None, *where)
    kwargs |= zip(("device", "dtype", "non_blocking", "copy"), where, strict=False)
    device, kwargs["dtype"] = kwargs.pop("device", None), kwargs.get("dtype") or tensor.dtype
    if device is None or torch.device(device).type == tensor.device.type:
        return Tensor.to(tensor, **kwargs)
    assert not (tensor.requires_grad and torch.is_grad_enabled()), "no gradient goes from one device to the other"
    return Tensor.to(tensor, device=_device(device), **kwargs)


def _device(device: Any) -> torch.device:
    """`meta`, for one, is what it is."""
    return DEVICES.get(torch.device(device).type, torch.device(device))


class _Operations(TorchDispatchMode):
    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _compute(op, args, kwargs or {})


def _compute(op: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a GPU, or the CPU, makes of it; the errors are torch's."""
    name, arguments, returned = _signature(op)
    given = dict(zip(arguments, args, strict=False)) | kwargs
    on_gpu = _on_gpu(given)
    if on_gpu and name not in ACROSS:
        _refuse(op, name, given)
    held = _replaced(given, Pretended, lambda tensor: tensor.held)
    if (device := given.get("device")) is not None and device.type != "meta":
        on_gpu = device == DEVICES["cuda"] or (
            device != DEVICES["cpu"] and (on_gpu or getattr(_Calls.inside, "gpu", False))
        )
        held["device"] = torch.device("cpu")
    if _waits(name, given, on_gpu):
        WAITS[name] += 1
    if name in PINNING or held.pop("pin_memory", False):
        if on_gpu:
            raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
        if name in PINNING:
            return False if name == "is_pinned" else held["self"].clone()
    if on_gpu and given.get("generator") is not None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    with _drawing() if on_gpu and torch.Tag.nondeterministic_seeded in op.tags else contextlib.nullcontext():
        result = op(**held)
    written = [given[argument] for argument, is_written in arguments.items() if is_written and argument in given]
    if not written:
        return _replaced(result, Tensor, Pretended) if on_gpu else result
    for tensor in _leaves(written):
        assert not isinstance(tensor, Pretended) or tensor.shape == tensor.held.shape, f"{op} changes a shape"
    return None if not returned else written[0] if returned == 1 else tuple(written)


@functools.cache
def _signature(op: Any) -> tuple[str, dict[str, bool], int]:
    """Its name; its arguments' names, and which are written; how many values it returns. torch makes them anew each
    time."""
    written = {a.name: a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments}
    return op.overloadpacket.__name__, written, len(op._schema.returns)


def _leaves(tree: Any) -> Iterator[Any]:
    """What lists, tuples and dictionaries hold."""
    if isinstance(tree, list | tuple | dict):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(each)
    else:
        yield tree


def _on_gpu(tree: Any) -> bool:
    return any(isinstance(leaf, Pretended) for leaf in _leaves(tree))


def _replaced(tree: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """With each leaf of a kind changed."""
    if isinstance(tree, kind):
        return change(tree)
    if isinstance(tree, dict):
        return {name: _replaced(each, kind, change) for name, each in tree.items()}
    return type(tree)([_replaced(each, kind, change) for each in tree]) if isinstance(tree, list | tuple) else tree


def _refuse(op: Any, name: str, given: dict[str, Any]) -> None:
    """Raise where tensors of both devices meet."""
    if name in INDEXED and isinstance(given["self"], Pretended):
        given = {argument: value for argument, value in given.items() if argument != "indices"}
    takes_numbers = torch.Tag.pointwise in op.tags or name in TAKES_NUMBERS
    for argument, is_written in _signature(op)[1].items():
        for tensor in _leaves(given.get(argument)):
            on_cpu = isinstance(tensor, Tensor) and not isinstance(tensor, Pretended)
            if on_cpu and not (takes_numbers and tensor.dim() == 0 and not is_written):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
                    f"({op}, argument {argument})"
                )


def _waits(name: str, given: dict[str, Any], on_gpu: bool) -> bool:
    """Whether a GPU's work is awaited, as `torch.cuda.set_sync_debug_mode` sees it. `on_gpu`: the result lies there."""
    if name in ACROSS:
        on_card = on_gpu if name == "_to_copy" else isinstance(given["src"], Pretended)
        return isinstance(given["self"], Pretended) != on_card and not given.get("non_blocking")
    if not on_gpu:
        return False
    if name in INDEXED:
        value = given.get("values")
        filled = isinstance(value, Tensor) and value.numel() == 1  # then a mask is no list of places
        return any(
            not isinstance(index, Pretended) or (index.dtype == torch.bool and not filled)
            for index in given["indices"]
            if index is not None
        )
    return name in READING or (name == "repeat_interleave" and given.get("output_size") is None)


@contextlib.contextmanager
def _drawing() -> Iterator[None]:
    """Random numbers are the GPU's."""
    cpu = torch.get_rng_state()
    torch.set_rng_state(DRAWN.get_state())
    try:
        yield
    finally:
        DRAWN.set_state(torch.get_rng_state())
        torch.set_rng_state(cpu)


SAYS: dict[str, Any] = {
    "_lazy_init": lambda: None,
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_current_stream_capturing": lambda: False,
    "is_bf16_supported": lambda including_emulation=True: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "get_device_name": lambda device=None: "pretended",
    "mem_get_info": lambda device=None: (2**34, 2**34),
    "get_per_process_memory_fraction": lambda device=None: 1.0,
    **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved"), lambda device=None: 0),
    **dict.fromkeys(("reset_peak_memory_stats", "empty_cache"), lambda device=None: None),
    "get_rng_state": lambda device=None: DRAWN.get_state(),
    "set_rng_state": lambda state, device=None: DRAWN.set_state(state),
    "manual_seed_all": DRAWN.manual_seed,
    "Event": Mock,
}
"""By `torch.cuda`."""


@contextlib.contextmanager
def pretended() -> Iterator[None]:
    """This process has a GPU, in this thread and in all that begin meanwhile."""
    run, autocast = threading.Thread.run, torch.autocast

    def in_thread(thread: threading.Thread) -> None:
        with _Operations(), _Calls():
            run(thread)

    def enter(mode: Any) -> None:
        mode.before = torch.is_grad_enabled()
        torch.set_grad_enabled(mode.before and not mode.mode)

    def leave(mode: Any, *error: Any) -> None:
        torch.set_grad_enabled(mode.before)

    swaps = torch.__future__.get_swap_module_params_on_conversion()
    with pytest.MonkeyPatch.context() as patch:
        for name, function in SAYS.items():
            patch.setattr(torch.cuda, name, function)
        patch.setattr(torch, "autocast", lambda device_type, *how, **more: autocast("cpu", *how, **more))
        patch.setattr(threading.Thread, "run", in_thread)
        patch.setattr(torch.inference_mode, "__enter__", enter)  # where torch lets no tensor subclass be looked into
        patch.setattr(torch.inference_mode, "__exit__", leave)
        patch.setattr(packed, "fastest_attention", lambda value, packing, settings, fallback: fallback)
        torch.__future__.set_swap_module_params_on_conversion(True)  # a parameter stays the object that it is
        try:
            with _Operations(), _Calls():
                yield
        finally:
            torch.__future__.set_swap_module_params_on_conversion(swaps)
