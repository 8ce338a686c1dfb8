import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { slices } from '../../src/core/model/pieces.ts';
import { RUNS } from '../../test/attacks/hostile-runs.ts';
import { atMost, type Figure, shareOf } from '../figure.ts';
import { toldBy } from '../told.ts';
import type { Told } from './tenants-main.ts';

const GOAL = 1.5;
const TENANTS = fileURLToPath(new URL('./tenants-main.ts', import.meta.url));
const SERVERS = fileURLToPath(new URL('./server-main.ts', import.meta.url));
/** Servers of each attack, with parameters drawn at random. */
const DRAWS = 12;

/** Requests of which the slowest is compared. */
const BLOCK = 50;

/**
 * Measures the slowest ordinary request of one tenant, alone and during each attack of another tenant in the same process. An ordinary
 * request reads a page of 200 rows of a clinic that answers after 50 ms. The same without latency shows a pause of the process in full.
 */
export async function measureAttacks({ seed }: { seed: number }, say: (text: string) => void): Promise<Figure[]> {
  say(`attacks: ${DRAWS} servers of each attack; --seed ${seed} repeats them …`);
  const figures: Figure[] = [];
  for (const [index, name] of Object.keys(RUNS).entries()) {
    await using honest = await startServers(seed);
    await using hostile = await startServers(seed);
    const told = await toldBy<Told>(TENANTS, index, DRAWS, honest.port, hostile.port);
    const { alone, beside } = told;
    const [floor, ours] = [slowestOfBlock(alone.distantMs), slowestOfBlock(beside.distantMs)];
    const parts = [
      `clinic on the internet ${slowest(alone.distantMs, beside.distantMs)}`,
      `clinic without latency ${slowest(alone.nearMs, beside.nearMs)}`,
      `${((await hostile.sentBytes()) / MEBIBYTE).toFixed(1)} MiB received`,
      `${told.grownMebibytes.toFixed(0)} MiB more memory`,
      `pauses of ${told.pausesMs.map((pause) => pause.toFixed(0)).join(', ')} ms`,
    ];
    say(`attacks: ${name}: ${parts.join('; ')}`);
    const n = beside.distantMs.length;
    figures.push({ name: `attacks ${name}`, ...atMost(GOAL, ours / floor), floor, ours, unit: 'ms', n });
  }
  return figures;
}

function slowest(aloneMs: readonly number[], besideMs: readonly number[]): string {
  const [alone, beside] = [slowestOfBlock(aloneMs), slowestOfBlock(besideMs)];
  const most = `most ${ms(Math.max(...aloneMs))} and ${ms(Math.max(...besideMs))}`;
  const ratio = `${(beside / alone).toFixed(2)}, ${ms(beside - alone)} more`;
  return `slowest of ${BLOCK} ${ms(alone)} alone and ${ms(beside)} beside (${ratio}), ${most}`;
}

/**
 * Returns the slowest of `BLOCK` requests, as the median of all blocks: a pause of the host decides the slowest of all requests, and a long
 * attack has more requests than the time alone.
 */
function slowestOfBlock(requestsMs: readonly number[]): number {
  const blocks = slices(requestsMs, BLOCK).filter(({ length }) => length === BLOCK);
  return shareOf(
    blocks.map((block) => Math.max(...block)),
    0.5,
  );
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

/** Servers of both tenants; each in a process of its own, so that a costly answer does not delay an ordinary one. */
async function startServers(seed: number): Promise<AsyncDisposable & { port: number; sentBytes(): Promise<number> }> {
  const child = fork(SERVERS, [String(seed), String(DRAWS)]);
  const ended = once(child, 'exit');
  const failed = ended.then(() => Promise.reject(new Error('the servers ended')));
  failed.catch(() => {});
  const next = async () => ((await Promise.race([once(child, 'message'), failed])) as [number])[0];
  return {
    port: await next(),
    async sentBytes() {
      child.send('bytes');
      return await next();
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await ended;
    },
  };
}
