import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import type { Installation } from '../../../src/control/installation.ts';
import { openStatuses } from '../../../src/control/statuses.ts';
import { addAccess } from '../../../src/http-server/access/access.ts';
import { openApp, PAGES_POLICY } from '../../../src/http-server/app.ts';
import type { OperatorServices, Visitor } from '../../../src/http-server/operators.ts';
import { addPages } from '../../../src/http-server/pages/pages.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import { type ActingChoice, openActing } from '../../control/acting.ts';

/** Somebody who may do everything. */
export const OWNER: Visitor = { id: 'owner', name: 'owner', level: 'owner', tenants: null, csrf: 'proof-of-owner' };

/** What a test chooses of pages and who looks. */
export interface PagesChoice {
  installation: Installation;
  /** Null: nobody in particular. Default: the owner. */
  visitor?: Visitor | null;
  acting?: ActingChoice;
  desk?: Partial<OperatorServices>;
  /** Adds more to the port. */
  before?: (app: FastifyInstance, desk: OperatorServices) => void;
}

/** The port for operators with its pages, opened for whoever a test says. Closed after the test. */
export async function openPages({
  installation,
  visitor = OWNER,
  acting: choice = {},
  desk: given = {},
  before,
}: PagesChoice) {
  const acting = openActing(choice);
  const desk: OperatorServices = {
    installation,
    statuses: openStatuses(),
    loginServices: () => ({ remote: null }) as ReturnType<OperatorServices['loginServices']>,
    backups: {} as OperatorServices['backups'],
    configurations: null,
    acting: ({ name, id }, why) => ({
      who: { kind: 'account', name, id, claimed: null },
      why,
      actServices: acting.actServices,
    }),
    log: silentLogger,
    ...given,
  };
  const app = await openApp({ log: silentLogger, policy: PAGES_POLICY });
  let url = 'http://localhost';
  const routes: { method: string; url: string; level: string | null }[] = [];
  app.addHook('onRoute', ({ method, url: path, config }) => {
    routes.push({ method: String(method), url: path, level: config?.level ?? null });
  });
  const visitorOf = async () => visitor;
  addAccess(app, { visitorOf, stillVisitorOf: visitorOf, heldBackMs: async () => null, publicUrl: () => url });
  before?.(app, desk);
  addPages(app, desk);
  await app.ready();
  onTestFinished(() => app.close());
  const see = async (path: string, headers: Record<string, string> = {}) =>
    (await app.inject({ url: path, headers })).body;
  const post = (path: string, fields: Record<string, string> = {}) =>
    app.inject({
      ...{
        method: 'POST',
        url: path,
        payload: new URLSearchParams({ csrf: visitor?.csrf ?? '', ...fields }).toString(),
      },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  return {
    ...{ app, see, post, routes, recorded: acting.recorded },
    /** On a free port of this machine, for a browser. */
    async listen(): Promise<string> {
      url = await app.listen({ host: '127.0.0.1', port: 0 });
      return url;
    },
  };
}
