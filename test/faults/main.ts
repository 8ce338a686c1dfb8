import { parseArgs } from 'node:util';
import { runCreates } from './creates.ts';
import { runFlushes } from './flush.ts';
import { runKills } from './kills.ts';
import { type FaultResult, renderFaults } from './render.ts';
import { runStops } from './stop.ts';

const USAGE = `npm run faults -- [--runs 25] [--seed 1] [--only kills,flush,stop,creates] [--json]

Kills and stops the daemon at many moments, loses its state, and reads every target back: calendars, HubSpot with contacts and
activities, Salesforce with contacts. Appointments, patients and their consents change meanwhile. Figures go to standard output,
progress to standard error; the exit code is 0 when every target showed exactly what the clinic shows, and what people had made in
the CRMs was as before. The daemon runs from the sources as they are on disk: don't edit them meanwhile.`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '25' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: 'kills,flush,stop,creates' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  const parts = new Set(values.only.split(','));
  const known = ['kills', 'flush', 'stop', 'creates'];
  if (
    !Number.isInteger(runs) ||
    runs < 1 ||
    !Number.isInteger(seed) ||
    [...parts].some((part) => !known.includes(part))
  ) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const startedAt = performance.now();
  const result: FaultResult = {
    kills: parts.has('kills') ? await runKills(runs, seed, say) : null,
    flush: parts.has('flush') ? await runFlushes(say) : null,
    stop: parts.has('stop') ? await runStops(say) : null,
    creates: parts.has('creates') ? await runCreates(say) : null,
    seconds: 0,
    ok: false,
  };
  result.seconds = Math.round((performance.now() - startedAt) / 1_000);
  result.ok = [result.kills, result.flush, result.stop, result.creates].every((part) => part === null || part.ok);
  process.stdout.write(`${values.json ? JSON.stringify(result) : renderFaults(result)}\n`);
  return result.ok ? 0 : 1;
}

process.exitCode = await main();
