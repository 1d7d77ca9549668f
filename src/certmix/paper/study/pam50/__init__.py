"""The breast cancer experiment: certified clustering of PAM50 beside the PAM classifier."""
