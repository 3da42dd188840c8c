"""The articles in gensim's wheel, as documents."""

from cse.data import demo


def test_documents_are_whole_sentences_of_one_article(monkeypatch):
    sentence = " ".join(["word"] * 60)
    monkeypatch.setattr(demo, "articles", lambda: [[sentence] * 11, ["short one"], [sentence] * 5])
    assert [len(text.split()) for (text,) in demo.wikipedia_documents()] == [300, 300, 300]
