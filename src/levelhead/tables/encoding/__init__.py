"""From the columns of a frame to the inputs of a model.

A frame (`frames`) becomes an array of numbers, codes and days (`columns`), and that the features of a network or of
trees (`features`, `inputs`), among them statistics of the labels of each category (`levels`).
"""
