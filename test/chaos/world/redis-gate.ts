import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import type { Await, AwaitHub, Snare } from './awaits.ts';

/** Stands between one daemon and Redis: knows each command, and does harm on demand. */
export interface RedisGate {
  readonly url: string;
  /** Nothing passes in either direction while it is set; the sockets stay open. */
  silent: boolean;
  /** Added to every piece that passes. */
  delayMs: number;
  /** Ends all connections. New ones are taken. */
  cut(): void;
  close(): Promise<void>;
}

export interface RedisGateOptions {
  /** Asked at each connection, so that another server may take over. */
  port: () => number;
  /** Commands that pass are awaits of this hub; without one the gate only passes on. */
  hub?: AwaitHub;
  pid?: () => number | null;
}

/** Commands that wait for work and would be met all the time. */
const IDLE = /^(ping|info|hello|client|config|bzpopmin|subscribe|select|quit|command)$/;
const READ =
  /^(get|mget|hget|hmget|hgetall|hlen|hscan|scan|exists|ttl|pttl|smembers|zrange|zrangebyscore|zcard|lrange|llen|hvals|hkeys|zscore)$/;
const LOOK_AGAIN_MS = 5;

/** Opens a gate on a free loopback port. */
export async function openRedisGate(options: RedisGateOptions): Promise<RedisGate> {
  const pairs = new Set<{ destroy(): void }>();
  const gate = { silent: false, delayMs: 0 };
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: options.port() });
    const pair = {
      destroy() {
        client.destroy();
        upstream.destroy();
      },
    };
    pairs.add(pair);
    // What is held up on its way arrives all the same, although its sender has given up.
    let isHeld = false;
    const leave = () => (isHeld ? client.destroy() : pair.destroy());
    for (const [socket, end] of [[client, leave] as const, [upstream, pair.destroy] as const]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
    }
    upstream.on('close', () => pairs.delete(pair));
    let struckAfter: { snare: Snare; at: Await } | null = null;
    const commands = commandReader();
    pass(client, upstream, gate, async (chunk) => {
      if (options.hub === undefined) return true;
      for (const name of commands(chunk)) {
        const at = awaitOf(name, options.pid ?? (() => null));
        if (at === null) continue;
        const snare = options.hub.meet(at);
        if (snare?.moment.side === 'after') struckAfter = { snare, at };
        if (snare?.moment.side !== 'before') continue;
        isHeld = true;
        await snare.strike?.(at);
        isHeld = false;
        if (snare.fault === undefined) continue;
        pair.destroy();
        return false;
      }
      return true;
    });
    pass(upstream, client, gate, async () => {
      if (struckAfter === null) return true;
      const { snare, at } = struckAfter;
      struckAfter = null;
      await snare.strike?.(at);
      if (snare.fault === undefined) return true;
      pair.destroy();
      return false;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const pair of [...pairs]) pair.destroy();
  };
  return Object.assign(gate, {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      await closed;
    },
  });
}

/** Hands pieces on in order, each when `look` has said that it may pass. */
function pass(
  from: Socket,
  to: Socket,
  gate: { silent: boolean; delayMs: number },
  look: (chunk: Buffer) => Promise<boolean>,
): void {
  let last = Promise.resolve();
  from.on('data', (chunk: Buffer) => {
    last = last.then(async () => {
      while (gate.silent && !to.destroyed) await sleep(LOOK_AGAIN_MS);
      if (gate.delayMs > 0) await sleep(gate.delayMs);
      if (!(await look(chunk)) || to.destroyed || to.writableEnded) return;
      to.write(chunk);
      if (from.destroyed) to.end();
    });
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What a daemon waits for with a command; null for commands that wait for work. */
export function awaitOf([command = '', ...words]: string[], pid: () => number | null): Await | null {
  if (IDLE.test(command)) return null;
  const kinds = [...new Set(words.flatMap((word) => kindOf(word) ?? []))].slice(0, NAMED_KINDS);
  const lane = words.map((word) => LANE.exec(word)?.[1]).find((target) => target !== undefined);
  const name = `redis ${command} ${kinds.join('+')}`.trim();
  return { service: 'redis', name, isWrite: !READ.test(command), pid, ...(lane === undefined ? {} : { lane }) };
}

const LANE = /^cm:\{[^}]*\}:lease:lane-(.+)/;

/** Kinds of keys that an await is named by. */
const NAMED_KINDS = 3;

/** What a key holds; of leases also of what. Null for what is no key. */
function kindOf(word: string): string | null {
  const [, kind = null, rest = ''] = /^cm:\{[^}]*\}:([a-z-]+)(.*)/.exec(word) ?? [];
  if (kind === 'lease') return `lease-${/^:([a-z]+)/.exec(rest)?.[1] ?? ''}`;
  return kind ?? /^\{clinic-mirror\}:([a-z-]+)/.exec(word)?.[1] ?? null;
}

/** Long arguments are scripts and sealed content: only so much of each is looked at. */
const LOOKED_AT = 64;

/** Reads commands (RESP arrays of bulk strings) out of a stream of pieces. @returns the words of each that ended in the piece */
export function commandReader(): (chunk: Buffer) => string[][] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const commands: string[][] = [];
    for (;;) {
      const read = readCommand(rest);
      if (read === null) return commands;
      commands.push(read.words);
      rest = rest.subarray(read.end);
    }
  };
}

function readCommand(bytes: Buffer): { words: string[]; end: number } | null {
  const head = lineAt(bytes, 0);
  if (head === null) return null;
  const count = Number(head.text.slice(1));
  const words: string[] = [];
  let at = head.end;
  for (let index = 0; index < count; index += 1) {
    const size = lineAt(bytes, at);
    if (size === null) return null;
    const length = Number(size.text.slice(1));
    if (bytes.length < size.end + length + 2) return null;
    const word = bytes.toString('latin1', size.end, size.end + Math.min(length, LOOKED_AT));
    words.push(index === 0 ? word.toLowerCase() : word);
    at = size.end + length + 2;
  }
  return { words, end: at };
}

function lineAt(bytes: Buffer, start: number): { text: string; end: number } | null {
  const end = bytes.indexOf('\r\n', start);
  return end === -1 ? null : { text: bytes.toString('latin1', start, end), end: end + 2 };
}
