import { Secret } from './secret.ts';
import type { Settings } from './settings-schema.ts';

/** What a process holds for as long as it runs: its Redis, its files, its ports, its keys, its collector, and how its workers take turns. */
const PARTS: Readonly<Record<string, (settings: Settings) => unknown>> = {
  redis: ({ redis }) => redis,
  dataDirectory: ({ dataDirectory }) => dataDirectory,
  'http.host': ({ http }) => http.host,
  'http.port': ({ http }) => http.port,
  'operator.host': ({ operator }) => operator.host,
  'operator.port': ({ operator }) => operator.port,
  'operator.token': ({ operator }) => operator.token,
  // Pages are there from the start, or not at all; who may see them is followed.
  'operator.access': ({ operator }) => operator.access !== undefined,
  secrets: ({ secrets }) => secrets,
  'leases.ttlMs': ({ leases }) => leases.ttlMs,
  'leases.silentMs': ({ leases }) => leases.silentMs,
  'push.targetConcurrency': ({ push }) => push.targetConcurrency,
  telemetry: ({ telemetry }) => telemetry,
  'log.level': ({ log }) => log.level,
  'log.format': ({ log }) => log.format,
};

/**
 * Settings that were read again, with what a running process can't take up left as it was.
 * @returns with the names of what waits for a restart
 */
export function takeUpSettings(read: Settings, running: Settings): { settings: Settings; awaitsRestart: string[] } {
  const awaitsRestart = Object.entries(PARTS).flatMap(([name, part]) =>
    textOf(part(read)) === textOf(part(running)) ? [] : [name],
  );
  if (awaitsRestart.length === 0) return { settings: read, awaitsRestart };
  const { redis, dataDirectory, secrets, leases, telemetry, log, http } = running;
  const { host, port, token } = running.operator;
  // Who is not let in any more is not, from now on.
  const access = running.operator.access && read.operator.access;
  const operator = { ...read.operator, host, port, token, access };
  const isElsewhere = awaitsRestart.some((name) => name.startsWith('http.'));
  const kept = { redis, dataDirectory, operator, secrets, leases, telemetry, log };
  const push = { ...read.push, targetConcurrency: running.push.targetConcurrency };
  // The address for others may follow from the port.
  return {
    settings: {
      ...read,
      ...kept,
      push,
      http: isElsewhere ? { ...http, trustedProxies: read.http.trustedProxies } : read.http,
    },
    awaitsRestart,
  };
}

/** All of a value, secrets included: compared, and never shown. */
function textOf(value: unknown): string {
  return JSON.stringify([value], function (this: Record<string, unknown>, name, inner: unknown) {
    // A secret hides itself before it comes here.
    const told = this[name] instanceof Secret ? this[name].reveal() : inner;
    if (told instanceof Uint8Array) return Buffer.from(told).toString('base64');
    return told instanceof Map ? [...told] : told;
  });
}
