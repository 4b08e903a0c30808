// A client of somebody else's making: quic-go. It fetches a URL over HTTP/3 on so many connections at
// a time, or posts so many bytes to it, and prints what came of it as JSON.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// transfer uses a connection of its own, and returns how much has come or gone.
func transfer(url string, post int64) (int64, error) {
	transport := &http3.Transport{
		// The certificate is one for tests.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		// As browsers do: a server that falls silent is asked whether it is still there.
		QUICConfig: &quic.Config{KeepAlivePeriod: 5 * time.Second},
	}
	defer transport.Close()
	client := &http.Client{Transport: transport}
	if post > 0 {
		answer, err := client.Post(url, "application/octet-stream", io.LimitReader(zeros{}, post))
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return post, err
	}
	answer, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return io.Copy(io.Discard, answer.Body)
}

type outcome struct {
	bytes int64
	err   error
}

func main() {
	connections := flag.Int("connections", 1, "how many transfers at a time, each on its own connection")
	post := flag.Int64("post", 0, "post so many bytes instead of fetching")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: client [-connections N] [-post BYTES] URL")
		os.Exit(2)
	}
	started := time.Now()
	outcomes := make(chan outcome)
	for range *connections {
		go func() {
			bytes, err := transfer(flag.Arg(0), *post)
			outcomes <- outcome{bytes, err}
		}()
	}
	var bytes int64
	for range *connections {
		outcome := <-outcomes
		if outcome.err != nil {
			fmt.Fprintln(os.Stderr, "error:", outcome.err)
			os.Exit(1)
		}
		bytes += outcome.bytes
	}
	seconds := time.Since(started).Seconds()
	json.NewEncoder(os.Stdout).Encode(map[string]any{"bytes": bytes, "seconds": seconds})
}
