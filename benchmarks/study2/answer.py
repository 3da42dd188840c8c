"""The sentences of RESULTS.md, written by hand when a block was complete. Their numbers are filled in from runs.csv."""

from benchmarks.study2.runs import LOWEST

PICTURE = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../../docs/_static/study2_dark.png">
  <img alt="Ten seeds, mean, interval, by objective and augmentation" src="../../docs/_static/study2.png" width="700">
</picture>"""
ANSWER = """\
**Objective and augmentation interact. Images and sound have no detectable effect. DeCLUTR's language-model loss lowers
the score here.**

- Token shuffle instead of dropout changes SimCSE by {gain[simcse]:+.2f} points, Barlow Twins by {gain[barlow]:+.2f} and
  VICReg by {gain[vicreg25]:+.2f}.
- With shuffle, Barlow Twins and VICReg are better than SimCSE, by {above[barlow_shuffle]:.2f} and
  {above[vicreg25_shuffle]:.2f}.
- With dropout they are worse than SimCSE, by {above[barlow_dropout]:.2f} and {above[vicreg25_dropout]:.2f}.
- With dropout, WhitenedCSE is {whitened:.2f} points better than SimCSE. Shuffle costs WhitenedCSE {loss:.2f}.
- Sound beside SimCSE changes its score by {beside[sound]:+.2f}, images by {beside[images]:+.2f}. Only one learning rate
  of images did not lower the score. At this rate images hardly change the encoder. True labels help no more than
  shuffled labels.
- On documents, DeCLUTR's contrastive loss alone is {alone:.2f} points better than with its language-model loss. The
  language-model loss alone is {mlm:.2f} below both together.

Claims 1 to 5 and 10 hold. Claims 6, 7 and 8 show no significant difference. Claim 9 fails: its opposite is significant.

Some results are descriptive, because no claim about them was pre-registered:

- the gains of Barlow Twins and VICReg with shuffle, and their distance to SimCSE with dropout
- WhitenedCSE's lower score with shuffle
- EDA: instead of dropout it changes SimCSE by {eda[simcse]:+.2f}, Barlow Twins by {eda[barlow]:+.2f} and VICReg by
  {eda[vicreg25]:+.2f}, each less than shuffle
- a paired test over seeds: images change SimCSE by {paired[images]}, sound by {paired[sound]}"""
ARMS = """\
Outcome: the average of seven STS tests, over ten seeds. The untouched encoder has no training seeds.

Some arms are compared with SimCSE's runs from the same weights at each seed: the arms of claims, images, sound,
SimCSE's EDA and half the steps. For some seeds these are additional SimCSE runs; they are not in the row of SimCSE with
dropout."""
SECOND = """\
Block 1 was repeated on encoder 2, at encoder 1's learning rates. Encoder 2 was made from another text and another seed.
This is a description, not a test. All eight differences have the same sign as on encoder 1, and no interval includes
0."""
RATES = f"""\
Each cell has the mean selection score of both tuning seeds at the last step. It is empty if a seed is missing.

- Bold: the selected rate.
- (edge): the best rate so far is the first or last, so the grid is not finished. There are two exceptions: every grid
  ends at {LOWEST[0]:g} and, for a second modality, at {LOWEST[1]:g}.
- `vicreg` has no selected rate. Its weights, from the ranges of Pappadopulo and Farina, were not used, because
  VICReg's own weights (`vicreg25`) score higher."""
DOUBTS = """\
- **Intervals** are over training seeds, not over test sentences or encoders. Seeds of SimCSE with dropout vary more
  than the plan's power analysis assumed: {spread:.2f} instead of .36 to .54.
- **Compute** was not equalised: WhitenedCSE has three views.
- **Selection.** The selection pairs selected the rates. On them SimCSE scores {dev[simcse_dropout]:.2f} with dropout
  and {dev[simcse_shuffle]:.2f} with shuffle. So SimCSE gains by shuffle only on the tests.
- **Barlow Twins with dropout** has the rate 1e-3, selected on two tuning seeds. The first study had 68.74 ± 1.31 at
  3e-4, at the best step and on another text. So the rate or the last step may explain about three of the points by
  which it is below SimCSE. The same three points may be part of its gain by shuffle. No claim uses this arm.
- **VICReg with dropout** was best at step 20 of 80 in the first study. SimCSE had 70.15 ± 0.36 in that study, at
  1e-4.
- **Two machines.** Seeds 26 to 30 of claim 5 and of its block ran on another machine and in bf16 (WhitenedCSE in
  float32). There, the same command made their initial weights. Both sides of a claim have the same weights at each
  seed. EDA's gains for Barlow Twins and VICReg are relative to dropout runs of the first machine.
- **Rates of the second modality.** The selected rate of images is the lowest, 1e-7. At this rate images hardly change
  the encoder. Each higher rate scores less on the selection pairs, {images:.2f} at 1e-4. The selected rate of sound
  is inside its grid. NOT SEEN does not show equivalence beyond the intervals.
- **Small second modality.** The images are 2,000 of CIFAR-10 at 32 x 32, and the sound is 130 clips of 13 speakers.
  Both start from random patch embeddings. The paper has 30,000 images at 224 x 224 with ViT's patch embedding, and
  clips of 50 speakers. It also has a million sentences and a larger encoder. This study says nothing about that
  setting.
- **DeCLUTR's head.** The encoder has no language-model head, so DeCLUTR's arms start with a new head. Claims 9 and
  10 are about this start. The authors continue a model with its head, on 495,243 documents; this study has 1,501
  documents, 8 per step. MLM alone ends {harm:.2f} below the untouched encoder's mean pooling, and scores less with
  more training.
- **Controls.** The small control, SimCSE at half its steps, is {half:.2f} points below SimCSE; no test of it was
  registered. Temperature 1 and MLM on sentences score less with more training, and end near the untouched encoder.
- **Scope.** One small encoder, already tuned for sentences once; 80 steps; Wikipedia sentences; STS alone. The
  second encoder has only block 1. It comes from the same start and has the first encoder's rates."""
