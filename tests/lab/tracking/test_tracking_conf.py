"""Every tracker's YAML builds a `cse.lab.tracking.trackers.Tracker`."""

import inspect

import pytest
from hydra.utils import instantiate
from toys import composed

from cse.lab.settings.groups import choices
from cse.lab.tracking.trackers import Tracker


@pytest.mark.parametrize("name", choices("tracker"))
def test_a_tracker_has_the_methods_of_the_protocol(name, tmp_path):
    for node in composed(f"tracker={name}").tracker.values():
        build = instantiate(node)  # _partial_: nothing starts yet
        inspect.signature(build).bind(folder=tmp_path, about=None, resume_step=None)
        for method in ("log", "image", "table", "finish", "abandon"):
            theirs, ours = (inspect.signature(getattr(kind, method)).parameters for kind in (build.func, Tracker))
            assert list(theirs) == list(ours), method
