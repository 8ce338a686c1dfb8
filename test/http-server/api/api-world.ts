import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { LoginServices } from '../../../src/control/logins.ts';
import { addAccess } from '../../../src/http-server/access/access.ts';
import { addApi } from '../../../src/http-server/api/api.ts';
import type { Route } from '../../../src/http-server/api/routes.ts';
import { openApp } from '../../../src/http-server/app.ts';
import type { OperatorServices } from '../../../src/http-server/operators.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import type { AccessLevel } from '../../../src/model/acts.ts';
import type { ApprovalSettings } from '../../../src/settings/access-schema.ts';
import { createApprovalStore } from '../../../src/state/stored-documents.ts';
import { auditLogInMemory, openActing, person } from '../../control/acting.ts';
import { openActsWorld } from '../../control/acts-world.ts';
import { type ConfigurationsChoice, openConfigurations } from '../../control/open-configurations.ts';
import { openBooked, openInstallation } from '../../control/open-installation.ts';
import { cycle } from '../../jobs/cycle.ts';
import { appointmentOf, NOW } from '../../sync/arbitraries.ts';
import { AURORA, openServices, visitorNamed } from '../open-services.ts';

/** The tenant of which most is known. */
export const ROSSI = 'studio-rossi';
/** One whose file has faults. */
export const BROKEN = 'broken';

/** What a test chooses. */
export interface ApiChoice {
  policy?: Partial<ApprovalSettings>;
  loginServices?: LoginServices;
  backups?: Partial<OperatorServices['backups']>;
  /** What is wrong with documents of managed tenants. Default: nothing. */
  faultsOf?: ConfigurationsChoice['faultsOf'];
  /** What is wrong with files of tenants. Default: nothing. */
  refused?: ConfigurationsChoice['refused'];
}

const NO_BACKUPS: OperatorServices['backups'] = {
  backup: async () => 'sealed',
  restore: () => Promise.reject(new Error('unused')),
  seal: (text) => text,
  open: (text) => text,
};

/** The API over three tenants; one is filled once, and one can't be run. */
export async function openApiWorld(redis: Redis, choice: ApiChoice = {}) {
  const rossi = await openActsWorld(redis);
  const aurora = openAurora(redis);
  await cycle(aurora.tenant);
  const fault = { file: 'tenants/broken.yaml', line: 1, path: '', message: 'no', remedy: 'mend it' };
  const unusable = [{ id: BROKEN, faults: [fault] }] as never;
  const installation = openInstallation({ tenants: [rossi.tenant, aurora.tenant], unusable });
  const log = auditLogInMemory();
  const store = createApprovalStore(redis, ROSSI, Buffer.alloc(32, 7), () => NOW);
  const { policy = {} } = choice;
  const { loginServices, backups, faultsOf, refused } = choice;
  const desk = openServices(installation, {
    ...(loginServices === undefined ? {} : { loginServices: () => loginServices }),
    backups: { ...NO_BACKUPS, ...backups },
    configurations: openConfigurations(redis, {
      running: [ROSSI, AURORA],
      inFiles: { [ROSSI]: 'config/tenants/studio-rossi.yaml', [AURORA]: 'config/tenants/aurora.yaml' },
      ...(faultsOf === undefined ? {} : { faultsOf }),
      ...(refused === undefined ? {} : { refused }),
    }),
    acting: ({ name }, why) => openActing({ who: person(name), why, store, policy, log }),
  });
  const app = await openApp({ log: silentLogger });
  const access = {
    publicUrl: () => 'http://localhost',
    visitorOf: async ({ headers }: { headers: { authorization?: string | undefined } }) =>
      visitorNamed(headers.authorization?.replace('Bearer ', '') ?? '', 'token'),
  };
  addAccess(app, { ...access, stillVisitorOf: access.visitorOf, heldBackMs: async () => null });
  addApi(app, desk);
  await app.ready();
  const as =
    (visitor: string | null) =>
    async (method: Route['method'], path: string, body?: object, headers: Record<string, string> = {}) => {
      const answer = await app.inject({
        method,
        url: `/api/v1${path}`,
        headers: { ...(visitor === null ? {} : { authorization: `Bearer ${visitor}` }), ...headers },
        ...(body === undefined ? {} : { payload: body }),
      });
      return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
    };
  return { app, installation, rossi, aurora, as, entries: log.entries };
}

/** A calendar with three appointments, and more to come. */
function openAurora(redis: Redis) {
  const aurora = openBooked({ connect: () => redis }, 0, { id: AURORA, name: 'Aurora' });
  const book = (id: string, inHours: number) => aurora.clinic.appointments.set(id, appointmentOf(id, { inHours }));
  for (const [index, id] of ['a', 'b', 'c'].entries()) book(id, 24 + index);
  return { ...aurora, book };
}

/** How every refusal looks. */
export function problemLike(status: number, code: string) {
  return {
    status,
    headers: expect.objectContaining({ 'content-type': expect.stringMatching(/^application\/problem\+json/) }),
    body: expect.objectContaining({
      type: `urn:clinic-mirror:error:${code}`,
      status,
      code,
      detail: expect.any(String),
    }),
  };
}

/** All pages of a list, one after the other. */
export async function allPages(
  ask: (query: string) => Promise<{ status: number; body: { items: unknown[]; next: string | null } }>,
  limit: number,
): Promise<unknown[]> {
  const all: unknown[] = [];
  let after: string | null = null;
  do {
    const query: string = after === null ? `limit=${limit}` : `limit=${limit}&after=${encodeURIComponent(after)}`;
    const { status, body } = await ask(query);
    expect([status, body.items.length <= limit]).toEqual([200, true]);
    all.push(...body.items);
    after = body.next;
  } while (after !== null);
  return all;
}

/** The levels, least first. */
export const LEVELS: readonly AccessLevel[] = ['viewer', 'operator', 'owner'];
