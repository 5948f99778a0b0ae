"""Control of links that their motors drive through springs."""

from ukctrl.control.elastic.cascade import ElasticCascade
from ukctrl.control.elastic.linearisation import ElasticLinearisation
from ukctrl.control.elastic.singular_perturbation import ElasticSingularPerturbation
from ukctrl.control.elastic.tracking import ElasticTracking

__all__ = [
    "ElasticCascade",
    "ElasticLinearisation",
    "ElasticSingularPerturbation",
    "ElasticTracking",
]
