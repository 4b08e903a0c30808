#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    imtcp_fuzz_harness::qlog::run(input);
});
