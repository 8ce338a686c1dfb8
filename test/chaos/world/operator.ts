import { authorizeInBrowser } from '../../../sandbox/clinic/index.ts';
import { openBackups } from '../../../src/composition/backup.ts';
import { type Composition, compose } from '../../../src/composition/compose.ts';
import { createLoginServices } from '../../../src/composition/operator-services.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { loginWithBrowser } from '../../../src/control/logins.ts';
import { status } from '../../../src/control/status.ts';
import type { Status } from '../../../src/control/status-view.ts';
import { acceptLoss } from '../../../src/features/backup/backups.ts';
import { decideHold, listHolds } from '../../../src/features/holds/holds.ts';
import { reminderChannels } from '../../../src/features/reminders/channels/registry.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { loadConfiguration } from '../../../src/settings/configuration-files.ts';
import type { Login, World } from './world.ts';

/** The person who runs the daemons: what their commands do, without starting a process for each. */
export interface Operator {
  status(): Promise<Status>;
  /** Every tenant is read soon. */
  wake(): Promise<void>;
  /** A target is read back soon. */
  checkTarget(tenant: string, target: string): Promise<void>;
  logIn(login: Login): Promise<void>;
  holds(): ReturnType<typeof listHolds>;
  decide(tenant: string, hold: string, decision: 'approved' | 'rejected'): Promise<void>;
  /** @returns a sealed copy of what of a tenant can't be rebuilt */
  backup(tenant: string): Promise<string>;
  restore(tenant: string, backup: string): Promise<void>;
  /** Nobody was forgotten and nobody opted out. */
  acceptLoss(tenant: string): Promise<void>;
  /** Their clock is so much ahead. */
  setClock(offsetMs: number): void;
  /** After the configuration was changed. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

const LOGIN_TIMEOUT_MS = 20_000;

/** Opens the product for looking and deciding; the daemons are other processes. */
export function openOperator(world: World): Operator {
  let offsetMs = 0;
  const clock = () => Date.now() + offsetMs;
  let composition = open(world, clock);
  const tenants = () => [...composition.installation.tenants.values()];
  return {
    status: () => status(composition.installation),
    async wake() {
      for (const { id } of tenants()) await composition.queues.pullNow(id);
    },
    checkTarget: (tenant, target) => composition.queues.checkTarget(tenant, target, { delayMs: 0, whole: true }),
    logIn: (login) => logIn(world, composition, login),
    holds: () => listHolds(composition.installation),
    async decide(tenant, hold, decision) {
      await decideHold(composition.installation, { tenant, hold, decision });
    },
    backup: (tenant) => openBackups(composition).backup(tenant),
    async restore(tenant, backup) {
      await openBackups(composition).restore(tenant, backup);
    },
    async acceptLoss(tenant) {
      await acceptLoss(composition.installation, tenant);
    },
    setClock(ms) {
      offsetMs = ms;
    },
    async reload() {
      await composition.close();
      composition = open(world, clock);
    },
    close: () => composition.close(),
  };
}

function open({ configDir, env, operatorGate }: World, clock: () => number): Composition {
  const configuration = loadConfiguration({
    ...{ dir: configDir, env: { ...env, REDIS_URL: operatorGate.url }, connectors, reminderChannels },
    mode: 'strict',
  });
  return compose({ configuration, log: silentLogger, priority: 'interactive', clock });
}

async function logIn({ google, graph }: World, composition: Composition, login: Login): Promise<void> {
  const { tenant, connection, kind, username, password } = login;
  const visits: Promise<unknown>[] = [];
  const persons = {
    clinic: (url: string) => authorizeInBrowser(url, { username, password }),
    google: (url: string) => google.authorizeInBrowser(url, { account: username }),
    microsoft: (url: string) => graph.authorizeInBrowser(url, { account: username }),
  };
  const visit = async (url: string) => (await fetch(await persons[kind](url))).text();
  const show = (url: string) => void visits.push(visit(url));
  await loginWithBrowser(
    createLoginServices(composition),
    { tenant, connection },
    show,
    AbortSignal.timeout(LOGIN_TIMEOUT_MS),
  );
  await Promise.all(visits);
}
