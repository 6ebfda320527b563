"""Change modules that the next student's worker might share."""
# like: honest

import numba
import numpy
import kernels.config

numpy.left_by_a_student = numba.left_by_a_student = kernels.config.left_by_a_student = True
kernels.config.TILE = 3
