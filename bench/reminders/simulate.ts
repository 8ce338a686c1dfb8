import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { renderTable } from '../../src/operator/cli/table.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { startRedis } from '../../tools/redis.ts';
import { runFortnight } from './fortnight.ts';
import { addUp, reportOn, type SimulationReport } from './report.ts';

const USAGE = `npm run reminders:simulate -- [--appointments N] [--kills N] [--seed N] [--json]

Two fortnights on a simulated clock, one around the change to summer time in Rome and one around its end; New York and Sydney
change theirs within them as well. Worker processes are killed, messages go to sandboxes over the network, Redis is a real one.
A judge that shares no code with the product compares each message with the true data at its arrival.`;

const FIRST_DAYS = ['2026-03-25', '2026-10-20'];
const WORKER = fileURLToPath(new URL('worker-main.ts', import.meta.url));
const PULL_EVERY_MS = 3_600_000;
const TROUBLES = { lostAnswers: 0.02, throttled: 0.03 };

const { values } = parseArgs({
  options: {
    appointments: { type: 'string', default: '5000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const [appointments, kills, seed] = [values.appointments, values.kills, values.seed].map(Number) as [
    number,
    number,
    number,
  ];
  const isUsable = [appointments, kills, seed].every((value) => Number.isInteger(value) && value >= 0);
  if (values.help || !isUsable) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const startedAt = performance.now();
  const reports: SimulationReport[] = [];
  for (const [index, firstDay] of FIRST_DAYS.entries()) {
    const isLast = index === FIRST_DAYS.length - 1;
    const share = (whole: number) => (isLast ? whole - Math.floor(whole / 2) : Math.floor(whole / 2));
    reports.push(
      await simulate(firstDay, { seed: seed + index, appointments: share(appointments), kills: share(kills) }),
    );
  }
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const report = { ...addUp(reports), seed, seconds };
  process.stdout.write(`${values.json ? JSON.stringify(report) : render(report)}\n`);
  return report.wrong + report.double + report.missed + report.claimed + report.open + report.false + report.flooded ===
    0
    ? 0
    : 1;
}

async function simulate(
  firstDay: string,
  numbers: { seed: number; appointments: number; kills: number },
): Promise<SimulationReport> {
  const server = await startRedis();
  const redis = connectRedis(server.url);
  try {
    const run = await runFortnight({
      ...numbers,
      firstDay,
      days: 14,
      failures: TROUBLES,
      pullEveryMs: PULL_EVERY_MS,
      redisUrl: server.url,
      redis,
      script: WORKER,
      onDay: (day) => process.stderr.write(`${firstDay}: day ${day + 1} of 15\n`),
    });
    for (const [words, count] of run.failures) process.stderr.write(`work that failed ${count} times: ${words}\n`);
    return await reportOn(run, numbers.appointments, redis);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

function render(report: SimulationReport & { seconds: number }): string {
  const { dropped, wrongBy, examples, ...figures } = report;
  const rows = [
    ...Object.entries(figures).map(([name, value]) => [name, String(value)]),
    ...Object.entries(dropped).map(([reason, count]) => [`dropped: ${reason}`, String(count)]),
    ...Object.entries(wrongBy).map(([reason, count]) => [`wrong: ${reason}`, String(count)]),
  ];
  return [renderTable(['reminders', { heading: 'count', right: true }], rows), '', ...examples].join('\n');
}

process.exitCode = await main();
