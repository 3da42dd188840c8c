import pytest

# A WordNet of five synsets: (file, synset type, lemmas). The noun "dog" has two senses.
SYNSETS = [
    ("noun", "n", ["dog", "domestic_dog"]),
    ("noun", "n", ["cad", "dog", "blackguard", "Hound-dog", "1"]),
    ("noun", "n", ["house", "family"]),
    ("verb", "v", ["chase", "go_after"]),
    ("adj", "a", ["good", "full"]),
]
LICENCE = "  1 This is a WordNet 3.0 Copyright line of a made-up WordNet.  \n"
EXCEPTIONS = {"noun": "kine cow\n", "verb": "chast chase\n", "adj": "better good\n", "adv": ""}


def wordnet_files():
    """Return {file name: content} of a small WordNet in the real format. A data line begins with its byte offset."""
    files = {}
    for pos, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        data, index = LICENCE, {}
        for file, kind, lemmas in SYNSETS:
            if file == pos:
                offset = len(data.encode())
                words = " ".join(f"{lemma} 0" for lemma in lemmas)
                frames = "01 + 08 00 " if pos == "verb" else ""
                data += f"{offset:08d} 00 {kind} {len(lemmas):02x} {words} 000 {frames}| a gloss  \n"
                for lemma in lemmas:
                    index.setdefault(lemma.lower(), []).append(f"{offset:08d}")
        files[f"data.{pos}"] = data
        files[f"index.{pos}"] = LICENCE + "".join(
            f"{lemma} {letter} {len(offsets)} 0 {len(offsets)} 0 {' '.join(offsets)}  \n"
            for lemma, offsets in sorted(index.items())
        )
        files[f"{pos}.exc"] = EXCEPTIONS[pos]
    return files | {"lexnames": "".join(f"{i:02d}\tfile{i:02d}\t0\n" for i in range(45))}


@pytest.fixture
def wordnet_folder(tmp_path):
    folder = tmp_path / "wordnet-3.0"
    folder.mkdir()
    for name, content in wordnet_files().items():
        (folder / name).write_text(content)
    return folder
