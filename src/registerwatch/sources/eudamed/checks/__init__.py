"""How each check of EUDAMED's interface is looked at."""
