import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onlookerAt, runLive } from './live.ts';
import { renderResult, runOnce } from './once.ts';
import { DIALECTS, startWorld } from './world.ts';

const USAGE = `npm run demo                      run until Ctrl-C, with pages in the browser and a live table
npm run demo -- --once            first sync, a batch of changes, a quiet cycle, then end
npm run demo -- --once --json     the same, with one JSON object on standard output
npm run demo -- --dialect bare    a clinic with another dialect: ${DIALECTS.join(', ')}`;

const { values } = parseArgs({
  options: {
    once: { type: 'boolean' },
    json: { type: 'boolean' },
    dialect: { type: 'string', default: 'documented' },
    help: { type: 'boolean', short: 'h' },
  },
});

async function main(): Promise<number> {
  if (values.help === true) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const dialect = DIALECTS.find((name) => name === values.dialect);
  if (dialect === undefined) {
    say(`There is no dialect "${values.dialect}". There are: ${DIALECTS.join(', ')}.`);
    return 2;
  }
  const startedAt = performance.now();
  say('Starting Redis, the clinic, Google, Microsoft Graph, Radicale, HubSpot and Salesforce on this host …');
  const world = await startWorld({
    appointmentsPerTenant: 600,
    agendasPerTenant: 3,
    patientsPerTenant: 200,
    pullEverySeconds: 10,
    dialect,
    outlook: true,
    crm: true,
    pages: values.once !== true,
    notice: say,
  });
  try {
    if (values.once !== true) return await runLive(world, onlookerAt(process.stdout, say));
    process.once('SIGTERM', () => process.exit(143));
    const result = await runOnce(world, say, startedAt);
    process.stdout.write(values.json === true ? `${JSON.stringify(result)}\n` : `${renderResult(result)}\n`);
    const wrong = result.targets.some(({ duplicates, missing }) => duplicates > 0 || missing > 0);
    return wrong || result.quietCycleWrites > 0 || (process.env.CI === 'true' && world.radicale === null) ? 1 : 0;
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}. The daemon's last lines:\n${await lastLines(world.dir)}`);
    return 1;
  } finally {
    await world.close();
  }
}

async function lastLines(dir: string): Promise<string> {
  const log = await readFile(join(dir, 'daemon.log'), 'utf8').catch(() => '');
  return log.trimEnd().split('\n').slice(-15).join('\n');
}

process.exitCode = await main();
