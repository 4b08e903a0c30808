/// The text of a crate root without its inner attributes and inner documentation, neither of which
/// is allowed in a file that is included by `include!`.
///
/// Only lines are looked at: an inner attribute that spans lines would be left in, and the compiler
/// would point at it.
#[must_use]
pub fn includable(crate_root: &str) -> String {
    let is_inner = |line: &&str| line.starts_with("//!") || line.starts_with("#![");
    crate_root
        .split_inclusive('\n')
        .filter(|line| !is_inner(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::includable;

    #[test]
    fn only_inner_attributes_and_inner_documentation_are_dropped() {
        let root = "//! Docs.\n#![warn(missing_docs)]\n/// Outer.\n#[derive(Debug)]\npub struct \
         A;\n// #![x]\n";
        assert_eq!(
            includable(root),
            "/// Outer.\n#[derive(Debug)]\npub struct A;\n// #![x]\n"
        );
    }
}
