import { randomUUID } from 'node:crypto';
import { type Clock, type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { createProofSealer } from './proof-seal.ts';
import type { RedisClient } from './redis.ts';
import { openSealed } from './sealing.ts';

/** What a process did not take up of the files as they are now. */
export interface ReloadReport {
  /** When it last said so. */
  at: Instant;
  refused: readonly RefusedFiles[];
  /** Settings that wait for a restart of the process. */
  awaitsRestart: readonly string[];
}

/** What is refused, and why. Null: settings, profiles, or all files together. */
export interface RefusedFiles {
  tenant: string | null;
  sinceAt: Instant;
  /** The first of them. */
  faults: readonly { file: string; line: number | null; path: string; message: string }[];
  /** How many there are beside these. */
  more: number;
}

/** What running processes say of the files that they can't take up, for whoever asks in another process. */
export interface ReloadReports {
  /** Says it for this process; to be said again within a minute. Null: there is nothing to say. */
  tell(report: Omit<ReloadReport, 'at'> | null): Promise<void>;
  /** What processes said in the last minute. */
  list(): Promise<ReloadReport[]>;
}

/** A process that is silent for longer is gone. */
const BELIEVED_MS = MINUTE_MS;

/**
 * Opens the reports under a name of this process. What no process of this installation said counts as silence: who refuses something says so again.
 * @param identityKey seals them, since they are shown and sent
 */
export function createReloadReports(redis: RedisClient, clock: Clock, identityKey: Uint8Array): ReloadReports {
  const own = randomUUID();
  const sealer = createProofSealer(identityKey, '{reloads}');
  const silent: ReloadReport = { at: 0, refused: [], awaitsRestart: [] };
  async function read(): Promise<(readonly [name: string, report: ReloadReport])[]> {
    const all = await redis.hgetall(keys.reloads());
    return Object.entries(all).map(([name, told]) => [name, openSealed<ReloadReport>(sealer, told, name) ?? silent]);
  }
  const isSilent = ({ at }: ReloadReport) => at <= clock() - BELIEVED_MS;
  return {
    async tell(report) {
      const gone = (await read()).flatMap(([name, told]) => (isSilent(told) ? [name] : []));
      if (report === null) gone.push(own);
      else await redis.hset(keys.reloads(), own, sealer.seal(JSON.stringify({ at: clock(), ...report }), own));
      if (gone.length > 0) await redis.hdel(keys.reloads(), ...gone);
    },
    list: async () => (await read()).flatMap(([, report]) => (isSilent(report) ? [] : [report])),
  };
}
