import './as-daemon.ts';
import { parseArgs } from 'node:util';
import { renderTable } from '../src/operator/cli/table.ts';
import { measureAttacks } from './attacks/attacks.ts';
import { measureBudget } from './budget.ts';
import { measureEgress } from './cycle/egress.ts';
import { measureMemory } from './cycle/memory.ts';
import { measureQuiet } from './cycle/quiet.ts';
import { measureRecords } from './cycle/records.ts';
import { measureRedis } from './cycle/redis.ts';
import { measureFair } from './fair/fair.ts';
import { measureLatency } from './fair/latency.ts';
import { measureWorkers } from './fair/workers.ts';
import type { Figure } from './figure.ts';
import { measureHttp } from './http.ts';
import { type Details, machineNow, writeResult } from './result.ts';
import { measureAppointments, measureTargets, measureTenantsGrowth } from './scale/growth.ts';
import { measureTenant } from './scale/tenant.ts';
import { measureTenants } from './scale/tenants.ts';
import { measureOverview } from './start/overview.ts';
import { measureStart } from './start/start.ts';
import { measureFirst } from './vendors/first.ts';
import { measureKeeper } from './vendors/keeper.ts';
import { measureN8n } from './vendors/n8n.ts';
import { measurePeer } from './vendors/peer.ts';
import { measureScript } from './vendors/script.ts';
import { measureTrips } from './vendors/trips.ts';

const USAGE = `npm run bench -- [--only quiet,start] [--appointments 100000] [--targets 60] [--tenants 5000] [--records 20000] [--batch 50] [--operations 10000]
  [--large 300000] [--sharing 1000] [--events 2000] [--small 200] [--first 200000]
  [--seconds 300] [--minutes 20] [--working 100] [--seed 1]
  [--out docs/performance] [--json]

Measures against sandboxes in other processes and a private Redis with its append-only file on, with the memory sizes of a daemon; the
floor is the smallest program that could do the same outside work.

quiet: what a cycle costs against reading the same pages.
records: how many records a second of CPU are compared with the state, none changed, one in a hundred, all new.
redis: bytes of a link, and what a quiet cycle asks of Redis for each record.
egress: cost of the outgoing data check in a first sync.
overview: time of the first page after a start with so many tenants.
start: until the daemon runs with so many tenants, and until a command is done.
first: the first sync of so many records into each kind of target, and a tenth of them by CalDAV, against reading the same pages and
posting the same batches; each batch takes --batch milliseconds in addition to the sandbox's own work.
trips: requests and units of quota that so many creates, updates and deletes cost at each vendor.
memory: the most memory of a process with one tenant of so many (--large) appointments, against a hundredth of them.
budget: age of the data of --sharing tenants with one client id, against reading the tenants one after the other.
peer: writing --events events into Radicale, against vdirsyncer.
keeper: --events events into Google Calendar and no change, against the sync core of keeper.sh, which is fetched with git and npm.
n8n: --events events into Google Calendar, against a workflow of n8n, which is fetched with npm.
script: --events events into Google Calendar, none changed, and twenty moved, against a plain script without checks.
fair: time from a change to its write for --small tenants during a first sync of --first appointments, with a throttled target, five slow
clinics and an unreachable gateway, against the same tenants without other work.
attacks: the slowest ordinary reading of one tenant during each attack of another tenant in the same process, against the same alone. --seed
repeats the random servers.
latency: time from a requested cycle to the write, without other work.
workers: writes of 2 and 4 daemons against one.
tenant: what a small tenant takes of Redis.
http: answer times of the API with 50 readers during a first sync of --records appointments, against the same without a sync.
tenants: small clinics (--tenants) read every --seconds by one daemon on one core, for --minutes: cycles in time, their lag, its memory.
growth-appointments: cost of the cycles of one tenant by its size, up to --large appointments.
growth-targets: the same by the number of targets, 1 to 500, for --records appointments.
growth-tenants: use of resources by the number of tenants, up to --tenants, of which up to --working are read every --seconds for --minutes.
The tables of growth go to standard error.

Figures go to standard output, progress to standard error. --out also writes them to <folder>/<name>.json, with command, date and host;
\`npm run generate\` makes the tables and pictures of docs/performance.md from these files. The exit code is 0 if every goal was met, 1 if a goal was missed,
and 2 for invalid arguments.`;

/** Measurements for --only, by the names of their first figures. */
const MEASUREMENTS = {
  quiet: measureQuiet,
  fair: measureFair,
  latency: measureLatency,
  workers: measureWorkers,
  records: measureRecords,
  redis: measureRedis,
  egress: measureEgress,
  start: measureStart,
  overview: measureOverview,
  first: measureFirst,
  trips: measureTrips,
  memory: measureMemory,
  budget: measureBudget,
  peer: measurePeer,
  keeper: measureKeeper,
  n8n: measureN8n,
  script: measureScript,
  tenant: measureTenant,
  tenants: measureTenants,
  http: measureHttp,
  'growth-appointments': measureAppointments,
  'growth-targets': measureTargets,
  'growth-tenants': measureTenantsGrowth,
  attacks: measureAttacks,
};

/** Peers that are fetched in gigabytes, or compiled: measured only if `--only` names them. */
const ONLY_BY_NAME: ReadonlySet<string> = new Set(['keeper', 'n8n']);

const OPTIONS = {
  only: { type: 'string' },
  appointments: { type: 'string', default: '100000' },
  targets: { type: 'string', default: '60' },
  tenants: { type: 'string', default: '5000' },
  operations: { type: 'string', default: '10000' },
  sharing: { type: 'string', default: '1000' },
  events: { type: 'string', default: '2000' },
  large: { type: 'string', default: '300000' },
  records: { type: 'string', default: '20000' },
  batch: { type: 'string', default: '50' },
  seconds: { type: 'string', default: '300' },
  minutes: { type: 'string', default: '20' },
  small: { type: 'string', default: '200' },
  first: { type: 'string', default: '200000' },
  working: { type: 'string', default: '100' },
  seed: { type: 'string', default: String(Math.ceil(Math.random() * 1e9)) },
  out: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

async function main(): Promise<number> {
  const { values, tokens } = parseArgs({
    tokens: true,
    options: OPTIONS,
  });
  const { only, out, json, help, ...sizes } = values;
  const counts = Object.entries(sizes).map(([name, text]) => [name, Number(text)]);
  const size = Object.fromEntries(counts) as Record<keyof typeof sizes, number>;
  const names = only?.split(',') ?? Object.keys(MEASUREMENTS).filter((name) => !ONLY_BY_NAME.has(name));
  const isKnown = (name: string): name is keyof typeof MEASUREMENTS => name in MEASUREMENTS;
  const isUsable = Object.values(size).every((count) => Number.isInteger(count) && count > 0) && names.every(isKnown);
  if (help || !isUsable) {
    process.stderr.write(`${USAGE}\n`);
    return help ? 0 : 2;
  }
  const given = tokens.flatMap((token) =>
    token.kind === 'option' && token.name in sizes && token.name !== 'seed' ? [`--${token.name} ${token.value}`] : [],
  );
  const figures: Figure[] = [];
  for (const name of names.filter(isKnown)) {
    const details: Details = {};
    const machine = machineNow();
    const measured = await MEASUREMENTS[name](
      size,
      (text) => process.stderr.write(`${text}\n`),
      (more) => Object.assign(details, more),
    );
    figures.push(...measured);
    if (out === undefined || measured.length === 0) continue;
    const command = ['npm run bench -- --only', name, ...given].join(' ');
    const measuredOn = new Date().toISOString().slice(0, 10);
    await writeResult(out, name, { command, measuredOn, machine, figures: measured, ...details });
  }
  process.stdout.write(json ? `${JSON.stringify(figures)}\n` : render(figures));
  return figures.every(({ met }) => met) ? 0 : 1;
}

function render(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, goal, isLeast, met, floor, ours, unit, n }) => [
    ...[name, value.toPrecision(3), `${isLeast === true ? '≥' : '≤'} ${goal}`, met ? 'met' : 'missed'],
    ...[floor === null ? '' : floor.toPrecision(3), ours.toPrecision(3), unit, String(n)],
  ]);
  const headings = ['what', 'value', 'goal', '', 'floor', 'ours', 'unit', 'of'];
  return `${renderTable(headings, rows)}\n`;
}

process.exitCode = await main();
