import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import {
  type FaultProxy,
  type ProxiedAnswer,
  type ProxiedRequest,
  type ProxyFault,
  startFaultProxy,
} from '../../../sandbox/kit/fault-proxy.ts';

/** Servers that a daemon waits for. */
export const SERVICES = ['clinic', 'google', 'graph', 'caldav', 'hubspot', 'salesforce', 'sms', 'redis'] as const;

/** One of {@link SERVICES}. */
export type Service = (typeof SERVICES)[number];

/** A daemon waits here: a request or a Redis command is on its way. */
export interface Await {
  service: Service;
  /** Service and operation, without ids: `google POST /batch/calendar/v3`, `redis evalsha outbox`. */
  name: string;
  isWrite: boolean;
  /** Of a command to Redis: the target whose lane it is about. */
  lane?: string;
  /** Process that waits; null if unknown. */
  pid(): number | null;
}

/** Which await something happens at; counted by events, so that a script strikes at the same place again. */
export interface Moment {
  /** Null: any. */
  service: Service | null;
  /** Writes only. */
  write: boolean;
  /** So many are let pass. */
  skip: number;
  /** Before the server carried it out, or after that and before the answer arrived. */
  side: 'before' | 'after';
  /** Awaits whose name was not hit before in this run, so that rare operations are hit too. */
  fresh: boolean;
}

/** What is laid at a moment. */
interface Snare {
  moment: Moment;
  /** How often it strikes. */
  times: number;
  strike?: (at: Await) => void | Promise<void>;
  /** Fault for a request that is hit before the server receives it; absent: the request is passed on. */
  fault?: ProxyFault | ((at: Await) => ProxyFault);
  /** For awaits that something else than the moment decides. */
  only?: (at: Await) => boolean;
}

/** An active snare. */
interface LaidSnare {
  /** Names of the awaits that it struck at. */
  readonly struck: readonly string[];
  /** Settles when it struck for the last time. */
  readonly spent: Promise<void>;
  lift(): void;
}

interface Laid extends Snare {
  seen: number;
  struck: string[];
  spend: () => void;
}

/** A working daemon starts a new await within this time. */
const QUIET_MS = 400;

/** Where all awaits of all daemons pass. */
export class AwaitHub {
  /** How often each await was met. */
  readonly met = new Map<string, number>();
  /** How often something happened at each. */
  readonly hit = new Map<string, number>();
  total = 0;
  #busyUntil = 0;
  #laid: Laid[] = [];

  lay(snare: Snare): LaidSnare {
    const { promise: spent, resolve: spend } = Promise.withResolvers<void>();
    const laid: Laid = { ...snare, seen: 0, struck: [], spend };
    this.#laid.push(laid);
    return { struck: laid.struck, spent, lift: () => this.#lift(laid) };
  }

  /** Whether no daemon has waited for anything for a while. */
  get isQuiet(): boolean {
    return performance.now() > this.#busyUntil;
  }

  /** Something is about to happen within this time: a daemon starts, or was woken. */
  expect(withinMs: number): void {
    this.#busyUntil = Math.max(this.#busyUntil, performance.now() + withinMs);
  }

  /** Lifts everything. */
  clear(): void {
    this.#laid = [];
  }

  /** A daemon waits. @returns the snare that it ran into, or null */
  meet(at: Await): Snare | null {
    this.total += 1;
    this.expect(QUIET_MS);
    this.met.set(at.name, (this.met.get(at.name) ?? 0) + 1);
    for (const laid of this.#laid) {
      if (!fits(laid, at) || (laid.moment.fresh && this.hit.has(at.name))) continue;
      laid.seen += 1;
      if (laid.seen <= laid.moment.skip) continue;
      laid.struck.push(at.name);
      this.hit.set(at.name, (this.hit.get(at.name) ?? 0) + 1);
      if (laid.struck.length >= laid.times) this.#lift(laid);
      return laid;
    }
    return null;
  }

  #lift(laid: Laid): void {
    this.#laid = this.#laid.filter((each) => each !== laid);
    laid.spend();
  }
}

function fits({ moment, only }: Snare, at: Await): boolean {
  if (moment.service !== null && moment.service !== at.service) return false;
  if (moment.write && !at.isWrite) return false;
  return only?.(at) ?? true;
}

/** Returns a path without the parts that differ from record to record. */
export function operationOf(method: string, url: string): string {
  const [path = ''] = url.split('?');
  const parts = path
    .split('/')
    .map((part) => (/^[a-z$_.]{2,28}$/i.test(part) || /^v?\d(\.\d)?$/.test(part) ? part : '*'));
  return `${method} ${parts.join('/').replace(/^\*/, '')}`;
}

/** Settings of one server's gate. */
interface HttpGateOptions {
  service: Service;
  hub: AwaitHub;
  /** Returns the process that sends from a port. */
  pidOf: (port: number) => number | null;
  /** Returns a lie instead of the server's answer, or null for none. */
  lie?: (request: ProxiedRequest, answer: ProxiedAnswer) => Promise<ProxiedAnswer | null>;
  /** Changes a request on its way. */
  alter?: (request: ProxiedRequest) => ProxiedRequest;
  /** Called before the server receives a request; the returned function is called after the answer. */
  watch?: (request: ProxiedRequest) => Promise<(() => Promise<void>) | null>;
}

const READS = /^(GET|HEAD|OPTIONS|PROPFIND|REPORT)$/;
/** A read by key is a POST too. */
const READING_POSTS = /\/(batch\/read|search|userinfo|token)(\?|$)/;

/** Opens a gate before a server: every request of a daemon is an await of the hub. */
export async function openHttpGate(server: string, options: HttpGateOptions): Promise<FaultProxy> {
  const { service, hub, pidOf, lie, alter, watch } = options;
  const settling = new WeakMap<ProxiedRequest, () => Promise<void>>();
  return startFaultProxy(server, {
    async choose(request, from): Promise<ProxyFault | null> {
      const settle = await watch?.(request);
      if (settle !== undefined && settle !== null) settling.set(request, settle);
      const { method, url } = request;
      const isWrite = !READS.test(method) && !READING_POSTS.test(url);
      const at: Await = { service, name: `${service} ${operationOf(method, url)}`, isWrite, pid: () => pidOf(from) };
      const snare = hub.meet(at);
      if (snare?.moment.side === 'before') {
        await snare.strike?.(at);
        const fault = typeof snare.fault === 'function' ? snare.fault(at) : snare.fault;
        if (fault !== undefined) return fault;
      }
      if (snare?.moment.side !== 'after' && lie === undefined && alter === undefined) return null;
      return {
        kind: 'rewrite',
        ...(alter === undefined ? {} : { request: alter }),
        async answer(answer, sent) {
          if (snare?.moment.side === 'after') await snare.strike?.(at);
          return (await lie?.(sent, answer)) ?? answer;
        },
      };
    },
    answered: async (request) => settling.get(request)?.(),
  });
}

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

interface RedisGateOptions {
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

/** Maximum number of key kinds in the name of an await. */
const NAMED_KINDS = 3;

/** What a key holds; of leases also of what. Null for what is no key. */
function kindOf(word: string): string | null {
  const [, kind = null, rest = ''] = /^cm:\{[^}]*\}:([a-z-]+)(.*)/.exec(word) ?? [];
  if (kind === 'lease') return `lease-${/^:([a-z]+)/.exec(rest)?.[1] ?? ''}`;
  return kind ?? /^\{clinic-mirror\}:([a-z-]+)/.exec(word)?.[1] ?? null;
}

/** Long arguments are scripts and encrypted content: only this many bytes of each are parsed. */
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
