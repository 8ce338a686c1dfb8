import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, InjectOptions, RouteOptions } from 'fastify';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { createLogger } from '../../../../src/core/log/create-logger.ts';
import { accountIdOf, mustSignInAgain, type SignedIn } from '../../../../src/operator/control/access.ts';
import { principalOf } from '../../../../src/operator/control/sign-in.ts';
import { createOperatorServer } from '../../../../src/operator/http-server/operator-server.ts';
import { type AccessChoice, accessSettings, openAccessWorld } from '../../control/acting.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { openServices } from '../open-services.ts';

const ISSUER = 'https://id.test';

/** Three users of one provider, each with another level; the operator has one clinic. */
export const PEOPLE = accessSettings({
  passphrase: true,
  oidc: {
    issuer: ISSUER,
    clientId: 'mirror',
    people: [
      { email: 'vera@clinic.example', level: 'viewer' },
      { email: 'otto@clinic.example', level: 'operator', tenants: ['studio-rossi'] },
      { email: 'olga@clinic.example', level: 'owner' },
    ],
  },
});

/** Returns an account that the provider vouches for. */
export function account(name: string): SignedIn {
  const email = `${name}@clinic.example`;
  return {
    way: 'oidc',
    issuer: ISSUER,
    subject: `subject-of-${name}`,
    email,
    addresses: [email],
    name: email,
    groups: [],
  };
}

/** Headers of a request that a page of this server sends. */
export const FROM_HERE = { origin: 'https://mirror.test', 'sec-fetch-site': 'same-origin', host: 'mirror.test' };

/** A browser: its cookies, and the headers that it sends automatically. */
export interface Browser {
  cookies: Map<string, string>;
  get(url: string, headers?: Record<string, string>): ReturnType<FastifyInstance['inject']>;
  /** Posts a form of a page of this server, unless the given headers differ. */
  post(
    url: string,
    form: Record<string, string>,
    headers?: Record<string, string>,
  ): ReturnType<FastifyInstance['inject']>;
}

/** A port for operators with pages and API, on a real Redis, and every route that it has. */
export async function openPort(redis: Redis, choice: AccessChoice & { trustedProxies?: readonly string[] } = {}) {
  const world = openAccessWorld(redis, { access: PEOPLE, ...choice });
  const publicUrl = choice.publicUrl ?? 'https://mirror.test';
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  const desk = openServices(openInstallation({ tenants: [] }), {
    log,
    access: world.desk,
    acting: (visitor, why) => ({
      ...{ who: principalOf(visitor), why, actServices: world.desk.acts },
      isStale: mustSignInAgain(world.state.access, visitor, world.state.now),
    }),
  });
  const routes: RouteOptions[] = [];
  const seen = (told: unknown) => {
    const { fastify } = told as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => void routes.push(route));
  };
  // https://fastify.dev/docs/latest/Reference/Hooks/#diagnostics-channel-hooks: the one way to see routes that are added later by others.
  subscribe('fastify.initialization', seen);
  const app = await createOperatorServer(
    { readiness: async () => [], problems: async () => [], metrics: async () => '' },
    {
      token: null,
      log,
      trustedProxies: () => choice.trustedProxies ?? [],
      administrators: { services: desk, publicUrl: () => publicUrl },
    },
  ).finally(() => unsubscribe('fastify.initialization', seen));
  onTestFinished(() => app.close());
  return {
    ...world,
    app,
    routes,
    lines,
    browser: () => openBrowser(app),
    /** Returns a browser with a signed-in user. */
    async signedIn(who: SignedIn): Promise<Browser & { csrf: string; session: string }> {
      const life = { mostMs: 43_200_000, idleMs: 3_600_000 };
      const session = await world.desk.sessions.begin(accountIdOf(who), who, life);
      const browser = openBrowser(app);
      browser.cookies.set('__Host-session', session);
      return { ...browser, session, csrf: await csrfOf(session) };
    },
  };
}

/** Returns the CSRF proof that pages show in the session. */
async function csrfOf(session: string): Promise<string> {
  const { createHash } = await import('node:crypto');
  return createHash('sha256').update(`csrf ${session}`).digest('base64url');
}

function openBrowser(app: FastifyInstance): Browser {
  const cookies = new Map<string, string>();
  const send = async (options: InjectOptions) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await app.inject({
      ...options,
      headers: { ...(cookie === '' ? {} : { cookie }), ...options.headers },
    });
    for (const { name, value, maxAge } of answer.cookies) {
      if (maxAge === 0) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  const html = { accept: 'text/html,*/*' };
  const type = 'application/x-www-form-urlencoded';
  return {
    cookies,
    get: (url, headers = {}) =>
      send({ method: 'GET', url, headers: { host: 'mirror.test', ...html, ...headers } }) as never,
    post: (url, form, headers = FROM_HERE) =>
      send({
        method: 'POST',
        url,
        headers: { ...html, 'content-type': type, ...headers },
        payload: new URLSearchParams(form).toString(),
      }) as never,
  };
}

/** Returns the code of a refusal, from the response to an API client or from a page. */
export function refusalIn({ body }: { body: string }): string | undefined {
  return (/<code>([\w-]+)<\/code>/.exec(body) ?? /^\{"error":"([\w-]+)"\}$/.exec(body))?.[1];
}
