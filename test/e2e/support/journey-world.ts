import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { readGoogleEvents } from '../../../demo/read-targets.ts';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { ON_THIS_MACHINE } from '../../../sandbox/kit/outbound.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { reminderChannels } from '../../../src/features/reminders/channels/registry.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { type Daemon, startDaemon } from '../../../src/main.ts';
import { loadConfiguration } from '../../../src/settings/configuration-files.ts';
import { freePort } from '../../../tools/free-port.ts';
import { type Ran, runHere } from './run-command.ts';

/** The clinic of the journey, as its files call it. */
export const CLINIC = 'aurora';
/** Its calendar, which is one of Google's. */
export const CALENDAR = 'dr-rossi';
/** Whose calendar it is. */
export const ACCOUNT = 'rossi@aurora.example';
const SUMMARY = 'Appointments of Dr Rossi';

/** A clinic and Google, an empty folder, and whoever sets up what joins them. */
export interface JourneyWorld {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  /** The clinic's own id of itself, and of its one agenda. */
  clinicId: string;
  agendaId: string;
  /** The command `init` with the answers of a file, and a person who logs in to the clinic where it shows an address. */
  init(): Promise<Ran>;
  /** Starts the daemon under what `init` made. @returns what it showed to whoever started it */
  startDaemon(): Promise<string>;
  /** Where its pages are. @throws before the daemon has started */
  address(path: string): string;
  /** How many events Google has of the clinic. */
  events(): Promise<number>;
  close(): Promise<void>;
}

/** Starts a clinic with one agenda, and Google with one account. Nothing of the product is there yet. */
export async function openJourneyWorld(redisUrl: string): Promise<JourneyWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-journey-'));
  const configDir = join(dir, 'mine');
  const [clinic, google] = await Promise.all([
    startClinicSandbox({ tenants: 1, appointments: 24, agendas: 1, pastDays: 0, futureDays: 30 }),
    startGoogleSandbox(),
  ]);
  google.addAccount(ACCOUNT);
  const [tenant] = clinic.tenants;
  const agendaId = tenant?.agendas[0]?.id ?? '';
  let daemon: Daemon | null = null;
  return {
    ...{ clinic, google, clinicId: tenant?.id ?? '', agendaId },
    async init() {
      const answers = join(dir, 'answers.yaml');
      await writeFile(answers, stringify(answersFor(redisUrl, clinic, google)));
      const visits: Promise<unknown>[] = [];
      const ran = await runHere({ configDir, env: {} }, ['init', configDir, '--answers', answers], (said) => {
        const address = /^(http:\S+authorize\S*)\n/m.exec(said)?.[1];
        if (address === undefined || tenant === undefined || visits.length > 0) return;
        visits.push(authorizeInBrowser(address, tenant.user).then(async (back) => (await fetch(back)).text()));
      });
      await Promise.all(visits);
      await settle(configDir, google);
      return ran;
    },
    async startDaemon() {
      const told: string[] = [];
      const configuration = loadConfiguration({
        dir: configDir,
        env: {},
        connectors,
        reminderChannels,
        mode: 'strict',
      });
      const signal = new AbortController().signal;
      daemon = await startDaemon(configuration, silentLogger, signal, { report: (text) => told.push(text) });
      for (const { tenant: opened } of daemon.composition.composed.values()) {
        // Any later cycle is a second look at what was missed.
        opened.missedForMs = 0;
      }
      return told.join('\n');
    },
    address(path) {
      if (daemon === null) throw new Error('the daemon has not started');
      return `http://localhost:${daemon.operatorPort}${path}`;
    },
    events: async () => (await readGoogleEvents(google, ACCOUNT, SUMMARY)).length,
    async close() {
      await daemon?.close();
      await Promise.all([clinic.close(), google.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function answersFor(
  redisUrl: string,
  { baseUrl, authUrl, clients, tenants }: ClinicSandbox,
  { client, issuer }: GoogleSandbox,
) {
  const [registration] = clients;
  const { clientId, clientSecret } = client;
  const calendar = { id: CALENDAR, agendas: [tenants[0]?.agendas[0]?.id], kind: 'google', calendar: SUMMARY };
  return {
    redisUrl,
    clinic: { baseUrl, authUrl, clientId: registration?.clientId, clientSecret: registration?.clientSecret },
    calendarKinds: ['google'],
    google: { clientId, clientSecret, issuer },
    ...{ name: 'Studio Aurora', tenant: CLINIC, language: 'it', zone: 'Europe/Rome', firstRun: 'apply' },
    calendars: [{ ...calendar, title: 'appointment', account: ACCOUNT }],
    logins: { [CALENDAR]: 'later' },
  };
}

/**
 * What a person adds by hand: who may look, the port for the outside, Google on this machine, a clinic that is not spared, and no cycle but those that
 * are asked for.
 */
async function settle(configDir: string, google: GoogleSandbox): Promise<void> {
  const change = async <Content>(file: string, edit: (content: Content) => object) => {
    const path = join(configDir, file);
    const content = parse(await readFile(path, 'utf8'));
    await writeFile(path, stringify({ ...content, ...edit(content) }));
  };
  const port = await freePort();
  type Clients = Record<'clinicClients', { main: object }>;
  await change('clinic-mirror.yaml', ({ clinicClients }: Clients) => ({
    operator: { port: 0, access: {} },
    outbound: ON_THIS_MACHINE,
    http: { port },
    clinicClients: { main: { ...clinicClients.main, budget: { requestsPerMinute: 6_000, burst: 500 } } },
    schedule: { pullEverySeconds: 86_400 },
  }));
  await change(join('tenants', `${CLINIC}.yaml`), ({ targets }: { targets: Record<string, { settings: object }> }) => {
    const target = targets[CALENDAR];
    return {
      targets: {
        [CALENDAR]: { ...target, settings: { ...target?.settings, rootUrl: google.calendarApiUrl } },
      },
    };
  });
}
