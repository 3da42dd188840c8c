"""Composing a config in several threads, as a sweep does."""

from concurrent.futures import ThreadPoolExecutor

from cse.lab.settings.compose import composed


def test_threads_compose_at_once():
    """Hydra has one global state. Each thread has its own config, and none is left behind."""
    with ThreadPoolExecutor(4) as threads:
        seeds = list(threads.map(lambda seed: composed("train", [f"seed={seed}"]).seed, range(12)))
    assert seeds == list(range(12))
