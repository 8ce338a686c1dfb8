import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installedOrSkipped, type PeerPackages, runIn } from '../../tools/peer-folder.ts';
import { atLeast, type Figure, secondsOf } from '../figure.ts';
import { answerOf, type Place } from './first.ts';
import { eventsOf, eventsUrlOf, firstSync, openGooglePair, type PeerEvent } from './google-pair.ts';
import { warmUp } from './peer.ts';

const GOAL = 12;
const ID = 'bench';
const PRELOAD = new URL('./google-preload.ts', import.meta.url);
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const DISTRIBUTION_HEADERS = '/usr';
const run = promisify(execFile);

const N8N: PeerPackages = {
  name: 'n8n-2.40.7',
  packages: { n8n: '2.40.7' },
  downloadSize: '3 GB with its packages',
  complete: buildDatabase,
};

/**
 * Time of the first sync of a clinic into Google Calendar by clinic-mirror, against a workflow of n8n that creates the same events with its
 * node for Google Calendar. The events are in the workflow. Both are measured as running programs: clinic-mirror
 * writes a few events before, and the time of n8n for the same workflow with one event is subtracted.
 */
export async function measureN8n({ events }: { events: number }, say: (text: string) => void): Promise<Figure[]> {
  const installed = await installedOrSkipped(N8N, say);
  if (installed === undefined) return [];
  await warmUp('google-calendar');
  say(`n8n: ${events} events into google-calendar …`);
  await using pair = await openGooglePair(events);
  const { cost, reads } = await firstSync(pair.world);
  const given = [...(await eventsOf(reads)).values()];
  await using n8n = await openN8n(installed, pair.place);
  const startSeconds = await n8n.create(given.slice(0, 1));
  say(`n8n: the same ${given.length} by n8n, whose start takes ${startSeconds.toFixed(1)} s …`);
  const theirs = (await n8n.create(given)) - startSeconds;
  await expectEvents(pair.place, given.length + 1);
  const figure = { ...atLeast(GOAL, theirs / cost.wall), floor: theirs, ours: cost.wall, unit: 's', n: given.length };
  return [{ name: 'n8n first', ...figure }];
}

/** Fetches the events that the other program wrote. */
async function expectEvents(place: Place, count: number): Promise<void> {
  let [found, page] = [0, ''];
  do {
    const url = `${eventsUrlOf(place)}?maxResults=2500${page === '' ? '' : `&pageToken=${encodeURIComponent(page)}`}`;
    const told = JSON.parse(await answerOf(url, { headers: { authorization: place.authorization } }));
    const { items = [], nextPageToken = '' } = told as { items?: unknown[]; nextPageToken?: string };
    [found, page] = [found + items.length, nextPageToken];
  } while (page !== '');
  if (found !== count) throw new Error(`n8n wrote ${found} of ${count} events`);
}

/** A folder of n8n with the credential. Each workflow runs as a new process, and its time includes the start. */
async function openN8n(installed: string, place: Place) {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  const env = {
    ...process.env,
    ...{ N8N_USER_FOLDER: dir, N8N_ENCRYPTION_KEY: ID, N8N_LOG_LEVEL: 'warn', N8N_DIAGNOSTICS_ENABLED: 'false' },
    ...{ N8N_VERSION_NOTIFICATIONS_ENABLED: 'false', N8N_TEMPLATES_ENABLED: 'false' },
    ...{ GOOGLE_SANDBOX: place.origin, NODE_OPTIONS: `--import ${PRELOAD.href}` },
  };
  const program = join(installed, 'node_modules/n8n/bin/n8n');
  const start = async (...args: string[]) =>
    await run(process.execPath, [program, ...args], { cwd: dir, env, maxBuffer: MAX_OUTPUT_BYTES });
  const take = async (kind: 'workflow' | 'credentials', content: object) => {
    const file = join(dir, `${kind}.json`);
    await writeFile(file, JSON.stringify([content]));
    await start(`import:${kind}`, `--input=${file}`);
  };
  await take('credentials', credentialOf(place));
  return {
    async create(events: readonly PeerEvent[]): Promise<number> {
      await take('workflow', workflowOf(place, events));
      return await secondsOf(() => start('execute', `--id=${ID}`, '--rawOutput'));
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

function credentialOf({ authorization }: Place): object {
  const token = { access_token: authorization.replace('Bearer ', ''), token_type: 'Bearer' };
  const data = { clientId: ID, clientSecret: ID, oauthTokenData: token };
  return { id: ID, name: ID, type: 'googleCalendarOAuth2Api', data };
}

/** A list of events, split into items, and created one after the other. */
function workflowOf({ container }: Place, events: readonly PeerEvent[]): object {
  const list = events.map(({ summary, start, end }) => ({
    ...{ summary, start: start.dateTime ?? start.date, end: end.dateTime ?? end.date },
    allday: start.date === undefined ? 'no' : 'yes',
  }));
  const steps = [
    { name: 'Start', type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, parameters: {} },
    {
      ...{ name: 'Events', type: 'n8n-nodes-base.set', typeVersion: 3.4 },
      parameters: { mode: 'raw', jsonOutput: JSON.stringify({ events: list }), options: {} },
    },
    {
      ...{ name: 'Split', type: 'n8n-nodes-base.splitOut', typeVersion: 1 },
      parameters: { fieldToSplitOut: 'events', options: {} },
    },
    {
      ...{ name: 'Create', type: 'n8n-nodes-base.googleCalendar', typeVersion: 1.3 },
      credentials: { googleCalendarOAuth2Api: { id: ID, name: ID } },
      parameters: {
        ...{ resource: 'event', operation: 'create', calendar: { __rl: true, mode: 'id', value: container } },
        ...{ start: '={{ $json.start }}', end: '={{ $json.end }}', useDefaultReminders: true },
        additionalFields: { summary: '={{ $json.summary }}', allday: '={{ $json.allday }}' },
      },
    },
  ];
  const nodes = steps.map((step, nth) => ({ ...step, id: step.name, position: [200 * nth, 0] }));
  const pairs = steps
    .slice(1)
    .map(({ name }, nth) => [steps[nth]?.name ?? '', { main: [[{ node: name, type: 'main', index: 0 }]] }]);
  const settings = { executionOrder: 'v1', saveDataSuccessExecution: 'none' };
  return { id: ID, name: ID, active: false, nodes, connections: Object.fromEntries(pairs), settings };
}

/** Installs the library of its database: a built one, or compiled with the headers of the host's Node. */
async function buildDatabase(folder: string): Promise<void> {
  const isThere = existsSync(join(DISTRIBUTION_HEADERS, 'include/node/node_api.h'));
  const headers = isThere ? [`--nodedir=${DISTRIBUTION_HEADERS}`] : [];
  await runIn(folder, 'npm', 'rebuild', 'sqlite3', ...headers, '--loglevel=error');
}
