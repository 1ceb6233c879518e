//! The allocator of every controller.
//!
//! A thousand reconciles in flight take several times the memory of what they leave behind. glibc keeps it for the next burst, in
//! one heap per thread; jemalloc returns it. Its settings are in `.cargo/config.toml`.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
