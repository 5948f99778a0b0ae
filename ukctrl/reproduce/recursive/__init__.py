"""Orsino (2017): recursive modular modelling, its equations and its 3RRR robot."""
