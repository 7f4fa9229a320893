"""The bench works: at tiny sizes, without looking at how quick anything is."""
