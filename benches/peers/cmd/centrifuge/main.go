// A minimal centrifuge server for `cargo bench --bench workload -- peers`: memory engine with history, WebSocket with JSON.
// Prints its address when it listens. Anyone may publish and subscribe, so it listens on the loopback address only.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/centrifugal/centrifuge"
)

// History kept for each channel, as much as Recall keeps by default.
const (
	historySize = 10_000
	historyTTL  = 24 * time.Hour
)

// A replayed history is one reply, which is larger than the default of 1 MiB.
const queueBytes = 64 << 20

func main() {
	node, err := centrifuge.New(centrifuge.Config{ClientQueueMaxSize: queueBytes})
	if err != nil {
		log.Fatal(err)
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: "benchmark"}}, nil
	})
	node.OnConnect(accept)
	if err := node.Run(); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	http.Handle("/connection", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{}))
	log.Fatal(http.Serve(listener, nil))
}

// accept lets a client subscribe with recovery, and publish into the history.
func accept(client *centrifuge.Client) {
	client.OnSubscribe(func(_ centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
		reply(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{EnableRecovery: true}}, nil)
	})
	client.OnPublish(func(_ centrifuge.PublishEvent, reply centrifuge.PublishCallback) {
		options := centrifuge.PublishOptions{HistorySize: historySize, HistoryTTL: historyTTL}
		reply(centrifuge.PublishReply{Options: options}, nil)
	})
}
