#pragma once
// A thread's variables that are looked at in every call.

/// At a fixed offset: 5 ns less than where the loader may put them anywhere (EPYC). The layer is
/// loaded with the program, which leaves room for a few.
#if defined(__GNUC__) && !defined(__clang__)
#define RONDO_NEAR_THREAD [[gnu::tls_model("initial-exec")]]
#else
#define RONDO_NEAR_THREAD
#endif
