"""Test a GPU machine with one command, `make gpu` or python -m benchmarks.gpu, without hub, network or data.

It needs torch, transformers, accelerate, hydra-core and this checkout; weights are random, text, score sets, pictures
and sound are made up (world.py). Each part runs in its own process and writes DIR/<part>.json after every check:

    launches     (0) kernels and launches of a step, plain and with CUDA graphs; graphs beside plain; saves of last/
    correctness  (a) the GPU matches the CPU in loss, gradient, chunks, resume, scores, pictures and sound; a step never
                 waits for the GPU; a compiled run has the plain run's losses
    speed        (b) tokens/s, share of the measured bf16 peak and memory, beside a plain Hugging Face Trainer and
                 sentence-transformers' (skipped, with the reason, if it or `datasets` is missing)
    recipes      (c) SimCSE-BERT and Barlow-BERT over 500 steps with evaluations, extrapolated to the whole recipe
    modality     (d) the time of a step with pictures or sound relative to text alone, and its share spent waiting
    large        (e) a batch of 65,536 in chunks of rows and of tokens
    evaluation   (f) encoding, STS and transfer

tests/benchmarks runs every part at toy size on a CPU; `--tiny` does the same by hand.

What no GPU has run yet
-----------------------
tests/training/test_card.py runs every objective on a simulated GPU: no tensor on the wrong device, no wait. Still to be
run on a real one: trainer.compile, true and graphs, the tests of tests/training/test_compilation.py that skip without
one, the minute between two saves, fp16, every figure. To a machine without a network, bring wheels (6 MB in all) of
what it lacks beside torch, transformers, accelerate and scikit-learn. `pip download --no-deps --only-binary=:all:
--python-version 3.12 --platform ... -d .whl` fetches:

    hydra-core==1.3.8 omegaconf==2.3.1 pydantic==2.14.3 pydantic-core==2.50.4 annotated-types==0.8.0
    soundfile==0.14.0 cffi==2.1.1 pycparser==3.12 and, for sentence-transformers' trainer,
    datasets==5.2.0 dill==0.4.1 multiprocess==0.70.19

and `pip wheel --no-deps -w .whl antlr4-python3-runtime==4.9.3` builds the one that has no wheel. Then, with the wheels'
folder and this checkout on PYTHONPATH, at most eight minutes for the first command and ten for each other:

    python -m benchmarks.gpu --parts launches --out DIR
    python -m benchmarks.gpu --parts correctness,large --out DIR
    python -m pytest -q tests/training/test_compilation.py tests/training/test_step.py
    python -m benchmarks.gpu --parts speed --only "peak|batch 64|Barlow|DeCLUTR" --out DIR
    python -m benchmarks.gpu --parts speed --only "peak|batch (256|512)" --out DIR2
    python -m benchmarks.gpu --parts recipes,modality,evaluation --out DIR
"""
