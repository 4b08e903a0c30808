//! What pages to look at have in common.

use std::fmt::Write;

/// The beginning of a table.
pub(super) fn table(header: &[&str]) -> String {
    let mut table = "<table><tr>".to_owned();
    for name in header {
        let _ = write!(table, "<th>{}</th>", escaped(name));
    }
    table + "</tr>\n"
}

/// A share in per cent.
pub(super) fn percent(share: f64, digits: usize) -> String {
    format!("{:.digits$}", share * 100.0)
}

/// Text for a page: nothing of it is taken for markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_taken_for_markup() {
        assert_eq!(
            escaped("<b a=\"1\" c='2'>&amp;"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;"
        );
    }
}
