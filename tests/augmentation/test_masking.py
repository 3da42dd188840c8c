"""BERT's masking: its rates, and what is never masked."""

import numpy as np
import pytest

from cse.augmentation.masking import Masking
from cse.errors import UserError


class Vocabulary:
    """Ids 0..4 are special (4 is the mask), 995 ordinary ones."""

    mask_token_id = 4
    all_special_ids = [0, 1, 2, 3, 4]

    def get_vocab(self):
        return {str(number): number for number in range(1000)}


def masking(probability=0.15, mask_share=0.8, random_share=0.1):
    masking = Masking(probability, mask_share, random_share)
    masking.bind(Vocabulary())
    return masking


def test_tokens_are_masked_replaced_and_kept_at_the_published_rates():
    rng = np.random.default_rng(0)
    ids = np.concatenate([[0], rng.integers(5, 1000, 200_000), [2]])
    out, labels = masking().masked(ids, rng)
    selected = labels != -100
    error = 4 * np.sqrt(0.15 * 0.85 / 200_000)  # four standard errors
    assert selected.mean() == pytest.approx(0.15, abs=error)
    fates = [(out == 4)[selected].mean(), ((out != 4) & (out != ids))[selected].mean(), (out == ids)[selected].mean()]
    assert fates == pytest.approx([0.8, 0.1, 0.1], abs=0.01)
    assert (labels[selected] == ids[selected]).all()
    assert (out[~selected] == ids[~selected]).all()


def test_random_ids_come_from_the_whole_vocabulary():
    ids = np.full(100_000, 500)
    out, _ = masking(probability=1.0, mask_share=0.0, random_share=1.0).masked(ids, np.random.default_rng(0))
    assert (out.min(), out.max()) == (0, 999)
    assert len(np.unique(out)) == 1000


def test_a_vocabulary_with_gaps_is_bounded_by_its_largest_id():
    """Ordinary ids lie above its number of tokens, and no random id is in a gap."""
    gapped = Vocabulary()
    gapped.get_vocab = lambda: {str(number): number for number in (*range(10), 70_001)}
    masking = Masking(1.0, 0.0, 1.0)
    masking.bind(gapped)
    out, labels = masking.masked(np.full(1000, 70_001), np.random.default_rng(0))
    assert set(out.tolist()) == {*range(10), 70_001}
    assert (labels == 70_001).all()


def test_special_tokens_are_never_selected_and_the_row_itself_stays():
    ids = np.tile(np.array([0, 1, 2, 3, 4, 7], dtype=np.uint16), 100)
    ids.flags.writeable = False  # as the cache's rows are
    out, labels = masking(probability=1.0, mask_share=1.0, random_share=0.0).masked(ids, np.random.default_rng(0))
    assert out.reshape(100, 6).tolist() == [[0, 1, 2, 3, 4, 4]] * 100
    assert labels.reshape(100, 6).tolist() == [[-100] * 5 + [7]] * 100


def test_shares_over_1_and_a_tokenizer_without_a_mask_are_refused():
    with pytest.raises(UserError):
        Masking(0.15, 0.8, 0.3)
    maskless = Vocabulary()
    maskless.mask_token_id = None
    with pytest.raises(UserError):
        Masking(0.15, 0.8, 0.1).bind(maskless)
