import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const HOST = '127.0.0.1';

/**
 * A server that answers as a master, as the sentinel that knows it, and as the only server of a cluster, but refuses each write with
 * READONLY on the connections that were open when it was demoted. Later connections reach a new master, which accepts writes.
 */
export interface DemotedRedis {
  port: number;
  /** Demotes the server for the present connections. */
  demote(): void;
  /** Number of writes that were refused. */
  refused(): number;
  close(): Promise<void>;
}

/** Starts the server on a free port of loopback. */
export async function startDemotedRedis(): Promise<DemotedRedis> {
  const sockets = new Set<Socket>();
  const demoted = new WeakSet<Socket>();
  let refused = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let rest = '';
    socket.on('data', (data) => {
      const read = commandsIn(rest + data);
      ({ rest } = read);
      for (const [name = '', ...values] of read.commands) {
        const isRefused = name === 'set' && demoted.has(socket);
        if (isRefused) refused += 1;
        socket.write(isRefused ? "-READONLY You can't write against a read only replica.\r\n" : answer(name, values));
      }
    });
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = (name: string, values: readonly string[]) => answerOf(port, name, values);
  return {
    port,
    demote() {
      for (const socket of sockets) demoted.add(socket);
    },
    refused: () => refused,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function answerOf(port: number, name: string, values: readonly string[]): string {
  switch (`${name} ${name === 'cluster' || name === 'sentinel' ? values[0]?.toLowerCase() : ''}`.trim()) {
    case 'info':
      return bulk('role:master\r\nloading:0\r\ncluster_enabled:1\r\n');
    case 'cluster slots':
      return `*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n${bulk(HOST)}:${port}\r\n${bulk('0'.repeat(40))}`;
    case 'cluster info':
      return bulk('cluster_state:ok\r\n');
    case 'sentinel get-master-addr-by-name':
      return `*2\r\n${bulk(HOST)}${bulk(String(port))}`;
    case 'sentinel sentinels':
      return '*0\r\n';
    case 'subscribe':
      return `*3\r\n${bulk('subscribe')}${bulk(values[0] ?? '')}:1\r\n`;
    default:
      return '+OK\r\n';
  }
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** Returns the complete commands at the beginning of the sent text, with lower-case names, and the rest. The text is ASCII. */
function commandsIn(sent: string): { commands: string[][]; rest: string } {
  const commands: string[][] = [];
  let rest = sent;
  for (;;) {
    const [head = '', count] = /^\*(\d+)\r\n/.exec(rest) ?? [];
    let after = rest.slice(head.length);
    const words: string[] = [];
    while (head !== '' && words.length < Number(count)) {
      const [size = '', length] = /^\$(\d+)\r\n/.exec(after) ?? [];
      if (size === '' || after.length < size.length + Number(length) + 2) return { commands, rest };
      words.push(after.slice(size.length, size.length + Number(length)));
      after = after.slice(size.length + Number(length) + 2);
    }
    if (head === '') return { commands, rest };
    const [name = '', ...values] = words;
    commands.push([name.toLowerCase(), ...values]);
    rest = after;
  }
}
