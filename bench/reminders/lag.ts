import { parseArgs } from 'node:util';
import { startDaemon } from '../../demo/daemon.ts';
import { renderTable } from '../../src/operator/cli/table.ts';
import { startSmallWorld } from '../../test/e2e/support/small-world.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { startRedis } from '../../tools/redis.ts';
import { only } from '../appointments.ts';

const USAGE = `npm run reminders:lag -- [--reminders 1000] [--json]

Measures the delay of reminders that are all due at the same moment. A daemon in a separate process sends the reminders with a real queue
and Redis; the clinic's API and the receiver are on loopback. The clinic's request budget is too large to delay a reminder.`;

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const HOUR_MS = 3_600_000;
/** Time for the daemon to start and plan. */
const AHEAD_MS = 60_000;
const DEADLINE_MS = 240_000;

/** Content of each trial's messages: ids only, or also data of the patient's record. */
const TRIALS: Record<string, string[]> = { 'one call to the clinic': [], 'two calls to the clinic': ['email'] };

/** How late reminders arrived, in milliseconds. */
interface Trial {
  trial: string;
  reminders: number;
  received: number;
  p50: number;
  p99: number;
  max: number;
}

const { values } = parseArgs({
  options: {
    reminders: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const reminders = Number(values.reminders);
  if (values.help || !Number.isInteger(reminders) || reminders < 1) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const trials: Trial[] = [];
  for (const [trial, fields] of Object.entries(TRIALS)) {
    process.stderr.write(`${trial}: ${reminders} reminders, due in ${AHEAD_MS / 1_000} s …\n`);
    trials.push({ trial, reminders, ...(await runTrial(reminders, fields)) });
  }
  process.stdout.write(`${values.json ? JSON.stringify({ trials }) : render(trials)}\n`);
  return trials.every(({ received }) => received === reminders) ? 0 : 1;
}

async function runTrial(reminders: number, fields: string[]): Promise<Omit<Trial, 'trial' | 'reminders'>> {
  await using open = new AsyncDisposableStack();
  const redis = await startRedis();
  open.defer(() => redis.stop());
  const arrivals: number[] = [];
  const receiver = await startReceiver(() => {
    arrivals.push(Date.now());
    return {};
  });
  open.defer(() => receiver.close());
  const world = await startSmallWorld({
    redisUrl: redis.url,
    targets: [],
    appointments: 1,
    clinic: { agendas: 1, allowDoubleBooking: true },
    clinicClient: { budget: { requestsPerMinute: 600_000, burst: 10_000 } },
    settings: { leases: { ttlMs: 30_000 } },
    reminders: remindersFile(`${receiver.url}/in`, fields),
  });
  open.defer(() => world.close());
  world.env.TENANT_CLINIC_1__HOOK = SECRET;
  await world.logIn();
  const { clinicId, agendaIds } = only(world.tenants);
  const dueAt = Math.ceil((Date.now() + AHEAD_MS) / 1_000) * 1_000;
  for (let index = 0; index < reminders; index += 1) {
    world.clinic.book(clinicId, { agendaId: agendaIds[0] ?? '', start: dueAt + HOUR_MS });
  }
  const daemon = startDaemon(world);
  open.defer(async () => void (await daemon.stop()));
  await waitFor(() => arrivals.length >= reminders, { what: 'all to arrive', timeoutMs: DEADLINE_MS, intervalMs: 200 });
  const lags = arrivals.map((at) => at - dueAt).sort((one, other) => one - other);
  const at = (share: number) => lags[Math.min(lags.length - 1, Math.floor(share * lags.length))] ?? 0;
  return { received: arrivals.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

function remindersFile(url: string, fields: string[]) {
  return {
    quietHours: { from: '00:00', to: '00:00' },
    minimumLeadMinutes: 0,
    maxPerHour: 100_000,
    channels: {
      hook: {
        kind: 'webhook',
        settings: { url, secrets: [{ env: 'TENANT_CLINIC_1__HOOK' }], fields },
      },
    },
    rules: { 'an-hour': { before: 'PT1H', channels: ['hook'] } },
  };
}

function render(trials: readonly Trial[]): string {
  const headings = ['reminders', 'received', 'p50 ms', 'p99 ms', 'max ms'];
  const rows = trials.map(({ trial, ...figures }) => [trial, ...Object.values(figures).map(String)]);
  return renderTable(['lag', ...headings.map((heading) => ({ heading, right: true }))], rows);
}

process.exitCode = await main();
