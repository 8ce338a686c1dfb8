// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { editTenantFile } from '../../../demo/configuration.ts';
import { renderStatus } from '../../../src/cli/render-status.ts';
import { type Composition, compose } from '../../../src/composition/compose.ts';
import { openOperatorServices } from '../../../src/composition/operator-services.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { requireTenant } from '../../../src/control/installation.ts';
import { createMetrics, type Metrics } from '../../../src/control/metrics.ts';
import { resumeTargets } from '../../../src/control/resume.ts';
import { status } from '../../../src/control/status.ts';
import { openStatuses, type Statuses } from '../../../src/control/statuses.ts';
import { NOTHING_REPORTED, nextDigest } from '../../../src/features/alerts/digest.ts';
import { textOf } from '../../../src/features/alerts/message.ts';
import { reminderChannels } from '../../../src/features/reminders/channels/registry.ts';
import { addAccess } from '../../../src/http-server/access/access.ts';
import { addApi } from '../../../src/http-server/api/api.ts';
import { openApp, PAGES_POLICY } from '../../../src/http-server/app.ts';
import { createOperatorServer } from '../../../src/http-server/operator-server.ts';
import type { Visitor } from '../../../src/http-server/operators.ts';
import { addPages } from '../../../src/http-server/pages/pages.ts';
import { pullAfresh } from '../../../src/jobs/pull.ts';
import { pushTarget } from '../../../src/jobs/push.ts';
import type { OpenTarget, OpenTenant } from '../../../src/jobs/tenant.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { createMcpServer } from '../../../src/mcp-server/server.ts';
import type { Credential } from '../../../src/model/credentials.ts';
import { html } from '../../../src/model/html.ts';
import type { Problem } from '../../../src/model/problems.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../src/model/time.ts';
import { loadConfiguration } from '../../../src/settings/configuration-files.ts';
import { contextWith } from '../../operations/run-operation.ts';
import { type SmallWorld, startSmallWorld } from './small-world.ts';

/** The one clinic, and its two targets, each with a login of the same name. */
export const TENANT = 'clinic-1';
export const GOOGLE = 'doctor-1';
export const OUTLOOK = 'doctor-2';

const SIGNING = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Nothing is sent there: no worker runs. */
const HOOK = { url: 'http://127.0.0.1:9/in', secrets: [{ env: 'TENANT_CLINIC_1__HOOK' }] };
const SIGNAL = new AbortController().signal;

/** By the product's clock, which stands still enough: a busy machine takes seconds between two looks. */
export const CONFIRM_REFUSAL_MS = 2 * MINUTE_MS;

/** Where an operator looks, and what each says of one problem. */
export const SURFACES = ['status', 'status --json', 'readiness', 'metrics', 'alert', 'Overview', 'API', 'MCP'] as const;

/** A clinic that is well, and all that an operator looks at. */
export interface FaultWorld {
  small: SmallWorld;
  composition: Composition;
  clinicId: string;
  agendaIds: readonly string[];
  /** The product's clock runs ahead of ours by so much. */
  ahead: { ms: number };
  /** The tenant as it is run now. */
  tenant(): OpenTenant;
  /** One cycle to its end. */
  cycle(): Promise<void>;
  /** How many there were so far. */
  cycles(): number;
  /** Replaces a login by one that is otherwise the same. */
  rewrite(connection: string, change: (credential: Credential) => Partial<Credential>): Promise<void>;
  /** Has the files as they are now count; tenants with faults are set aside. */
  reload(): Promise<void>;
  /** Changes the tenant's file. */
  edit(change: (file: { targets: Record<string, { agendas: string[] }> }) => void): Promise<void>;
  problems(): Promise<readonly Problem[]>;
  /** Which surfaces show the sentence and the next action of a problem, with its code. */
  shownOn(problem: Problem): Promise<string[]>;
}

/** Starts it; gone when the test ends. */
export async function useFaultWorld(redisUrl: string): Promise<FaultWorld> {
  const small = await startSmallWorld({
    redisUrl,
    targets: ['google-calendar', 'outlook-calendar'],
    appointments: 16,
    target: { audit: { drift: 'report' }, guard: { cancelled: { share: 0.01, count: 1 } } },
    clinicClient: { budget: { requestsPerMinute: 6_000, burst: 500, requestsPerDay: 1_000_000 } },
    settings: {
      ...{ http: { port: 0 }, notifications: { url: 'http://127.0.0.1:9/' } },
      tokens: { confirmRefusalAfterSeconds: CONFIRM_REFUSAL_MS / SECOND_MS },
    },
    reminders: {
      channels: { hook: { kind: 'webhook', settings: HOOK } },
      rules: { 'a-day': { before: 'P1D', channels: ['hook'] } },
    },
    triggers: { endpoints: { portal: { ...HOOK, events: ['report.available'] } } },
  });
  onTestFinished(() => small.close());
  small.env.TENANT_CLINIC_1__HOOK = SIGNING;
  await small.logIn();
  const ahead = { ms: 0 };
  const read = () => {
    const { configDir: dir, env } = small;
    return loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'set-aside' });
  };
  const clock = () => Date.now() + ahead.ms;
  const composition = compose({ configuration: read(), log: silentLogger, priority: 'interactive', clock });
  onTestFinished(() => composition.close());
  return openFaultWorld(small, composition, ahead, read);
}

function openFaultWorld(
  small: SmallWorld,
  composition: Composition,
  ahead: { ms: number },
  read: () => Composition['configuration'],
): FaultWorld {
  const { installation } = composition;
  const statuses = openStatuses();
  const metrics = createMetrics(() => installation, { statuses });
  const skins = openSkins(composition, statuses);
  const [{ clinicId, agendaIds } = { clinicId: '', agendaIds: [] }] = small.tenants;
  let cycles = 0;
  const tenant = () => {
    const open = requireTenant(installation, TENANT);
    // What is tried again is tried again as soon as the rules allow.
    return Object.assign(open, { random: () => 0, missedForMs: 0 });
  };
  const world: FaultWorld = {
    ...{ small, composition, clinicId, agendaIds, ahead, tenant },
    cycles: () => cycles,
    async cycle() {
      cycles += 1;
      const open = tenant();
      await resumeTargets(open);
      await pullAfresh(open, () => {}, SIGNAL);
      for (const target of open.targets.values()) await drain(open, target);
    },
    async rewrite(connection, change) {
      const { credentials } = composition.composed.get(TENANT)!;
      const { [connection]: credential } = await credentials.readAll([connection]);
      await credentials.remove(connection);
      await credentials.restore({ [connection]: { ...credential!, ...change(credential!) } });
    },
    async reload() {
      await composition.takeUp(read(), SIGNAL);
    },
    async edit(change) {
      await editTenantFile(small.configDir, TENANT, change);
      await world.reload();
    },
    problems: async () => (await status(installation)).problems,
    shownOn: async (problem) => shownOn({ composition, metrics, ahead, ...(await skins) }, problem),
  };
  return world;
}

/** Turns of a target's lane as long as they follow at once. */
async function drain(tenant: OpenTenant, target: OpenTarget): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) {
    const { nextInMs } = await pushTarget(tenant, target, { stop: SIGNAL, abort: SIGNAL });
    if (nextInMs !== 0) return;
  }
}

interface Surfaces extends Skins {
  composition: Composition;
  metrics: Metrics;
  ahead: { ms: number };
}

/** What an owner and an assistant look at. */
interface Skins {
  /** Pages and API. */
  app: FastifyInstance;
  assistant: Client;
}

const OWNER: Visitor = { id: 'owner', name: 'owner', level: 'owner', tenants: null, csrf: '' };

async function openSkins(composition: Composition, statuses: Statuses): Promise<Skins> {
  const app = await openApp({ log: silentLogger, policy: PAGES_POLICY });
  const visitorOf = async () => OWNER;
  addAccess(app, {
    ...{ visitorOf, stillVisitorOf: visitorOf, heldBackMs: async () => null, publicUrl: () => 'http://localhost' },
  });
  const desk = openOperatorServices(composition, statuses, null);
  addApi(app, desk);
  addPages(app, desk);
  await app.ready();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createMcpServer(contextWith({ installation: composition.installation }), '0.1.0').connect(ours);
  const assistant = new Client({ name: 'test', version: '1' });
  await assistant.connect(theirs);
  onTestFinished(() => app.close());
  return { app, assistant };
}

/** The row of the Overview that tells of a problem: what a person reads of it, and a button or the words of what to do. */
function isOnPage(page: string, { sentence, code, next }: Problem): boolean {
  return page.split('<tr').some((row) => {
    const read = row.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    const tells = (text: string) => read.includes(html`${text}`.toString().replaceAll(/\s+/g, ' '));
    return tells(sentence) && tells(code) && (next === null || tells(next) || row.includes('class="button main"'));
  });
}

/** Every surface is asked as its reader asks it, but for the processes around it. */
async function shownOn(
  { composition, metrics, ahead, app: port, assistant }: Surfaces,
  problem: Problem,
): Promise<string[]> {
  const { installation } = composition;
  // What was computed for the last question counts no more.
  ahead.ms += 6 * SECOND_MS;
  const view = await status(installation);
  const app = await createOperatorServer(
    { readiness: async () => [], problems: metrics.problems, metrics: metrics.render },
    { token: null, log: silentLogger },
  );
  const ready = (await app.inject('/readyz')).json() as { problems: Problem[] };
  const samples = (await app.inject('/metrics')).body;
  await app.close();
  const page = (await port.inject('/')).body;
  const listed = (await port.inject('/api/v1/problems')).json() as { problems: Problem[] };
  const told = await assistant.callTool({ name: 'problems', arguments: {} });
  const { tenant, needs, code, sentence, next } = problem;
  const says = (text: string) => [sentence, code, next ?? ''].every((part) => text.replace(/\s+/g, ' ').includes(part));
  const isIn = (problems: readonly Problem[]) =>
    problems.some((one) => one.code === code && one.sentence === sentence && one.next === next);
  const sample = `clinic_mirror_problems{tenant="${tenant ?? ''}",needs="${needs}",code="${code}"} `;
  const shown: Record<(typeof SURFACES)[number], boolean> = {
    status: says(renderStatus(view)),
    'status --json': isIn(view.problems),
    readiness: isIn(ready.problems),
    metrics: samples.includes(sample),
    alert: says(alertOf(view.problems, view.at)),
    Overview: isOnPage(page, problem),
    API: isIn(listed.problems),
    MCP: isIn((told.structuredContent as { problems: Problem[] }).problems),
  };
  return SURFACES.filter((surface) => shown[surface]);
}

/** The message that somebody gets who was told of nothing before, once all of it has lasted. */
function alertOf(problems: readonly Problem[], now: number): string {
  const { untold } = nextDigest(NOTHING_REPORTED, problems, now, 15 * MINUTE_MS);
  const later = now + DAY_MS + 5 * MINUTE_MS;
  const { digest } = nextDigest(untold, problems, later, 15 * MINUTE_MS);
  return digest === null ? '' : textOf(digest, later, 'en').text;
}
