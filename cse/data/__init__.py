"""The training data of a run, as batches. The lines of a file become the batch of training step 7 in this order:

1. text: Text has the settings of a text (the rows of one source). Text.find opens the source and computes its digest.
   text_needs: checks, before any work, that the data in the settings are available.
2. listing: finds the files of a folder. readers: reads the rows of a file. columns: reads the cells of a row.
   A function may yield the rows instead: corpora, stsb, wikipedia and demo have cse's functions. function: calls the
   user's function. noise: may change the rows.
3. usable: notes which rows are unusable, while the rows are read.
4. cache: keeps the columns of the rows in memory-mapped files.
5. rows: TextRows has the rows in use, from the cache.
6. views: Views tokenises rows, makes the views of each row with the augmentation, and checks and masks the views.
7. loader: Batches.row_numbers_of(7) returns the step's row numbers. The order of all rows is keyed by (seed, epoch).
   Batches[7] pads the views of these rows. duplicates: separates rows that share a text (trainer.no_duplicates).
8. prefetch: worker processes make the batch before the step needs it.

mixture: joins several texts in one run; each batch is from one text. overlap: counts training texts in evaluation sets.

The second modality has batches of its own. stream: makes endless batches of labelled items. images: reads pictures from
a folder or from hub_images. pixels: decodes a picture. audio: turns speech into filter banks.
"""
