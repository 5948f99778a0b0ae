"""Liu, Zhen, Huang, Zhao, Chen, Shao 2015: servo control of constrained systems."""
