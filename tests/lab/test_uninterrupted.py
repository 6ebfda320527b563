"""Compiling goes on when Ctrl-C comes, and the main thread does not wait for it."""

import _thread
import signal
import threading
import time

import pytest

from lessons.lab import uninterrupted as module
from lessons.lab.uninterrupted import uninterrupted


def test_work_returns_and_raises_as_a_call_does():
    assert uninterrupted(lambda: threading.current_thread().name) == "compiling"
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 // 0)
    assert not module.working


def test_an_interrupt_ends_the_wait_and_not_the_work(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_AFTER_INTERRUPT", 0.01)
    done = threading.Event()
    go_on = threading.Event()

    def work():
        go_on.wait(5)
        done.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.05, _thread.interrupt_main).start()
    begin = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            uninterrupted(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - begin < 2 and not done.is_set()
    assert len(module.working) == 1
    go_on.set()
    assert done.wait(2)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no such signals")
def test_work_that_is_nearly_done_is_waited_for(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_AFTER_INTERRUPT", 5)
    done = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            uninterrupted(lambda: (time.sleep(0.5), done.set()))
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.is_set()


def test_work_that_goes_on_at_the_end_of_the_program_is_stopped(monkeypatch):
    stopped = threading.Event()

    def work():
        try:
            while True:
                time.sleep(0.001)
        except SystemExit:
            stopped.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    module.working[thread] = threading.Event()
    monkeypatch.setattr(module, "SECONDS_AT_END", 0.05)
    module.end_work()
    del module.working[thread]
    assert stopped.wait(2)
