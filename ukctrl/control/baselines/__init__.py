"""Classical laws that servo control is compared with."""
