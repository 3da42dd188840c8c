"""Batches of speech (AudioCSE): Kaldi filter banks with the authors' augmentations. A clip's class is its speaker.

A batch has B clips. A clip has S samples at 16 kHz, and T frames, 10 ms apart, in F mel bands. A batch has one
view of each clip; the encoder's dropout makes the second view.
"""

import hashlib
import json
import logging
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor
from torch.nn.functional import pad

from cse.data.cache import cached_folder, read_once
from cse.data.listing import class_of, list_class_files
from cse.data.readers import check_unchanged
from cse.data.stream import Stream, by_class
from cse.data.usable import check_share
from cse.errors import UserError, check_loads, first_line
from cse.files import Json, sha256
from cse.needs import Need, Settings
from cse.progress import showing, track
from cse.ranges import Cache, Count, Folder, Mark, Natural, Positive, Seed, Several, Share
from cse.sources.fetch import DatasetNeed, fetch_dataset

log = logging.getLogger(__name__)

TORCHAUDIO = "torchaudio==2.11.*"  # the last release
RATE = 16_000  # samples per second, as in LibriSpeech
FRAMES, BANDS = 1024, 128  # the authors' input of the encoder (Appendix B: B x 1024 x 128)
SAMPLES = 400 + (FRAMES - 1) * 160  # 1024 frames of 25 ms every 10 ms; later samples are truncated
KALDI: Json = {"htk_compat": True, "use_energy": False, "window_type": "hanning", "dither": 0.0, "frame_shift": 10}
SOUND_ENDINGS = (".wav", ".flac", ".mp3", ".ogg", ".opus", ".aif", ".aiff")  # libsndfile reads these
FBANK_VERSION = 2  # increase it if `read_wave` changes, so that no older cache is used
SILENCE = 1e-4  # a clip is silent if its loudest sample is below this (-80 dB)
FBANK, WAVE = "fbank.npy", "wave.npy"  # the arrays of a cache
SSAST_MEAN, SSAST_STD = -4.2677393, 4.5689974  # AudioSet's mean and deviation; SSAST normalises with them


class AudioBatch(NamedTuple):
    """A batch of filter banks. fbank_BTF: (B, 1024, 128) float32. labels_B: the classes of the clips. A mixture of two
    clips has the class of the clip with the larger share."""

    fbank_BTF: Tensor
    labels_B: Tensor


class Speech(Stream[AudioBatch]):
    """Batches of augmented filter banks. conf/aux_modality/audio.yaml explains the settings."""

    kind = "clips"

    def __init__(
        self,
        folder: Folder | None,
        speakers: Count | None,
        mixup: Share,
        mixup_beta: Positive,
        frequency_mask: Annotated[int, Ge(0), Le(BANDS)],
        time_mask: Annotated[int, Ge(0), Le(FRAMES)],
        normalize: bool,
        cache: Cache,
        batch_size: Several,
        workers: Annotated[Natural | None, Mark.MACHINE, Mark.NAMED],
        seed: Seed,
        shuffle_labels: bool = False,
    ):
        check_loads("torchaudio.functional", TORCHAUDIO)
        check_loads("soundfile")
        root = fetch_dataset("librispeech", Path(cache)) if folder is None else Path(folder)
        files = files_of_speakers(root, speakers)
        self.store, index, digests = filter_banks(root, files, Path(cache))
        labels = np.array(index["labels"], dtype=np.int64)
        inputs = by_class("clips", ((name, "", digests[path]) for name in files for path in files[name]))
        super().__init__(labels, str(root), batch_size, workers, seed, inputs=inputs, shuffle_labels=shuffle_labels)
        self.rows_in_store, self.samples = np.array(index["rows"], dtype=np.int64), index["samples"]
        names = ", ".join([*files][:3])
        if len(files) > 3:
            names += ", ..."
        if shuffle_labels:
            names += "; shuffled labels"
        log.info("audio      %d clips of %d speakers (%s), from %s", len(self), self.num_classes, names, root)
        self.mixup, self.mixup_beta, self.normalize = mixup, mixup_beta, normalize
        self.frequency_mask, self.time_mask = frequency_mask, time_mask

    @classmethod
    def needs(cls, settings: Settings) -> list[Need]:
        """Return the need for LibriSpeech, or for the user's own folder."""
        return [DatasetNeed("librispeech", settings.get("folder"))]

    def __getitem__(self, number: int) -> AudioBatch:
        fbanks = np.load(self.store / FBANK, mmap_mode="r")
        waves = np.load(self.store / WAVE, mmap_mode="r")
        clips, labels = [], []
        with self.randomness(number):
            for row in self.items_of(number):
                if torch.rand(()) < self.mixup:
                    partner = int(torch.randint(len(self), ()))
                    share = float(torch.distributions.Beta(self.mixup_beta, self.mixup_beta).sample())
                    mixture_S = mix(self._wave(waves, row), self._wave(waves, partner), share)
                    clips.append(fixed_length(fbank(mixture_S)))
                    labels.append(self.labels[row if share >= 0.5 else partner])
                else:
                    clips.append(torch.from_numpy(fbanks[self.rows_in_store[row]].copy()))
                    labels.append(self.labels[row])
            fbank_BTF = torch.stack([self._masked(clip_TF) for clip_TF in clips])
        if self.normalize:
            fbank_BTF = (fbank_BTF - SSAST_MEAN) / (2 * SSAST_STD)
        return AudioBatch(fbank_BTF, torch.tensor(np.array(labels)))

    def _wave(self, waves: np.ndarray, row: int) -> Tensor:
        """Return the samples of a clip, (S,) float32, minus their mean."""
        wave_S = torch.from_numpy(waves[self.rows_in_store[row], : self.samples[row]].astype(np.float32) / 2**15)
        return wave_S - wave_S.mean()

    def _masked(self, clip_TF: Tensor) -> Tensor:
        """Apply SpecAugment: set a band of frequencies and a stretch of time, both of random width and place, to 0."""
        from torchaudio.functional import mask_along_axis

        clip_TF = mask_along_axis(clip_TF, self.frequency_mask, 0.0, axis=1)
        return mask_along_axis(clip_TF, self.time_mask, 0.0, axis=0)


def fbank(wave_S: Tensor) -> Tensor:
    """Return (frames, 128) log mel energies of samples in [-1, 1], computed like Kaldi with the authors' settings."""
    from torchaudio.compliance import kaldi

    return kaldi.fbank(wave_S[None] - wave_S.mean(), sample_frequency=RATE, num_mel_bins=BANDS, **KALDI)


def fixed_length(fbank_TF: Tensor) -> Tensor:
    """Return the filter banks with 1024 frames, (1024, F): truncated, or padded with zeros at the end."""
    return pad(fbank_TF[:FRAMES], (0, 0, 0, FRAMES - min(FRAMES, len(fbank_TF))))


def mix(wave_S: Tensor, partner_S: Tensor, share: float) -> Tensor:
    """Return share * wave + (1 - share) * partner. The partner is truncated or padded to the length of the wave."""
    partner_S = pad(partner_S[: len(wave_S)], (0, max(0, len(wave_S) - len(partner_S))))
    return share * wave_S + (1 - share) * partner_S


def read_wave(path: Path) -> np.ndarray:
    """Return the first SAMPLES samples at 16 kHz as int16, averaged over channels. The rest of the clip is not read.

    LibriSpeech's files have 16 bits, so int16 is exact. If a sample is beyond 1, as in a file of floats, all samples
    are scaled until the loudest is 1. Raises ValueError for a clip that is silent, too short or not finite.
    """
    import soundfile
    from torchaudio.functional import resample

    with soundfile.SoundFile(path) as sound:
        rate = sound.samplerate
        needed = math.ceil(SAMPLES * rate / RATE) + rate  # one second more than needed: resampling looks ahead
        samples_SC = sound.read(needed, dtype="float32", always_2d=True)
    wave_S = torch.from_numpy(samples_SC.mean(axis=1))
    if rate != RATE:
        wave_S = resample(wave_S, rate, RATE)
    wave_S = wave_S[:SAMPLES]
    if len(wave_S) < 400:
        raise ValueError(f"{len(wave_S)} samples are less than one frame")
    if not wave_S.isfinite().all():
        raise ValueError("it has samples that are NaN or infinite")
    if (wave_S - wave_S.mean()).abs().max() < SILENCE:
        raise ValueError("silent")
    wave_S = wave_S / wave_S.abs().max().clamp(min=1)
    return (wave_S * 2**15).round().clamp(-(2**15), 2**15 - 1).to(torch.int16).numpy()


def files_of_speakers(root: Path, speakers: int | None) -> dict[str, list[Path]]:
    """Return {speaker: sound files below the speaker's folder} for the `speakers` speakers with the most files.

    speakers=None: all speakers. If speakers have equally many files, the first by name are used. Raises MissingResource
    if the folder `root` does not exist, UserError if the folder has no sound file.
    """
    files: dict[str, list[Path]] = {}
    for path in list_class_files(root, "audio", SOUND_ENDINGS, named="speaker", depth=2):  # LibriSpeech has chapters
        files.setdefault(class_of(root, path), []).append(path)
    ranked = sorted(files, key=lambda name: -len(files[name]))
    return {name: files[name] for name in sorted(ranked[:speakers])}


def filter_banks(root: Path, files: dict[str, list[Path]], cache: Path) -> tuple[Path, Json, dict[Path, str]]:
    """Return (folder, index, {file: digest}). The folder has fbank.npy (n, 1024, 128) and wave.npy (n, S) of n files.

    The arrays are computed once for the same content; names and paths of files do not matter. Files that are corrupt,
    silent or shorter than a frame are skipped. index: {"rows", "labels", "samples": a list with one number for each
    usable file; "skipped": {row: reason}}. Every run logs the number of skipped files. Raises UserError if a file
    changes while it is read, or if more than one file and more than 1 % of all files are skipped.
    """
    paths = [path for group in files.values() for path in group]
    labels = [label for label, group in enumerate(files.values()) for _ in group]
    found = read_once(cache, root, paths, _digest, "clip")
    digests = {path: digest or str(path) for path, digest in zip(paths, found, strict=True)}
    content = json.dumps([FBANK_VERSION, RATE, FRAMES, BANDS, list(zip(digests.values(), labels, strict=True))])
    folder = cache / "fbank" / hashlib.sha256(content.encode()).hexdigest()[:16]

    index = cached_folder(folder, lambda temporary: _compute(temporary, digests, labels, root))
    if skipped := index["skipped"]:
        first = paths[int(next(iter(skipped)))]
        log.warning("audio      %d of %d clips cannot be used, the first: %s", len(skipped), len(paths), first)
    return folder, index, digests


def _digest(path: Path) -> str:
    """Return the SHA-256 of a clip's file, or "" for a file that cannot be opened. `_compute` skips such a file."""
    try:
        return sha256(path)
    except OSError:
        return ""


def _compute(folder: Path, digests: dict[Path, str], labels: list[int], root: Path) -> Json:
    """Write both arrays into `folder`, and return the index; see filter_banks.

    Raises UserError if the disk has too little space, if many clips are unusable, or if a clip changes.
    """
    paths = list(digests)
    log.info("audio      computing filter banks of %d clips into %s", len(paths), folder.parent)
    needed = len(paths) * (FRAMES * BANDS * 4 + SAMPLES * 2)
    if shutil.disk_usage(folder).free < needed:
        raise UserError(
            f"the filter banks of {len(paths)} clips need {needed / 1e9:.1f} GB in {folder.parent}, more than is free: "
            "set paths.cache to a folder on another disk"
        )
    fbanks = np.lib.format.open_memmap(folder / FBANK, "w+", np.float32, (len(paths), FRAMES, BANDS))
    waves = np.lib.format.open_memmap(folder / WAVE, "w+", np.int16, (len(paths), SAMPLES))

    def compute(row: int) -> int | str:
        """Fill a row of both arrays. Return the clip's number of samples, or the reason why the clip is unusable."""
        try:
            wave_S = read_wave(paths[row])
        except Exception as error:  # a broken file makes a decoder raise nearly anything
            return first_line(error)
        finally:
            check_unchanged(paths[row], digests[paths[row]], _digest(paths[row]) or str(paths[row]))
        waves[row, : len(wave_S)] = wave_S
        fbanks[row] = fixed_length(fbank(torch.from_numpy(wave_S.astype(np.float32) / 2**15))).numpy()
        return len(wave_S)

    with ThreadPoolExecutor() as pool, showing("audio"):
        found = list(track(pool.map(compute, range(len(paths))), "clip", len(paths)))
    skipped = {str(row): reason for row, reason in enumerate(found) if isinstance(reason, str)}
    for row, reason in skipped.items():
        log.warning("audio      skipped %s (%s)", paths[int(row)], reason)
    check_share(len(skipped), len(paths), "clips", str(root), str(paths[int(next(iter(skipped), "0"))]))
    fbanks.flush()
    waves.flush()
    rows = [row for row in range(len(paths)) if str(row) not in skipped]
    kept = {"rows": rows, "labels": [labels[row] for row in rows], "samples": [found[row] for row in rows]}
    return kept | {"skipped": skipped}
