import { parseArgs } from 'node:util';
import { silentLogger } from '../../src/core/log/logger.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { renderTable } from '../../src/operator/cli/table.ts';
import { createHoldStore } from '../../src/state/holds.ts';
import { connectRedis, type RedisClient } from '../../src/state/redis.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { startRedis } from '../../tools/redis.ts';
import { createLossWorld } from './loss.ts';
import { CYCLE_MS, PATTERNS } from './patterns.ts';

const SEALING_KEYS = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

const USAGE = `npm run guard:loss -- [--days 7] [--records 8,40,200] [--seed 1] [--json]

Measures how many records a target loses before the guard requires approval. The clinic loses the records: its list and single reads agree
that they are missing. The clock is simulated, with one cycle every five minutes. Only the product's confirmation reads, guard
and state are used; the state is in Redis. Figures go to standard output, progress to standard error. The exit code is 1 if a target loses
more than the limit.`;

const START = Date.UTC(2026, 5, 15, 8);

/** One target's loss. */
interface Loss {
  size: number;
  pattern: string;
  deleted: number;
  /** Days until the first hold; null: none within the time. */
  heldAfterDays: number | null;
}

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '7' },
    records: { type: 'string', default: '8,40,200,2000,20000,50000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const [days, seed] = [Number(values.days), Number(values.seed)];
  const sizes = values.records.split(',').map(Number);
  // A seed of 0 yields zeros only.
  const isUsable = days > 0 && [seed, ...sizes].every((value) => Number.isInteger(value) && value > 0);
  if (values.help || !isUsable) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const server = await startRedis({ appendOnly: false });
  const redis = connectRedis(server.url);
  const losses: Loss[] = [];
  try {
    for (const size of sizes) {
      for (const pattern of Object.keys(PATTERNS)) {
        losses.push(await measure(redis, { size, pattern, days, seed }));
        process.stderr.write(`${size} ${pattern}: ${losses.at(-1)?.deleted}\n`);
      }
    }
  } finally {
    redis.disconnect();
    await server.stop();
  }
  process.stdout.write(`${values.json ? JSON.stringify(losses) : render(losses, sizes)}\n`);
  return losses.some(({ deleted, size }) => deleted > boundOf(size)) ? 1 : 0;
}

async function measure(
  redis: RedisClient,
  { size, pattern, days, seed }: { size: number; pattern: string; days: number; seed: number },
): Promise<Loss> {
  await redis.flushall();
  const random = seededRandom(seed);
  const tenant = {
    holds: createHoldStore(redis, 'clinic', createSealer(SEALING_KEYS, 'clinic')),
    log: silentLogger,
    random,
    missedForMs: CYCLE_MS / 2,
    elapsedBetween: () => Number.POSITIVE_INFINITY,
  };
  const world = createLossWorld({
    tenant,
    records: createTargetStore(redis, 'clinic', createSealer(SEALING_KEYS, 'clinic')),
  });
  for (let index = 0; index < size; index += 1) world.add(`${index}`);
  const lose = PATTERNS[pattern]?.(size, START, random);
  if (lose === undefined) throw new TypeError('an unknown pattern');
  for (let now = START; now < START + days * DAY_MS; now += CYCLE_MS) {
    const isHeld = await world.cycle(lose(now), now);
    if (isHeld) return { size, pattern, deleted: world.deleted, heldAfterDays: (now - START) / DAY_MS };
  }
  return { size, pattern, deleted: world.deleted, heldAfterDays: null };
}

/** What a target may lose in seven days when nothing is added to it. */
function boundOf(size: number): number {
  const half = Math.max(2, Math.ceil(size / 2) - 1);
  return Math.min(half, Math.max(10, Math.floor(size * 0.2)));
}

function render(losses: readonly Loss[], sizes: readonly number[]): string {
  const patterns = Object.keys(PATTERNS);
  const columns = ['links', ...patterns, 'bound'].map((heading) => ({ heading, right: true }));
  const rows = sizes.map((size) => [
    size.toLocaleString('en'),
    ...patterns.map((pattern) => cellOf(losses.find((loss) => loss.size === size && loss.pattern === pattern))),
    boundOf(size).toLocaleString('en'),
  ]);
  return renderTable(columns, rows);
}

/** Deleted, and after how many days the rest was held; a dash: nothing was held. */
function cellOf(loss: Loss | undefined): string {
  if (loss === undefined) return '';
  const { deleted, heldAfterDays } = loss;
  return `${deleted.toLocaleString('en')} (${heldAfterDays === null ? '–' : heldAfterDays.toFixed(1)})`;
}

function seededRandom(first: number): () => number {
  let seed = first;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

process.exitCode = await main();
