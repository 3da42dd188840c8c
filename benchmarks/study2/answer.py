"""What RESULTS.md says in words, written by hand after a block was read; the numbers are filled in from runs.csv."""

from benchmarks.study2.runs import LOWEST

PICTURE = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../../docs/_static/study2_dark.png">
  <img alt="Ten seeds, mean, interval, by objective and augmentation" src="../../docs/_static/study2.png" width="700">
</picture>"""
ANSWER = """\
**Objective and augmentation interact. Images and sound have no detectable effect. DeCLUTR's language-model loss lowers
the score here.**

- Token shuffle instead of dropout adds {gain[simcse]:+.2f} points to SimCSE, {gain[barlow]:+.2f} to Barlow Twins and
  {gain[vicreg25]:+.2f} to VICReg.
- With shuffle, Barlow Twins and VICReg are better than SimCSE, by {above[barlow_shuffle]:.2f} and
  {above[vicreg25_shuffle]:.2f}. With dropout they are worse, by {above[barlow_dropout]:.2f} and
  {above[vicreg25_dropout]:.2f}.
- With dropout, WhitenedCSE is {whitened:.2f} points better than SimCSE. Shuffle costs WhitenedCSE {loss:.2f}.
- Sound beside SimCSE changes its score by {beside[sound]:+.2f}, images by {beside[images]:+.2f}. Images have the only
  learning rate that did no harm, at which they hardly train. True labels help no more than shuffled ones.
- On documents DeCLUTR's contrastive loss is {alone:.2f} points better alone than with its language-model loss. The
  language-model loss alone is {mlm:.2f} below both together.

Claims 1 to 5 and 10 hold. Claims 6, 7 and 8 show no significant difference. Claim 9 fails: its opposite is significant.
These results are descriptive, because no claim about them was pre-registered: the gains of Barlow Twins and VICReg with
shuffle, their distance to SimCSE with dropout, WhitenedCSE's loss with shuffle, and EDA. EDA instead of dropout adds
{eda[simcse]:+.2f}, {eda[barlow]:+.2f} and {eda[vicreg25]:+.2f}, each less than shuffle. In a paired test over seeds,
which was not pre-registered either, images change SimCSE by {paired[images]}, sound by {paired[sound]}."""
ARMS = """\
Outcome: the average of seven STS tests, over ten seeds (the untouched encoder has none). Claims, images, sound,
SimCSE's EDA and half the steps are compared with SimCSE's runs from the same weights at each seed.
For some seeds these are further runs, which are not in the row of SimCSE with dropout."""
SECOND = """\
Block 1 again, on encoder 2, which was made from another text and seed, at encoder 1's rates. This is a description, not
a test. All eight differences have the same sign as on encoder 1, and no interval includes 0."""
RATES = f"""\
Mean selection score of both tuning seeds at the last step; empty if a seed is missing.
Bold: selected. (edge): the best so far is the first or last rate, so the grid is not finished
(except at {LOWEST[0]:g} and, for a second modality, {LOWEST[1]:g}, where every grid ends).
`vicreg` has no selected rate: its weights, from its paper's ranges, were not used, because VICReg's own weights
(`vicreg25`) score higher."""
DOUBTS = """\
- Intervals are over training seeds, not over test sentences or encoders. Seeds of SimCSE with dropout vary by more than
  the plan's power analysis assumed, {spread:.2f} instead of .36 to .54. Compute was not equalised: WhitenedCSE has
  three views.
- On the selection pairs, which selected the rates, SimCSE scores {dev[simcse_dropout]:.2f} with dropout and
  {dev[simcse_shuffle]:.2f} with shuffle. So its gain by shuffle appears on the tests alone.
- Barlow Twins with dropout has the rate that two tuning seeds favoured, 1e-3. The first study had 68.74 ± 1.31 at 3e-4,
  at the best step and on another text. So the rate or the last step may explain about three of the points by which it
  is below SimCSE, and by which shuffle improves it. No claim uses it. VICReg with dropout was also best at step 20 of
  80 there; SimCSE had 70.15 ± 0.36, at 1e-4.
- Seeds 26 to 30 of claim 5 and of its block ran on another machine, from weights that the same command made there, and
  in bf16 (WhitenedCSE in float32). Both sides of a claim have the same weights at each seed. EDA's gains for Barlow
  Twins and VICReg are relative to dropout runs of the first machine.
- The selected rate of images is the lowest, 1e-7, at which they hardly change the encoder. Each higher rate scores less
  on the selection pairs, {images:.2f} at 1e-4. The selected rate of sound is inside its grid. NOT SEEN does not show
  equivalence beyond what the intervals exclude.
- The images are 2,000 of CIFAR-10 at 32 x 32, the sound 130 clips of 13 speakers, and both start from random patch
  embeddings. The paper's are 30,000 images at 224 x 224, from ViT's patches, and clips of 50 speakers, beside a million
  sentences and a larger encoder: of that this says nothing.
- DeCLUTR's arms start with a new language-model head, as the encoder has none, so claims 9 and 10 are about such a
  start; its authors continue a model with its head, on 495,243 documents, where this has 1,501, 8 a step. MLM alone
  ends {harm:.2f} below the untouched encoder's mean pooling, and scores less the more it trains.
- The small control, SimCSE at half its steps, is {half:.2f} points below; no test of it was registered. Temperature 1
  and MLM on sentences score less the more they train, and are near the untouched encoder.
- One small encoder that a sentence encoder's tuning has shaped, 80 steps, Wikipedia sentences, STS alone. The second
  encoder, on which block 1 alone was run, comes from the same start and has the first one's rates."""
