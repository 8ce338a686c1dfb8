import { readFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { cycle, targetOf } from '../test/jobs/cycle.ts';
import { createModelClinic } from '../test/jobs/model-clinic.ts';
import { createModelTarget } from '../test/jobs/model-target.ts';
import { openTenant } from '../test/jobs/open-tenant.ts';
import { appointmentOf, NOW } from '../test/sync/arbitraries.ts';
import { startRedis } from '../tools/redis.ts';

/*
 * One appointment's way, from `jobs/pull.ts` to the connector's write and the stored link: which functions of `src/` a cycle and a turn of the
 * lane enter in which one new appointment comes, by V8's exact counts of calls. Those that it is handed through one by one are called more
 * often when nine more come. The clinic and the target are models in memory, so their modules don't count. Prints, and writes nothing.
 */

const SOURCE = new URL('../src/', import.meta.url).href;
const BEFORE = 20;
const MORE = 9;

interface Call {
  file: string;
  /** From its name to its body. */
  head: string;
  count: number;
}

/** Functions that were entered, and how deep in functions of ours the item was made and the connector was called. */
async function wayOf(
  redis: Redis,
  count: number,
): Promise<{ calls: Map<string, Call>; depth: Record<string, number> }> {
  await redis.flushall();
  const clinic = createModelClinic();
  const tenant = openTenant({ redis, clinic, targets: [{ model: createModelTarget() }], clock: () => NOW });
  const target = targetOf(tenant);
  const depth: Record<string, number> = {};
  const noting = <Work extends (...given: never[]) => unknown>(name: string, work: Work) =>
    ((...given: never[]) => {
      depth[name] ??= framesHere();
      return work(...given);
    }) as Work;
  target.identity.fingerprint = noting('fingerprint', target.identity.fingerprint);
  target.connector.apply = noting('write', target.connector.apply);
  const book = (from: number, to: number) => {
    for (let id = from; id < to; id += 1) clinic.appointments.set(`${id}`, appointmentOf(`${id}`));
  };
  book(0, BEFORE);
  await cycle(tenant);
  for (const name of Object.keys(depth)) delete depth[name];
  book(BEFORE, BEFORE + count);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await cycle(tenant);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  return { calls: callsIn(result), depth };
}

function framesHere(): number {
  const holder = { stack: '' };
  Error.stackTraceLimit = 200;
  Error.captureStackTrace(holder);
  return holder.stack.split('\n').filter((line) => line.includes(SOURCE)).length;
}

function callsIn(scripts: readonly Profiler.ScriptCoverage[]): Map<string, Call> {
  const calls = new Map<string, Call>();
  for (const { url, functions } of scripts.filter((script) => script.url.startsWith(SOURCE))) {
    const text = readFileSync(fileURLToPath(url), 'utf8');
    const file = url.slice(SOURCE.length);
    for (const { functionName, ranges } of functions) {
      const { startOffset = 0, count = 0 } = ranges[0] ?? {};
      if (functionName === '' || count === 0) continue;
      const head = text.slice(startOffset, text.indexOf('{\n', startOffset));
      calls.set(`${file}:${startOffset}`, { file, head, count });
    }
  }
  return calls;
}

const files = (calls: Iterable<Call>) => [...new Set([...calls].map(({ file }) => file))].sort();

Error.stackTraceLimit = 200;
const server = await startRedis();
const redis = new Redis(server.url);
try {
  const one = await wayOf(redis, 1);
  const more = await wayOf(redis, 1 + MORE);
  const perAppointment = [...more.calls].flatMap(([at, call]) => {
    const calledBefore = one.calls.get(at)?.count ?? 0;
    return call.count >= calledBefore + MORE ? [call] : [];
  });
  const whole = [...one.calls.values()].filter(({ head }) => /: OpenTenant\b/.test(head));
  console.log(`a cycle and a turn of the lane: ${files(one.calls.values()).length} files, ${one.calls.size} functions`);
  console.log(`  of them take the whole tenant: ${whole.length} functions in ${files(whole).length} files`);
  console.log(`each appointment by itself: ${files(perAppointment).length} files, ${perAppointment.length} functions`);
  console.log(`  ${files(perAppointment).join(' ')}`);
  console.log(
    `functions of ours above its fingerprint: ${one.depth.fingerprint}; above the connector's write: ${one.depth.write}`,
  );
  for (const module of new Set(files(one.calls.values()).map((file) => file.split('/')[0]))) {
    console.log(
      `${module}: ${files(one.calls.values())
        .filter((file) => file.startsWith(`${module}/`))
        .join(' ')}`,
    );
  }
} finally {
  await redis.quit();
  await server.stop();
}
