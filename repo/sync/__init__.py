"""Copying: CAR files, bundles, and the exchange of commits between repositories."""
