"""A simulated GPU, the device `card`. Its tensors have this device, but their numbers are on the CPU.

An operator on tensors of both devices raises an error, as on a GPU. The card counts the waits, each with the line of
cse that causes it: the host would wait for a number, for a size that depends on data, or for a blocking copy. The card
also counts kernels: all operators except views and allocations. A run on the card computes the CPU's numbers, up to
rounding.
"""

import traceback
from collections import Counter
from pathlib import Path

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

aten = torch.ops.aten
SOURCE = str(Path(__file__).parents[1] / "cse")
WAITS = {aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten._unique2, aten.unique_dim, aten.equal,
         aten._linalg_check_errors}  # fmt: skip
INDEXED = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}
NO_KERNEL = {aten.detach, aten.alias, aten.empty, aten.empty_like, aten.empty_strided, aten._unsafe_view,
             aten._reshape_alias, aten.lift_fresh}  # fmt: skip


class Module(_DummyBackendModule):
    """The device's module, which torch requires. The card is available only in the block of a Card."""

    def is_available(self) -> bool:
        return Card.inserted

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]


_setup_privateuseone_for_python_backend("card", Module())
DEVICE = torch.device("card", 0)


class OnCard(Tensor):
    """A tensor on the card. held: the CPU tensor with the numbers."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor):
        about = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
        return Tensor._make_wrapper_subclass(cls, held.size(), device=DEVICE, **about)

    def __init__(self, held: Tensor):
        self.held = held

    def tolist(self) -> list:  # torch's own refuses subclasses
        return self.cpu().tolist()

    def __tensor_flatten__(self):  # Module.to needs it to keep tied weights tied
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(inner, *_):
        return OnCard(inner["held"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return Card.present.run(func, args, kwargs or {})


class Card(TorchDispatchMode):
    """A context manager that makes the card available. kernels: {operator: calls}. waits: {what waits, line: waits}."""

    present: "Card"
    inserted = False

    def __init__(self) -> None:
        super().__init__()
        self.kernels: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self.pinned: list[Tensor] = []
        Card.present = self

    def __enter__(self):
        Card.inserted = True
        return super().__enter__()

    def __exit__(self, *error):
        Card.inserted = False
        return super().__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.run(func, args, kwargs or {})

    def run(self, func, args, kwargs):
        """Compute on the CPU. The result is on the card if an argument is on the card, or if `device` is the card."""
        packet, wanted = func.overloadpacket, kwargs.get("device")
        if packet is aten.is_pinned:
            return any(args[0] is x for x in self.pinned)
        if packet is aten._pin_memory:
            self.pinned = [*self.pinned[-20:], args[0].clone()]
            return self.pinned[-1]
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        given = any(isinstance(x, OnCard) for x in tensors)
        to_card = given if wanted is None else torch.device(wanted).type == DEVICE.type
        if not given and not to_card:
            return func(*args, **kwargs)
        if packet is aten.copy_:
            to_card = isinstance(args[0], OnCard)
        self.count(func, args, kwargs, tensors, to_card)
        bare_args, bare = tree_map_only(OnCard, lambda x: x.held, (args, dict(kwargs)))
        out = func(*bare_args, **(bare if wanted is None else bare | {"device": "cpu"}))
        if not to_card:
            return args[0] if packet is aten.copy_ else out
        if packet in (aten._conj, aten._neg_view):  # lazy flags, which these tensors cannot carry
            return OnCard(out.resolve_conj().resolve_neg())
        return return_and_correct_aliasing(func, args, kwargs, tree_map_only(Tensor, OnCard, out))

    def count(self, func, args, kwargs, tensors, to_card) -> None:
        packet = func.overloadpacket
        if packet in (aten.copy_, aten._to_copy):
            source = args[packet is aten.copy_]
            blocks = not (kwargs.get("non_blocking") or args[2:]) or all(source is not x for x in self.pinned)
            if isinstance(source, OnCard) != to_card and (blocks or not to_card):
                self.waits[f"copy {tuple(source.shape)}: {asked_by()}"] += 1
        elif packet in INDEXED and any(
            x.dtype == torch.bool or not isinstance(x, OnCard) for x in args[1] if x is not None
        ):
            self.waits[f"{packet.__name__}: {asked_by()}"] += 1
        elif strangers := [x for x in tensors if x.dim() and not isinstance(x, OnCard)]:
            raise RuntimeError(f"{func}: some of its tensors are on the card and {tuple(strangers[0].shape)} is not")
        elif packet in WAITS:
            self.waits[f"{packet.__name__}: {asked_by()}"] += 1
        self.kernels[packet.__name__] += not (func.is_view or packet in NO_KERNEL)


def asked_by() -> str:
    """Return the innermost line of cse in the present call."""
    frames = (f for f in reversed(traceback.extract_stack()) if f.filename.startswith(SOURCE))
    return next((f"{Path(f.filename).name}:{f.lineno} {f.line}" for f in frames), "torch")
