"""Layer norm and attention: who looks at whom.

In this order it reads best: `layer_norm.py` (a row per warp), `forward.py` (attention with all
scores in memory, then tile by tile), `backward.py` (its gradients, again without the scores), and
`network.py` (layers of both, which learn to recall). Lesson 19 is made of these files. The rung
above them is `tensor_cores.py`; and `fused.py` does a whole step of the network in three launches.
"""
