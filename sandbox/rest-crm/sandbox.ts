import fastify from 'fastify';
import { isAdminPath } from '../kit/admin.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen } from '../kit/listen.ts';
import { addAdminRoutes } from './admin-routes.ts';
import type { Dialect } from './dialect.ts';
import { dolibarr } from './dialects/dolibarr.ts';
import { espocrm } from './dialects/espocrm.ts';
import { twenty } from './dialects/twenty.ts';
import { zoho } from './dialects/zoho.ts';
import { type DialectName, type RestCrmSandboxOptions, toSettings } from './options.ts';
import type { Field, StoredRecord, Table, Values } from './tables.ts';
import type { RestCrmSandbox } from './types.ts';
import { World } from './world.ts';

const DIALECTS: Readonly<Record<DialectName, Dialect>> = { dolibarr, espocrm, twenty, zoho };

/**
 * Starts the sandbox on loopback.
 * @throws if the port is in use
 */
export async function startRestCrmSandbox(options: RestCrmSandboxOptions): Promise<RestCrmSandbox> {
  const settings = toSettings(options);
  const dialect = DIALECTS[settings.dialect];
  const world = new World(settings);
  dialect.furnish(world);
  const current = { login: dialect.login(world.token) };
  const kit = new SandboxKit({ seed: settings.seed, faultBody: (status) => dialect.bodyOf(status) });
  const app = fastify({ exposeHeadRoutes: false, bodyLimit: 16 * 1024 * 1024, routerOptions: { maxParamLength: 500 } });
  kit.install(app);
  app.addHook('preHandler', async (request, reply) => {
    if (isAdminPath(request.url) || reply.sent) return;
    const { header, value } = current.login;
    if (request.headers[header] !== value) return reply.status(401).send(dialect.bodyOf(401));
    const waitSeconds = world.throttle();
    if (waitSeconds === null) return;
    kit.counts.add('throttled');
    return reply.status(429).header('retry-after', String(waitSeconds)).send(dialect.bodyOf(429));
  });
  app.register(
    (api, _options, done) => {
      dialect.addRoutes(api, world);
      done();
    },
    { prefix: dialect.base },
  );
  addAdminRoutes(app, () => sandbox);
  const server = await listen(app, settings.port);
  const sandbox: RestCrmSandbox = {
    ...server,
    ...handsOn(world),
    apiUrl: `${server.url}${dialect.base}`,
    token: world.token,
    login: current.login,
    example: dialect.example,
    counts: kit.counts,
    faults: kit.faults,
    recording: kit.recording,
    configure: (changes) => void Object.assign(settings, changes),
    replaceToken: (token) => {
      current.login = dialect.login(token);
    },
  };
  return sandbox;
}

function handsOn(world: World) {
  const tableOf = (kind: string): Table => {
    const table = world.tables.get(kind);
    if (table === undefined) throw new TypeError(`there are no records of the kind ${kind}`);
    return table;
  };
  const recordOf = (kind: string, id: string): StoredRecord => {
    const record = tableOf(kind).get(id);
    if (record === undefined) throw new TypeError('the record does not exist');
    return record;
  };
  return {
    records: (kind: string) => tableOf(kind).all(),
    addByHand: (kind: string, values: Values) => tableOf(kind).insert(values),
    editByHand: (kind: string, id: string, values: Values) => void tableOf(kind).change(recordOf(kind, id), values),
    duplicateByHand: (kind: string, id: string) => tableOf(kind).insert(recordOf(kind, id).values),
    automationsRun: () => world.automationsRun,
    deleteByHand: (kind: string, id: string) => tableOf(kind).remove(recordOf(kind, id)),
    addField: (kind: string, name: string, field: Field) => void tableOf(kind).fields.set(name, field),
    removeField: (kind: string, name: string) => void tableOf(kind).fields.delete(name),
  };
}
