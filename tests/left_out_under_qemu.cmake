# Unit tests of what qemu's user mode does not emulate. Sets `files_left_out`, patterns that begin with a comma, and
# `cases_left_out`, an argument of unit_tests.
set(files
    # io_uring
    ring_test
    # clone(2) with CLONE_PIDFD, which starts a process
    process_test cancellation_test
    # process_vm_readv(2), by which frames are read
    async_stacktrace_test exception_trace_test free_frames_test live_coroutines_test trace_test
    trace_foreign_test trace_long_turns_test)
set(cases
    "as_io_result: a process*"
    # preadv2(2) with RWF_NOWAIT, which reads what is in memory
    "file operation: what is in the page cache*"
    "file operation: a read that the end of the file cuts off*"
    "file operation: only what the page cache takes*"
    "file: stop requested during a copy*"
    # a child of fork() in a program with threads, which aborts inside qemu
    "*ends the program*" "*end the program*"
    "io_engine: a socket that a child of fork()*" "io_engine: a child of fork()*"
    "parallel_for: a negative index and an unsigned one"
    "blocking: the program's pool has threads of its own*"
    "program_timers: *" "stream_descriptor: a copy of standard output*"
    "spsc_channel: so do two*"
    "static_thread_pool: std::exit()*"
    "sync_wait: blocks a pool's only thread*"
    # more descriptors in a message than there is room for
    "unix_socket: descriptors that nobody takes*"
    # the folders of this machine, some of which qemu takes from elsewhere
    "walk_directory: other file systems*")
list(TRANSFORM files REPLACE "(.+)" ",*/\\1.cpp")
list(JOIN files "" files_left_out)
list(JOIN cases "," cases)
set(cases_left_out "--test-case-exclude=${cases}")
