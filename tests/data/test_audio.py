"""Filter banks and their batches: Kaldi's numbers, the cache, the released augmentations, unusable files."""

import shutil
import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from omegaconf import OmegaConf

from cse.data import audio
from cse.data import cache as cache_module
from cse.data.audio import SAMPLES, Speech, fbank, files_of_speakers, fixed_length, read_wave
from cse.errors import UserError

CONF = Path(__file__).parents[2] / "conf"
PLAIN = {"mixup": 0, "frequency_mask": 0, "time_mask": 0}


def speech(folder, cache, **changes) -> Speech:
    """conf/aux_modality/audio.yaml's data, in this process, with some values changed."""
    node = OmegaConf.load(CONF / "aux_modality" / "audio.yaml").data
    assert node.pop("_target_") == "cse.data.audio.Speech"
    small = {"folder": str(folder), "cache": str(cache), "batch_size": 4, "workers": 0, "seed": 7}
    return Speech(**OmegaConf.merge(node, small, changes))


def tone(hertz: float, seconds: float = 0.4, rate: int = 16_000) -> np.ndarray:
    return 0.3 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)


def loudest(fbank_TF: torch.Tensor) -> int:
    return int(fbank_TF[:20].mean(0).argmax())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three speakers with 6, 4 and 4 clips, each a tone of its own: 440, 990, 2800 Hz."""
    root = tmp_path_factory.mktemp("speech")
    for name, hertz, clips in (("alto", 440, 6), ("bass", 990, 4), ("cello", 2800, 4)):
        (root / name / "chapter").mkdir(parents=True)
        for number in range(clips):
            path = root / name / "chapter" / f"{number}.{'wav' if number % 2 else 'flac'}"
            soundfile.write(path, tone(hertz, 0.3 + 0.1 * number), 16_000)
    return root


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_filter_banks_have_the_numbers_of_the_authors_loader():
    """On the same noise, by torchaudio's Kaldi port."""
    wave = np.random.default_rng(0).standard_normal((1, 16_000)) * 0.1
    found = fbank(torch.from_numpy(wave.astype(np.float32))[0])
    assert found.shape == (98, 128)
    assert found.mean().item() == pytest.approx(-0.90902275, rel=1e-4)
    assert found.std().item() == pytest.approx(3.4897084, rel=1e-4)
    assert found[0, :4].tolist() == pytest.approx([-6.8751044, -11.417147, -7.9737458, -15.942385], rel=1e-4)
    assert found[50, -4:].tolist() == pytest.approx([3.4715145, 3.4178045, 3.2897835, 2.3362968], rel=1e-4)


def test_clips_are_padded_or_cut_to_1024_frames():
    """No sample past them matters, so the cache may keep 164,080: 1024 frames of 25 ms every 10 ms."""
    short = torch.randn(98, 128)
    assert torch.equal(fixed_length(short), torch.cat([short, torch.zeros(926, 128)]))
    wave = torch.randn(SAMPLES + 5000) * 0.1
    wave = wave - wave.mean()
    assert fbank(wave[:SAMPLES]).shape == (1024, 128)
    assert torch.allclose(fixed_length(fbank(wave)), fbank(wave[:SAMPLES]), atol=1e-3)


@pytest.mark.parametrize(("rate", "channels", "kind"), [(44_100, 2, "wav"), (8_000, 1, "flac")])
def test_any_rate_and_channels_become_16_khz_mono(tmp_path, rate, channels, kind):
    path = tmp_path / f"clip.{kind}"
    soundfile.write(path, np.stack([tone(440, 0.5, rate)] * channels, 1), rate)
    wave = read_wave(path)
    assert len(wave) == pytest.approx(8000, abs=2)
    inside = slice(1000, 7000)  # resampling rings at the ends
    assert np.abs(wave / 2**15 - tone(440, 0.5)[: len(wave)])[inside].max() < 2e-3
    samples = np.random.default_rng(0).integers(-(2**15), 2**15, 3000).astype(np.int16)
    soundfile.write(path, samples, 16_000, subtype="PCM_16")
    assert np.array_equal(read_wave(path), samples)  # LibriSpeech's 16 bits are kept as they are


@pytest.mark.parametrize(("kind", "gain", "loudest"), [
    ("FLOAT", 1, 0.3), ("FLOAT", 10, 1), ("DOUBLE", 2**15, 1), ("PCM_24", 1, 0.3), ("PCM_32", 1, 0.3),
    ("PCM_U8", 1, 0.3),
])  # fmt: skip
def test_samples_beyond_1_are_scaled_and_not_clipped(tmp_path, kind, gain, loudest):
    soundfile.write(tmp_path / "a.wav", gain * tone(440), 16_000, subtype=kind)
    found = read_wave(tmp_path / "a.wav") / 2**15
    assert np.abs(found - tone(440) * loudest / 0.3).max() < (1e-2 if kind == "PCM_U8" else 1e-4)


def test_samples_that_are_no_numbers_are_refused_by_their_name(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.where(np.arange(8000) == 5, np.nan, 0.1), 16_000, subtype="FLOAT")
    with pytest.raises(ValueError, match="NaN"):
        read_wave(tmp_path / "a.wav")


def test_the_speakers_with_most_files_are_kept(folder):
    assert list(files_of_speakers(folder, 1)) == ["alto"]
    assert list(files_of_speakers(folder, 2)) == ["alto", "bass"]  # a tie goes by name
    assert [len(paths) for paths in files_of_speakers(folder, None).values()] == [6, 4, 4]


def test_only_chapters_may_lie_between_a_speaker_and_the_clips(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "set")
    with pytest.raises(UserError, match=rf"folder={tmp_path}: .*{tmp_path / 'set'}"):
        files_of_speakers(tmp_path, None)


def test_batches_hold_each_clips_own_filter_banks(folder, cache):
    stream = speech(folder, cache, **PLAIN)
    files = [(path, label) for label, paths in enumerate(files_of_speakers(folder, None).values()) for path in paths]
    for number in range(3):
        batch = stream[number]
        for row, clip, label in zip(stream.items_of(number), batch.fbank_BTF, batch.labels_B.tolist(), strict=True):
            path, speaker = files[row]
            assert torch.equal(clip, fixed_length(fbank(torch.from_numpy(soundfile.read(path, dtype="float32")[0]))))
            assert label == speaker
    normal = speech(folder, cache, normalize=True, **PLAIN)[2]
    assert torch.allclose(normal.fbank_BTF, (batch.fbank_BTF + 4.2677393) / (2 * 4.5689974))  # SSAST's


def test_restart_at_any_batch_is_bit_identical(folder, cache):
    straight = list(islice(speech(folder, cache).batches(0), 5))
    again = list(islice(speech(folder, cache, workers=2).batches(3), 2))
    for a, b in zip(straight[3:], again, strict=True):
        assert torch.equal(a.fbank_BTF, b.fbank_BTF)
        assert torch.equal(a.labels_B, b.labels_B)
    assert not torch.equal(straight[0].fbank_BTF, speech(folder, cache, seed=8)[0].fbank_BTF)


def test_filter_banks_are_computed_once_for_the_same_content_wherever_it_is(folder, tmp_path, monkeypatch):
    moved = shutil.copytree(folder, tmp_path / "moved")
    first = speech(folder, tmp_path / "cache", **PLAIN)
    monkeypatch.setattr(audio, "fbank", None)
    assert speech(moved, tmp_path / "cache", **PLAIN).store == first.store
    monkeypatch.undo()
    whole = (first.store / "fbank.npy").read_bytes()
    (first.store / "fbank.npy").write_bytes(whole[:-1] + b"x")  # damaged: written again
    assert (speech(moved, tmp_path / "cache", **PLAIN).store / "fbank.npy").read_bytes() == whole
    soundfile.write(moved / "alto" / "chapter" / "1.wav", tone(500), 16_000)
    assert speech(moved, tmp_path / "cache", **PLAIN).store != first.store


def test_clips_that_have_not_changed_are_not_read_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "SETTLED", 0)
    first = speech(folder, tmp_path, **PLAIN)
    monkeypatch.setattr(audio, "_digest", None)
    again = speech(folder, tmp_path, **PLAIN)
    assert (again.store, again.inputs) == (first.store, first.inputs)


def test_mixup_mixes_two_clips_and_keeps_the_louder_ones_label(folder, cache):
    stream = speech(folder, cache, **PLAIN | {"mixup": 0.5})
    tones = [fbank(torch.from_numpy(tone(hertz))) for hertz in (440, 990, 2800)]
    bands = [loudest(clip) for clip in tones]
    alone = torch.tensor([clip[:20].mean(0)[band] for clip, band in zip(tones, bands, strict=True)])
    mixed = total = 0
    for batch in islice(stream.batches(0), 60):
        for clip, label in zip(batch.fbank_BTF, batch.labels_B.tolist(), strict=True):
            share = ((clip[:20].mean(0)[bands] - alone) / 2).exp()  # of amplitude
            assert share[label] > 0.49
            assert share.sum().item() == pytest.approx(1, abs=0.05)
            total += 1
            mixed += int((share > 0.1).sum() > 1)
    # of the mixed half, 1 - (6/14)^2 - 2 (4/14)^2 = 65 % are of two speakers
    assert mixed / total == pytest.approx(0.5 * 0.653, abs=0.1)


def test_specaugment_zeroes_one_band_and_one_stretch(folder, cache):
    stream = speech(folder, cache, mixup=0)
    plain = speech(folder, cache, **PLAIN)
    widths = []
    for number in range(30):
        for clip, whole in zip(stream[number].fbank_BTF, plain[number].fbank_BTF, strict=True):
            frames = whole.abs().sum(1) > 0  # the zero padding cannot be told from a mask
            band = (clip[frames] == 0).all(0)
            where = band.nonzero()[:, 0]
            widths.append(len(where))
            assert len(where) < 48
            assert len(where) == 0 or where[-1] - where[0] + 1 == len(where)
            time = (clip[frames] == 0).all(1)
            keep = clip[frames][~time][:, ~band]
            assert torch.equal(keep, whole[frames][~time][:, ~band])
    assert np.mean(widths) == pytest.approx(23.5, abs=4)  # U[0, 48)


def test_a_few_unusable_clips_are_skipped_by_name_and_more_are_refused(tmp_path, caplog):
    root = tmp_path / "one"
    root.mkdir()
    for number in range(110):
        soundfile.write(root / f"{number:03}.wav", tone(200 + number, 0.05), 16_000)
    (root / "000.wav").write_bytes(b"no sound at all")
    for _ in range(2):  # computed, and from the cache
        caplog.clear()
        stream = speech(tmp_path, tmp_path / "cache", **PLAIN)
        assert "000.wav" in caplog.text
    assert stream.rows_in_store.tolist() == list(range(1, 110))
    soundfile.write(root / "001.wav", np.zeros(8000), 16_000)
    soundfile.write(root / "002.wav", tone(300, 0.01), 16_000)
    with pytest.raises(UserError, match=r"3 of the 110 clips .*000\.wav"):
        speech(tmp_path, tmp_path / "other", **PLAIN)
    assert all(f"{name}.wav" in caplog.text for name in ("001", "002"))
    assert not list((tmp_path / "other" / "fbank").iterdir())


def test_a_clip_that_changes_while_it_is_read_is_refused_and_leaves_no_cache(folder, tmp_path, monkeypatch):
    moved = shutil.copytree(folder, tmp_path / "moved")
    clip = moved / "bass" / "chapter" / "1.wav"

    def then_changed(path) -> np.ndarray:
        wave = read_wave(path)
        if path == clip:
            soundfile.write(path, tone(500), 16_000)
        return wave

    monkeypatch.setattr(audio, "read_wave", then_changed)
    with pytest.raises(UserError, match=r"1\.wav.* changed"):
        speech(moved, tmp_path / "cache", **PLAIN)
    assert not list((tmp_path / "cache" / "fbank").iterdir())


def test_no_more_of_a_clip_is_read_than_is_used(tmp_path):
    """An hour; a FLAC file that claims 68 billion samples."""
    hour, announced = tmp_path / "hour.flac", tmp_path / "announced.flac"
    soundfile.write(hour, np.tile(tone(440, 36), 100), 16_000)
    tracemalloc.start()
    assert np.array_equal(read_wave(hour), soundfile.read(hour, SAMPLES, dtype="int16")[0])
    with open(hour, "rb") as file:
        content = bytearray(file.read(50_000))
    content[21] |= 0x0F  # STREAMINFO's 36 bits of the number of samples
    content[22:26] = b"\xff" * 4
    announced.write_bytes(content)
    with pytest.raises((soundfile.LibsndfileError, ValueError)):
        read_wave(announced)
    assert tracemalloc.get_traced_memory()[1] < 2**25
    tracemalloc.stop()


def test_a_folder_without_enough_clips_or_room_for_their_cache_is_refused(folder, cache, tmp_path, monkeypatch):
    refused = [(tmp_path / "nowhere", {}, r"folder"), (tmp_path, {}, r"folder")]
    for place, changes, key in [*refused, (folder, {"batch_size": 48}, r"batch_size=48")]:
        with pytest.raises(UserError, match=key):
            speech(place, cache, **changes)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 1000))
    with pytest.raises(UserError, match=r"paths\.cache"):
        speech(folder, tmp_path / "full")
