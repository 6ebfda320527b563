# The project and all it needs, run by a user without rights. On the CPU:
#
#     docker build -t learn-a-lake .
#     docker run --rm -it learn-a-lake
#
# On an NVIDIA GPU (driver 580 or later, and the NVIDIA Container Toolkit on the host):
#
#     docker build -t learn-a-lake-gpu --build-arg REQUIREMENTS=requirements.txt .
#     docker run --rm -it --gpus all learn-a-lake-gpu

FROM python:3.13-slim

ARG REQUIREMENTS=requirements-cpu.txt

RUN useradd --create-home --shell /bin/bash learner
USER learner
WORKDIR /home/learner

ENV PATH=/home/learner/.venv/bin:$PATH
RUN python -m venv .venv

# The packages first: they change less often than the project.
COPY --chown=learner requirements*.txt ./
RUN python -m pip install --no-cache-dir -r "$REQUIREMENTS" && rm requirements*.txt

COPY --chown=learner . lake
WORKDIR /home/learner/lake

CMD ["bash"]
