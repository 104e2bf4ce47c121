// Speaks the line protocol of ../README.md for the npm package `nacos` (HTTP and UDP): one command in, one answer out, events as they come.
// Arguments: ADDRESS DIRECTORY MODULES, where MODULES is a file beside the folder `node_modules`.
'use strict';

const { createRequire } = require('module');
const readline = require('readline');

const [address, , modules] = process.argv.slice(2);
const sdk = createRequire(modules);
// The SDK has no setting for the address that pushes go to: it takes that of the first network card.
sdk('address').ip = () => '127.0.0.1';
const { NacosNamingClient } = sdk('nacos');

// Without clusters the SDK subscribes to the cluster DEFAULT alone.
const CLUSTERS = ['c1', 'c2', 'c9', 'keepers', ...Array.from({ length: 40 }, (_, number) => `cluster-${number}`)].join(',');

class Driver {
  constructor(naming) {
    this.naming = naming;
    this.registered = new Map();
    this.listeners = new Map();
  }

  async execute(command) {
    const { service, group } = command;
    switch (command.cmd) {
      case 'register': {
        const instance = fields(command.instance);
        await this.naming.registerInstance(service, instance, group);
        this.registered.set(key(service, group, instance), { service, group, instance });
        return null;
      }
      case 'deregister': {
        const instance = fields(command.instance);
        await this.naming.deregisterInstance(service, instance, group);
        this.registered.delete(key(service, group, instance));
        return null;
      }
      case 'list':
        return this.list(service, group, (command.clusters || []).join(','), command.healthy);
      case 'subscribe': {
        const listener = hosts => print({ event: 'change', at: Date.now(), service, instances: plain(hosts) });
        this.listeners.set(service, listener);
        this.naming.subscribe({ serviceName: service, groupName: group, clusters: CLUSTERS }, listener);
        return null;
      }
      case 'unsubscribe':
        this.naming.unSubscribe({ serviceName: service, groupName: group, clusters: CLUSTERS }, this.listeners.get(service));
        return null;
      case 'batch':
        throw new Error('the npm package nacos has no batch registration');
      case 'services':
        throw new Error('the npm package nacos has no list of services');
      case 'exit':
        // The SDK leaves its instances to the server, which would keep them for half a minute.
        for (const one of this.registered.values()) {
          await this.naming.deregisterInstance(one.service, one.instance, one.group);
        }
        await this.naming.close();
        return null;
      default:
        throw new Error('unknown command');
    }
  }

  async list(service, group, clusters, healthy) {
    const found = typeof healthy === 'boolean'
      ? await this.naming.selectInstances(service, group, clusters, healthy, false)
      : await this.naming.getAllInstances(service, group, clusters, false);
    return plain(found);
  }
}

function key(service, group, instance) {
  return [group, service, instance.ip, instance.port].join('#');
}

function fields(one) {
  const { cluster, ...same } = one;
  return { ...same, clusterName: cluster };
}

function plain(hosts) {
  return hosts.map(({ ip, port, weight, healthy, enabled, ephemeral, clusterName, metadata }) =>
    ({ ip, port, weight, healthy, enabled, ephemeral, cluster: clusterName, metadata }));
}

function print(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function main() {
  const say = (...words) => console.error(...words);
  const logger = { debug() {}, info() {}, warn: say, error: say };
  const naming = new NacosNamingClient({ logger, serverList: address, namespace: 'public' });
  await naming.ready();
  const driver = new Driver(naming);
  print({ event: 'ready' });
  for await (const text of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(text);
    try {
      print({ id: command.id, ok: true, result: await driver.execute(command) });
    } catch (error) {
      print({ id: command.id, ok: false, error: String(error) });
    }
    if (command.cmd === 'exit') {
      break;
    }
  }
  process.stdout.write('', () => process.exit(0));
}

main();
