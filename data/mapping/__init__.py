"""Columns of any table mapped by a person: the words, proposals, doubts, and the rows that come of it."""
