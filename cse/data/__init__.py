"""The data that a run learns from, as batches. How the lines of a file become the batch of step 7, in this order:

1. text: Text has the settings of a text. Text.find opens the source and names it by a digest. text_needs checks, before
   any work, that the data in the settings are available.
2. listing: which files of a folder are read. readers: the rows of a file, format by format. columns: the cells of a
   row. The rows may also come from a function: corpora has the functions of the papers' corpora (further ones are in
   stsb, wikipedia and demo), and function calls a user's own function. noise may change the rows.
3. usable: notes which rows have no text, while the rows are read.
4. cache: keeps the columns of the rows in memory-mapped files.
5. rows: TextRows are the rows in use, read from the cache.
6. views: Views tokenises rows, makes the views of each row with the augmentation, checks and masks them.
7. loader: Batches.row_numbers_of(7) are the rows of the step, in an order keyed by (seed, epoch). Batches[7] pads their
   views. With trainer.no_duplicates, duplicates keeps rows that share a text in different batches.
8. prefetch: worker processes make the batch before the step needs it.

mixture: several texts in one run; each batch is from one text. overlap: how many training texts are evaluation texts.

The second modality has batches of its own. stream: endless batches of labelled items. images: pictures, from a folder
(listing) or from hub_images; pixels decodes a file. audio: speech as filter banks.
"""
