//! Release times: every method serves.

mod support;

use support::{Client, Site, pattern};

#[tokio::test(flavor = "multi_thread")]
async fn a_paced_source_is_served_whole_by_every_method() {
    let content = pattern(1_500_000);
    for method in ["auto", "exact", "timer", "tokio"] {
        let line = ["--release", method, "--promise", "exactly 8 Mbit/s per 1 s"];
        let site = Site::start(&[("file", &content)], &line).await;
        let mut client = Client::connect(site.server.address).await;
        let answer = client.get("/file", &[]).await;
        assert_eq!(answer.status, 200, "{method}");
        assert!(answer.content == content, "{method}: the content differs");
        site.server.stop().await;
    }
}
