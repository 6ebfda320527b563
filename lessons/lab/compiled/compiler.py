"""Compile a rewritten kernel and the functions it calls, together and once.

Numba would compile each function to machine code of its own and then once more into each of its
callers. Here all of them go into one library, and only its entry becomes machine code: a third of
the time.
"""

# These classes extend Numba's, which has no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from collections.abc import Callable, Sequence
from typing import Any

from numba.core import inline_closurecall, ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.errors import NumbaError
from numba.core.ir_utils import dead_code_elimination, get_definition, guard
from numba.core.postproc import PostProcessor
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables
from numba.extending import intrinsic

from ..signatures import Signature
from .found_again import define_again
from .thread import THREAD

OPTIONS: dict[str, Any] = {
    "nopython": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "nogil": True,
    "boundscheck": False,
    # Else Numba would count references to every array at every barrier, in instructions that lock
    # memory: half of the running time. No thread owns an array, so nothing need be counted.
    "_nrt": False,
}


@intrinsic
def wait(typing_context, code):
    """Where a thread waits for others; `WaitsBecomeYields` puts a yield in its place."""
    return None


@register_pass(mutates_CFG=True, analysis_only=False)
class WaitsBecomeYields(FunctionPass):
    """Turn each call of `wait` into a `yield`, those of inlined functions too.

    Numba inlines no function that has a yield. So a function with a barrier has a call in its
    place until it is part of the kernel.
    """

    _name = "waits_become_yields"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        if not state.func_id.is_generator:
            return False
        for block in state.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                if is_wait(state.func_ir, assignment.value):
                    code = assignment.value.args[0]
                    assignment.value = ir.Yield(value=code, loc=assignment.loc, index=0)
        PostProcessor(state.func_ir).run()
        define_again(state.func_ir)
        PostProcessor(state.func_ir).run()
        return True


def is_wait(function, value) -> bool:
    if not isinstance(value, ir.Expr) or value.op != "call":
        return False
    called = guard(get_definition, function, value.func)
    return isinstance(called, (ir.Global, ir.FreeVar)) and called.value is wait


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineClosures(InlineClosureLikes):
    """Numba's pass, which takes stores into a part of an element for useless: here they stay."""

    _name = "inline_closures"

    def run_pass(self, state):
        eliminate = inline_closurecall.dead_code_elimination
        inline_closurecall.dead_code_elimination = keep_stores
        try:
            return super().run_pass(state)
        finally:
            inline_closurecall.dead_code_elimination = eliminate


def keep_stores(function) -> None:
    blocks = function.blocks.values()
    targets = {store.target.name for block in blocks for store in block.find_insts(ir.SetItem)}
    dead_code_elimination(function, alias_map={}, arg_aliases=targets)


class KernelCompiler(CompilerBase):
    """Numba's pipeline, with waits."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = {InlineClosureLikes: InlineClosures}
        passes.passes = [(ours.get(one, one), words) for one, words in passes.passes]
        passes.add_pass_after(WaitsBecomeYields, InlineInlinables)
        passes.finalize()
        return [passes]


class Library:
    """The library that a kernel is being compiled into, and what has been put there."""

    def __init__(self, name: str) -> None:
        self.code = cpu_target.target_context.codegen().create_library(name)
        self.results: list = []
        self.kept: set[str] = set()  # functions that call themselves: Numba does so by their names
        self.error: NumbaError | None = None  # of the part that failed last: the kernel

    def add(self, function: Callable, arguments: tuple, return_type, flags):
        """Compile a function into this library, without making machine code yet."""
        result = compile_extra(
            cpu_target.typing_context,
            cpu_target.target_context,
            function,
            args=arguments,
            return_type=return_type,
            flags=flags,
            locals={},
            library=self.code,
            pipeline_class=KernelCompiler,
        )
        self.results.append(result)
        return result

    def let_unused_go(self) -> None:
        """What is inlined everywhere need not become machine code."""
        for function in self.code._final_module.functions:
            is_ours = not function.is_declaration and function.linkage.name == "external"
            if is_ours and function.name not in self.kept:
                function.linkage = "linkonce_odr"


# The kernels being compiled: the last is the one that parts belong to. Under Numba's lock.
libraries: list[Library] = []


class Part(CPUDispatcher):
    """A function for the CPU that kernels call, or a kernel itself. Not callable from Python."""

    def __init__(
        self,
        function: Callable,
        inline: bool = False,
        counts: bool = False,
        bounds_check: bool = False,
        recursive: bool = False,
        fixed: Sequence[Signature] = (),
    ) -> None:
        """inline: make its text a part of the caller's; needed where it waits.

        counts: references to arrays, which only functions need that make arrays. bounds_check: let
        Numba look at indices, where nobody else does. recursive: it calls itself. fixed: the only
        signatures that it is compiled for; arguments are converted.
        """
        options = dict(OPTIONS, inline="always" if inline else "never", recursive=recursive)
        options |= {"_nrt": counts, "boundscheck": bounds_check}
        super().__init__(function, locals={}, targetoptions=options)
        self.fixed = fixed
        self._compiler = PartCompiler(function, self.targetdescr, options, {}, KernelCompiler)

    def add_overload(self, cres) -> None:
        self.overloads[tuple(cres.signature.args)] = cres

    def get_call_template(self, args, kws):
        if self.fixed:
            self._can_compile = True
            for arguments, result in self.fixed:
                self.compile(arguments if result is None else result(*arguments))
            self._can_compile = False
        return super().get_call_template(args, kws)

    def forget(self) -> None:
        """Before it is compiled into another library."""
        self.overloads.clear()
        self._compiler._failed_cache.clear()


def with_thread(of_user: Signature) -> Signature:
    """The signature of a function that is told which thread runs it."""
    return of_user._replace(arguments=(THREAD, *of_user.arguments))


class PartCompiler(_FunctionCompiler):
    def _compile_core(self, args, return_type):
        flags = Flags()
        options = {name: self.targetoptions[name] for name in OPTIONS}
        self.targetdescr.options.parse_as_flags(flags, options)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = libraries[-1]
        try:
            result = library.add(self.py_func, args, return_type, flags)
        except NumbaError as error:
            library.error = error
            raise
        if self.targetoptions["recursive"]:
            library.kept.add(result.fndesc.llvm_func_name)
        library.let_unused_go()
        context = self.targetdescr.target_context
        key = object()
        context.insert_user_function(key, result.fndesc, ())
        kind = result.signature.return_type
        if isinstance(kind, types.Generator):
            # Numba has noted that the generator lies in a finished library; it is ours, and is not.
            context.insert_generator(kind, context._generators[kind][0], ())
        return result._replace(entry_point=key)


@global_compiler_lock
def compile_entry(function: Callable, arguments: tuple, parts: list[Part]) -> Callable:
    """Machine code for `function`, which calls `parts`, for arguments of these Numba types.

    Raises the `NumbaError` of the kernel, if it does not compile.
    """
    for part in parts:
        part.forget()
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    library = Library(function.__name__)
    flags: Any = Flags()
    cpu_target.options.parse_as_flags(flags, OPTIONS)
    flags.no_cfunc_wrapper = True
    flags.nrt = any(part.targetoptions["_nrt"] for part in parts)
    libraries.append(library)
    try:
        result = library.add(function, arguments, None, flags)
    except NumbaError as error:
        raise library.error or error from error
    finally:
        libraries.pop()
    for part_result in library.results:
        keep_environment(library, part_result)
    return result.entry_point


def keep_environment(library: Library, result) -> None:
    """What a function prints, Numba looks up in its environment; only entries are given one."""
    name = result.fndesc.env_name
    engine = library.code._codegen._engine
    if result.environment is not None and engine.is_symbol_defined(name):
        library.code._codegen.set_env(name, result.environment)
