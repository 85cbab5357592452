"""Parts of the kinematics stage that receive and check markers."""
