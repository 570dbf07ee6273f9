"""What all tests share."""

import signal

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that: tests that press it would wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
