import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { installedOrSkipped, type PeerPackages, runIn } from '../../tools/peer-folder.ts';
import { atMost, type Figure } from '../figure.ts';
import { costOf, lesser, NOTHING } from './cost.ts';
import type { Place } from './first.ts';
import { eventsOf, firstSync, openGooglePair, type PeerEvent } from './google-pair.ts';
import type { KeeperCosts } from './keeper-main.ts';
import { quietRound } from './peer.ts';

const GOALS = { first: 0.8, quiet: 0.3 };
const TIMES = 3;
const MAIN = fileURLToPath(new URL('./keeper-main.ts', import.meta.url));

const REPOSITORY = 'https://github.com/ridafkih/keeper.sh';
const COMMIT = '8125eb805013c5b054a18e83d643bcab6bbcc8a1';
/** The packages of the sync core and of what it imports; other packages need more than the registry of npm has. */
const WORKSPACES = [
  'calendar',
  'constants',
  'data-schemas',
  'database',
  'digest-fetch',
  'fixtures',
  'typescript-config',
];
/** Stands for its log library, which is not in the registry of npm: writes nothing. */
const LOG_LIBRARY = { name: 'widelogger', version: '0.7.0', type: 'module', main: 'index.ts' };
const LOG_NOTHING =
  'const nothing = () => {};\nexport const widelog = { count: nothing, max: nothing, set: nothing };\n';

const KEEPER: PeerPackages = {
  name: `keeper.sh-${COMMIT.slice(0, 8)}`,
  packages: { bun: '1.3.11' },
  downloadSize: '150 MB',
  runsScripts: true,
  complete: fetchKeeper,
};

/** What keeper.sh gets to do. */
export interface KeeperRun {
  /** Its repository. */
  folder: string;
  place: Place;
  events: ({ id: string } & PeerEvent)[];
  /** Number of runs without changes. */
  times: number;
}

/**
 * Mirrors a clinic into Google Calendar with clinic-mirror, and the same events with the sync core of keeper.sh. The core runs in Bun, as in
 * its worker, but gets the events from memory, and keeps its mappings there: the cost of its database, its queue and of reading a source is
 * not included. A quiet round of clinic-mirror is a cycle and an audit, because the core reads the whole calendar each time.
 */
export async function measureKeeper({ events }: { events: number }, say: (text: string) => void): Promise<Figure[]> {
  const installed = await installedOrSkipped(KEEPER, say);
  if (installed === undefined) return [];
  say(`keeper: ${events} events into google-calendar …`);
  await using pair = await openGooglePair(events);
  const { cost: first, reads } = await firstSync(pair.world);
  await quietRound(pair.world);
  let quiet = NOTHING;
  for (let time = 0; time < TIMES; time += 1) quiet = lesser(quiet, await costOf(() => quietRound(pair.world)));
  const given = [...(await eventsOf(reads))].map(([id, event]) => ({ id, ...event }));
  say(`keeper: the same ${given.length} by keeper.sh …`);
  const run = { folder: join(installed, 'keeper.sh'), place: pair.place, events: given, times: TIMES };
  const theirs = await runKeeper(join(installed, 'node_modules/.bin/bun'), run);
  const ours: KeeperCosts = { first, quiet };
  const figure = (part: keyof KeeperCosts): Figure => ({
    ...{ name: `keeper ${part}`, ...atMost(GOALS[part], ours[part].cpu / theirs[part].cpu) },
    ...{ floor: theirs[part].cpu, ours: ours[part].cpu, unit: 'CPU s', n: given.length },
  });
  return [figure('first'), figure('quiet')];
}

async function runKeeper(bun: string, given: KeeperRun): Promise<KeeperCosts> {
  const child = spawn(bun, ['run', MAIN], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(given));
  const told = await text(child.stdout);
  if (told === '') throw new Error('keeper.sh failed');
  return JSON.parse(told);
}

/** Fetches the repository; installs the locked versions of what the sync core imports. */
async function fetchKeeper(folder: string): Promise<void> {
  const repository = join(folder, 'keeper.sh');
  await runIn(folder, 'git', 'clone', '--quiet', '--no-checkout', REPOSITORY, 'keeper.sh');
  await runIn(repository, 'git', 'checkout', '--quiet', COMMIT);
  const logs = join(repository, 'packages', LOG_LIBRARY.name);
  await mkdir(logs);
  await writeFile(join(logs, 'package.json'), JSON.stringify(LOG_LIBRARY));
  await writeFile(join(logs, 'index.ts'), LOG_NOTHING);
  const workspaces = [...WORKSPACES, LOG_LIBRARY.name].map((name) => `packages/${name}`);
  const root = { private: true, workspaces, overrides: { arktype: '^2.2.0' } };
  await writeFile(join(repository, 'package.json'), JSON.stringify(root));
  const omitted = ['dev', 'peer', 'optional'].map((kind) => `--omit=${kind}`);
  await runIn(repository, join(folder, 'node_modules/.bin/bun'), 'install', '--ignore-scripts', ...omitted);
}
