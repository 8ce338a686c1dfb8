import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { SECOND_MS } from '../../../src/core/model/time.ts';
import { type Daemon, startDaemon } from '../../../src/main.ts';
import { openStatuses } from '../../../src/operator/control/statuses.ts';
import type { Fault } from '../../../tools/fault-table.ts';
import { waitFor } from '../../support/wait-for.ts';
import { disagreements, readSurfaces, shapeOf, type Told } from './agreement.ts';
import { type SmallWorld, useSmallWorld } from './small-world.ts';
import { openSkins } from './surfaces.ts';

/** The only tenant. */
export const TENANT = 'clinic-1';

/** A clinic in sync, a running daemon, and every surface. */
export interface WatchedDaemon {
  world: SmallWorld;
  dataDirectory: string;
  daemon: Daemon;
  /** Answer of the operator port. */
  operator(path: string): Promise<{ status: number; body: string }>;
  /** The first problem that the operator port tells, as the table of faults states it. */
  told(): Promise<ReturnType<typeof shapeOf>>;
  /** Page or API of the daemon, as an owner sees it. */
  page(path: string): Promise<{ status: number; body: string }>;
  /** Reads every surface once. The commands are of another process than the daemon. */
  read(): Promise<Told>;
  /** Waits until all surfaces agree on the codes of problems; ports keep their figures for some seconds. */
  until(codes: readonly string[]): Promise<Told>;
}

/**
 * Starts it; gone when the test ends. The pages live as long as the daemon.
 * @param usesDirectory whether the daemon has a data directory
 */
export async function useWatchedDaemon(redisUrl: string, { usesDirectory = true } = {}): Promise<WatchedDaemon> {
  const parent = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const dataDirectory = join(parent, 'data');
  await mkdir(dataDirectory);
  const settings = {
    ...(usesDirectory ? { dataDirectory } : {}),
    operator: { port: 0 },
    schedule: { pullEverySeconds: 60 },
  };
  const world = await useSmallWorld({ redisUrl, appointments: 10, settings });
  await world.cycle();
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  const skins = await openSkins(daemon.composition, openStatuses());
  const operator = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${daemon.operatorPort}${path}`);
    return { status: answer.status, body: await answer.text() };
  };
  const read = () => readSurfaces({ composition: world.opened(), tenant: TENANT, operator, skins });
  return {
    ...{ read, world, dataDirectory, daemon, operator },
    async told() {
      const { problems } = JSON.parse((await operator('/readyz')).body) as { problems: Fault[] };
      return shapeOf(problems[0]!);
    },
    async page(path) {
      const { statusCode: status, body } = await skins.app.inject(path);
      return { status, body };
    },
    async until(codes) {
      let told: Told | null = null;
      const agree = async () => {
        told = await read();
        expect(told['status --json'].codes).toEqual(codes);
        expect(disagreements(told)).toEqual([]);
        return true;
      };
      await waitFor(agree, { what: `agreement on ${codes.join()}`, intervalMs: 100, timeoutMs: 20 * SECOND_MS });
      return told!;
    },
  };
}
