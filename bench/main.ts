import { parseArgs } from 'node:util';
import { renderTable } from '../src/cli/table.ts';
import { measureQuiet } from './cycle/quiet.ts';
import type { Figure } from './figure.ts';
import { measureTenant } from './scale/tenant.ts';
import { measureStart } from './start/start.ts';

const USAGE = `npm run bench -- [--only quiet,start,tenant] [--appointments 100000] [--targets 60] [--tenants 5000] [--json]

quiet: what a cycle costs against the smallest program that could do the same outside work, the clinic in another process and a
private Redis with its append-only file on. start: until the daemon runs with so many tenants, and until a command is done. tenant: what a small tenant takes of
Redis. Figures go to standard output, progress to standard error. The exit code is 0
when every goal was met, 1 when one was not, 2 for what is not understood.`;

/** What can be named by --only: measurements by the names of the figures that they give first. */
const MEASUREMENTS = { quiet: measureQuiet, start: measureStart, tenant: measureTenant };

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      appointments: { type: 'string', default: '100000' },
      targets: { type: 'string', default: '60' },
      tenants: { type: 'string', default: '5000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { appointments, targets, tenants } = values;
  const size = { appointments: Number(appointments), targets: Number(targets), tenants: Number(tenants) };
  const names = values.only?.split(',') ?? Object.keys(MEASUREMENTS);
  const isKnown = (name: string): name is keyof typeof MEASUREMENTS => name in MEASUREMENTS;
  const isUsable = Object.values(size).every((count) => Number.isInteger(count) && count > 0) && names.every(isKnown);
  if (values.help || !isUsable) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const figures: Figure[] = [];
  for (const name of names.filter(isKnown)) {
    figures.push(...(await MEASUREMENTS[name](size, (text) => process.stderr.write(`${text}\n`))));
  }
  process.stdout.write(values.json ? `${JSON.stringify(figures)}\n` : render(figures));
  return figures.every(({ met }) => met) ? 0 : 1;
}

function render(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, goal, met, floor, ours, unit, n }) => [
    ...[name, value.toPrecision(3), `≤ ${goal}`, met ? 'met' : 'missed'],
    ...[floor === null ? '' : floor.toPrecision(3), ours.toPrecision(3), unit, String(n)],
  ]);
  const headings = ['what', 'value', 'goal', '', 'floor', 'ours', 'unit', 'of'];
  return `${renderTable(
    headings.map((heading) => ({ heading })),
    rows,
  )}\n`;
}

process.exitCode = await main();
