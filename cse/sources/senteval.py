"""SentEval's files of sentence pairs, by name, and their official numbers of rows."""

# The number of official pairs with a gold score. STS13's SMT is missing, as in SentEval, because of its licence.
SUBSETS = {
    "STS12": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    "STS13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "STS14": {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    "STS15": {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    "STS16": {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
}
STSB_ROWS = {"train": 5749, "dev": 1500, "test": 1379}
SICK_FILES = {"train": ("SICK_train", 4500), "dev": ("SICK_trial", 500), "test": ("SICK_test_annotated", 4927)}
