"""A class that takes the stages by their names, with getattr."""

from functools import partial
from itertools import count


class Trainer:
    def __init__(self, stages, arrays, launch):
        self.data = arrays
        self.params = arrays.parameters
        self.stage = lambda name: partial(getattr(stages, name), launch=launch)

    def load(self, seed, step):
        self.stage("sample_batch")(self.data.image, seed, step, self.data.uv, self.data.target)

    def forward(self):
        d, p = self.data, self.params
        self.stage("encode")(d.uv, p.feature_grid, d.features)
        self.stage("mlp_forward")(d.features, p.weights, d.hidden, d.outputs)

    def backward(self):
        d = self.data
        self.stage("backward")(
            d.uv,
            d.features,
            d.hidden,
            d.outputs,
            d.target,
            self.params.weights,
            d.grad_weights,
            d.grad_feature_grid,
            d.loss_sum,
        )

    def step(self, step, lr_mlp, lr_grid, rates):
        d, p = self.data, self.params
        self.stage("adam_weights")(
            p.weights, d.grad_weights, p.weights_m, p.weights_v, step, d.corrections, lr_mlp, rates
        )
        self.stage("adam_grid")(
            p.feature_grid,
            d.grad_feature_grid,
            p.grid_m,
            p.grid_v,
            p.grid_steps,
            d.corrections,
            lr_grid,
            rates,
        )


def evaluate(stages, arrays, launch):
    Trainer(stages, arrays, launch).forward()


def training_step(stages, arrays, config, step, learning_rate_mlp, learning_rate_grid, launch):
    trainer = Trainer(stages, arrays, launch)
    trainer.load(config.seed, step)
    evaluate(stages, arrays, launch)
    trainer.backward()
    trainer.step(step, learning_rate_mlp, learning_rate_grid, config.adam_rates)


def training_steps(stages, arrays, config, first_step, learning_rates, launch):
    for (mlp, grid), step in zip(learning_rates, count(first_step)):
        training_step(stages, arrays, config, step, mlp, grid, launch)
