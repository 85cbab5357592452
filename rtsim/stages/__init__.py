"""Stages of a run: computations that are carried out for every frame one after the other, such as kinematics
or inverse dynamics. Each is a module of this folder, which is found by its name, or comes from another
package.
"""
