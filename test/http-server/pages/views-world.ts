import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { openStatuses } from '../../../src/control/statuses.ts';
import { addAccess } from '../../../src/http-server/access/access.ts';
import { openApp, PAGES_POLICY } from '../../../src/http-server/app.ts';
import type { OperatorServices, Visitor } from '../../../src/http-server/operators.ts';
import { addPages } from '../../../src/http-server/pages/pages.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import type { Appointment } from '../../../src/model/records.ts';
import type { ApprovalSettings } from '../../../src/settings/access-schema.ts';
import type { TargetConfiguration } from '../../../src/settings/configuration.ts';
import { createApprovalStore } from '../../../src/state/stored-documents.ts';
import { openActing, person } from '../../control/acting.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { cycle } from '../../jobs/cycle.ts';
import { createModelClinic } from '../../jobs/model-clinic.ts';
import { createModelTarget } from '../../jobs/model-target.ts';
import { openTenant } from '../../jobs/open-tenant.ts';
import { appointmentOf, NOW } from '../../sync/arbitraries.ts';

/** The clinic. */
export const CLINIC = 'studio-rossi';
/** Whoever comes shows the name of one of these as a cookie. */
const VISITORS: Readonly<Record<string, Pick<Visitor, 'level' | 'tenants'>>> = {
  viewer: { level: 'viewer', tenants: null },
  operator: { level: 'operator', tenants: null },
  bruno: { level: 'operator', tenants: null },
  owner: { level: 'owner', tenants: null },
};
const CSRF = 'a-proof-of-tests';

/** What a test chooses. */
export interface ViewsChoice {
  configuration?: Partial<TargetConfiguration>;
  policy?: Partial<ApprovalSettings>;
  reasonFor?: readonly ('approve' | 'apply')[];
  appointments?: number;
}

/** The pages over one clinic with a calendar, in memory but for Redis; a first cycle has filled it. They listen on a port of the loopback. */
export async function openViewsWorld(redis: Redis, choice: ViewsChoice = {}) {
  const clock = { now: NOW };
  const clinic = createModelClinic();
  const book = (id: string, changes: Partial<Appointment> & { inHours?: number } = {}) =>
    clinic.appointments.set(id, appointmentOf(id, changes));
  for (let index = 0; index < (choice.appointments ?? 30); index += 1) book(`apt-${index}`, { inHours: 1 + index * 2 });
  const model = createModelTarget();
  const target = { model, configuration: { title: 'full' as const, ...choice.configuration } };
  const tenant = openTenant({
    redis,
    id: CLINIC,
    name: 'Studio Rossi',
    clinic,
    targets: [target],
    clock: () => clock.now,
  });
  const installation = openInstallation({ tenants: [tenant] });
  await cycle(tenant);
  const store = createApprovalStore(redis, CLINIC, Buffer.alloc(32, 7), () => clock.now);
  installation.approvals = () => store.list();
  const job = { id: '7', tenant: CLINIC, target: 'doctor', addedAt: NOW, dueAt: NOW, endedAt: NOW, attempts: 3 };
  const counts = { waiting: 0, active: 0, delayed: 2, failed: 1 };
  installation.queues = async () => [{ queue: 'push', counts, waiting: [], active: [], failed: [job] }];
  const acted = { policy: choice.policy ?? {}, reasonFor: choice.reasonFor ?? [], store };
  const desk: OperatorServices = {
    installation,
    statuses: openStatuses(),
    loginServices: () => {
      throw new Error('no test asked for logins');
    },
    configurations: null,
    backups: {} as OperatorServices['backups'],
    acting: ({ name }, why) => openActing({ who: person(name), why, ...acted }),
    log: silentLogger,
  };
  const app = await openApp({ log: silentLogger, policy: PAGES_POLICY });
  let base = 'http://localhost';
  const visitorBy = async ({ headers }: FastifyRequest) => visitorOf(headers.cookie);
  addAccess(app, {
    ...{ publicUrl: () => base, visitorOf: visitorBy, stillVisitorOf: visitorBy, heldBackMs: async () => null },
  });
  addPages(app, desk);
  await app.listen({ host: '127.0.0.1', port: 0 });
  base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    app,
    base,
    clinic,
    book,
    model,
    clock,
    tenant,
    installation,
    ...asks(app, () => base),
    close: () => app.close(),
  };
}

function visitorOf(cookie: string | undefined): Visitor | null {
  const name = /visitor=(\w+)/.exec(cookie ?? '')?.[1] ?? '';
  const visitor = VISITORS[name];
  return visitor === undefined ? null : { ...visitor, id: `account:${name}`, name, csrf: CSRF };
}

/** Looks at pages and sends their forms as a browser of a visitor would. */
function asks(app: FastifyInstance, base: () => string) {
  const headersOf = (visitor: string) => ({ cookie: `visitor=${visitor}; language=en`, host: new URL(base()).host });
  const open = async (visitor: string, url: string) => {
    const { statusCode, body, headers } = await app.inject({ url, headers: headersOf(visitor) });
    return { status: statusCode, body, headers };
  };
  const send = async (visitor: string, url: string, fields: [string, string][]) => {
    const { statusCode, body, headers } = await app.inject({
      method: 'POST',
      url,
      headers: {
        ...headersOf(visitor),
        'content-type': 'application/x-www-form-urlencoded',
        origin: base(),
        'sec-fetch-site': 'same-origin',
      },
      payload: new URLSearchParams([['csrf', CSRF], ...fields]).toString(),
    });
    return { status: statusCode, body, headers };
  };
  return { open, send };
}
