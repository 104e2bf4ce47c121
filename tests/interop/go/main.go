// Speaks the line protocol of ../README.md for the Go SDK: one command in, one answer out, events as they come.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nacos-group/nacos-sdk-go/v2/clients"
	"github.com/nacos-group/nacos-sdk-go/v2/clients/naming_client"
	"github.com/nacos-group/nacos-sdk-go/v2/common/constant"
	"github.com/nacos-group/nacos-sdk-go/v2/model"
	"github.com/nacos-group/nacos-sdk-go/v2/vo"
)

type instance struct {
	IP        string            `json:"ip"`
	Port      uint64            `json:"port"`
	Weight    float64           `json:"weight"`
	Healthy   bool              `json:"healthy"`
	Enabled   bool              `json:"enabled"`
	Ephemeral bool              `json:"ephemeral"`
	Cluster   string            `json:"cluster"`
	Metadata  map[string]string `json:"metadata"`
}

type command struct {
	ID        int64      `json:"id"`
	Cmd       string     `json:"cmd"`
	Service   string     `json:"service"`
	Group     string     `json:"group"`
	Clusters  []string   `json:"clusters"`
	Healthy   *bool      `json:"healthy"`
	Instance  instance   `json:"instance"`
	Instances []instance `json:"instances"`
}

type driver struct {
	naming        naming_client.INamingClient
	subscriptions map[string]*vo.SubscribeParam
}

var output sync.Mutex

func main() {
	naming, err := connect(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "no client:", err)
		os.Exit(1)
	}
	d := &driver{naming: naming, subscriptions: map[string]*vo.SubscribeParam{}}
	write(map[string]any{"event": "ready"})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, "not a command:", err)
			os.Exit(2)
		}
		result, err := d.execute(&c)
		answer := map[string]any{"id": c.ID, "ok": err == nil, "result": result}
		if err != nil {
			answer["error"] = err.Error()
		}
		write(answer)
		if c.Cmd == "exit" {
			return
		}
	}
}

func connect(address, dir string) (naming_client.INamingClient, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	// Without UpdateCacheWhenEmpty the last instance of a service never leaves the SDK's cache.
	config := constant.NewClientConfig(
		constant.WithCacheDir(filepath.Join(dir, "cache")),
		constant.WithLogDir(filepath.Join(dir, "log")),
		constant.WithLogLevel("info"),
		constant.WithNotLoadCacheAtStart(true),
		constant.WithUpdateCacheWhenEmpty(true),
	)
	servers := []constant.ServerConfig{*constant.NewServerConfig(host, port)}
	return clients.NewNamingClient(vo.NacosClientParam{ClientConfig: config, ServerConfigs: servers})
}

func (d *driver) execute(c *command) (any, error) {
	switch c.Cmd {
	case "register":
		return accepted(d.naming.RegisterInstance(registration(c.Instance, c.Service, c.Group)))
	case "batch":
		var all []vo.RegisterInstanceParam
		for _, i := range c.Instances {
			all = append(all, registration(i, c.Service, c.Group))
		}
		return accepted(d.naming.BatchRegisterInstance(vo.BatchRegisterInstanceParam{ServiceName: c.Service, GroupName: c.Group, Instances: all}))
	case "deregister":
		return accepted(d.naming.DeregisterInstance(vo.DeregisterInstanceParam{
			Ip: c.Instance.IP, Port: c.Instance.Port, Cluster: c.Instance.Cluster,
			ServiceName: c.Service, GroupName: c.Group, Ephemeral: c.Instance.Ephemeral,
		}))
	case "list":
		return d.list(c)
	case "subscribe":
		param := subscription(c)
		d.subscriptions[c.Group+"@@"+c.Service] = param
		return nil, d.naming.Subscribe(param)
	case "unsubscribe":
		key := c.Group + "@@" + c.Service
		param := d.subscriptions[key]
		delete(d.subscriptions, key)
		return nil, d.naming.Unsubscribe(param)
	case "services":
		list, err := d.naming.GetAllServicesInfo(vo.GetAllServiceInfoParam{GroupName: c.Group, PageNo: 1, PageSize: 10000})
		return map[string]any{"count": list.Count, "names": list.Doms}, err
	case "exit":
		d.naming.CloseClient()
		return nil, nil
	}
	return nil, fmt.Errorf("unknown command")
}

// list subscribes on its first call for a service and then answers from the SDK's cache: the SDK has no other read.
func (d *driver) list(c *command) (any, error) {
	if c.Healthy == nil {
		found, err := d.naming.SelectAllInstances(vo.SelectAllInstancesParam{ServiceName: c.Service, GroupName: c.Group, Clusters: c.Clusters})
		return plain(found), err
	}
	found, err := d.naming.SelectInstances(vo.SelectInstancesParam{ServiceName: c.Service, GroupName: c.Group, Clusters: c.Clusters, HealthyOnly: *c.Healthy})
	if err != nil && err.Error() == "instance list is empty!" {
		err = nil
	}
	return plain(found), err
}

func subscription(c *command) *vo.SubscribeParam {
	service := c.Service
	return &vo.SubscribeParam{
		ServiceName: service, GroupName: c.Group, Clusters: c.Clusters,
		SubscribeCallback: func(found []model.Instance, err error) {
			event := map[string]any{"event": "change", "at": time.Now().UnixMilli(), "service": service, "instances": plain(found)}
			if err != nil {
				event["error"] = err.Error()
			}
			write(event)
		},
	}
}

func registration(i instance, service, group string) vo.RegisterInstanceParam {
	return vo.RegisterInstanceParam{
		Ip: i.IP, Port: i.Port, Weight: i.Weight, Enable: i.Enabled, Healthy: i.Healthy, Metadata: i.Metadata,
		ClusterName: i.Cluster, ServiceName: service, GroupName: group, Ephemeral: i.Ephemeral,
	}
}

func accepted(ok bool, err error) (any, error) {
	if err == nil && !ok {
		return nil, fmt.Errorf("the SDK answered false")
	}
	return nil, err
}

func plain(found []model.Instance) []instance {
	all := []instance{}
	for _, i := range found {
		all = append(all, instance{i.Ip, i.Port, i.Weight, i.Healthy, i.Enable, i.Ephemeral, i.ClusterName, i.Metadata})
	}
	return all
}

func write(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		fmt.Fprintln(os.Stderr, "not JSON:", err)
		os.Exit(1)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(text))
}
