"""Parts of the kinematics stage that receive and judge markers."""
