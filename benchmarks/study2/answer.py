"""What RESULTS.md says in words, written by hand after a block was read; the numbers are filled in from runs.csv."""

from benchmarks.study2.runs import LOWEST

PICTURE = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../../docs/_static/study2_dark.png">
  <img alt="A panel an objective: ten seeds, their mean and its interval, by augmentation" src="../../docs/_static/study2.png" width="700">
</picture>"""
ANSWER = """\
**Both the objective and the augmentation, and they go together; of images and sound nothing was seen; DeCLUTR's second
loss costs here.**
Token shuffle instead of dropout is worth {gain[simcse]:+.2f} points to SimCSE, {gain[barlow]:+.2f} to Barlow Twins and
{gain[vicreg25]:+.2f} to VICReg; with it these two are better than SimCSE, by {above[barlow_shuffle]:.2f} and
{above[vicreg25_shuffle]:.2f}, with dropout worse, by {above[barlow_dropout]:.2f} and {above[vicreg25_dropout]:.2f}.
Where dropout makes the views, WhitenedCSE is {whitened:.2f} points better than SimCSE; shuffle takes {loss:.2f} from
it. Sound beside SimCSE is worth {beside[sound]:+.2f}; images, at the one rate that did no harm and at which they hardly
train, {beside[images]:+.2f}, and true labels no more than shuffled ones.
On documents DeCLUTR's contrastive loss is {alone:.2f} points better alone than with
its language-model loss, which alone is {mlm:.2f} below the two together.

Claims 1 to 5 and 10 hold; 6, 7 and 8 are not seen; 9 fails, as its opposite is seen. The gains of Barlow Twins and
VICReg, their distance to SimCSE with dropout, and WhitenedCSE's loss are described: no claim was registered about them.
So is EDA, which is worth {eda[simcse]:+.2f}, {eda[barlow]:+.2f} and {eda[vicreg25]:+.2f} beside dropout, to each less
than shuffle. Seed by seed, a test that nobody registered, images move SimCSE by {paired[images]},
sound by {paired[sound]}."""
ARMS = """\
Outcome: the average of seven STS tests; ten seeds, but for the untouched encoder. Claims, images, sound, SimCSE's EDA
and half the steps are compared with SimCSE's runs from the same weights at each seed: of some seeds these are further
runs, which the row of SimCSE with dropout, block 1's, does not have."""
SECOND = """\
Block 1 on encoder 2, which another text and seed made, at encoder 1's rates: described, not judged. All eight have the
sign there that they have on encoder 1, and no interval holds 0."""
RATES = f"""\
Mean selection score of both tuning seeds at the last step; empty where a seed is missing.
Bold: chosen; (edge): the best so far is the first or last rate, so the grid is not finished
(but for {LOWEST[0]:g} and, of a second modality's, {LOWEST[1]:g}, where every grid ends);
unmarked: VICReg's weights of its paper's search, not used, as its own (`vicreg25`) score higher."""
DOUBTS = """\
- Intervals are over training seeds, not over test sentences or encoders. Seeds of SimCSE with dropout vary by more than
  the plan's power assumed, {spread:.2f} for .36 to .54. No compute was equalised: WhitenedCSE has three views.
- On the selection pairs, which chose the rates, SimCSE's arms are alike: {dev[simcse_dropout]:.2f} with dropout,
  {dev[simcse_shuffle]:.2f} with shuffle. So the gain is seen on the tests alone.
- Barlow Twins with dropout has the rate that two tuning seeds favoured, 1e-3; at 3e-4, of its best step and on another
  text, the first study had 68.74 ± 1.31. So about three of the points that it lies below SimCSE, and of those that
  shuffle gives it, may be the rate's or the last step's. It is a side of no claim. VICReg with dropout, too, was
  best at step 20 of 80 there; SimCSE had 70.15 ± 0.36, at 1e-4.
- Seeds 26 to 30 of claim 5 and of its block were run on another machine, from the weights that the same command made
  there and in bf16 (WhitenedCSE in float32); both sides of a claim have the same weights at each seed, but EDA's gains
  for Barlow Twins and VICReg are to the dropout arms of the first machine.
- Images chose the lowest rate of all, 1e-7, at which they hardly move the encoder: each higher one scores less on the
  selection pairs, {images:.2f} at 1e-4. Sound chose a rate inside its grid. NOT SEEN is no proof of likeness beyond
  what the intervals leave.
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
