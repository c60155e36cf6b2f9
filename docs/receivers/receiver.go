// A receiver for both formats with nothing but Go's standard library. It listens on plain HTTP: put it behind a proxy
// that speaks TLS.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const toleranceSeconds = 300

var (
	secret = []byte(os.Getenv("WEBHOOK_SECRET"))
	seen   sync.Map
)

func matches(header string, message []byte) bool {
	mac := hmac.New(sha256.New, secret)
	mac.Write(message)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(header))
}

// After a rotation former secrets sign too, for a day, in headers that begin with the same name.
func matchesAny(header http.Header, name string, message []byte) bool {
	for key := range header {
		if strings.HasPrefix(key, name) && matches(header.Get(key), message) {
			return true
		}
	}
	return false
}

// The standard format signs `<timestamp>.<raw body>`, and old timestamps are refused.
func isStandard(header http.Header, body []byte) bool {
	timestamp := header.Get("X-Service-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return false
	}
	age := time.Now().Unix() - seconds
	if age > toleranceSeconds || age < -toleranceSeconds {
		return false
	}
	message := append([]byte(timestamp+"."), body...)
	return matchesAny(header, "X-Service-Signature", message)
}

// The simple format signs the raw body.
func isSimple(header http.Header, body []byte) bool {
	return matchesAny(header, "X-Webhook-Signature", body)
}

func receive(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, 1<<20))
	if err != nil {
		writer.WriteHeader(http.StatusBadRequest)
		return
	}
	delivery := request.Header.Get("X-Service-Delivery-Id")
	good := isSimple(request.Header, body)
	if delivery != "" {
		good = isStandard(request.Header, body)
	}
	if !good {
		writer.WriteHeader(http.StatusUnauthorized)
		return
	}
	writer.WriteHeader(http.StatusNoContent)
	// A delivery may come more than once, always under the same id.
	if delivery != "" {
		if _, twice := seen.LoadOrStore(delivery, true); twice {
			return
		}
	}
	var event struct{ Type, Event string }
	if json.Unmarshal(body, &event) == nil {
		fmt.Println(event.Type + event.Event)
	}
}

func main() {
	// Everybody knows the empty key: whatever they sign with it would be taken for ours.
	if len(secret) == 0 {
		fmt.Fprintln(os.Stderr, "Set WEBHOOK_SECRET to the secret of the webhook.")
		os.Exit(1)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "9000"
	}
	http.HandleFunc("/", receive)
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err == nil {
		fmt.Printf("listening on %d\n", listener.Addr().(*net.TCPAddr).Port)
		err = http.Serve(listener, nil)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
