import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { listen } from '../../src/operator/http-server/app.ts';
import { createOperatorServer } from '../../src/operator/http-server/operator-server.ts';
import { createPublicServer } from '../../src/operator/http-server/public-server.ts';
import type { OperatorVerbs, PublicVerbs } from '../../src/operator/http-server/verbs.ts';
import { ENV, faultLines, load, SETTINGS, writeConfiguration } from '../settings/configuration-directory.ts';

/*
 * Metrics name every tenant and target, and rendering them occupies the one thread that serves all tenants. Metrics are for operators: the
 * public port does not serve them, and neither port delays the other.
 */

const TOKEN = '0123456789abcdef0123456789abcdef';
const SCRAPES = 200;

interface Ports {
  operator: number;
  outside: number;
  /** How often metrics were written out. */
  written(): number;
}

/** Opens both ports of a daemon that renders metrics when the test allows. */
async function open(token: string | null, metrics: () => Promise<string> = async () => 'tenants 3\n'): Promise<Ports> {
  let written = 0;
  const verbs: OperatorVerbs = {
    readiness: async () => [{ what: 'redis', why: 'no answer' }],
    problems: async () => [],
    metrics() {
      written += 1;
      return metrics();
    },
  };
  const forOperators = createOperatorServer(verbs, { token, log: silentLogger });
  const limits = {
    ...{ headersTimeoutMs: 60_000, requestTimeoutMs: 60_000, checkEveryMs: 1_000 },
    ...{ mostConnections: 20, mostOfPeer: 20, reserved: 2 },
  };
  const forOthers = createPublicServer({} as PublicVerbs, {
    ...{ publicUrl: () => 'https://mirror.test', log: silentLogger, limits },
  });
  const address = { host: '127.0.0.1', port: 0 };
  const servers = [await listen(forOperators, 'operator', address), await listen(forOthers, 'http', address)] as const;
  for (const server of servers) onTestFinished(() => server.close(0));
  return { operator: servers[0].port, outside: servers[1].port, written: () => written };
}

interface Answer {
  status: number | undefined;
  body: string;
}

/** Uses Node's HTTP client, because fetch does not set the Host header. */
async function ask(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  localAddress = '127.0.0.1',
): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, path, headers, localAddress, agent: false }).end();
  const [answer] = await once(sent, 'response');
  return { status: answer.statusCode, body: (await answer.toArray()).join('') };
}

describe('a client of the public port', () => {
  test.each(['/metrics', '/healthz', '/readyz'])('finds no %s, even with the token', async (path) => {
    const { outside, written } = await open(TOKEN);
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }, { host: 'localhost' }]) {
      expect(await ask(outside, path, headers)).toEqual({ status: 404, body: '{"error":"not-found"}' });
    }
    expect(written()).toBe(0);
  });

  test('uses all of its connections, and operators still connect to their port', async () => {
    const { outside, operator } = await open(null);
    const held: Socket[] = Array.from({ length: 20 }, () => connect(outside, '127.0.0.1'));
    onTestFinished(() => held.forEach((socket) => void socket.destroy()));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    await expect(ask(outside, '/r/token')).rejects.toThrow();
    expect(await ask(operator, '/metrics')).toEqual({ status: 200, body: 'tenants 3\n' });
  });
});

test(`${SCRAPES} scrapes at once are one`, async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { operator, written } = await open(null, () => promise);
  // By four peers, since one may hold 100 connections.
  const answers = Array.from({ length: SCRAPES }, (_, at) => ask(operator, '/metrics', {}, `127.0.0.${2 + (at % 4)}`));
  // All are in before the first is answered: a probe that came last is.
  expect((await ask(operator, '/healthz')).status).toBe(200);
  resolve('tenants 3\n');
  expect(new Set((await Promise.all(answers)).map(({ body }) => body))).toEqual(new Set(['tenants 3\n']));
  expect(written()).toBe(1);
});

describe('a client of the operator port without the token', () => {
  test.each([
    ['none', {}],
    ['another one', { authorization: 'Bearer 0123456789abcdef0123456789abcdeg' }],
    ['a part of it', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['more than it', { authorization: `Bearer ${TOKEN}0` }],
    ['nothing after the word', { authorization: 'Bearer ' }],
    ['it as a password', { authorization: `Basic ${Buffer.from(`operator:${TOKEN}`).toString('base64')}` }],
    ['a name of this host', { host: 'localhost' }],
  ])('gets no metrics and no details: %s', async (_, headers) => {
    const { operator, written } = await open(TOKEN);
    expect(await ask(operator, '/metrics', headers)).toEqual({ status: 401, body: '{"error":"not-allowed"}' });
    expect(await ask(operator, '/readyz', headers)).toEqual({ status: 503, body: '{"ready":false}' });
    expect(written()).toBe(0);
  });

  test('gets no metrics with the token in the URL', async () => {
    const { operator } = await open(TOKEN);
    expect((await ask(operator, `/metrics?token=${TOKEN}&access_token=${TOKEN}`)).status).toBe(401);
  });
});

describe('a web page whose name resolves to this host', () => {
  test.each(['evil.test:8090', 'localhost.evil.test', '127.0.0.1.evil.test', '10.0.0.1'])(
    'reads nothing through an operator’s browser: %s',
    async (host) => {
      const { operator, written } = await open(null);
      expect((await ask(operator, '/metrics', { host })).status).toBe(401);
      expect((await ask(operator, '/readyz', { host })).body).toBe('{"ready":false}');
      expect(written()).toBe(0);
    },
  );

  test.each(['localhost', 'LOCALHOST:8090', '127.0.0.1:8090', '[::1]:8090'])(
    'a program on this host reads metrics: %s',
    async (host) => {
      const { operator } = await open(null);
      expect((await ask(operator, '/metrics', { host })).body).toBe('tenants 3\n');
    },
  );
});

describe('settings', () => {
  const written = (text: string) => writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}${text}\n` });
  const env = { ...ENV, TOKEN };
  const faults = (text: string) => faultLines(written(text), { env });
  const token = (text: string) => load(written(text), { env }).settings.operator.token?.reveal();

  test.each(['0.0.0.0', '::', '10.1.2.3', 'mirror', '127.0.0.1.evil.test'])(
    'that show metrics to other hosts without a token are refused: %s',
    (host) => {
      expect(faults(`operator: { host: "${host}" }`)).toEqual([
        expect.stringMatching(/operator\.host: other hosts can read the metrics → add operator\.token/),
      ]);
      expect(token(`operator: { host: "${host}", token: { env: TOKEN } }`)).toBe(TOKEN);
    },
  );

  test.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])('for this host only need no token: %s', (host) => {
    expect(token(`operator: { host: "${host}" }`)).toBeUndefined();
  });

  test.each(['guessed', `${TOKEN} ${TOKEN}`])('with a short token or no token are refused: %s', (given) => {
    const dir = written('operator: { token: { env: TOKEN } }');
    const found = faultLines(dir, { env: { ...ENV, TOKEN: given } });
    expect(found).toEqual([expect.stringMatching(/operator\.token: .*openssl rand -hex 32/)]);
    expect(found[0]).not.toContain(given);
  });

  test.each(['http: { publicUrl: "https://mirror.test" }', 'notifications: { url: "https://mirror.test" }'])(
    'with a public URL name the port that it leads to: %s',
    (text) => {
      expect(faults(text)).toEqual([expect.stringMatching(/no port is open for this URL → set http\.port/)]);
    },
  );
});
