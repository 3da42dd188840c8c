"""Copies of what training reads: corpora, WordNet, folders of images and of speech."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cse.augmentation.wordnet import FILES as WORDNET_FILES
from cse.augmentation.wordnet import wordnet_files
from cse.data import corpora
from cse.data.audio import files_of_speakers
from cse.errors import UserError
from cse.files import sha256
from cse.sources.catalogue import DATASETS
from cse.sources.checked import CheckedPart, by_checksums, sums

IMAGES = (".jpg", ".jpeg", ".png", ".webp")
SYNSETS = {"data.noun": 82115, "data.verb": 13767, "data.adj": 18156, "data.adv": 3621}  # WordNet 3.0


def texts(place: Path) -> Iterator[CheckedPart]:
    """Corpora of one file, by the file's name, and OpenWebText's parquet files."""
    folder = place.parent if place.is_file() else place
    for name in ("wiki1m", "nli", "wikiauto"):
        file = folder / Path(DATASETS[name].files[0]).name
        if file.is_file() and place in (file, folder):
            yield text(name, file)
    if folder.name.startswith("openwebtext") and any(folder.glob("*.parquet")):
        yield openwebtext(folder)
    if folder.name == "wikipedia":
        for file in sorted(folder.glob("*.txt")):
            with file.open("rb") as lines:
                rows = sum(1 for _ in lines)
            yield by_checksums("wikipedia", file.stem, {file.name: sha256(file)}, sums(folder), rows)


def text(name: str, file: Path) -> CheckedPart:
    """A corpus of one file."""
    about = DATASETS[name]
    readers: dict[str, Callable[[], Iterator[tuple[str, ...]]]] = {
        "wiki1m": partial(corpora.wiki1m, str(file), True),
        "nli": partial(corpora.nli, about.columns, str(file), True),
        "wikiauto": partial(corpora.wikiauto, about.columns, str(file), True),
    }
    try:
        rows = sum(1 for _ in readers[name]())
    except UserError as error:
        return CheckedPart(name, file.name, "altered", note=str(error))
    if rows not in about.rows:
        return CheckedPart(name, file.name, "altered", rows, f"{about.rows[0]:,} rows are published")
    return by_checksums(name, file.name, {file.name: sha256(file)}, sums(file.parent), rows)


def openwebtext(folder: Path) -> CheckedPart:
    """All parquet files together, by the rows that they say they hold."""
    import pyarrow
    from pyarrow import parquet

    files, (official,) = sorted(folder.glob("*.parquet")), DATASETS["openwebtext"].rows
    rows = 0
    for file in files:
        try:
            rows += parquet.read_metadata(file).num_rows
        except pyarrow.ArrowInvalid as error:
            return CheckedPart("openwebtext", file.name, "altered", note=f"no whole parquet file: {error}")
    missing = sorted(set(sums(folder)) - {file.name for file in files})
    if missing or rows < official:
        note = f"{official:,} rows are published; missing: {', '.join(missing) or 'some of the files'}"
        return CheckedPart("openwebtext", f"{len(files)} files", "missing", rows, note)
    digests = {file.name: sha256(file) for file in files}
    return by_checksums("openwebtext", f"{len(files)} files", digests, sums(folder), rows)


def wordnet(place: Path) -> Iterator[CheckedPart]:
    """WordNet's synsets by part of speech; its copies differ in bytes (line ends, licences), so rows alone count."""
    inside = (place, place / "corpora" / "wordnet", place / "corpora" / "wordnet.zip", place / "wordnet.zip")
    source = next(
        (one for one in inside if (one.suffix == ".zip" and one.is_file()) or (one / "data.noun").is_file()), None
    )
    if source is None:
        return
    try:
        content = wordnet_files(source)
    except UserError as error:
        yield CheckedPart("wordnet", source.name, "missing", note=str(error))
        return
    for name in WORDNET_FILES:
        rows = sum(not line.startswith(b"  ") for line in content[name].splitlines())  # the notice is indented
        official = SYNSETS.get(name, rows)
        note = "" if rows == official else f"WordNet 3.0 has {official:,}"
        yield CheckedPart("wordnet", name, "altered" if note else "whole", rows, note)


def images(folder: Path) -> Iterator[CheckedPart]:
    """A folder with one folder of images a class: a class that is smaller than the others, files that do not open."""
    from PIL import Image

    def load(file: Path) -> None:
        with Image.open(file) as image:
            image.load()

    classes = {
        one.name: [file for file in sorted(one.iterdir()) if file.suffix.lower() in IMAGES]
        for one in (sorted(folder.iterdir()) if folder.is_dir() else [])
        if one.is_dir()
    }
    classes = {name: files for name, files in classes.items() if files}
    most = max(map(len, classes.values()), default=0)
    for name, files in classes.items() if len(classes) > 1 else ():  # one folder of pictures is no classes
        if note := unreadable(files, load):
            yield CheckedPart("images", name, "altered", len(files), note)
        elif len(files) < most:
            yield CheckedPart("images", name, "missing", len(files), f"others have {most}")
        else:
            yield CheckedPart("images", name, "whole", len(files))


def speech(folder: Path) -> Iterator[CheckedPart]:
    """A folder with one folder of clips a speaker, each of which has to open."""
    import soundfile

    inner = [one for one in folder.iterdir() if one.is_dir()] if folder.is_dir() else []
    deep = "*/*" if all(one.name.isdigit() for one in inner) else "*"  # LibriSpeech: speakers hold chapters, by number
    clips = (file for one in inner for pattern in {"*", deep} for file in one.glob(pattern))
    if not any(file.suffix in (".wav", ".flac") for file in clips):
        return
    for name, files in files_of_speakers(folder, None).items():
        note = unreadable(files, soundfile.read)
        yield CheckedPart("speech", name, "altered" if note else "whole", len(files), note)


def unreadable(files: list[Path], read: Callable[[Path], object]) -> str:
    """How many of the files cannot be read, and why the first cannot; "" where all can."""
    broken = []
    for file in files:
        try:
            read(file)
        except (OSError, RuntimeError, SyntaxError) as error:  # soundfile's; Pillow's of some damaged PNG files
            broken.append(f"{file.name} ({error})")
    return f"{len(broken)} cannot be read: {broken[0]}" if broken else ""
