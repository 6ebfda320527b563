"""What programs need around the kernels: compilers, errors, signals, recorded launches."""
